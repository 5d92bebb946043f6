//! The commands of docs/sandbox.md, docs/sql.md and docs/verilog.md.

use std::path::Path;
use std::process::Command;

use crate::documents::blocks;
use crate::program::{Folder, Ran, command, rows, tribunal};

/// Runs the commands of a page over its rows, and compares scores and labels of `scorer`.
fn check(page: &str, rows: &str, scorer: &str, expected: &[(f64, &str)]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    folder.write(rows, blocks_of_lines(&page));
    let commands = blocks(&page, "sh");
    assert!(!commands.is_empty());
    for line in commands.iter().flat_map(|block| block.lines()) {
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

#[test]
fn commands_that_run_programs_work() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return;
    }
    check("sandbox.md", "tasks.jsonl", "python-tests", &[(1.0, "ok"), (0.0, "wa"), (0.0, "wa")]);
}

#[test]
fn commands_that_run_queries_work() {
    check("sql.md", "queries.jsonl", "sql", &[(1.0, "ok"), (0.0, "wa"), (0.0, "security")]);
}

#[test]
fn commands_that_simulate_circuits_work() {
    for tool in ["python3", "iverilog"] {
        if Command::new(tool).arg("-V").output().is_err() {
            println!("skipped: there is no {tool}");
            return;
        }
    }
    let expected = [(1.0, "ok"), (0.0, "wa"), (0.0, "security")];
    check("verilog.md", "circuits.jsonl", "verilog", &expected);
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

/// The rows of the page, whose responses hold fences themselves.
fn blocks_of_lines(page: &str) -> String {
    let (_, after) = page.split_once("```jsonl\n").expect("the page has rows");
    let (rows, _) = after.split_once("\n```\n").expect("the block is closed");
    format!("{rows}\n")
}
