//! `tribunal denoise` from outside.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Folder, Ran, command, rows, tribunal, tribunal_reading};
use crate::serve::Server;

/// Pairs with the differences of two voters.
fn pairs() -> String {
    let row = |(id, a, b): (u32, Value, Value)| {
        json!({
            "id": id, "prompt": "p", "chosen": format!("c{id}"), "rejected": format!("r{id}"),
            "a": a, "b": b, "score_chosen": f64::from(id), "score_rejected": 0.0,
        })
        .to_string()
            + "\n"
    };
    let strengths = [
        (1, json!(-2.0), json!(-4.0)),
        (2, json!(-0.2), json!(0.2)),
        (3, json!(1), json!(2)),
        (4, json!(5), json!(7)),
        (5, Value::Null, json!(3)),
        (6, Value::Null, Value::Null),
    ];
    strengths.into_iter().map(row).collect()
}

/// The first pair, exchanged. Mean -3 and deviation 1 are of the pair as it was; label and margin of
/// the pair as it is written.
fn flipped() -> Value {
    json!({
        "id": 1, "prompt": "p", "chosen": "r1", "rejected": "c1", "a": -2.0, "b": -4.0,
        "score_chosen": 0.0, "score_rejected": 1.0,
        "denoise": {
            "votes": {"a": -2.0, "b": -4.0}, "mean": -3.0, "std": 1.0, "measured": 2,
            "unmeasured": 0, "against": 2, "decision": "flip", "flipped": true, "label": 1.0,
            "margin": 3.0,
        },
    })
}

#[test]
fn pairs_are_flipped_smoothed_dropped_and_kept() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", pairs());
    let (output, left) = (folder.name("out.jsonl"), folder.name("left.jsonl"));
    let args = [
        "denoise",
        &input,
        "-o",
        &output,
        "--strength",
        "a",
        "--strength",
        "b",
        "--flip",
        "..-0.5",
        "--soft-label",
        "-0.5..0.5",
        "--smoothing",
        "0.2",
        "--drop",
        "4..",
        "--exchange",
        "score_chosen:score_rejected",
        "--left-out",
        &left,
        "--json",
    ];
    let ran = tribunal(args).ends(0).says(&[
        "6  pairs\n",
        "1  drop 4.. (strength from 4.0000)",
        "1  flip ..-0.5 (strength below -0.5000)",
        "1  soft-label -0.5..0.5 (strength from -0.5000 below 0.5000)",
        "2  kept as they are",
        "1  not measured",
        "4  pairs written",
        "strength  -3.000",
        "a: no vote on 2 pairs",
        "b: no vote on 1 pairs",
        "left.jsonl",
    ]);
    let kept = folder.rows("out.jsonl");
    let ids: Vec<&Value> = kept.iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [1, 2, 3, 5]);
    assert_eq!(kept[0], flipped());
    let of = |row: &Value, key: &str| row["denoise"][key].clone();
    assert_eq!(of(&kept[1], "decision"), "soft_label");
    assert_eq!(of(&kept[1], "label"), 0.9);
    assert_eq!((&kept[1]["chosen"], of(&kept[1], "flipped")), (&json!("c2"), json!(false)));
    assert_eq!(of(&kept[3], "measured"), 1);
    let gone: Vec<(Value, Value)> = folder
        .rows("left.jsonl")
        .iter()
        .map(|row| (row["id"].clone(), of(row, "decision")))
        .collect();
    assert_eq!(gone, [(json!(4), json!("drop")), (json!(6), json!("not_measured"))]);
    let summary = &rows(&ran.stdout)[0];
    assert_eq!(summary["counts"]["written"], 4);
    assert_eq!(summary["strength"]["min"], -3.0);
    let bars = summary["strength"]["bars"].as_array().expect("bars");
    assert_eq!(bars.iter().filter_map(|bar| bar[2].as_u64()).sum::<u64>(), 5);
    assert_eq!(summary["counts"]["votes"], json!({"a": 4, "b": 5}));
    let manifest: Value =
        serde_json::from_slice(&folder.read("out.jsonl.manifest.json")).expect("JSON");
    assert_eq!(manifest["command"], "denoise");
    assert_eq!(manifest["counts"], summary["counts"]);
    assert_eq!(manifest["options"]["rules"]["rules"][1]["action"], "flip");
    tribunal(args).ends(2).says(&["exists already", "--overwrite"]);
    tribunal(args.into_iter().chain(["--overwrite"])).ends(0);
    assert_eq!(folder.rows("out.jsonl"), kept);
}

#[test]
fn shares_are_of_the_measured_pairs() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", pairs());
    // Of five measured pairs, in order -3, 0, 1.5, 3 and 6, the weakest two and the strongest one.
    let output = folder.name("out.parquet");
    tribunal([
        "denoise",
        &input,
        "-o",
        &output,
        "--strength",
        "a",
        "--strength",
        "b",
        "--flip",
        "..40%",
        "--drop",
        "80%..",
        "--flat",
        "--column",
        "d",
        "--unmeasured",
        "keep",
    ])
    .ends(0)
    .says(&["2  flip ..40% (strength below 1.5000)", "1  drop 80%.. (strength from 6.0000)"]);
    let back = folder.name("back.jsonl");
    tribunal(["filter", &output, "-o", &back]).ends(0);
    let found: Vec<Value> = folder
        .rows("back.jsonl")
        .iter()
        .map(|row| {
            json!([row["id"], row["chosen"], row["d_vote_b"], row["d_decision"], row["d_margin"]])
        })
        .collect();
    assert_eq!(
        found,
        [
            json!([1, "r1", -4.0, "flip", 3.0]),
            json!([2, "r2", 0.2, "flip", 0.0]),
            json!([3, "c3", 2.0, "keep", 1.5]),
            json!([5, "c5", 3.0, "keep", 3.0]),
            json!([6, "c6", null, "not_measured", null]),
        ]
    );
}

#[test]
fn rescaled_voters_have_one_voice() {
    // Root mean squares 1 and 100: the first pair is 1 - 1 = 0 then, and -49.5 as it stands.
    let lines = "{\"a\":1,\"b\":-100}\n{\"a\":-1,\"b\":-100}\n";
    let run = |more: &[&str]| {
        let args = ["denoise", "-", "-o", "-", "--strength", "a", "--strength", "b"];
        let ran = tribunal_reading(lines.as_bytes(), [&args, more].concat()).ends(0);
        let means = rows(&ran.stdout).into_iter().map(|row| row["denoise"]["mean"].as_f64());
        means.collect::<Vec<_>>()
    };
    assert_eq!(run(&[]), [Some(-49.5), Some(-50.5)]);
    assert_eq!(run(&["--rescale"]), [Some(0.0), Some(-1.0)]);
}

#[test]
fn scores_of_both_responses_go_where_the_responses_go() {
    let lines = r#"{"chosen": [{"role": "user", "content": "q"}], "rejected": [{"role": "user", "content": "r"}], "s": {"x": [{"score": 1}, {"score": 4}]}, "up": 1, "down": 2}"#;
    let ran = tribunal_reading(
        lines.as_bytes(),
        [
            "denoise",
            "-",
            "-o",
            "-",
            "--chosen-score",
            "s.x.0.score",
            "--rejected-score",
            "s.x.1.score",
            "--chosen-score",
            "up",
            "--rejected-score",
            "down",
            "--flip",
            "..0",
        ],
    )
    .ends(0);
    let row = &rows(&ran.stdout)[0];
    assert_eq!(row["denoise"]["votes"], json!({"s.x.0.score-s.x.1.score": -3.0, "up-down": -1.0}));
    assert_eq!((&row["up"], &row["down"]), (&json!(2), &json!(1)));
    assert_eq!(row["chosen"][0]["content"], "r");
}

#[test]
fn scorers_vote_and_what_they_cannot_measure_is_no_vote() {
    let folder = Folder::new();
    let pair = |chosen: Value, rejected: Value| {
        json!({"prompt": "What is 12 * 3?", "chosen": chosen, "rejected": rejected}).to_string()
            + "\n"
    };
    let input = folder.write(
        "in.jsonl",
        [
            pair(json!("12 * 3 = 38"), json!("12 * 3 = 36")),
            pair(json!("12 * 3 = 36"), json!("12 * 3 = 38")),
            pair(json!("Yes."), json!("12 * 3 = 36")),
            pair(json!("12 * 3 = 36"), Value::Null),
        ]
        .concat(),
    );
    let output = folder.name("out.jsonl");
    let args = ["denoise", &input, "-o", &output, "--scorer", "arithmetic", "--flip"];
    for range in ["..0", "..50%"] {
        tribunal(args.into_iter().chain([range, "--overwrite"])).ends(1).says(&[
            "3  pairs\n",
            "1  flip",
            "1  not measured",
            "2  pairs written",
            "arithmetic: no vote on 1 pairs",
            "abstain",
            "failed: 1 rows could not be used",
        ]);
        let kept = folder.rows("out.jsonl");
        let found: Vec<Value> = kept
            .iter()
            .map(|row| json!([row["chosen"], row["denoise"]["votes"]["arithmetic"]]))
            .collect();
        assert_eq!(found, [json!(["12 * 3 = 36", -1.0]), json!(["12 * 3 = 36", 1.0])], "{range}");
        let reject = &folder.rows("out.jsonl.rejects.jsonl")[0];
        assert_eq!(reject["row"], 4);
        assert_eq!(reject["reason"], "column 'rejected' is null");
        assert!(reject["line"].as_str().is_some_and(|line| line.contains("12 * 3 = 36")));
    }
}

#[test]
fn models_vote_on_conversations() {
    let folder = Folder::new();
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let question = turn("user", "(12+31)*2 mod 100");
    let right = turn("assistant", "12+31=43\n43*2=86\nAnswer: 86");
    let wrong = turn("assistant", "12+31=44\n44*2=88\nAnswer: 88");
    let row = json!({"chosen": [question, wrong], "rejected": [question, right]});
    let input = folder.write("in.jsonl", row.to_string());
    let output = folder.name("out.jsonl");
    tribunal([
        "denoise", &input, "-o", &output, "--scorer", "reward", "--scorer", "process", "--flip",
        "..0",
    ])
    .ends(0)
    .says(&["1  flip", "reward", "process"]);
    let row = &folder.rows("out.jsonl")[0];
    assert_eq!(row["chosen"][1]["content"], "12+31=43\n43*2=86\nAnswer: 86");
    assert_eq!(row["denoise"]["against"], 2);
    let manifest: Value =
        serde_json::from_slice(&folder.read("out.jsonl.manifest.json")).expect("JSON");
    let digest = &manifest["options"]["scorers"][1]["digest"];
    assert!(digest.as_str().is_some_and(|digest| digest.starts_with("sha256:")));
}

#[test]
fn a_server_votes_as_this_process_does() {
    let folder = Folder::new();
    let pair = |n: u32| {
        let responses = [format!("{n} + 1 = {}", n + 1), format!("{n} + 1 = {}", n + n % 3)];
        let (chosen, rejected) = (&responses[0], &responses[1]);
        json!({"id": n, "prompt": "p", "chosen": chosen, "rejected": rejected}).to_string() + "\n"
    };
    let input = folder.write("in.jsonl", (0..700).map(pair).collect::<String>());
    let (here, there) = (folder.name("here.jsonl"), folder.name("there.jsonl"));
    let rules = ["--scorer", "arithmetic", "--flip", "..20%", "--max-std", "3"];
    tribunal(["denoise", &input, "-o", &here].iter().chain(&rules)).ends(0);
    let server = Server::start(&[]);
    let url = ["--url", &server.url];
    tribunal(["denoise", &input, "-o", &there].iter().chain(&rules).chain(&url)).ends(0);
    assert!(folder.read("here.jsonl") == folder.read("there.jsonl"));
    let kept = folder.rows("here.jsonl");
    assert_eq!(kept.len(), 700);
    assert!(kept.iter().all(|row| row["denoise"]["measured"] == 1));
}

#[test]
fn a_run_that_is_killed_leaves_nothing_under_its_names() {
    let folder = Folder::new();
    let pair = |n: u32| {
        let (chosen, rejected) = (format!("{n} * 3 = {}", n * 3), format!("{n} * 3 = {}", n * 2));
        json!({"prompt": "p", "chosen": chosen, "rejected": rejected}).to_string() + "\n"
    };
    let input = folder.write("in.jsonl", (1..30_000).map(pair).collect::<String>());
    let (output, left) = (folder.name("out.parquet"), folder.name("left.jsonl"));
    let args = [
        "denoise",
        &input,
        "-o",
        &output,
        "--scorer",
        "arithmetic",
        "--drop",
        "..50%",
        "--left-out",
        &left,
    ];
    let mut killed = 0;
    for _ in 0..5 {
        let mut run = command(args);
        let mut child = run.stderr(Stdio::null()).spawn().expect("it starts");
        // Outputs are begun before anything is scored.
        let mut ended = None;
        while ended.is_none() && !folder.path("out.parquet.partial").exists() {
            std::thread::yield_now();
            ended = child.try_wait().expect("our child");
        }
        child.kill().expect("our child");
        let how = child.wait().expect("our child");
        if how.code().is_none() {
            killed += 1;
            let found = ["out.parquet", "left.jsonl"].map(|name| folder.path(name).exists());
            assert_eq!(found, [false, false]);
        } else {
            break;
        }
    }
    assert!(killed > 0, "the first run ended before it could be killed");
    tribunal(args.into_iter().chain(["--overwrite"])).ends(0);
    assert_eq!(folder.rows("left.jsonl").len(), 0);
    assert_eq!(
        folder.names(),
        ["in.jsonl", "left.jsonl", "out.parquet", "out.parquet.manifest.json"]
    );
}

/// Runs the command and checks how it ends.
#[track_caller]
fn check(args: &[&str], parts: &[&str]) {
    let ran: Ran = tribunal([&["denoise"], args].concat());
    ran.ends(2).says(parts);
}

#[test]
fn wrong_use_is_refused() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", pairs());
    let output = folder.name("out.jsonl");
    let with = |more: &[&'static str]| [&[input.as_str(), "-o", output.as_str()], more].concat();
    check(&with(&[]), &["there is no voter", "--scorer"]);
    check(&with(&["--strength", "aa"]), &["--strength: no column 'aa'", "near: 'a'"]);
    check(&with(&["--strength", "prompt"]), &["holds text, and not numbers"]);
    check(&with(&["--strength", "a", "--strength", "a"]), &["'a' votes twice"]);
    check(&with(&["--chosen-score", "a"]), &["--chosen-score is given 1 times"]);
    check(&with(&["--scorer", "arithmetik"]), &["there is no scorer 'arithmetik'"]);
    check(&with(&["--strength", "a", "--flip", "1..0"]), &["no pair is in it"]);
    check(&with(&["--strength", "a", "--flip", "0"]), &["FROM..BELOW"]);
    check(&with(&["--strength", "a", "--soft-label", "..0"]), &["--smoothing"]);
    check(&with(&["--strength", "a", "--smoothing", "0.1"]), &["--soft-label"]);
    check(
        &with(&["--strength", "a", "--soft-label", "..0", "--smoothing", "1.5"]),
        &["from 0 to 1"],
    );
    check(&with(&["--strength", "a", "--max-std", "nan"]), &["0 or more"]);
}

#[test]
fn columns_and_files_that_do_not_go_are_refused() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", pairs());
    let output = folder.name("out.jsonl");
    let with = |more: &[&'static str]| [&[input.as_str(), "-o", output.as_str()], more].concat();
    check(&with(&["--strength", "a", "--column", "id"]), &["a column 'id' already"]);
    check(
        &with(&["--strength", "a", "--flip", "..0", "--chosen", "gone"]),
        &["--chosen: no column 'gone'"],
    );
    check(
        &with(&["--strength", "a", "--flip", "..0", "--rejected", "id"]),
        &["'chosen' holds text and 'id' holds integer", "cannot change places"],
    );
    check(&with(&["--strength", "a", "--left-out", "-"]), &["--left-out"]);
    check(&[&input, "-o", &input, "--overwrite", "--strength", "a"], &["is the input"]);
    check(&[&input, "-o", "-", "--json", "--strength", "a"], &["standard output"]);
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn no_pairs_are_no_error() {
    let folder = Folder::new();
    let input = folder.write("in.csv", "chosen,rejected,s\n");
    let output = folder.name("out.csv");
    tribunal(["denoise", &input, "-o", &output, "--strength", "s", "--flip", "..10%", "--flat"])
        .ends(0)
        .says(&["0  pairs\n", "0  pairs written"]);
    assert!(folder.read("out.csv").starts_with(b"chosen,rejected,s,denoise_vote_s,denoise_mean"));
}
