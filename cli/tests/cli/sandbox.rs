//! The commands of docs/sandbox.md, docs/sql.md, docs/verilog.md and of programs in docs/verifiers.md.

use std::path::Path;
use std::process::Command;

use crate::documents::blocks;
use crate::program::{Folder, Ran, command, rows, tribunal};

/// A page, or the part of it below a heading, with rows and the commands over them.
struct Example {
    page: &'static str,
    heading: &'static str,
    rows: &'static str,
    /// The name of its configuration; empty for built-in scorers.
    config: &'static str,
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(path).expect("the page is there")
}

/// Runs the commands over the rows, and compares scores and labels of `scorer`.
fn check(example: &Example, scorer: &str, expected: &[(f64, &str)]) {
    let page = page(example.page);
    let (_, text) = page.split_once(example.heading).expect("the page has its heading");
    let folder = Folder::new();
    folder.write(example.rows, blocks_of_lines(text));
    if !example.config.is_empty() {
        folder.write(example.config, blocks(text, "toml").first().expect("a configuration"));
    }
    let commands: Vec<String> = blocks(text, "sh")
        .iter()
        .flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.starts_with("tribunal score"))
        .collect();
    assert!(!commands.is_empty());
    for line in &commands {
        let args = line.strip_prefix("tribunal ").expect("commands of this program");
        let mut run = command(args.split(' '));
        Ran::from(run.current_dir(folder.path("")).output().expect("it starts")).ends(0);
    }
    let rows = folder.rows("scored.jsonl");
    let seen: Vec<(Option<f64>, &str)> = rows
        .iter()
        .map(|row| &row["scores"][scorer])
        .map(|result| (result["score"].as_f64(), result["label"].as_str().unwrap_or_default()))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(score, label)| (Some(*score), *label)).collect();
    assert_eq!(seen, expected, "{rows:#?}");
}

/// Whether a tool answers; prints that the test is skipped if not.
fn has(tool: &str, question: &str) -> bool {
    let found = Command::new(tool).arg(question).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no {tool}");
    }
    found
}

#[test]
fn commands_that_run_programs_work() {
    if !has("python3", "--version") {
        return;
    }
    let example = Example { page: "sandbox.md", heading: "# ", rows: "tasks.jsonl", config: "" };
    check(&example, "python-tests", &[(1.0, "ok"), (0.0, "wa"), (0.0, "wa")]);
}

#[test]
fn commands_that_run_programs_of_solvers_work() {
    if !has("python3", "--version") {
        return;
    }
    let example = Example {
        page: "verifiers.md",
        heading: "### Programs that solve",
        rows: "programs.jsonl",
        config: "lp.toml",
    };
    check(&example, "lp-program", &[(1.0, "right"), (0.0, "wrong"), (0.0, "re")]);
}

#[test]
fn commands_that_run_queries_work() {
    let example = Example { page: "sql.md", heading: "# ", rows: "queries.jsonl", config: "" };
    check(&example, "sql", &[(1.0, "ok"), (0.0, "wa"), (0.0, "security")]);
}

#[test]
fn commands_that_simulate_circuits_work() {
    if !has("python3", "--version") || !has("iverilog", "-V") {
        return;
    }
    let expected = [(1.0, "ok"), (0.0, "wa"), (0.0, "security")];
    let example = Example { page: "verilog.md", heading: "# ", rows: "circuits.jsonl", config: "" };
    check(&example, "verilog", &expected);
    let golden = "module m(input a, output y); assign y = ~a; endmodule";
    for (candidate, score) in [
        ("module m(input a, output y); not (y, a); endmodule", 1.0),
        ("module m(input a, output y); buf (y, a); endmodule", 0.0),
    ] {
        let args =
            ["verify", "--scorer", "verilog", "--gold", golden, "--pred", candidate, "--json"];
        let ran = tribunal(args).ends(0);
        let reply = &rows(&ran.stdout)[0];
        assert_eq!(reply["score"].as_f64(), Some(score), "{candidate}: {reply}");
    }
}

/// The page has one command for each scorer that runs or checks something; each accepts its answer.
#[test]
fn one_answer_is_verified_by_each_scorer() {
    let text = page("sandbox.md");
    let (_, text) = text.split_once("## One answer").expect("the page has its heading");
    let text = blocks(text, "sh").first().expect("commands").to_owned();
    let scorers = ["python-tests", "sql", "verilog", "lp", "instructions"];
    assert_eq!(text.lines().count(), scorers.len());
    for (line, scorer) in text.lines().zip(scorers) {
        assert!(line.starts_with(&format!("tribunal verify --scorer {scorer} ")), "{line}");
        let can_run = match scorer {
            "python-tests" => has("python3", "--version"),
            "verilog" => has("python3", "--version") && has("iverilog", "-V"),
            _ => true,
        };
        if !can_run {
            continue;
        }
        // The shell takes the command apart.
        let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output();
        let words = String::from_utf8(words.expect("a shell").stdout).expect("text");
        let ran = tribunal(words.lines().skip(1).chain(["--json"])).ends(0);
        let reply = &rows(&ran.stdout)[0];
        assert_eq!(reply["score"].as_f64(), Some(1.0), "{line}: {reply}");
    }
}

#[test]
fn failed_assert_is_named_by_its_text() {
    if !has("python3", "--version") {
        return;
    }
    let gold = r#"{"test_list": ["assert f(1) == 2", "assert f(2) == 3, 'three'"]}"#;
    for (pred, expected) in [
        ("def f(x): return x", "assert 1: assert f(1) == 2: AssertionError;"),
        ("def f(x): return 2", "assert 2: assert f(2) == 3, 'three': AssertionError: three;"),
    ] {
        let args = ["verify", "--scorer", "python-tests", "--gold", gold, "--pred", pred];
        let ran = tribunal(args);
        assert!(ran.stdout.contains(expected), "{expected}: {ran:?}");
    }
}

/// A tool that is not installed is no verdict, and its package is named.
#[test]
fn missing_tool_is_named_with_its_package() {
    let Some(python) = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        println!("skipped: there is no python3 at a usual place");
        return;
    };
    let folder = Folder::new();
    folder.write(
        "own.toml",
        format!("[[scorer]]\nname = \"own\"\nkind = \"code\"\npython = \"{python}\"\n"),
    );
    let task = r#"{"prompt": "p", "response": "x", "reference": {"language": "LANGUAGE", "tests": [{"stdin": "", "stdout": ""}]}}"#;
    let languages = ["c", "cpp", "javascript", "bash", "rust"];
    let tasks: String =
        languages.iter().map(|language| task.replace("LANGUAGE", language) + "\n").collect();
    folder.write("rows.jsonl", tasks);
    let args =
        ["score", "rows.jsonl", "-o", "scored.jsonl", "--config", "own.toml", "--scorer", "own"];
    let mut run = command(args.into_iter().chain(["--explain"]));
    // No tool is found there.
    let run = run.current_dir(folder.path("")).env("PATH", folder.path(""));
    let output = run.output().expect("it starts");
    assert!(output.status.code().is_some(), "{output:?}");
    for (row, package) in
        folder.rows("scored.jsonl").iter().zip(["gcc", "g++", "nodejs", "bash", "rustc"])
    {
        let result = &row["scores"]["own"];
        assert_eq!(result["status"], "tool_error", "{row}");
        assert!(result["score"].is_null(), "{row}");
        let shown = result["reason"].to_string();
        let names = shown.contains("tool_not_installed") && shown.contains(package);
        assert!(names, "{row}");
    }
}

/// The rows of the page, whose responses hold fences themselves.
fn blocks_of_lines(page: &str) -> String {
    let (_, after) = page.split_once("```jsonl\n").expect("the page has rows");
    let (rows, _) = after.split_once("\n```\n").expect("the block is closed");
    format!("{rows}\n")
}
