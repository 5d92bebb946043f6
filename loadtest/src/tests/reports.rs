//! Reports of whole runs: files, plots, the last line of stdout.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::stub::{Act, Stub};
use super::{args, bench};
use crate::{Class, Lines, LoadReport, run};

const PLOTS: [&str; 6] = [
    "Latency against load",
    "Throughput and goodput against load",
    "Throughput over time",
    "Errors by class and load",
    "Errors over time",
    "Latency by percentile",
];

/// The page holds every plot, drawn with finite numbers, and asks nothing of a network.
fn check_page(page: &str, plots: &[&str]) {
    assert_eq!(page.matches("<svg").count(), plots.len());
    for plot in plots {
        assert!(page.contains(&format!("<h2>{plot}</h2>")), "{plot}");
    }
    for outside in ["src=", "href", "@import", "url(", "<script", "<link", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf,"), "a figure is no number");
}

fn sweep() -> LoadReport {
    let stub = Stub::new(|_| Act::AnswerAfter(Duration::from_millis(3)));
    let line = "--sweep --batch 2 --warmup 20ms --duration 150ms --concurrency 2 --slo 1s";
    bench(&stub, line).expect("a report")
}

#[test]
fn sweep_has_ten_phases_and_a_knee() {
    let report = sweep();
    let names: Vec<_> = report.phases.iter().map(|phase| phase.load.name()).collect();
    assert_eq!(names.len(), 10);
    assert_eq!((names[0].as_str(), names[9].as_str()), ("closed 2", "open 200 %"));
    assert!(report.knee.is_some(), "{}", report.table());
    assert!(report.phases.iter().all(|phase| phase.tally.total() == phase.tally.get(Class::Ok)));
    check_page(&report.html().expect("a page"), &PLOTS);
    assert!(report.table().lines().all(|line| line.chars().count() <= 100), "{}", report.table());
}

#[test]
fn sweep_without_peak_is_an_error() {
    let stub = Stub::after_probe(Act::Status(503, ""));
    let error = bench(&stub, "--sweep --warmup 0s --duration 50ms").expect_err("no peak");
    assert!(error.to_string().contains("http_503"), "{error}");
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn json_file_equals_the_last_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let line = format!(
        "--batch 2 --warmup 0s --requests 9 --json {} --report {} --pid {} --label <b>&'x'",
        path("run.json").display(),
        path("run.html").display(),
        std::process::id()
    );
    let stub = Stub::new(|number| if number == 3 { Act::Status(429, "") } else { Act::Answer });
    let args = args(&stub.url(), &line);
    let mut lines = Vec::new();
    let report = run(&args, &mut Lines(&mut lines)).expect("a report");
    let mut out = Vec::new();
    report.print(&args, &mut out).expect("a vector takes text");
    let out = String::from_utf8(out).expect("text");
    let last = out.lines().last().expect("a line");

    let file = read(&path("run.json"));
    assert_eq!(file.trim_end(), last);
    let summary: Value = serde_json::from_str(last).expect("one JSON object");
    assert_eq!(summary["phases"][0]["classes"]["ok"], 8);
    assert_eq!(summary["phases"][0]["classes"]["http_429"], 1);
    assert_eq!(summary["phases"][0]["classes"]["lost"], 0);
    assert_eq!(summary["phases"][0]["intended"], 9);
    assert_eq!(summary["failed"], false);
    assert!(summary["memory"]["max_bytes"].as_u64() > Some(0));

    let page = read(&path("run.html"));
    let mut plots = PLOTS.to_vec();
    plots.push("Resident memory of the server");
    check_page(&page, &plots);
    assert!(page.contains("&lt;b&gt;&amp;'x'") && !page.contains("<b>"));
    let lines = String::from_utf8(lines).expect("text");
    assert!(lines.contains("closed 16") && lines.contains("http_429 1"), "{lines}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "only whole files stay");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a written file")
}

#[test]
fn without_json_stdout_ends_with_the_table() {
    let stub = Stub::new(|_| Act::Answer);
    let args = args(&stub.url(), "--batch 1 --warmup 0s --requests 1");
    let report = run(&args, &mut Lines(Vec::new())).expect("a report");
    let mut out = Vec::new();
    report.print(&args, &mut out).expect("a vector takes text");
    assert!(!String::from_utf8(out).expect("text").contains('{'));
}

/// A run in which nothing ended still makes a page with every plot.
#[test]
fn run_without_requests_still_renders_the_page() {
    let stub = Stub::new(|_| Act::Answer);
    let report = bench(&stub, "--batch 1 --warmup 0s --rate 0.001 --duration 10ms");
    let report = report.expect("a report");
    check_page(&report.html().expect("a page"), &PLOTS);
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn rows_of_a_file_are_sent_in_order() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, "{\"pred\":\"a\",\"gold\":\"1\"}\n{\"pred\":\"b\",\"gold\":\"2\"}\n")
        .expect("a temporary folder takes files");
    let stub = Stub::new(|_| Act::Answer);
    let line = format!(
        "--batch 1 --warmup 0s --concurrency 1 --requests 3 --unique --input {}",
        path.display()
    );
    bench(&stub, &line).expect("a report");
    let sent = stub.seen().into_iter().map(|seen| {
        let request = seen.request();
        (format!("{:?}", request.inputs[0].response), request.options.cache)
    });
    let sent: Vec<_> = sent.collect();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|(_, cache)| *cache == openapi::CacheMode::Bypass));
    assert!(sent[0].0 == sent[2].0 && sent[0].0 != sent[1].0, "{sent:?}");
}
