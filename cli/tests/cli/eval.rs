//! `tribunal eval`.

use std::path::Path;

use serde_json::{Value, json};

use crate::documents::blocks;
use crate::program::{Folder, Ran, command, rows, tribunal};
use crate::serve::Server;

/// A scorer of the share of checked lines that are right: one without an equality is not judged.
const SHARE: &str = "[[scorer]]\nname = \"share\"\nkind = \"arithmetic\"\naggregate = \"mean\"\n";

/// What `share` gives 1, 0.5, 0 and nothing.
const GOOD: &str = "2 + 2 = 4";
const HALF: &str = "2 + 2 = 4\n2 + 3 = 6";
const BAD: &str = "2 + 2 = 5";
const SILENT: &str = "no sums here";

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| row.to_string() + "\n").collect()
}

struct Run {
    folder: Folder,
    config: String,
}

impl Run {
    fn new() -> Self {
        let folder = Folder::new();
        let config = folder.write("share.toml", SHARE);
        Self { folder, config }
    }

    fn eval(&self, file: &str, benchmark: &str, more: &[&str]) -> Ran {
        let args = ["eval", file, "--benchmark", benchmark, "--config", &self.config];
        let args = args.iter().chain(&["--scorer", "share", "--json"]);
        tribunal(args.chain(more))
    }

    /// The report on rows of which every question is answered, or at least without a failure.
    #[track_caller]
    fn report(&self, rows: &[Value], benchmark: &str, more: &[&str]) -> Value {
        let file = self.folder.write("rows.jsonl", lines(rows));
        report(&self.eval(&file, benchmark, more).ends(0))
    }
}

/// The last line of standard output.
fn report(ran: &Ran) -> Value {
    rows(ran.stdout.lines().last().expect("it printed")).remove(0)
}

/// Checks a metric of the first scorer: its value, what it is at least, and how many of how many
/// rows were judged.
#[track_caller]
fn check(report: &Value, name: &str, expected: (f64, f64, u64, u64)) {
    let metrics = report["results"][0]["metrics"].as_array().expect("metrics");
    let found = metrics.iter().find(|metric| metric["name"] == name);
    assert!(found.is_some(), "no metric {name}: {report}");
    let found = found.expect("it was looked at");
    let (value, at_least, judged, total) = expected;
    let near = |field: &str, expected: f64| {
        let number = found[field].as_f64().expect(field);
        assert!((number - expected).abs() < 1e-9, "{name} {field}: {found}");
    };
    near("value", value);
    near("at_least", at_least);
    assert_eq!(found["judged"], judged, "{name}: {found}");
    assert_eq!(found["total"], total, "{name}: {found}");
}

fn pair(subset: &str, chosen: &str, rejected: &str) -> Value {
    json!({"id": 1, "prompt": "Add.", "chosen": chosen, "chosen_model": "a",
           "rejected": rejected, "rejected_model": "b", "subset": subset})
}

#[test]
fn reward_bench_rows_are_judged_in_pairs() {
    let run = Run::new();
    let rows = [
        pair("alpacaeval-easy", GOOD, BAD),
        pair("alpacaeval-easy", BAD, GOOD),
        pair("mt-bench-med", HALF, BAD),
        // A tie, and one that is not judged.
        pair("hep-rust", GOOD, GOOD),
        pair("hep-rust", GOOD, SILENT),
    ];
    let report = run.report(&rows, "reward-bench", &[]);
    // Chat: (100 × 1/2 + 40 × 1) / 140.
    let chat = 90.0 / 140.0;
    check(&report, "Chat", (chat, chat, 3, 3));
    check(&report, "hep-rust", (0.0, 0.0, 1, 2));
    check(&report, "overall", (chat / 2.0, chat / 2.0, 4, 5));
    assert_eq!(report["benchmark"], "reward-bench");
    assert_eq!(report["rows"], 5);
    assert_eq!(report["results"][0]["statuses"]["abstain"], 1);
    assert_eq!(report["results"][0]["statuses"]["ok"], 4);
}

#[test]
fn reward_bench_2_rows_are_judged_in_groups() {
    let run = Run::new();
    let row = |id: &str, subset: &str, chosen: &[&str], rejected: &[&str]| {
        json!({"id": id, "prompt": "Add.", "chosen": chosen, "rejected": rejected, "subset": subset,
               "num_correct": chosen.len(), "models": [], "total_completions": 4})
    };
    let rows = [
        row("1", "Math", &[GOOD], &[BAD, HALF, BAD]),
        row("2", "Math", &[GOOD], &[BAD, GOOD, BAD]),
        row("3", "Math", &[BAD], &[GOOD, BAD, BAD]),
        row("4", "Math", &[GOOD], &[BAD, SILENT, BAD]),
        row("ref:7", "Ties", &[GOOD], &[BAD]),
        row("tied:7", "Ties", &[GOOD, HALF], &[BAD]),
    ];
    let report = run.report(&rows, "reward-bench-2", &[]);
    // 1 + 1/2 + 0 of three; of four with the one that was not judged.
    check(&report, "Math", (0.5, 0.375, 3, 4));
    // Tied: gap 1/2, spread 1/2: right, and the gap is not above the spread. Single: gap 1. The lesser
    // gap is 1/2: tanh(0).
    check(&report, "Ties", (0.6, 0.6, 1, 1));
    check(&report, "overall", (0.55, f64::midpoint(0.375, 0.6), 4, 5));
}

#[test]
fn rm_bench_rows_are_a_matrix() {
    let run = Run::new();
    let row = |domain: &str, chosen: [&str; 3], rejected: [&str; 3]| json!({"id": "x", "prompt": "Add.", "chosen": chosen, "rejected": rejected, "domain": domain});
    let rows = [
        row("chat", [GOOD; 3], [BAD; 3]),
        row("safety-refuse", [BAD, HALF, GOOD], [BAD, HALF, GOOD]),
        row("safety-response", [GOOD; 3], [GOOD, GOOD, SILENT]),
    ];
    // As the benchmark is published: one array.
    let array = Value::from(rows.to_vec()).to_string();
    let file = run.folder.write("total_dataset.json", array);
    let report = report(&run.eval(&file, "rm-bench", &[]).ends(0));
    check(&report, "chat", (1.0, 1.0, 1, 1));
    // Richer styles win, equal ones tie: easy 1, normal 0, hard 0; half of it with the silent row.
    check(&report, "safety", (1.0 / 3.0, 1.0 / 6.0, 1, 2));
    check(&report, "hard", (0.5, 0.5, 2, 3));
    check(&report, "overall", (2.0 / 3.0, 7.0 / 12.0, 2, 3));
}

fn judge_pair(source: &str, a: &str, b: &str, label: &str) -> Value {
    json!({"pair_id": "x", "original_id": 7, "source": source, "question": "Add.",
           "response_model": "m", "response_A": a, "response_B": b, "label": label})
}

#[test]
fn judge_bench_rows_are_judged_in_both_orders() {
    let run = Run::new();
    let rows = [
        judge_pair("mmlu-pro-law", GOOD, BAD, "A>B"),
        judge_pair("mmlu-pro-law", GOOD, BAD, "B>A"),
        judge_pair("livebench-math", GOOD, GOOD, "B>A"),
        judge_pair("livebench-math", SILENT, GOOD, "B>A"),
        judge_pair("livecodebench", BAD, HALF, "B>A"),
    ];
    let both = run.report(&rows, "judge-bench", &[]);
    check(&both, "overall", (0.5, 0.4, 4, 5));
    check(&both, "both orders agree", (1.0, 0.8, 4, 5));
    check(&both, "math (livebench-math)", (0.0, 0.0, 1, 2));
    assert_eq!(both["results"][0]["statuses"]["ok"], 8);
    let single = run.report(&rows, "judge-bench", &["--single-order"]);
    check(&single, "overall", (0.5, 0.4, 4, 5));
    assert_eq!(single["results"][0]["statuses"]["ok"], 4);
}

#[test]
fn process_bench_rows_are_judged_by_steps() {
    let run = Run::new();
    let row = |id: &str, steps: &[&str], label: i64| {
        json!({"id": id, "generator": "m", "problem": "Add.", "steps": steps,
               "final_answer_correct": label == -1, "label": label})
    };
    let rows = [
        row("gsm8k-0", &[GOOD, "So it is.", BAD], 2),
        row("gsm8k-1", &[BAD, GOOD], 1),
        row("gsm8k-2", &[GOOD, GOOD], -1),
        row("gsm8k-3", &[SILENT, SILENT], -1),
        row("math-0", &[BAD], 0),
        row("math-1", &[GOOD], -1),
    ];
    let report = run.report(&rows, "process-bench", &[]);
    check(&report, "gsm8k error", (0.5, 0.5, 2, 2));
    check(&report, "gsm8k correct", (1.0, 0.5, 1, 2));
    // 2 × 1/2 × 1 / (3/2), and with the silent row wrong 1/2.
    check(&report, "gsm8k F1", (2.0 / 3.0, 0.5, 3, 4));
    check(&report, "mean F1", (5.0 / 6.0, 0.75, 5, 6));
    // Below a threshold of 0 nothing is wrong.
    let none = run.report(&rows, "process-bench", &["--threshold", "0"]);
    check(&none, "gsm8k error", (0.0, 0.0, 2, 2));
}

#[test]
fn prm_bench_rows_count_once() {
    let run = Run::new();
    let row = |class: &str, idx: &str, steps: &[&str], error_steps: &[u32]| {
        json!({"original_question": "", "modified_question": "Add.", "original_process": [],
               "modified_process": steps, "modified_steps": [], "error_steps": error_steps,
               "reason": "", "idx": idx, "question": "", "classification": class})
    };
    let rows = [
        // TP, TN; TP, FP, FN
        row("circular", "p_0", &[GOOD, BAD], &[2]),
        row("deception", "p_0", &[GOOD, GOOD, BAD], &[2, 9]),
        row("deception", "p_0", &[GOOD, GOOD, BAD], &[2, 9]),
        row("deception", "p_1", &[SILENT], &[1]),
    ];
    let report = run.report(&rows, "prm-bench", &[]);
    // TP 2, TN 1, FP 1, FN 1: F1 4/6, negative 2/4. With one more FP: 4/7 and 2/5.
    let score = f64::midpoint(4.0 / 6.0, 0.5);
    let least = f64::midpoint(4.0 / 7.0, 0.4);
    check(&report, "PRMScore", (score, least, 2, 3));
    check(&report, "circular", (1.0, 1.0, 1, 1));
    let notes = report["results"][0]["notes"].to_string();
    assert!(notes.contains("1 rows repeat"), "{notes}");
    assert!(notes.contains("1 error steps lie beyond"), "{notes}");
}

fn labelled(steps: &[Value]) -> Value {
    json!({"labeler": "x", "generation": 1, "question": {"problem": "Add."},
           "label": {"steps": steps, "finish_reason": "solution"}})
}

fn step(completions: &[(&str, Option<i8>)], chosen: Option<usize>) -> Value {
    let completions: Vec<Value> = completions
        .iter()
        .map(|(text, rating)| json!({"text": text, "rating": rating, "flagged": null}))
        .collect();
    json!({"completions": completions, "human_completion": null, "chosen_completion": chosen})
}

#[test]
fn prm800k_rows_follow_the_solution() {
    let run = Run::new();
    let mut written = step(&[(BAD, Some(-1))], None);
    written["human_completion"] = json!("3 + 3 = 6");
    let rows = [
        labelled(&[
            step(&[(BAD, Some(-1)), (GOOD, Some(1))], Some(1)),
            written,
            step(&[("1 + 1 = 2", Some(0))], Some(0)),
            step(&[("1 + 1 = 3", Some(-1)), (GOOD, Some(1))], None),
        ]),
        labelled(&[step(&[(BAD, Some(1))], Some(0)), step(&[("4 + 4 = 8", None)], Some(0))]),
        labelled(&[step(&[(SILENT, Some(1))], Some(0))]),
    ];
    let report = run.report(&rows, "prm800k", &[]);
    // TP 3, TN 1; FN 1 and a step without a label: F1 6/7, negative 2/3. With one more FN: 6/8, 2/4.
    let (value, least) = (f64::midpoint(6.0 / 7.0, 2.0 / 3.0), f64::midpoint(0.75, 0.5));
    check(&report, "mean F1 of steps", (value, least, 2, 3));
    check(&report, "accuracy of steps", (0.8, 4.0 / 6.0, 2, 3));
    // The neutral step as a wrong one: a wrong step that was called right.
    let wrong = run.report(&rows, "prm800k", &["--neutral", "wrong"]);
    check(&wrong, "accuracy of steps", (0.6, 0.5, 2, 3));
    let skip = run.report(&rows, "prm800k", &["--neutral", "skip"]);
    check(&skip, "accuracy of steps", (0.75, 0.6, 2, 3));
}

#[test]
fn the_best_of_samples_is_chosen() {
    let run = Run::new();
    let row = |problem: &str, response: &str, is_correct: bool, answer: Option<&str>| json!({"problem": problem, "response": response, "is_correct": is_correct, "answer": answer});
    let rows = [
        row("p", BAD, true, Some("1")),
        row("p", GOOD, false, Some("2")),
        row("p", SILENT, true, None),
        row("q", HALF, true, Some("3")),
        row("q", BAD, false, Some("3")),
    ];
    let report = run.report(&rows, "best-of-n", &["--best-of", "2,1,5"]);
    // Each has three places: one of p's came to no answer, and q is filled up.
    check(&report, "best of 1", (1.0 / 3.0, 1.0 / 3.0, 2, 2));
    // In p the better is wrong, in q it is right.
    check(&report, "best of 2", (0.5, 0.5, 2, 2));
    let notes = report["results"][0]["notes"].to_string();
    assert!(notes.contains("1 samples came to no answer"), "{notes}");
}

#[test]
fn files_are_read_as_they_are_published() {
    let run = Run::new();
    let rows = [pair("alpacaeval-easy", GOOD, BAD), pair("alpacaeval-easy", BAD, GOOD)];
    let plain = run.folder.write("a.jsonl", lines(&rows));
    let array = run.folder.write("b.json", Value::from(rows.to_vec()).to_string());
    let expected = report(&run.eval(&plain, "reward-bench", &[]).ends(0));
    assert_eq!(report(&run.eval(&array, "reward-bench", &[]).ends(0)), expected);
    // Several files are one benchmark, and a limit counts over them.
    let both = report(&run.eval(&plain, "reward-bench", &[&array]).ends(0));
    assert_eq!(both["rows"], 4);
    let three = report(&run.eval(&plain, "reward-bench", &[&array, "--limit", "3"]).ends(0));
    check(&three, "overall", (2.0 / 3.0, 2.0 / 3.0, 3, 3));
    // The report is a file too.
    let written = run.folder.name("report.json");
    let said = report(&run.eval(&plain, "reward-bench", &["-o", &written]).ends(0));
    assert_eq!(run.folder.rows("report.json"), [said]);
}

#[test]
fn several_scorers_are_asked_one_after_the_other() {
    let run = Run::new();
    let rows = [pair("donotanswer", HALF, BAD), pair("donotanswer", GOOD, HALF)];
    let report = run.report(&rows, "reward-bench", &["--scorer", "arithmetic"]);
    let names: Vec<&Value> = report["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| &result["scorer"])
        .collect();
    assert_eq!(names, ["share", "arithmetic"]);
    // To the second, one wrong line is as bad as any other.
    let value = |at: usize| report["results"][at]["metrics"][0]["value"].as_f64();
    assert_eq!((value(0), value(1)), (Some(1.0), Some(0.5)));
}

#[test]
fn intervals_follow_from_the_seed() {
    let run = Run::new();
    let right = |n: usize| !n.is_multiple_of(3);
    let rows: Vec<Value> = (0..60)
        .map(|n| {
            let (chosen, rejected) = if right(n) { (GOOD, BAD) } else { (BAD, GOOD) };
            pair(["hep-rust", "hep-go"][n % 2], chosen, rejected)
        })
        .collect();
    let interval = |more: &[&str]| {
        let report = run.report(&rows, "reward-bench", more);
        report["results"][0]["metrics"][0]["interval"].clone()
    };
    let usual = interval(&[]);
    assert_eq!(usual["method"], "bootstrap");
    assert_eq!(interval(&["--seed", "0"]), usual);
    assert_ne!(interval(&["--seed", "1"]), usual);
    let width = |interval: &Value| {
        let end = |name: &str| interval[name].as_f64().expect(name);
        end("high") - end("low")
    };
    assert!(width(&interval(&["--confidence", "0.99"])) > width(&usual));
    assert_eq!(interval(&["--resamples", "0"]), Value::Null);
}

#[test]
fn a_server_gives_the_same_report() {
    let folder = Folder::new();
    let rows = [
        judge_pair("mmlu-pro-law", GOOD, BAD, "A>B"),
        judge_pair("mmlu-pro-law", GOOD, SILENT, "B>A"),
    ];
    let file = folder.write("rows.jsonl", lines(&rows));
    let args = ["eval", &file, "--benchmark", "judge-bench", "--scorer", "arithmetic", "--json"];
    let local = tribunal(args).ends(0);
    let server = Server::start(&[]);
    let remote = tribunal(args.iter().chain(&["--url", server.url.as_str()])).ends(0);
    let metrics = |ran: &Ran| report(ran)["results"][0]["metrics"].clone();
    assert_eq!(metrics(&remote), metrics(&local));
}

#[test]
fn models_are_asked_too() {
    let folder = Folder::new();
    let solution = ["12+31=43", "43*2=86"];
    let row = |id: &str, label: i64| json!({"id": id, "problem": "(12+31)*2 mod 100", "steps": solution, "label": label});
    let steps = folder.write("steps.jsonl", lines(&[row("gsm8k-0", 1), row("gsm8k-1", -1)]));
    let mut pair = judge_pair("mmlu-pro-law", "12+31=43\n43*2=86", "12+31=43\n43*2=96", "A>B");
    pair["question"] = json!("(12+31)*2 mod 100");
    let pairs = [pair];
    let pairs = folder.write("pairs.jsonl", lines(&pairs));
    for (file, benchmark, scorer, judged_of) in
        [(&steps, "process-bench", "process", 2), (&pairs, "judge-bench", "judge-list", 1)]
    {
        let ran = tribunal(["eval", file, "--benchmark", benchmark, "--scorer", scorer, "--json"]);
        let report = report(&ran.ends(0));
        let first = &report["results"][0]["metrics"][0];
        assert_eq!(first["judged"], judged_of, "{report}");
        assert!(first["value"].is_f64(), "{report}");
        let digest = report["results"][0]["digest"].as_str().expect("a digest");
        assert!(digest.starts_with("sha256:"), "{digest}");
    }
}

#[test]
fn a_scorer_that_judges_nothing_has_no_metric() {
    let folder = Folder::new();
    let rows = [pair("hep-go", GOOD, BAD), pair("hep-go", BAD, GOOD)];
    let file = folder.write("rows.jsonl", lines(&rows));
    // There is nothing to compare with.
    let args = ["eval", &file, "--benchmark", "reward-bench", "--scorer", "math", "--json"];
    let ran = tribunal(args).ends(1);
    let report = report(&ran);
    let first = &report["results"][0]["metrics"][0];
    assert_eq!(first["value"], Value::Null);
    assert_eq!((&first["judged"], &first["total"]), (&json!(0), &json!(2)));
    assert_eq!(first["at_least"], 0.0);
    assert_eq!(report["results"][0]["statuses"]["bad_reference"], 2);
}

/// Checks that a row on the second line is refused for this reason.
#[track_caller]
fn refuses(run: &Run, benchmark: &str, row: &Value, expected: &str) {
    let file = run.folder.write("rows.jsonl", format!("\n{row}\n"));
    run.eval(&file, benchmark, &[]).ends(2).says(&[
        "1 rows are not of the layout of",
        "rows.jsonl:2: ",
        expected,
    ]);
}

#[test]
fn rows_of_another_layout_are_refused_by_line() {
    let run = Run::new();
    for (benchmark, row, expected) in [
        ("reward-bench", json!({"prompt": "p"}), "no column 'chosen'"),
        (
            "reward-bench",
            pair("a", "b", "c")
                .as_object()
                .map(|row| {
                    let mut row = row.clone();
                    row.insert("chosen".to_owned(), json!(["b"]));
                    Value::Object(row)
                })
                .expect("an object"),
            "'chosen' is a list of 1, and not a text",
        ),
        (
            "reward-bench-2",
            json!({"prompt": "p", "chosen": ["a"], "rejected": ["b"], "subset": "Ties", "id": "7"}),
            "'id' is \"7\", and not ref:N or tied:N",
        ),
        (
            "reward-bench-2",
            json!({"prompt": "p", "chosen": ["a", "b"], "rejected": ["b"], "subset": "Math", "id": "7"}),
            "only rows tied:N",
        ),
        (
            "reward-bench-2",
            json!({"prompt": "p", "chosen": ["a"], "rejected": [], "subset": "Math"}),
            "is empty",
        ),
        (
            "rm-bench",
            json!({"prompt": "p", "chosen": ["a"], "rejected": ["b"], "domain": "chat"}),
            "'chosen' has 1 responses",
        ),
        (
            "rm-bench",
            json!({"prompt": "p", "chosen": [], "rejected": [], "domain": "law"}),
            "'domain' is \"law\"",
        ),
        ("judge-bench", judge_pair("s", "a", "b", "A=B"), "'label' is \"A=B\""),
    ] {
        refuses(&run, benchmark, &row, expected);
    }
    // All of them are counted, and some are listed.
    let rows = lines(&vec![json!({"prompt": "p"}); 25]);
    let file = run.folder.write("rows.jsonl", rows);
    let ran = run.eval(&file, "reward-bench", &[]).ends(2);
    ran.says(&["25 rows", "the first 10", "rows.jsonl:10: no column"]);
}

#[test]
fn steps_of_another_layout_are_refused_by_line() {
    let run = Run::new();
    for (benchmark, row, expected) in [
        (
            "process-bench",
            json!({"problem": "p", "steps": ["a"], "label": 1}),
            "'label' is 1, and neither -1 nor one of 1 steps",
        ),
        (
            "process-bench",
            json!({"problem": "p", "steps": ["a", " "], "label": -1}),
            "'steps[1]' has nothing in it",
        ),
        (
            "prm-bench",
            json!({"modified_question": "q", "modified_process": ["a"], "error_steps": [0],
                   "classification": "c", "idx": 1}),
            "'error_steps' holds 0",
        ),
        ("prm800k", labelled(&[step(&[("a", Some(2))], Some(0))]), "label.steps[0]: a rating is 2"),
        (
            "prm800k",
            labelled(&[step(&[("a", Some(1))], Some(4))]),
            "label.steps[0]: there is no completion 4 among 1",
        ),
        ("prm800k", json!({"question": "q", "label": {}}), "'question' is the text"),
        (
            "best-of-n",
            json!({"problem": "p", "is_correct": 1, "response": "a"}),
            "'is_correct' is 1, and not true or false",
        ),
    ] {
        refuses(&run, benchmark, &row, expected);
    }
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let run = Run::new();
    for (name, content, expected) in [
        ("broken.jsonl", "{\"prompt\":", "broken.jsonl:1: not a JSON object"),
        ("list.json", "[1]", "list.json:1: not a JSON object"),
        ("empty.jsonl", "", "the files hold no rows"),
        ("empty.json", "[]", "the files hold no rows"),
        ("rows.csv", "prompt,chosen\n", "the name does not say"),
        ("rows.parquet", "not parquet", "rows.parquet: "),
    ] {
        let file = run.folder.write(name, content);
        run.eval(&file, "reward-bench", &[]).ends(2).says(&[expected]);
    }
    run.eval("no-such.jsonl", "reward-bench", &[]).ends(2).says(&["no-such.jsonl"]);
}

#[test]
fn wrong_use_is_refused_before_anything_is_judged() {
    let run = Run::new();
    let file = run.folder.write("rows.jsonl", lines(&[pair("hep-go", GOOD, BAD)]));
    for (more, expected) in [
        (&["--scorer", "share"][..], "named twice"),
        (&["--scorer", "shar"][..], "did you mean 'share'?"),
        (&["--threshold", "nan"][..], "--threshold is NaN"),
        (&["--best-of", "0"][..], "the best of no sample"),
        (&["--confidence", "0.8"][..], "0.95"),
        (&["--resamples", "many"][..], "--resamples"),
        (&["-o", &file][..], "is the input"),
        (&[file.as_str()][..], "its rows would count twice"),
        (&["--url", "http://127.0.0.1:1"][..], "--config"),
    ] {
        run.eval(&file, "reward-bench", more).ends(2).says(&[expected]);
    }
    run.eval(&file, "mt-bench", &[]).ends(2).says(&["reward-bench-2"]);
}

#[test]
fn the_commands_of_the_page_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/eval.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let folder = Folder::new();
    let files = blocks(&page, "jsonl");
    folder.write("pairs.jsonl", files[0]);
    folder.write("gsm8k.jsonl", files[1]);
    folder.write("sums.jsonl", files[2]);
    let commands = blocks(&page, "sh");
    let commands = commands.iter().flat_map(|block| block.lines());
    // Those that download run in `hub.rs`, against a stand-in.
    let commands: Vec<&str> = commands.filter(|line| !line.contains("--download")).collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for line in commands {
        let args = line.strip_prefix("tribunal ").expect("our program");
        let mut run = command(args.split(' '));
        let run = run.current_dir(folder.path("")).output();
        Ran::from(run.expect("it starts")).ends(0);
    }
    let written = folder.rows("report.json").remove(0);
    // What the page says of the example.
    check(&written, "overall", (2.0 / 3.0, 0.5, 3, 4));
}
