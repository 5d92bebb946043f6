//! The commands of the user page.

use std::path::Path;

use serde_json::Value;

use crate::program::{Folder, Ran, command, rows};
use crate::serve::Server;

/// The fenced blocks of a language.
pub(crate) fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(&fence) {
        let (block, later) = after.split_once("```").expect("every fence is closed");
        blocks.push(block);
        rest = later;
    }
    blocks
}

#[test]
fn the_commands_of_the_page_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/score.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    folder.write("answers.jsonl", blocks(&page, "jsonl")[0]);
    let server = Server::start(&[]);
    let commands = blocks(&page, "sh");
    let commands: Vec<&str> = commands.iter().flat_map(|block| block.lines()).collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for line in commands {
        let line = line.replace("http://127.0.0.1:8080", &server.url);
        let (line, redirected) = match line.split_once(" > ") {
            Some((line, file)) => (line, Some(file)),
            None => (line.as_str(), None),
        };
        let args = line.strip_prefix("tribunal ").expect("commands of this program");
        let mut run = command(args.split(' '));
        let ran = Ran::from(run.current_dir(folder.path("")).output().expect("it starts")).ends(0);
        if let Some(file) = redirected {
            folder.write(file, &ran.stdout);
        }
    }
    let scored = folder.rows("scored.jsonl");
    let scores: Vec<_> = scored.iter().map(|row| row["scores"]["math"]["score"].as_f64()).collect();
    assert_eq!(scores, [Some(1.0), Some(1.0), Some(0.5)]);
    for same in ["stream.jsonl", "remote.jsonl"] {
        assert_eq!(folder.read(same), folder.read("scored.jsonl"), "{same}");
    }
    assert_eq!(folder.read("merged.parquet"), folder.read("scored.parquet"));
    let flat = String::from_utf8(folder.read("flat.csv")).expect("text");
    assert!(
        flat.starts_with("id,prompt,response,reference,responses,scores,exact_status,"),
        "{flat}"
    );
    assert_eq!(folder.rows("first.jsonl").len(), 1);
    let both = folder.rows("both.jsonl");
    assert!(both.iter().all(|row| row["scores"].as_object().is_some_and(|s| s.len() == 2)));
}

#[test]
fn the_page_of_datasets_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/datasets.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    folder.write("scored.jsonl", blocks(&page, "jsonl")[0]);
    let mut printed = String::new();
    for line in blocks(&page, "sh")[0].lines() {
        let mut run = command(words(line.strip_prefix("tribunal ").expect("our program")));
        let ran = run.current_dir(folder.path("")).output();
        printed += &Ran::from(ran.expect("it starts")).ends(0).stderr;
    }
    assert!(printed.starts_with(blocks(&page, "text")[0]), "{printed}");
    let ids = |name: &str| -> Vec<u64> {
        let rows = folder.rows(name);
        let ids = rows.iter().map(|row| row["id"].as_u64().expect("an id"));
        ids.collect()
    };
    assert_eq!(ids("ordered.jsonl"), [4, 1, 3]);
    assert_eq!(ids("shortest.jsonl"), [4, 1]);
    assert_eq!(ids("two.jsonl").len(), 2);
    assert_eq!(folder.read("rates.csv"), b"question,pass_rate\n2 + 2,0.5\n");
}

#[test]
fn the_page_of_preferences_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/preferences.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    let [pairs, feedback] = blocks(&page, "jsonl")[..] else {
        panic!("pairs and feedback");
    };
    folder.write("pairs.jsonl", pairs);
    folder.write("feedback.jsonl", feedback);
    let run = |line: &str, code: i32| {
        let mut run = command(words(line.strip_prefix("tribunal ").expect("our program")));
        let ran = run.current_dir(folder.path("")).output();
        Ran::from(ran.expect("it starts")).ends(code).stderr
    };
    let [denoising, extracting] = blocks(&page, "sh")[..] else {
        panic!("two blocks of commands");
    };
    let printed: Vec<String> = denoising.lines().map(|line| run(line, 0)).collect();
    let shown = blocks(&page, "text")[0];
    assert!(printed[1].starts_with(shown), "{}", printed[1]);
    let clean = String::from_utf8(folder.read("clean.jsonl")).expect("text");
    assert_eq!(clean.lines().nth(1), blocks(&page, "json")[0].lines().next());
    assert_eq!(folder.rows("measured.jsonl").len(), 4);
    let printed = run(extracting.trim_end(), 1);
    assert!(printed.contains("of them without a list"), "{printed}");
    assert_eq!(folder.rows("principles.jsonl.rejects.jsonl").len(), 1);
}

/// The words of a command line, where double quotes hold a word together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn the_page_of_calibration_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/calibration.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let file = blocks(&page, "json")[0];
    rubrics::calibration::ScorerCalibration::from_json(file).expect("the page's file is one");
    let folder = Folder::new();
    let labelled = blocks(&page, "jsonl")[0];
    folder.write("labelled.jsonl", labelled.repeat(20));
    let scored = |row: &str| {
        let raw =
            row.replace("\"raw\": ", "\"scores\": {\"helpful\": {\"status\": \"ok\", \"raw\": ");
        raw.replace(", \"label\"", "}}, \"label\"") + "\n"
    };
    let rows: String = labelled.lines().map(scored).collect();
    folder.write("scored.jsonl", rows.repeat(20));
    for line in blocks(&page, "sh")[0].lines() {
        let args = line.strip_prefix("tribunal ").expect("our program");
        let mut run = command(args.split(' '));
        let run = run.current_dir(folder.path("")).output();
        Ran::from(run.expect("it starts")).ends(0);
    }
    assert!(folder.names().contains(&"reliability.svg".to_owned()));
}

/// What a page shows of a result is there.
fn holds(found: &Value, shown: &Value) -> bool {
    match (found, shown) {
        (Value::Object(found), Value::Object(shown)) => {
            shown.iter().all(|(key, value)| found.get(key).is_some_and(|it| holds(it, value)))
        }
        (Value::Array(found), Value::Array(shown)) => {
            found.len() == shown.len() && found.iter().zip(shown).all(|(a, b)| holds(a, b))
        }
        _ => found == shown,
    }
}

/// Each request of the page is sent by `curl` as it stands, and every scorer of a server without a
/// configuration has one.
#[test]
fn the_page_of_the_http_interface_works() {
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        println!("skipped: curl is not installed");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/http.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let server = Server::start(&[]);
    let curl = |line: &str| -> Value {
        let line = line.replace("http://127.0.0.1:8080", &server.url);
        let ran = std::process::Command::new("sh").args(["-c", &line]).output();
        let printed = ran.expect("sh exists").stdout;
        serde_json::from_slice(&printed).unwrap_or_else(|_| panic!("{line}: {printed:?}"))
    };
    let lines: Vec<&str> = blocks(&page, "sh").iter().flat_map(|block| block.lines()).collect();
    let replies: Vec<Value> = lines.iter().map(|line| curl(line)).collect();
    // The last replies are shown, a line each.
    let shown: Vec<Value> = blocks(&page, "json").iter().flat_map(|block| rows(block)).collect();
    let (examples, rest) = replies.split_at(replies.len() - shown.len());
    for (reply, line) in examples.iter().zip(&lines) {
        let status = &reply["results"][0]["status"];
        // Programs are run where there is a sandbox.
        let needs_tools = line.contains("python-tests") || line.contains("\"verilog\"");
        let is_run = !needs_tools || status != "tool_error";
        assert!(!is_run || status == "ok", "{line}: {reply}");
    }
    for (reply, shown) in rest.iter().zip(&shown) {
        assert!(holds(&reply["results"][0], shown), "{shown}: {reply}");
    }
    let models = curl(&format!("curl -s {}/v1/models", server.url));
    let scorers = models["data"].as_array().expect("a list").iter();
    let mut scorers: Vec<&Value> = scorers.filter(|model| model["kind"] != "model").collect();
    scorers.retain(|scorer| !examples.iter().any(|reply| reply["model"] == scorer["id"]));
    assert_eq!(scorers, Vec::<&Value>::new(), "scorers without a request");
}
