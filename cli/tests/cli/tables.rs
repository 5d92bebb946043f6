//! `tribunal score` over tables, and `tribunal merge`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Folder, Ran, command, dataset, rows, tribunal, tribunal_reading};

fn score<'a>(input: &'a str, output: &'a str, more: &[&'a str]) -> Ran {
    let args = ["score", input, "-o", output, "--scorer", "math"];
    tribunal(args.iter().chain(more))
}

/// A file's rows as JSON, whatever its format.
fn plain(folder: &Folder, name: &str) -> Vec<Value> {
    let output = folder.name("plain.jsonl");
    tribunal(["filter", &folder.name(name), "-o", &output, "--overwrite"]).ends(0);
    folder.rows("plain.jsonl")
}

/// `dataset` in another format.
fn converted(folder: &Folder, name: &str, n_rows: usize) -> String {
    let lines = folder.write("lines.jsonl", dataset(n_rows));
    let output = folder.name(name);
    tribunal(["filter", &lines, "-o", &output]).ends(0);
    output
}

/// Status and score of a row.
fn verdict(row: &Value) -> (Value, Value) {
    let math = &row["scores"]["math"];
    (math["status"].clone(), math["score"].clone())
}

#[test]
fn every_format_gets_the_verdicts_of_lines() {
    const N_ROWS: usize = 300;
    let folder = Folder::new();
    let lines = folder.write("in.jsonl", dataset(N_ROWS));
    score(&lines, &folder.name("by_lines.jsonl"), &[]).ends(0);
    let expected: Vec<_> = folder.rows("by_lines.jsonl").iter().map(verdict).collect();
    for format in ["parquet", "csv", "tsv", "jsonl.gz", "jsonl.zst"] {
        let input = converted(&folder, &format!("in.{format}"), N_ROWS);
        for made in ["out.parquet", "out.jsonl", "out.jsonl.zst"] {
            let output = folder.name(made);
            score(&input, &output, &["--overwrite"]).ends(0).says(&["300 rows scored"]);
            let rows = plain(&folder, made);
            let found: Vec<_> = rows.iter().map(verdict).collect();
            assert_eq!(found, expected, "{format} to {made}");
            let ids: Vec<u64> = rows.iter().filter_map(|row| row["id"].as_u64()).collect();
            assert_eq!(ids, (0..N_ROWS as u64).collect::<Vec<_>>(), "{format} to {made}");
        }
    }
}

#[test]
fn a_verdict_has_the_columns_that_it_has_in_lines() {
    let folder = Folder::new();
    let rows = "{\"response\": \"It is #### 4\", \"reference\": \"4\"}\n{\"response\": \"1 + 1 = 2\\n2 + 2 = 5\"}\n";
    let input = folder.write("in.jsonl", rows);
    let args = ["--scorer", "arithmetic", "--explain"];
    score(&input, &folder.name("out.jsonl"), &args).ends(0);
    score(&input, &folder.name("out.parquet"), &args).ends(0);
    let by_table = plain(&folder, "out.parquet");
    for (line, table) in folder.rows("out.jsonl").iter().zip(&by_table) {
        for scorer in ["math", "arithmetic"] {
            same(&line["scores"][scorer], &table["scores"][scorer], scorer);
        }
    }
}

/// Checks that a table says all that a line says, and beside it nothing but nulls.
fn same(line: &Value, table: &Value, place: &str) {
    match (line, table) {
        (Value::Object(line), Value::Object(table)) => {
            for (name, value) in line {
                same(value, table.get(name).unwrap_or(&Value::Null), &format!("{place}.{name}"));
            }
            for (name, value) in table {
                assert!(line.contains_key(name) || value.is_null(), "{place}.{name}");
            }
        }
        (Value::Array(line), Value::Array(table)) => {
            assert_eq!(line.len(), table.len(), "{place}");
            for (line, table) in line.iter().zip(table) {
                same(line, table, place);
            }
        }
        (Value::Number(line), Value::Number(table)) => {
            assert_eq!(line.as_f64(), table.as_f64(), "{place}");
        }
        (line, table) => assert_eq!(line, table, "{place}"),
    }
}

#[test]
fn several_inputs_and_streams_are_one_table() {
    let folder = Folder::new();
    folder.write("a-1.jsonl", dataset(30));
    folder.write("a-2.jsonl", dataset(20));
    let output = folder.name("out.parquet");
    score(&folder.name("a-*.jsonl"), &output, &[]).ends(0).says(&["50 rows scored"]);
    let args = ["score", "-", "-o", "-", "--scorer", "math", "--output-format", "jsonl"];
    let ran = tribunal_reading(dataset(7).as_bytes(), args).ends(0);
    assert_eq!(rows(&ran.stdout).len(), 7);
}

#[test]
fn flat_columns_stand_beside_those_of_the_input() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(3));
    score(&input, &folder.name("out.jsonl"), &["--flat"]).ends(0);
    let row = &folder.rows("out.jsonl")[1];
    assert_eq!(row["math_status"], "ok");
    assert_eq!(row["math_score"], 1.0);
    assert_eq!(row["math_candidate"], row["reference"]);
    assert_eq!(row.get("scores"), None);
    let again = folder.name("out2.jsonl");
    let ran = score(&folder.name("out.jsonl"), &again, &["--flat"]).ends(2);
    ran.says(&["has a score of 'math_status' already"]);
    score(&folder.name("out.jsonl"), &again, &["--flat", "--overwrite-scores"]).ends(0);
    assert_eq!(folder.read("out.jsonl"), folder.read("out2.jsonl"));
}

#[test]
fn other_scores_stay_and_scores_of_the_same_name_are_refused() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(5));
    score(&input, &folder.name("a.parquet"), &[]).ends(0);
    let (a, b) = (folder.name("a.parquet"), folder.name("b.parquet"));
    score(&a, &b, &[]).ends(2).says(&["score of 'math' already", "--overwrite-scores"]);
    tribunal(["score", &a, "-o", &b, "--scorer", "text"]).ends(0);
    let row = &plain(&folder, "b.parquet")[1];
    assert_eq!(row["scores"]["math"]["score"], 1.0);
    assert_eq!(row["scores"]["text"]["status"], "ok");
}

#[test]
fn a_retry_reaches_the_statuses_that_were_named_and_no_others() {
    let folder = Folder::new();
    let row = |status: &str, score: Value, response: &str| {
        json!({
            "response": response,
            "reference": "4",
            "scores": {"math": {"status": status, "score": score}, "other": {"score": 7.0}},
        })
    };
    let none = json!({"response": "4", "reference": "4", "scores": null});
    let input = [
        row("ok", json!(0.25), "4"),
        row("timeout", Value::Null, "4"),
        row("overloaded", Value::Null, "5"),
        row("abstain", Value::Null, "4"),
        none,
    ];
    let lines: String = input.iter().map(|row| row.to_string() + "\n").collect();
    let input = folder.write("in.jsonl", lines);
    let output = folder.name("out.jsonl");
    score(&input, &output, &["--retry-status", "timeout,overloaded"]).ends(0);
    let found: Vec<_> = folder.rows("out.jsonl").iter().map(verdict).collect();
    let ok = |score: f64| (json!("ok"), json!(score));
    let abstain = (json!("abstain"), Value::Null);
    assert_eq!(found, [ok(0.25), ok(1.0), ok(0.0), abstain, ok(1.0)]);
    assert_eq!(folder.rows("out.jsonl")[0]["scores"]["other"]["score"], 7.0);
    let ran = score(&input, &output, &["--retry-status", "late", "--overwrite"]).ends(2);
    ran.says(&["the statuses are ok, abstain"]);
}

#[test]
fn several_response_columns_form_a_group() {
    let folder = Folder::new();
    let input = folder.write(
        "in.jsonl",
        "{\"a\": \"4\", \"b\": \"5\", \"reference\": \"4\"}\n{\"a\": \"4\", \"b\": null, \"reference\": \"4\"}\n",
    );
    for output in ["out.jsonl", "out.parquet"] {
        let path = folder.name(output);
        score(&input, &path, &["--responses", "a", "--responses", "b"]).ends(1);
        let rows = plain(&folder, output);
        let candidates = rows[0]["scores"]["math"]["candidates"].as_array();
        let scores: Vec<_> =
            candidates.expect("a list").iter().map(|c| c["score"].as_f64()).collect();
        assert_eq!(scores, [Some(1.0), Some(0.0)], "{output}");
        assert_eq!(rows.len(), 1, "{output}");
        let rejects = folder.rows(&format!("{output}.rejects.jsonl"));
        let reason = rejects[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("a response is missing"), "{reason}");
        assert_eq!(rejects[0]["row"], 2, "{output}");
    }
}

#[test]
fn a_file_may_name_the_columns() {
    let folder = Folder::new();
    let input = folder
        .write("in.jsonl", "{\"m\": {\"out\": \"#### 4\"}, \"gold\": \"4\", \"bad\": \"5\"}\n");
    let columns = folder.write("columns.toml", "response = \"m.out\"\nreference = \"gold\"\n");
    for output in ["a.jsonl", "a.parquet"] {
        score(&input, &folder.name(output), &["--columns", &columns]).ends(0);
        assert_eq!(plain(&folder, output)[0]["scores"]["math"]["score"], 1.0);
    }
    let more = ["--columns", &columns, "--reference", "bad"];
    score(&input, &folder.name("b.jsonl"), &more).ends(0);
    assert_eq!(folder.rows("b.jsonl")[0]["scores"]["math"]["score"], 0.0);
    let wrong = folder.write("wrong.toml", "respones = \"m.out\"\n");
    let ran = score(&input, &folder.name("c.jsonl"), &["--columns", &wrong]).ends(2);
    ran.says(&["wrong.toml", "respones"]);
}

#[test]
fn samples_and_limits_are_the_same_for_the_same_seed() {
    let folder = Folder::new();
    let input = converted(&folder, "in.parquet", 500);
    let ids = |name: &str, more: &[&str]| -> Vec<u64> {
        score(&input, &folder.name(name), more).ends(0);
        plain(&folder, name).iter().filter_map(|row| row["id"].as_u64()).collect()
    };
    let drawn = ids("a.parquet", &["--sample", "40", "--seed", "3"]);
    assert_eq!(drawn.len(), 40);
    assert!(drawn.is_sorted());
    assert_eq!(ids("b.jsonl", &["--sample", "40", "--seed", "3"]), drawn);
    assert_ne!(ids("c.jsonl", &["--sample", "40", "--seed", "4"]), drawn);
    let limited = ids("d.jsonl", &["--sample", "40", "--seed", "3", "--limit", "7"]);
    assert_eq!(limited, drawn[..7]);
    assert_eq!(ids("e.parquet", &["--limit", "3"]), [0, 1, 2]);
}

/// Shards of a dataset with rows that cannot be read or judged, and the unbroken run.
fn shards(folder: &Folder, format: &str, count: u32) -> Vec<String> {
    let bad = "{\"reference\": \"no response\"}\nnot JSON\n";
    let text = format!("{bad}{}{bad}{}{bad}", dataset(500), dataset(401));
    let input = folder.write("in.jsonl", text);
    let whole = folder.name(&format!("whole.{format}"));
    score(&input, &whole, &["--sample", "1000000"]).ends(1);
    let shard = |index: u32| {
        let output = folder.name(&format!("part{index}.{format}"));
        let shard = format!("{index}/{count}");
        let ran = score(&input, &output, &["--sample", "1000000", "--shard", &shard]);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        output
    };
    (1..=count).map(shard).collect()
}

#[test]
fn shards_merge_to_what_one_run_writes() {
    for (format, count) in [("parquet", 3), ("jsonl", 7), ("csv", 3)] {
        let folder = Folder::new();
        let mut parts = shards(&folder, format, count);
        parts.reverse();
        let output = folder.name(&format!("merged.{format}"));
        let args = ["merge".to_owned(), "-o".to_owned(), output];
        let ran = tribunal(args.iter().chain(&parts)).ends(0);
        // Standard error is no terminal, so that no bar is drawn.
        assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
        let read = |name: &str| folder.read(&format!("{name}.{format}"));
        assert!(read("merged") == read("whole"), "{format} in {count}");
        let rejects = |name: &str| folder.rows(&format!("{name}.{format}.rejects.jsonl"));
        assert_eq!(rejects("merged"), rejects("whole"), "{format} in {count}");
        let counts = |name: &str| {
            let manifest = folder.read(&format!("{name}.{format}.manifest.json"));
            let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
            manifest["counts"].clone()
        };
        assert_eq!(counts("merged"), counts("whole"), "{format} in {count}");
    }
}

#[test]
fn parts_that_do_not_go_together_are_refused() {
    let folder = Folder::new();
    let parts = shards(&folder, "parquet", 3);
    let merge = |parts: &[&str], says: &str| {
        let output = folder.name("merged.parquet");
        let args = ["merge", "-o", &output];
        tribunal(args.iter().chain(parts)).ends(2).says(&[says]);
        assert!(!folder.path("merged.parquet").exists(), "{says}");
    };
    let [a, b, c] = [&parts[0], &parts[1], &parts[2]].map(String::as_str);
    merge(&[a, c], "missing: shard 2/3");
    merge(&[a, b, b, c], "are both shard 2/3");
    merge(&[a, b, &folder.name("whole.parquet")], "it is not of a run with --shard");
    merge(&[a, b, &folder.name("in.jsonl")], "has no manifest");
    let input = folder.name("in.jsonl");
    let other = folder.name("other.parquet");
    let args = ["--sample", "1000000", "--shard", "3/3", "--extract-reference"];
    score(&input, &other, &args).ends(1);
    merge(&[a, b, &other], "their mapping differ");
    folder.write("in.jsonl", dataset(800));
    let args = ["--sample", "1000000", "--shard", "3/3", "--overwrite"];
    score(&input, &other, &args).ends(0);
    merge(&[a, b, &other], "their inputs differ");
    tribunal(["filter", b, "-o", c, "--limit", "5", "--overwrite"]).ends(0);
    merge(&[a, b, c], "it is not of a run with --shard");
    score(&input, &other, &["--shard", "4/3"]).ends(2).says(&["counted from 1"]);
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_mins(2);
    while !done() {
        assert!(Instant::now() < patience, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a run and kills it once its verdicts take this many bytes. Returns whether it was still
/// running then.
fn kill_at(folder: &Folder, args: &[&str], bytes: u64) -> bool {
    let mut run = command(args);
    let run = run.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = run.spawn().expect("it starts");
    let verdicts = folder.path("out.parquet.verdicts");
    let mut ended = false;
    wait_until("verdicts are kept", || {
        ended = child.try_wait().expect("our child").is_some();
        let length = std::fs::metadata(&verdicts).map_or(0, |metadata| metadata.len());
        ended || length >= bytes
    });
    if !ended {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
    !ended && verdicts.exists()
}

#[test]
fn a_run_that_is_killed_at_any_time_ends_like_an_unbroken_one() {
    const N_ROWS: usize = 60_000;
    let folder = Folder::new();
    let input = converted(&folder, "in.parquet", N_ROWS);
    let whole = folder.name("whole.parquet");
    score(&input, &whole, &[]).ends(0);
    let output = folder.name("out.parquet");
    let args = ["score", &input, "-o", &output, "--scorer", "math"];
    let (mut killed, mut gone_on) = (0, 0);
    // The header and then more and more records, of which a run of this size has thirty.
    for moment in 0..10 {
        killed += u32::from(kill_at(&folder, &args, 1 + moment * 20_000));
        assert!(!folder.path("out.parquet").exists(), "an output appeared half-written");
        let ran = tribunal(args).ends(0);
        gone_on += u32::from(ran.stderr.contains("were done before"));
        assert!(folder.read("out.parquet") == folder.read("whole.parquet"), "at {moment}");
        assert!(!folder.path("out.parquet.verdicts").exists());
        std::fs::remove_file(&output).expect("it was written");
    }
    assert!(killed >= 5, "{killed} runs were caught");
    assert!(gone_on >= 3, "{gone_on} runs found verdicts");
}

#[test]
fn run_resumes_over_a_grown_input() {
    let folder = Folder::new();
    let input = converted(&folder, "in.parquet", 40_000);
    let output = folder.name("out.parquet");
    let args = ["score", &input, "-o", &output, "--scorer", "math"];
    if !kill_at(&folder, &args, 60_000) {
        eprintln!("the run was over before it was killed");
        return;
    }
    std::fs::remove_file(&input).expect("it was written");
    converted(&folder, "in.parquet", 50_000);
    tribunal(args).ends(0).says(&[
        "the input has changed",
        "were done before",
        "50,000 rows scored",
    ]);
    score(&input, &folder.name("whole.parquet"), &[]).ends(0);
    assert!(folder.read("out.parquet") == folder.read("whole.parquet"));
}

/// Rows of which some are equal, for a judge.
fn questions(folder: &Folder, n_rows: u32, different: u32) -> String {
    let row = |n: u32| {
        let (n, prompt) = (n % different, n % different / 3);
        let (prompt, response) = (format!("{prompt}+2 mod 100"), format!("{prompt}+2={n}"));
        json!({"prompt": prompt, "response": response})
    };
    let lines: String = (0..n_rows).map(|n| row(n).to_string() + "\n").collect();
    folder.write("questions.jsonl", lines)
}

fn judge(input: &str, output: &str) -> Ran {
    tribunal(["score", input, "-o", output, "--scorer", "judge"])
}

#[test]
fn models_score_equal_rows_once() {
    let folder = Folder::new();
    let input = questions(&folder, 60, 15);
    for output in ["a.jsonl", "a.parquet"] {
        judge(&input, &folder.name(output)).says(&["15 inputs to judge for 60 rows"]);
        assert!(!folder.path(&format!("{output}.verdicts")).exists());
    }
    let verdicts = |name: &str| -> Vec<(Value, Value)> {
        let verdict = |row: &Value| {
            let judge = &row["scores"]["judge"];
            (judge["status"].clone(), judge["score"].clone())
        };
        plain(&folder, name).iter().map(verdict).collect()
    };
    let lines = verdicts("a.jsonl");
    assert_eq!(lines, verdicts("a.parquet"));
    assert_eq!(lines.len(), 60);
    for (n, verdict) in lines.iter().enumerate() {
        assert_eq!(*verdict, lines[n % 15], "row {n}");
    }
}

#[test]
fn stored_verdicts_of_models_survive_a_kill() {
    let folder = Folder::new();
    let input = questions(&folder, 1500, 1200);
    let output = folder.name("out.parquet");
    judge(&input, &folder.name("whole.parquet"));
    let args = ["score", &input, "-o", &output, "--scorer", "judge"];
    if !kill_at(&folder, &args, 2_000) {
        eprintln!("the run was over before it was killed");
        return;
    }
    let ran = judge(&input, &output);
    let said = ran.stderr.lines().find(|line| line.contains("inputs to judge"));
    let said = said.expect("the message names the rest");
    assert!(!said.contains("; 0 verdicts are there"), "{said}");
    assert!(!said.starts_with("1,200 inputs"), "{said}");
    assert!(folder.read("out.parquet") == folder.read("whole.parquet"));
}

#[test]
fn wrong_use_is_reported_before_any_work() {
    let folder = Folder::new();
    let input = converted(&folder, "in.parquet", 10);
    let output = folder.name("out.parquet");
    let check = |more: &[&str], says: &[&str]| {
        score(&input, &output, more).ends(2).says(says);
        assert!(!folder.path("out.parquet").exists(), "{more:?}");
    };
    check(&["--response", "respones"], &["no column 'respones'", "did you mean 'response'"]);
    check(&["--ignore", "response"], &["no response", "the columns are 'id', 'weight'"]);
    check(&["--shard", "0/3"], &["counted from 1"]);
    check(&["--scorer", "mth"], &["no scorer 'mth'", "did you mean 'math'"]);
    check(&["--rejects", &output], &["name the same file"]);
    score(&input, &input, &["--overwrite"]).ends(2).says(&["is the input"]);
    score(&input, &folder.name("out.xlsx"), &[]).ends(2).says(&["says no format"]);
    folder.write("empty.parquet", "");
    score(&folder.name("empty.parquet"), &output, &[]).ends(1).says(&["empty.parquet"]);
    folder.write("broken.parquet", &folder.read("in.parquet")[..200]);
    score(&folder.name("broken.parquet"), &output, &[]).ends(1).says(&["broken.parquet"]);
    score(&folder.name("nothing-*.parquet"), &output, &[]).ends(2);
    folder.write("out.parquet", "mine");
    score(&input, &output, &[]).ends(2).says(&["exists", "--overwrite"]);
    assert_eq!(folder.read("out.parquet"), b"mine");
    folder.write("other.parquet.verdicts", "my notes");
    score(&input, &folder.name("other.parquet"), &[]).ends(2).says(&["holds no verdicts"]);
    assert_eq!(folder.read("other.parquet.verdicts"), b"my notes");
}

#[test]
fn bad_rows_of_tables_are_kept_with_their_place_and_reason() {
    let folder = Folder::new();
    let lines = "{\"id\": 7, \"response\": \"4\", \"reference\": \"4\"}\n\
                 not JSON\n\
                 {\"id\": 8, \"response\": null, \"reference\": \"4\"}\n\
                 {\"id\": 9, \"response\": [1], \"reference\": \"4\"}\n";
    let input = folder.write("in.jsonl", lines);
    let ran = score(&input, &folder.name("out.parquet"), &[]).ends(1);
    ran.says(&["1 rows scored", "3 rows were rejected"]);
    let rejects = folder.rows("out.parquet.rejects.jsonl");
    let check = |at: usize, row: u64, id: Value, reason: &str| {
        assert_eq!(rejects[at]["row"], row);
        assert_eq!(rejects[at].get("id").cloned().unwrap_or_default(), id);
        let found = rejects[at]["reason"].as_str().expect("a reason");
        assert!(found.contains(reason), "{found}");
        assert_eq!(rejects[at]["file"], input);
    };
    check(0, 2, Value::Null, "not a JSON object");
    check(1, 3, json!(8), "no response");
    check(2, 4, json!(9), "column 'response' is a list");
    assert!(rejects[1]["line"].as_str().expect("text").contains("\"id\":8"));
}

#[test]
fn cells_of_fifty_megabytes_empty_files_and_nulls_are_rows_like_others() {
    let folder = Folder::new();
    let long = "x".repeat(50 << 20);
    let text = format!("{{\"response\": \"{long} #### 4\", \"reference\": \"4\"}}\n");
    let row = "{\"response\": \"#### 4\", \"reference\": null}\n";
    folder.write("a.jsonl", text + row);
    folder.write("b.jsonl", "");
    let inputs = [folder.name("a.jsonl"), folder.name("b.jsonl")];
    let output = folder.name("out.parquet");
    let args = ["score", &inputs[0], &inputs[1], "-o", &output, "--scorer", "math"];
    tribunal(args).ends(0);
    let found: Vec<_> = plain(&folder, "out.parquet").iter().map(verdict).collect();
    let bad = (json!("bad_reference"), Value::Null);
    assert_eq!(found, [(json!("ok"), json!(1.0)), bad]);
    let none = converted(&folder, "none.parquet", 0);
    let ran = score(&none, &folder.name("scored.parquet"), &[]).ends(2);
    ran.says(&["no response", "the columns are none"]);
}

#[test]
fn outputs_that_cannot_be_written_are_named_and_nothing_is_lost() {
    let folder = Folder::new();
    let input = converted(&folder, "in.parquet", 3000);
    let ran = score(&input, "/dev/full", &["--output-format", "parquet"]).ends(1);
    ran.says(&["/dev/full", "No space left"]);
    let nowhere = folder.name("no/such/folder/out.parquet");
    score(&input, &nowhere, &[]).ends(2).says(&["cannot write", "no/such/folder/out.parquet: "]);
    let output = folder.name("out.parquet");
    let held = std::fs::File::create(folder.path("out.parquet.verdicts")).expect("ours");
    held.lock().expect("the lock is free");
    score(&input, &output, &[]).ends(1).says(&["another run is writing this output"]);
    assert!(!folder.path("out.parquet").exists());
}

#[test]
fn paths_lead_into_objects_lists_and_json_and_messages_are_responses() {
    let folder = Folder::new();
    let row = |mixed: Value| {
        json!({
            "choices": [{"text": "#### 5"}, {"text": "#### 4"}],
            "deep": {"er": {"answer": "#### 4"}},
            "mixed": mixed,
            "chat": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "#### 4"}],
            "gold": 4,
        })
    };
    // A column of several types is JSON text in a table.
    let lines = format!("{}\n{}\n", row(json!({"a": ["#### 4"]})), row(json!("no object")));
    folder.write("in.jsonl", lines);
    let input = folder.name("in.parquet");
    tribunal(["filter", &folder.name("in.jsonl"), "-o", &input]).ends(0);
    let check = |response: &str, expected: &[f64]| {
        let output = folder.name("out.jsonl");
        let more = ["--response", response, "--reference", "gold", "--overwrite"];
        let ran = score(&input, &output, &more);
        assert_eq!(ran.code, Some(i32::from(expected.len() < 2)), "{response}: {ran:?}");
        let rows = folder.rows("out.jsonl");
        let scores: Vec<_> = rows.iter().map(|row| verdict(row).1).collect();
        assert_eq!(
            scores,
            expected.iter().map(|score| json!(score)).collect::<Vec<_>>(),
            "{response}"
        );
    };
    check("choices.0.text", &[0.0, 0.0]);
    check("choices.1.text", &[1.0, 1.0]);
    check("deep.er.answer", &[1.0, 1.0]);
    check("mixed.a.0", &[1.0]);
    check("chat", &[1.0, 1.0]);
    check("chat.1.content", &[1.0, 1.0]);
}
