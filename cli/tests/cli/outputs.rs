//! Files that a run must not harm, and values that it must not change.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Folder, command, dataset, tribunal};

const ROW: &str = "{\"response\":\"4\",\"reference\":\"4\"}\n";

fn score(args: &[&str]) -> crate::program::Ran {
    tribunal(["score", "--scorer", "math"].iter().chain(args))
}

#[test]
fn file_of_rejected_rows_replaces_no_other_file() {
    let folder = Folder::new();
    let (one, two) = (folder.write("data1.jsonl", ROW), folder.write("data2.jsonl", ROW));
    let notes = folder.write("notes.jsonl", "of somebody else\n");
    let check = |output: &str, rejects: &str, more: &[&str], says: &str| {
        let args = [&[&*one, &*two, "-o", output, "--rejects", rejects], more].concat();
        score(&args).ends(2).says(&[says]);
        assert_eq!(folder.read("notes.jsonl"), b"of somebody else\n");
        assert_eq!(folder.read("data1.jsonl"), ROW.as_bytes());
    };
    let output = folder.name("out.parquet");
    check(&output, &notes, &[], "notes.jsonl exists already");
    check("-", &notes, &[], "notes.jsonl exists already");
    check(&output, &one, &["--overwrite"], "data1.jsonl is the input");
    check("-", &one, &["--overwrite"], "data1.jsonl is the input");
    score(&[&one, "-o", "-", "--rejects", &notes]).ends(2).says(&["notes.jsonl exists already"]);
    let beside = folder.write("out.parquet.rejects.jsonl", "an old one\n");
    score(&[&one, "-o", &output]).ends(2).says(&["out.parquet.rejects.jsonl exists already"]);
    score(&[&one, "-o", &output, "--overwrite"]).ends(0);
    assert!(!std::path::Path::new(&beside).exists(), "no row was rejected");
}

#[test]
fn shards_of_an_output_are_not_its_input() {
    let folder = Folder::new();
    for index in 0..3 {
        folder.write(&format!("data-0000{index}-of-00003.jsonl"), ROW);
    }
    let (inputs, output) = (folder.name("data-*-of-00003.jsonl"), folder.name("data.jsonl"));
    let options = ["-o", &output, "--shard-rows", "2", "--overwrite"];
    tribunal(["filter", &inputs].iter().chain(&options)).ends(2).says(&["is the input"]);
    score(&[&[&*inputs], &options[..]].concat()).ends(2).says(&["is the input"]);
    assert_eq!(folder.names().len(), 3);
}

/// Lines and tables keep their unfinished files in different ways, and yet hold one lock.
#[test]
fn commands_of_all_kinds_wait_for_the_run_that_writes() {
    let folder = Folder::new();
    let output = folder.name("out.jsonl");
    let input = folder.write("in.jsonl", dataset(10));
    let mut run = command(["score", "-", "-o", &output, "--scorer", "math"]);
    let streams = run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = streams.spawn().expect("it starts");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    pipe.write_all(dataset(2_000).as_bytes()).expect("it reads");
    let journal = folder.path("out.jsonl.journal");
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 1_000 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let says = &["another run is writing"];
    tribunal(["filter", &input, "-o", &output, "--overwrite"]).ends(1).says(says);
    score(&[&input, "-o", &output, "--sample", "5", "--overwrite"]).ends(1).says(says);
    child.kill().expect("our child");
    child.wait().expect("our child");
    // What the run has done is not lost to another command either.
    tribunal(["filter", &input, "-o", &output]).ends(2).says(&["--overwrite discards it"]);
    assert!(journal.exists());
    tribunal(["filter", &input, "-o", &output, "--overwrite"]).ends(0);
    assert_eq!(folder.rows("out.jsonl").len(), 10);
}

#[test]
fn cells_that_scorers_read_are_texts() {
    let folder = Folder::new();
    let check = |scorer: &str, cells: &str, expected: &[f64]| {
        let input = folder.write("in.csv", cells);
        let output = folder.name("out.jsonl");
        tribunal(["score", &input, "-o", &output, "--scorer", scorer, "--overwrite"]).ends(0);
        let scored = folder.rows("out.jsonl");
        let found: Vec<f64> =
            scored.iter().filter_map(|row| row["scores"][scorer]["score"].as_f64()).collect();
        assert_eq!(found, expected, "{cells}");
    };
    check("exact", "response,reference\nv 1.50,1.50\n1.50,1.50\n", &[0.0, 1.0]);
    check("math", "prompt,response,reference\n2+2,4,4\n3*3,8,9\n", &[1.0, 0.0]);
    check("exact", "response,reference\nTrue,True\nFalse,True\n", &[1.0, 0.0]);
}

fn shards_merged(rows: &str, ending: &str) -> (Vec<u8>, Vec<u8>) {
    let folder = Folder::new();
    let input = folder.write(&format!("in.{ending}"), rows);
    let [whole, one, two, merged] =
        ["whole", "one", "two", "merged"].map(|name| folder.name(&format!("{name}.{ending}")));
    score(&[&input, "-o", &whole, "--sample", "100"]).ends(0);
    score(&[&input, "-o", &one, "--sample", "100", "--shard", "1/2"]).ends(0);
    score(&[&input, "-o", &two, "--sample", "100", "--shard", "2/2"]).ends(0);
    tribunal(["merge", &one, &two, "-o", &merged]).ends(0);
    (folder.read(&format!("merged.{ending}")), folder.read(&format!("whole.{ending}")))
}

#[test]
fn parts_that_show_other_types_merge_to_the_bytes_of_one_run() {
    let check = |rows: &str, ending: &str| {
        let (merged, whole) = shards_merged(rows, ending);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&merged), text(&whole), "{rows}");
    };
    let cells = |ids: [&str; 4]| {
        let rows = ids.map(|id| format!("{id},4,4\n"));
        format!("id,response,reference\n{}", rows.concat())
    };
    check(&cells(["007", "008", "9", "10"]), "csv");
    check(&cells(["1", "2", "x", "y"]), "csv");
    check(&cells(["1", "2", "", ""]), "csv");
    let lines = |ids: [&str; 4]| {
        let row = |id: &str| format!("{{\"id\":{id},\"response\":\"4\",\"reference\":\"4\"}}\n");
        ids.map(row).concat()
    };
    check(&lines(["1", "2", "\"x\"", "\"y\""]), "jsonl");
    check(&lines(["9007199254740993", "1", "0.5", "1.50"]), "jsonl");
    check(&lines(["[1]", "[]", "null", "{}"]), "jsonl");
}

#[test]
fn merged_parts_keep_their_named_rejects_and_have_the_same_options() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", format!("not JSON\n{ROW}also not\n{ROW}"));
    let [one, two, merged] =
        ["one", "two", "merged"].map(|name| folder.name(&format!("{name}.parquet")));
    let (first, second) = (folder.name("r1.jsonl"), folder.name("r2.jsonl"));
    score(&[&input, "-o", &one, "--shard", "1/2", "--rejects", &first]).ends(1);
    score(&[&input, "-o", &two, "--shard", "2/2", "--rejects", &second]).ends(1);
    tribunal(["merge", &one, &two, "-o", &merged]).ends(0);
    let places: Vec<Value> =
        folder.rows("merged.parquet.rejects.jsonl").iter().map(|row| row["row"].clone()).collect();
    assert_eq!(places, [json!(1), json!(3)]);
    // An option that only the second part has, as where it alone was signed.
    let name = "two.parquet.manifest.json";
    let manifest = folder.read(name);
    let mut signed: Value = serde_json::from_slice(&manifest).expect("JSON");
    signed["options"]["signed_by"] = json!("somebody");
    folder.write(name, signed.to_string());
    let never = folder.name("never.parquet");
    tribunal(["merge", &one, &two, "-o", &never]).ends(2).says(&["their signed_by differ"]);
    folder.write(name, manifest);
    std::fs::remove_file(&second).expect("ours");
    let again = folder.name("again.parquet");
    tribunal(["merge", &one, &two, "-o", &again])
        .ends(2)
        .says(&["two.parquet: the file of its 1 rejected rows is not there"]);
    assert!(!std::path::Path::new(&again).exists());
}

#[test]
fn a_number_that_is_none_is_no_measurement() {
    let folder = Folder::new();
    let numbers = folder.write("in.jsonl", "{\"id\":1,\"r\":0.2}\n{\"id\":2,\"r\":0.9}\n");
    let input = folder.name("in.parquet");
    let sql = "SELECT id, named_struct('r', CASE WHEN id = 1 THEN 'NaN'::double ELSE r END) AS deep, \
               CASE WHEN id = 1 THEN 'NaN'::double ELSE r END AS r FROM data";
    tribunal(["filter", &numbers, "-o", &input, "--sql", sql]).ends(0);
    let check = |args: &[&str], expected: &[u64]| {
        let output = folder.name("out.jsonl");
        let all = [&["filter", &*input, "-o", &output, "--overwrite"], args].concat();
        tribunal(all).ends(0);
        let found: Vec<u64> =
            folder.rows("out.jsonl").iter().filter_map(|row| row["id"].as_u64()).collect();
        assert_eq!(found, expected, "{args:?}");
    };
    check(&["--where", "r >= 0.5"], &[2]);
    check(&["--where", "deep.r >= 0.5"], &[2]);
    check(&["--where", "NOT (r < 0.5)"], &[2]);
    check(&["--where", "r IS NULL"], &[1]);
    check(&["--where", "isnan(r)"], &[1]);
    check(&["--order-by", "r DESC", "--top-k", "1"], &[2]);
    check(&["--order-by", "deep.r DESC"], &[2, 1]);
}

#[test]
fn responses_that_are_null_are_in_no_pass_rate() {
    let folder = Folder::new();
    let rows = "{\"prompt\":\"q\",\"response\":null,\"s\":1}\n{\"prompt\":\"q\",\"response\":\"b\",\"s\":0}\n\
                {\"prompt\":\"p\",\"response\":\"a\",\"s\":1}\n{\"prompt\":\"p\",\"response\":\"b\",\"s\":0}\n";
    let (input, output) = (folder.write("in.jsonl", rows), folder.name("out.jsonl"));
    let args = ["--group-by", "prompt", "--score", "s", "--pass-rate", "0.4:0.6"];
    tribunal(["filter", &input, "-o", &output].iter().chain(&args)).ends(0);
    let prompts: Vec<Value> =
        folder.rows("out.jsonl").iter().map(|row| row["prompt"].clone()).collect();
    assert_eq!(prompts, ["p", "p"]);
}
