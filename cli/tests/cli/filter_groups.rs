//! Groups and near-duplicates of `tribunal filter`, from outside.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::documents::blocks;
use crate::program::{Folder, Ran, command, rows, tribunal, tribunal_reading};

/// Four responses to each of five questions; question `n` has `n` right ones.
fn scored() -> String {
    let row = |n: usize| {
        let (question, response) = (n % 5, n / 5);
        json!({
            "id": n,
            "prompt": format!("q{question}"),
            "response": format!("r{n}"),
            "answer": if response < question { "Right." } else { "wrong" },
            "scores": {"math": {"status": "ok", "score": u8::from(response < question)}},
        })
    };
    (0..20).map(|n| row(n).to_string() + "\n").collect()
}

fn ids(rows: &[Value]) -> Vec<u64> {
    let id = |row: &Value| row["id"].as_u64().expect("an id");
    rows.iter().map(id).collect()
}

/// Runs the command over the scored rows, and returns what it wrote.
#[track_caller]
fn kept(args: &[&str], says: &[&str]) -> Vec<Value> {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let output = folder.name("out.jsonl");
    let all = [&["filter", &input, "-o", &output], args].concat();
    tribunal(all).ends(0).says(says);
    folder.rows("out.jsonl")
}

#[test]
fn a_band_of_pass_rates_is_kept_and_told() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let (output, page) = (folder.name("out.jsonl"), folder.name("page.html"));
    let ran = tribunal([
        "filter",
        &input,
        "-o",
        &output,
        "--group-by",
        "prompt",
        "--pass-rate",
        "0.25:0.5",
        "--report",
        &page,
        "--json",
    ])
    .ends(0)
    .says(&[
        "20  rows read",
        "-4  pass rate 0.25:0.5 by prompt: none passes (1 groups)",
        "-4  pass rate 0.25:0.5 by prompt: all pass (1 groups)",
        "-4  pass rate 0.25:0.5 by prompt: above the band (1 groups)",
        "8  rows written",
        "2 of 5 groups are left; their keys took",
        "pass rate by prompt  0.000 ",
        "1.000, mean 0.500",
    ]);
    let expected = [1, 2, 6, 7, 11, 12, 16, 17];
    assert_eq!(ids(&folder.rows("out.jsonl")), expected);
    let manifest = folder.read("out.jsonl.manifest.json");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let dropped = json!({"condition": "pass rate 0.25:0.5 by prompt", "why": "none passes",
        "rows": 4, "groups": 1});
    assert_eq!(manifest["counts"]["dropped"][0], dropped);
    assert_eq!(manifest["counts"]["groups"]["kept"], 2);
    assert_eq!(
        manifest["options"]["group"],
        json!({"by": "prompt", "score": null, "prompt": null, "response": null, "operation":
            {"pass_rate": {"band": {"low": 0.25, "high": 0.5}, "mark": 0.5, "least": 1}}})
    );
    let summary = &rows(&ran.stdout)[0];
    assert_eq!(summary["groups"], manifest["counts"]["groups"]);
    let page = String::from_utf8(folder.read("page.html")).expect("text");
    for part in ["Pass rates of all groups", "none passes", "1 groups", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn rows_are_chosen_within_groups() {
    let by = ["--group-by", "prompt"];
    let with = |more: &[&'static str]| [&by[..], more].concat();
    let best = kept(&with(&["--best-of-n"]), &["another was chosen"]);
    assert_eq!(best.len(), 5);
    let score = |row: &Value| row["scores"]["math"]["score"].as_u64();
    assert_eq!(best.iter().filter(|row| score(row) == Some(1)).count(), 4);
    let ranked = kept(&with(&["--best-of-n", "5"]), &["too few with a score (5 groups)"]);
    assert!(ranked.is_empty());
    let both = kept(&with(&["--filtration", "best-worst"]), &["best-worst by prompt"]);
    // Where all scores are equal, one row is the best and the worst.
    assert_eq!(both.len(), 8);
    let drawn = with(&["--filtration", "reweight", "--keep", "2"]);
    // Two of each question with two right ones or more, one of the second, none of the first.
    assert_eq!(kept(&drawn, &["every score is 0 (1 groups)"]).len(), 7);
    let voted = with(&["--majority", "--answer", "answer"]);
    let voted = kept(&voted, &["majority of answer by prompt: tie (1 groups)"]);
    assert_eq!(voted.len(), 4 + 3 + 3 + 4);
}

#[test]
fn pairs_are_written_for_trainers() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    for (threads, name) in [("1", "one.parquet"), ("3", "three.parquet")] {
        let output = folder.name(name);
        tribunal([
            "filter",
            &input,
            "-o",
            &output,
            "--group-by",
            "prompt",
            "--pairs",
            "best-worst",
            "--margin",
            "0.5",
            "--threads",
            threads,
        ])
        .ends(0)
        .says(&["tie (2 groups)", "3  rows written", "margin  1.000"]);
    }
    assert!(folder.read("one.parquet") == folder.read("three.parquet"));
    let output = folder.name("pairs.jsonl");
    tribunal(["filter", &folder.name("one.parquet"), "-o", &output]).ends(0);
    let pairs = folder.rows("pairs.jsonl");
    let prompts: Vec<&Value> = pairs.iter().map(|row| &row["prompt"]).collect();
    assert_eq!(prompts, ["q1", "q2", "q3"]);
    for (question, row) in (1..).zip(&pairs) {
        let number = |name: &str| {
            let text = row[name].as_str().expect("a text");
            text[1..].parse::<u64>().expect("a number")
        };
        assert!(number("chosen") / 5 < question && number("rejected") / 5 >= question);
        let scores = ["chosen_score", "rejected_score", "margin"].map(|name| row[name].as_f64());
        assert_eq!(scores, [Some(1.0), Some(0.0), Some(1.0)]);
    }
}

#[test]
fn a_run_that_wants_no_pairs_leaves_nothing_behind() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let output = folder.name("out.jsonl");
    let pairs = ["--group-by", "prompt", "--pairs", "best-worst", "--limit"];
    for limit in ["0", "1"] {
        let args = ["filter", &input, "-o", &output, "--overwrite"];
        tribunal([&args[..], &pairs, &[limit]].concat()).ends(0);
        let left = ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json"];
        assert_eq!(folder.names(), left);
        assert_eq!(folder.rows("out.jsonl").len().to_string(), limit);
    }
}

#[test]
fn groups_go_through_streams() {
    let args = [
        "filter",
        "-",
        "-o",
        "-",
        "--group-by",
        "prompt",
        "--pairs",
        "best-worst",
        "--select",
        "prompt, margin",
    ];
    let ran = tribunal_reading(scored().as_bytes(), args).ends(0);
    let prompts: Vec<Value> = rows(&ran.stdout).iter().map(|row| row["prompt"].clone()).collect();
    assert_eq!(prompts, ["q1", "q2", "q3"]);
}

#[test]
fn several_responses_in_a_row_become_rows() {
    let folder = Folder::new();
    let candidate = |index: u32, score: f64, against: &[Option<f64>]| json!({"index": index, "score": score, "against": against});
    let row = |prompt: &str, responses: [&str; 2], candidates: [Value; 2]| {
        json!({"prompt": prompt, "responses": responses,
            "scores": {"helpful": {"candidates": candidates}}})
        .to_string()
            + "\n"
    };
    let agreed = [candidate(0, 0.25, &[None, Some(0.3)]), candidate(1, 0.75, &[Some(0.7), None])];
    let by_place = [candidate(0, 0.25, &[None, Some(0.7)]), candidate(1, 0.75, &[Some(0.7), None])];
    let text = row("p1", ["a", "b"], agreed) + &row("p2", ["c", "d"], by_place);
    let input = folder.write("in.jsonl", text);
    let (unnested, output) = (folder.name("rows.jsonl"), folder.name("out.jsonl"));
    let query = "SELECT prompt, unnest(responses) AS response, \
                 unnest(scores.helpful.candidates) AS verdict FROM data";
    tribunal(["filter", &input, "-o", &unnested, "--sql", query]).ends(0);
    assert_eq!(folder.rows("rows.jsonl").len(), 4);
    let args = ["filter", &unnested, "-o", &output, "--group-by", "prompt"];
    let pairs = [
        "--pairs",
        "best-worst",
        "--score",
        "verdict.score",
        "--against",
        "verdict.against",
        "--index",
        "verdict.index",
    ];
    tribunal([&args[..], &pairs].concat()).ends(0).says(&["the orders differ (1 groups)"]);
    let pair = json!({"prompt": "p1", "chosen": "b", "rejected": "a", "chosen_score": 0.75,
        "rejected_score": 0.25, "margin": 0.5});
    assert_eq!(folder.rows("out.jsonl"), [pair]);
}

#[test]
fn the_command_of_the_page_finds_near_duplicates() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/datasets.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    folder.write("scored.jsonl", blocks(&page, "jsonl")[0]);
    let line = blocks(&page, "sh")[1].trim();
    let words = line.strip_prefix("tribunal ").expect("our program");
    let ran = command(words.split(' ')).current_dir(folder.path("")).output();
    Ran::from(ran.expect("it starts")).ends(0).says(&["5 texts held against each other"]);
    assert_eq!(folder.rows("apart.jsonl").len(), 5);
}

#[test]
fn a_million_groups_are_decided() {
    let folder = Folder::new();
    let n = 1_000_000_u32;
    let mut text = "q,s\n".to_owned();
    for row in 0..n + n / 4 {
        writeln!(text, "{},{}", row % n, row / n).expect("to memory");
    }
    let input = folder.write("in.csv", text);
    let output = folder.name("out.parquet");
    let args = ["filter", &input, "-o", &output, "--group-by", "q"];
    tribunal([&args[..], &["--score", "s", "--pass-rate", "0.1:0.9"]].concat()).ends(0).says(&[
        "-750,000  pass rate 0.1:0.9 by q: none passes (750,000 groups)",
        "500,000  rows written",
        "250,000 of 1,000,000 groups are left",
    ]);
}

#[test]
fn near_texts_are_dropped() {
    let folder = Folder::new();
    let words =
        |n: usize| -> Vec<String> { (0..30).map(|w| format!("w{}", n * 100 + w)).collect() };
    let mut text = String::new();
    for n in 0..10 {
        let mut words = words(n);
        text += &(json!({"id": 2 * n, "prompt": words.join(" ")}).to_string() + "\n");
        words[0] = "other".to_owned();
        text += &(json!({"id": 2 * n + 1, "prompt": words.join("  ")}).to_string() + "\n");
    }
    let input = folder.write("in.jsonl", text);
    let output = folder.name("out.jsonl");
    let near = ["filter", &input, "-o", &output, "--dedupe", "near", "--dedupe-by", "prompt"];
    tribunal([&near[..], &["--similarity", "0.9"]].concat()).ends(0).says(&[
        "-10  near an earlier row in prompt (Jaccard 0.9 or more)",
        "20 texts held against each other",
    ]);
    let expected: Vec<u64> = (0..10).map(|n| 2 * n).collect();
    assert_eq!(ids(&folder.rows("out.jsonl")), expected);
    tribunal([&near[..], &["--similarity", "1", "--overwrite"]].concat())
        .ends(0)
        .says(&["20  rows written"]);
}

#[test]
fn a_row_that_cannot_be_read_is_told_once() {
    let folder = Folder::new();
    let text = scored().replace("{\"id\":3,", "{\"id\":3 ");
    assert_ne!(text, scored());
    let input =
        folder.write("in.jsonl", text.lines().map(|l| l.to_owned() + "\n").collect::<String>());
    let output = folder.name("out.jsonl");
    for args in [
        vec!["--group-by", "prompt", "--pairs", "best-worst"],
        vec!["--group-by", "prompt", "--pass-rate", "0:1", "--order-by", "id"],
        vec!["--dedupe", "near", "--dedupe-by", "response", "--group-by", "prompt", "--best-of-n"],
        vec!["--order-by", "id"],
        vec!["--sql", "SELECT id FROM data UNION ALL SELECT id FROM data"],
    ] {
        let all = [&["filter", &input, "-o", &output, "--overwrite"], &args[..]].concat();
        tribunal(all).ends(1).says(&["failed: 1 rows could not be read"]);
        let rejects = folder.rows("out.jsonl.rejects.jsonl");
        assert_eq!(rejects.len(), 1, "{args:?}");
    }
}

/// Runs the command over the scored rows, and checks why it is refused. Nothing is written.
#[track_caller]
fn check_refused(args: &[&str], parts: &[&str]) {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", scored());
    let output = folder.name("out.jsonl");
    let ran: Ran = tribunal([&["filter", &input, "-o", &output], args].concat());
    ran.ends(2).says(parts);
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn one_operation_over_groups_is_wanted() {
    let check = check_refused;
    check(&["--group-by", "prompt"], &["--pass-rate", "--pairs"]);
    check(&["--pass-rate", "0:1"], &["--pass-rate decides over groups", "--group-by"]);
    check(
        &["--group-by", "prompt", "--pass-rate", "0:1", "--best-of-n"],
        &["--pass-rate and --best-of-n", "run twice"],
    );
    let best = ["--group-by", "prompt", "--best-of-n"];
    let with = |more: &[&'static str]| [&best[..], more].concat();
    check(&with(&["--keep", "2"]), &["--filtration"]);
    check(&with(&["--margin", "2"]), &["--pairs"]);
    check(&with(&["--sql", "SELECT 1"]), &["--sql is a whole query"]);
    check(&["--group-by", "prompt", "--majority"], &["--answer"]);
}

#[test]
fn values_of_group_options_are_checked() {
    let check = |args: &[&str], parts: &[&str]| {
        check_refused(&[&["--group-by", "prompt"], args].concat(), parts);
    };
    for band in ["0.75:0.25", "0.5", "a:b", "-1:1", "0:2", "NaN:1"] {
        let band = format!("--pass-rate={band}");
        check(&[&band], &["--pass-rate"]);
    }
    check(&["--best-of-n", "0"], &["--best-of-n 0"]);
    check(&["--best-of-n", "x"], &["--best-of-n", "number of rows"]);
    let pairs = ["--pairs", "best-worst"];
    check(&[&pairs[..], &["--margin", "-1"]].concat(), &["--margin is -1"]);
    check(
        &[&pairs[..], &["--response", "solution"]].concat(),
        &["--response: no column 'solution'"],
    );
    check(&[&pairs[..], &["--against", "id"]].concat(), &["--index"]);
    check(&["--best-of-n", "--score", "response"], &["'response' is text, and no score"]);
    check_refused(&["--group-by", "promt", "--best-of-n"], &["no column 'promt'", "'prompt'"]);
}

#[test]
fn values_of_near_duplicates_are_checked() {
    let check = check_refused;
    check(&["--dedupe", "near"], &["--dedupe-by"]);
    check(&["--dedupe", "exact", "--similarity", "0.5"], &["--dedupe near"]);
    let near = ["--dedupe", "near", "--dedupe-by", "prompt"];
    let with = |more: &[&'static str]| [&near[..], more].concat();
    check(&with(&["--similarity", "-0.5"]), &["--similarity is -0.5"]);
    check(&with(&["--shingle-words", "0"]), &["words is 0"]);
}
