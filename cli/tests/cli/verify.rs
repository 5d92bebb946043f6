//! `tribunal verify`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::program::{Folder, command, rows, shared_data, tribunal, tribunal_reading};

#[test]
fn one_pair_is_explained() {
    let ran = tribunal(["verify", "--gold", r"\frac12", "--pred", r"so \boxed{0.5}"]).ends(0);
    for part in ["status     ok", "score      1", "1/2", "boxed, characters 10 to 13", "sha256:"] {
        assert!(ran.stdout.contains(part), "{part:?} is missing: {}", ran.stdout);
    }
    // A wrong answer is a result and no failure.
    let ran = tribunal(["verify", "--gold", "-1", "--pred", "-2"]).ends(0);
    assert!(ran.stdout.contains("score      0"), "{}", ran.stdout);
}

#[test]
fn one_pair_as_json() {
    let args = ["verify", "--gold", "B", "--pred", "(B)", "--scorer", "choice", "--json"];
    let ran = tribunal(args).ends(0);
    let verdict = &rows(&ran.stdout)[0];
    assert_eq!((&verdict["status"], &verdict["score"]), (&"ok".into(), &1.0.into()));
    for absent in ["timing", "id", "cached", "usage"] {
        assert!(verdict.get(absent).is_none(), "{verdict}");
    }
}

#[test]
fn wrong_use_ends_with_2() {
    for args in [
        vec!["verify"],
        vec!["verify", "--gold", "1"],
        vec!["verify", "--pred", "1"],
        vec!["verify", "--gold", "1", "--pred", "1", "--input", "x"],
        vec!["verify", "--gold", "1", "--pred", "1", "--scorer", "maths"],
        vec!["verify", "--input", "missing.jsonl"],
        vec!["verify", "--gold", "1", "--pred", "1", "--config", "missing.toml"],
    ] {
        tribunal(args).ends(2);
    }
    tribunal(["verify", "--gold", "1", "--pred", "1", "--scorer", "maths"])
        .says(&["no scorer 'maths'", "did you mean 'math'?"]);
}

#[test]
fn a_status_other_than_ok_ends_with_1() {
    let ran = tribunal(["verify", "--gold", "", "--pred", "1"]).ends(1);
    assert!(ran.stdout.contains("bad_reference"), "{}", ran.stdout);
}

const PAIRS: &str = r#"{"gold": "1/2", "pred": "0.5"}
{"gold": 18, "pred": "A: 18", "question": "How many?"}
{"gold": ["a", "b"], "pred": "b", "kind": "exact"}
not JSON

{"gold": "B", "pred": "(C)", "kind": "mcq"}
{"gold": "1", "pred": "1", "kind": "no such kind"}
{"gold": "1"}
"#;

#[test]
fn every_pair_of_a_file_gets_a_verdict_in_order() {
    let folder = Folder::new();
    let input = folder.write("pairs.jsonl", PAIRS);
    let ran = tribunal(["verify", "--input", &input, "--json", "--no-cache"]).ends(1);
    let verdicts = rows(&ran.stdout);
    let found: Vec<_> = verdicts
        .iter()
        .map(|v| (v["status"].as_str().expect("a text"), v["score"].as_f64()))
        .collect();
    let refused = ("refused", None);
    let expected = [
        ("ok", Some(1.0)),
        ("ok", Some(1.0)),
        ("ok", Some(1.0)),
        refused,
        ("ok", Some(0.0)),
        refused,
        refused,
    ];
    assert_eq!(found, expected);
    for (verdict, code) in [(3, "unreadable_line"), (5, "unknown_kind"), (6, "unreadable_line")] {
        assert_eq!(verdicts[verdict]["reason"]["code"], code);
    }
    let from_stdin = tribunal_reading(PAIRS.as_bytes(), ["verify", "--input", "-", "--json"]);
    assert_eq!(from_stdin.stdout, ran.stdout);
    // For people: the same lines in a table, with their numbers.
    let table = tribunal(["verify", "--input", &input]).ends(1).stdout;
    let numbers: Vec<&str> =
        table.lines().skip(1).take(7).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "6", "7", "8"]);
}

#[test]
fn a_pair_is_answered_before_the_next_one_comes() {
    let mut run = command(["verify", "--input", "-", "--json"]);
    let run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = run.spawn().expect("it starts");
    let mut questions = child.stdin.take().expect("stdin is a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    for (gold, score) in [("1", 1.0), ("2", 0.0), ("1.0", 1.0)] {
        writeln!(questions, r#"{{"gold": "{gold}", "pred": "1"}}"#).expect("it reads");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("text");
        assert_eq!(rows(&answer)[0]["score"], score);
    }
    drop(questions);
    assert_eq!(child.wait().expect("our child").code(), Some(0));
}

#[test]
fn good_pairs_end_with_0() {
    let pairs = "{\"gold\": \"1/2\", \"pred\": \"0.5\"}\n".repeat(1000);
    let ran = tribunal_reading(pairs.as_bytes(), ["verify", "--input", "-", "--json"]).ends(0);
    assert_eq!(ran.stdout.lines().count(), 1000);
    tribunal_reading(b"", ["verify", "--input", "-", "--json"]).ends(0);
}

#[test]
fn a_run_over_real_pairs_repeats_itself() {
    let Some(data) = shared_data() else {
        println!("skipped: the folder shared/data is not beside the checkout");
        return;
    };
    let path = data.join("math/math_verify.jsonl");
    let lines = std::fs::read_to_string(&path).expect("the file is there").lines().count();
    let path = path.to_str().expect("a plain path");
    let run =
        |threads| tribunal(["verify", "--input", path, "--json", "--threads", threads]).stdout;
    let one = run("1");
    assert_eq!(one.lines().count(), lines);
    assert_eq!(one, run("3"));
}
