use std::collections::BTreeSet;
use std::path::Path;

use rubrics::programs::{Programs, SandboxConfig};
use traces::SpanCounts;

use super::*;

/// The names that a scrape has once everything has happened.
fn scraped_names() -> BTreeSet<String> {
    let mut metrics = Metrics::new();
    metrics.build_info(vec![("version", "1.2.3")]);
    metrics.verdicts("math", "ok", 1);
    metrics.stage("math", Stage::Exec, [Duration::ZERO]);
    metrics.reply("/v1/score", 200);
    metrics.cache(CacheSource::Miss, 1);
    metrics.batch_ended("completed");
    metrics.batch_line(true);
    metrics.key_reload(true);
    metrics.key_refused("requests");
    metrics.connections([("refused", 1)].into_iter());
    metrics.spans(SpanCounts { exported: 1, dropped: 1, failed: 1 });
    metrics.engine("judge", 0, &EngineStatus::default());
    let status = SandboxStatus {
        endings: vec![("finished", 1)],
        failures: vec![("worker_lost", 1)],
        ..Programs::new(SandboxConfig::default()).status()
    };
    metrics.sandbox("python-tests", &status);
    let text = metrics.render(&[("items", 0)]).expect("text");
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split(['{', ' ']).next().unwrap_or(line).to_owned()).collect()
}

/// The words of a text that are names of metrics.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("tribunal_")).map(str::to_owned).collect()
}

#[test]
fn deployed_rules_and_dashboards_name_metrics_that_exist() {
    let scraped = scraped_names();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("the file exists");
    for file in ["prometheus/alerts.yml", "prometheus/alerts.test.yml", "grafana/tribunal.json"] {
        let names = named(&read(file));
        assert!(!names.is_empty(), "{file}");
        let missing: Vec<_> = names.difference(&scraped).collect();
        assert!(missing.is_empty(), "{file} names {missing:?}");
    }
    // Each metric is on the dashboard, but for those that alerts alone are made of.
    let shown = [read("prometheus/alerts.yml"), read("grafana/tribunal.json")].join("\n");
    let shown = named(&shown);
    let parts_of_histograms = ["_sum", "_count"];
    let unseen: Vec<_> = scraped
        .iter()
        .filter(|name| !parts_of_histograms.iter().any(|part| name.ends_with(part)))
        .filter(|name| !shown.contains(*name))
        .collect();
    assert_eq!(
        unseen,
        [
            "tribunal_batches_total",
            "tribunal_build_info",
            "tribunal_engine_queued_tokens",
            "tribunal_memory_refused_total",
            "tribunal_trace_spans_total"
        ]
    );
}
