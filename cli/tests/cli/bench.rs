//! `tribunal bench`.

use serde_json::Value;
use tiny_models::{Preset, TinyHead, TinySpec};

use crate::program::{Folder, rows, tribunal};
use crate::serve::Server;

#[test]
fn the_last_line_is_the_summary() {
    let folder = Folder::new();
    let pairs = folder.write("pairs.jsonl", "{\"gold\": \"1\", \"pred\": \"1\"}\n".repeat(3));
    let short = ["bench", "verify", "--json", "--seconds", "0.05"];
    for (more, pairs) in
        [(vec!["--input", &pairs], 3), (vec!["--count", "20", "--threads", "2"], 20)]
    {
        let ran = tribunal(short.iter().chain(&more)).ends(0);
        let last = ran.stdout.lines().last().expect("output");
        let summary = &rows(last)[0];
        assert_eq!(summary["pairs"], pairs);
        assert_eq!(summary["verdicts"], summary["ok"], "{summary}");
        for number in ["verdicts_per_s", "p50_us", "p99_us", "max_us"] {
            assert!(summary[number].as_f64().expect("a number") > 0.0, "{summary}");
        }
        assert_eq!(summary["threads"], if more.len() > 2 { 2 } else { 1 });
    }
}

#[test]
fn a_running_server_is_measured() {
    let server = Server::start(&[]);
    let mut args = vec!["bench", "serve", "--url", &server.url, "--json"];
    args.extend(["--duration", "200ms", "--warmup", "0s", "--concurrency", "2"]);
    let ran = tribunal(args).ends(0);
    let last = ran.stdout.lines().last().expect("output");
    assert!(rows(last)[0].is_object(), "{last}");
    tribunal(["bench", "serve", "--url", "http://127.0.0.1:1"]).ends(1);
    tribunal(["bench", "serve", "--url", &server.url, "--batch", "0"]).ends(2);
}

#[test]
fn wrong_use_ends_with_2() {
    let folder = Folder::new();
    let (bad, empty) = (folder.write("bad.jsonl", "{\"gold\": 1}\n"), folder.write("empty", ""));
    for args in [
        vec!["--scorer", "maths"],
        vec!["--seconds", "0"],
        vec!["--count", "0"],
        vec!["--threads", "0"],
        vec!["--input", &bad],
        vec!["--input", &empty],
        vec!["--input", "missing.jsonl"],
    ] {
        tribunal(["bench", "verify"].iter().chain(&args)).ends(2);
    }
    for args in [["--rounds", "0"], ["--threads", "0"]] {
        tribunal(["bench", "kernels"].iter().chain(&args)).ends(2);
    }
    tribunal(["bench", "verify", "--input", &bad]).says(&["bad.jsonl:1:", "'pred'"]);
}

/// The summary of `bench engine --short` over a made model.
#[track_caller]
fn engine(spec: &TinySpec, more: &[&str]) -> Value {
    let folder = Folder::new();
    tiny_models::make(&folder.path("model"), spec).expect("a tiny model can be made");
    let model = folder.name("model");
    let args = ["bench", "engine", "--short", "--json", "--rounds", "2", "--model", &model];
    let ran = tribunal(args.iter().chain(more)).ends(0);
    rows(ran.stdout.lines().last().expect("output")).remove(0)
}

#[track_caller]
fn above_zero(summary: &Value, numbers: &[&str]) {
    for path in numbers {
        let number = summary.pointer(path).and_then(Value::as_f64);
        assert!(number > Some(0.0), "{path}: {summary:#}");
    }
}

#[test]
fn every_workload_of_the_engine_runs_and_gives_the_answers_of_the_forward() {
    let summary = engine(&Preset::Qwen2.into(), &["--workload", "all", "--recompute", "--http"]);
    above_zero(
        &summary,
        &[
            "/tokens_per_s",
            "/shared/sequences_per_s",
            "/shared/recompute/seconds",
            "/flat/raw_tokens_per_s",
            "/flat/percent_of_raw",
            "/http/percent_of_raw",
            "/http/computed_tokens",
            "/http/p50_ms",
            "/decode/greedy/tokens_per_s",
            "/decode/sampled/tokens_per_s",
            "/constrained/schema_tokens_per_s",
            "/queue/behind/0/us_per_sequence",
            "/queue/behind/1/us_per_sequence",
            "/overload/peak_per_s",
            "/overload/goodput_per_s",
            "/overload/refused",
        ],
    );
    for (fact, expected) in [
        ("/shared/same_bits", Value::Bool(true)),
        ("/flat/same_bits", Value::Bool(true)),
        ("/decode/same_bits", Value::Bool(true)),
        ("/constrained/allowed", Value::Bool(true)),
        ("/overload/failed", 0.into()),
        ("/queue/behind/1/queued", 1000.into()),
    ] {
        assert_eq!(summary.pointer(fact), Some(&expected), "{fact}");
    }
    // The first workload's tokens stand for the run, and no distinct token is computed twice.
    for name in ["computed_tokens", "unique_tokens"] {
        assert_eq!(summary[name], summary["shared"][name], "{name}");
        assert_eq!(summary[name], summary["shared"]["unique_tokens"], "{name}");
        assert_eq!(summary["flat"][name], summary["flat"]["unique_tokens"]);
    }
    let apart = &summary["shared"]["recompute"]["computed_tokens"];
    assert_eq!(apart, &summary["shared"]["input_tokens"]);
}

#[test]
fn models_without_a_vocabulary_are_measured_by_their_head() {
    let spec = TinySpec { head: TinyHead::Sequence, ..Preset::Llama.into() };
    for workload in ["shared", "flat", "overload"] {
        let summary = engine(&spec, &["--workload", workload]);
        above_zero(&summary, &["/computed_tokens", "/unique_tokens", "/tokens_per_s"]);
        assert!(summary[workload].is_object(), "{summary:#}");
    }
    let folder = Folder::new();
    tiny_models::make(&folder.path("model"), &spec).expect("a tiny model can be made");
    let model = folder.name("model");
    for workload in ["decode", "constrained"] {
        let args = ["bench", "engine", "--model", &model, "--workload", workload];
        tribunal(args).ends(2).says(&["no vocabulary head"]);
    }
}

#[test]
fn the_forward_alone_is_measured_too() {
    let folder = Folder::new();
    tiny_models::make(&folder.path("model"), &Preset::Qwen3.into())
        .expect("a tiny model can be made");
    let model = folder.name("model");
    let args = ["bench", "engine", "--raw", "--model", &model, "--json", "--repeats", "1"];
    let ran = tribunal(args).ends(0);
    let summary = rows(ran.stdout.lines().last().expect("output")).remove(0);
    above_zero(
        &summary,
        &["/prefill/tokens_per_s", "/decode/tokens_per_s", "/adapted/tokens_per_s"],
    );
    for more in [vec!["--workload", "flat"], vec!["--short"], vec!["--repeats", "0"]] {
        tribunal(args.iter().chain(&more)).ends(2);
    }
    for more in
        [vec!["--workload", "everything"], vec!["--rounds", "0"], vec!["--prompt-tokens", "64"]]
    {
        let args = ["bench", "engine", "--model", &model];
        tribunal(args.iter().chain(&more)).ends(2);
    }
    tribunal(["bench", "engine"]).ends(2);
    tribunal(["bench", "engine", "--model", "missing"]).ends(1).says(&["missing"]);
}
