//! `tribunal filter` from outside.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Folder, Ran, command, rows, tribunal, tribunal_reading};

/// Scored rows.
fn scored() -> String {
    let row = |n: u32| {
        let score = f64::from(n % 5) / 4.0;
        json!({
            "id": n,
            "question": format!("q{}", n / 4),
            "scores": {"math": {"status": "ok", "score": score}},
        })
    };
    (0..40).map(|n| row(n).to_string() + "\n").collect()
}

fn ids(folder: &Folder, name: &str) -> Vec<u64> {
    let id = |row: &Value| row["id"].as_u64().expect("an id");
    folder.rows(name).iter().map(id).collect()
}

#[test]
fn rows_are_kept_and_the_others_are_counted() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let output = folder.name("out.jsonl");
    let condition = "scores.math.score = 1 AND id > 10";
    let page = folder.name("page.html");
    let ran = tribunal([
        "filter", &input, "-o", &output, "--where", condition, "--report", &page, "--json",
    ])
    .ends(0)
    .says(&[
        "40  rows read",
        "-32  scores.math.score = 1",
        "-2  id > 10",
        "6  rows written",
        "█",
    ]);
    assert_eq!(ids(&folder, "out.jsonl"), [14, 19, 24, 29, 34, 39]);
    let summary = &rows(&ran.stdout)[0];
    assert_eq!((&summary["read"], &summary["written"]), (&json!(40), &json!(6)));
    let manifest = folder.read("out.jsonl.manifest.json");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(
        manifest["counts"]["dropped"][0],
        json!({"condition": "scores.math.score = 1", "rows": 32})
    );
    assert_eq!(manifest["outputs"], json!([{"file": "out.jsonl", "rows": 6}]));
    let keys: Vec<&String> = manifest.as_object().expect("an object").keys().collect();
    assert_eq!(keys.last().map(|key| key.as_str()), Some("time"));
    let page = String::from_utf8(folder.read("page.html")).expect("text");
    for part in ["<svg", "id &gt; 10", "What became of 40 rows"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv"));
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json", "page.html"]);
}

#[test]
fn every_format_gives_the_same_rows() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let expected: Vec<u64> = vec![39, 34, 29];
    let mut from = input;
    for name in ["a.parquet", "b.csv", "c.jsonl.gz", "d.tsv", "e.jsonl.zst", "f.jsonl"] {
        let output = folder.name(name);
        tribunal(["filter", &from, "-o", &output]).ends(0);
        let top = folder.name("top.jsonl");
        tribunal([
            "filter",
            &output,
            "-o",
            &top,
            "--overwrite",
            "--order-by",
            "scores.math.score DESC, id DESC",
            "--top-k",
            "3",
        ])
        .ends(0);
        assert_eq!(ids(&folder, "top.jsonl"), expected, "{name}");
        from = output;
    }
    assert_eq!(folder.rows("f.jsonl"), folder.rows("in.jsonl"));
}

#[test]
fn streams_are_read_and_written() {
    let ran = tribunal_reading(
        scored().as_bytes(),
        ["filter", "-", "-o", "-", "--where", "id < 2", "--select", "id"],
    )
    .ends(0);
    assert_eq!(ran.stdout, "{\"id\":0}\n{\"id\":1}\n");
    // Standard error is no terminal, so that no bar is drawn.
    assert!(!ran.stderr.contains("% rows"), "{}", ran.stderr);
    let ran = tribunal_reading(
        b"a,b\n1,x\n2,y\n",
        [
            "filter",
            "-",
            "-o",
            "-",
            "--format",
            "csv",
            "--output-format",
            "tsv",
            "--sql",
            "SELECT b, a FROM data ORDER BY a DESC",
        ],
    )
    .ends(0);
    assert_eq!(ran.stdout, "b\ta\ny\t2\nx\t1\n");
}

#[test]
fn rows_that_cannot_be_read_are_kept_with_the_reason() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", "{\"a\":1}\n{\"a\":\n{\"a\":3}\n");
    let output = folder.name("out.jsonl");
    tribunal(["filter", &input, "-o", &output])
        .ends(1)
        .says(&["failed: 1 rows could not be read", "out.jsonl.rejects.jsonl"]);
    assert_eq!(folder.rows("out.jsonl"), [json!({"a": 1}), json!({"a": 3})]);
    let reject = &folder.rows("out.jsonl.rejects.jsonl")[0];
    assert_eq!((&reject["row"], &reject["line"]), (&json!(2), &json!("{\"a\":")));
    tribunal(["filter", &input, "-o", "-", "--where", "a > 1"]).ends(1).says(&["in.jsonl:2: EOF"]);
}

/// Runs the command and checks how it ends.
#[track_caller]
fn check(args: &[&str], code: i32, parts: &[&str]) {
    let ran: Ran = tribunal([&["filter"], args].concat());
    ran.ends(code).says(parts);
}

#[test]
fn wrong_use_is_refused_with_its_place() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let output = folder.name("out.jsonl");
    let with = |more: &[&'static str]| [&[input.as_str(), "-o", output.as_str()], more].concat();
    check(&with(&["--where", "scres.math.score > 1"]), 2, &["--where: no column", "near: 'scores"]);
    check(&with(&["--where", "id >"]), 2, &["--where"]);
    check(&with(&["--sql", "DROP TABLE data"]), 2, &["only SELECT"]);
    check(&with(&["--sql", "SELECT 1", "--limit", "3"]), 2, &["--sql is a whole query"]);
    check(&with(&["--top-k", "3"]), 2, &["--order-by"]);
    check(&with(&["--dedupe-by", "id"]), 2, &["--dedupe"]);
    check(&[&input, "-o", &input, "--overwrite"], 2, &["is the input"]);
    check(&[&input, "-o", &folder.name("out")], 2, &["says no format"]);
    check(&[&folder.name("gone.jsonl"), "-o", &output], 2, &["cannot read", "gone.jsonl"]);
    check(&[&input, "-o", &folder.name("gone/out.csv")], 2, &["cannot write"]);
    check(&[&input, "-o", "-", "--json"], 2, &["both write to standard output"]);
    if Path::new("/dev/full").exists() {
        check(&[&input, "-o", "/dev/full"], 1, &["cannot write /dev/full"]);
    }
    assert_eq!(folder.names(), ["in.jsonl"]);
    tribunal(["filter", &input, "-o", &output]).ends(0);
    check(&with(&[]), 2, &["exists already; --overwrite"]);
}

#[test]
fn a_run_that_is_killed_leaves_nothing_under_the_name() {
    check_killed(&["--order-by", "id DESC"]);
    let drawn = ["--filtration", "reweight", "--keep", "5000"];
    check_killed(&[&["--group-by", "question"], &drawn[..]].concat());
}

/// Kills a run of these options at several moments, and checks what it leaves and what the next run
/// gives.
#[track_caller]
fn check_killed(options: &[&str]) {
    let folder = Folder::new();
    let mut text = String::new();
    for _ in 0..2_000 {
        text += &scored();
    }
    let input = folder.write("in.jsonl", &text);
    let output = folder.name("out.parquet");
    let args = [&["filter", &input, "-o", &output], options].concat();
    tribunal(&args).ends(0);
    let unbroken = folder.read("out.parquet");
    std::fs::remove_file(folder.path("out.parquet")).expect("ours");
    let mut killed = 0;
    for wait_ms in [1, 20, 60, 120, 200] {
        let mut child =
            command(&args).stderr(std::process::Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        if child.try_wait().expect("our child").is_none() {
            killed += 1;
            child.kill().expect("our child");
            child.wait().expect("our child");
        }
        // It may have been killed after its output was whole.
        if folder.path("out.parquet").exists() {
            let is_whole = folder.read("out.parquet") == unbroken;
            assert!(is_whole, "half an output after {wait_ms} ms");
            std::fs::remove_file(folder.path("out.parquet")).expect("ours");
        }
    }
    assert!(killed > 0, "every run ended before it could be killed");
    tribunal(&args).ends(0);
    assert!(folder.read("out.parquet") == unbroken);
    let left = ["in.jsonl", "out.parquet", "out.parquet.manifest.json"];
    assert_eq!(folder.names(), left);
}
