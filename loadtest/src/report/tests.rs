use std::time::{Duration, Instant};

use openapi::Status;

use super::*;
use crate::client::Exchange;
use crate::config::TimeLimits;
use crate::outcome::Verdicts;
use crate::phase::{Delay, Load, Recorder, Times};

const RULES: TimeLimits = TimeLimits {
    timeout: Duration::from_secs(100),
    deadline: Some(Duration::from_secs(50)),
    objective: Duration::from_micros(1500),
};

fn about() -> About {
    About {
        label: Some("a label that is long enough to need a second line ".repeat(3)),
        flags: vec!["--url http://127.0.0.1:8080".to_owned()],
        url: "http://127.0.0.1:8080".to_owned(),
        scorer: "math".to_owned(),
        inputs: "generated, all distinct".to_owned(),
        batch: 10_000,
        cache: "use",
        seed: u64::MAX,
        started: "2026-03-01T12:00:00Z".to_owned(),
        machine: Machine { cores: Some(2), cpu: Some("A processor with a name".to_owned()) },
        rules: RULES,
    }
}

/// A phase of one second in which every class occurred, each with this latency.
fn phase(load: Load, latency: Duration, delay: Delay) -> Recorder {
    let start = Instant::now();
    let mut recorder = Recorder::new(load, 10_000, RULES, start, start);
    let times = Times { due: start, delay, done: start + latency };
    for class in Class::ALL {
        recorder.record(times, Exchange::failed(class, "what the server said ".repeat(40)));
    }
    let mut verdicts = Verdicts::default();
    for _ in 0..10_000 {
        verdicts.add(Status::InternalError, true);
    }
    recorder.record(times, Exchange { class: Class::Ok, verdicts, detail: None });
    recorder
}

fn report(generator_cpu: f64, lag: Duration) -> LoadReport {
    let load = Load::Open { rate: 123_456.7, share_of_peak: None };
    let recorder = phase(load, Duration::from_mins(50), Delay::Generator(lag));
    let window = Some(Duration::from_secs(1));
    let open = recorder.finish(window, Some(generator_cpu));
    let closed = phase(Load::Closed { concurrency: 10_000 }, RULES.objective, Delay::None);
    let memory = Memory { pid: u32::MAX, samples: vec![(0.0, 1 << 40), (0.5, 3)] };
    LoadReport::new(about(), vec![closed.finish(None, None), open], Some(memory))
}

#[test]
fn table_fits_hundred_columns() {
    let table = report(1.0, Duration::from_secs(2)).table();
    for line in table.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for class in Class::ALL {
        assert!(table.contains(class.name()), "{}", class.name());
    }
}

#[test]
fn notes_name_doubtful_figures() {
    let table = [
        (0.5, Duration::ZERO, &["FAILED: 4 replies", "cache gave 20000 verdicts"][..]),
        (0.95, Duration::ZERO, &["FAILED", "cache", "limit: open 123457/s (95 % of a core)"]),
        (0.5, Duration::from_millis(3), &["FAILED", "cache", "include: open 123457/s (3.0 ms)"]),
    ];
    for (cpu, lag, expected) in table {
        let notes = report(cpu, lag).notes();
        assert_eq!(notes.len(), expected.len(), "{notes:?}");
        for (note, part) in notes.iter().zip(expected) {
            assert!(note.contains(part), "{note}");
        }
    }
}

#[test]
fn page_shows_every_class_and_failure() {
    let page = report(0.5, Duration::ZERO).html().expect("a page");
    for class in Class::ALL.into_iter().filter(|class| *class != Class::Ok) {
        let entry = format!("</i>{}</li>", class.name());
        assert!(page.contains(&entry), "{}", class.name());
    }
    assert!(page.contains("class=\"note bad\""));
}

#[test]
fn summary_is_one_line_of_json() {
    let text = report(0.5, Duration::ZERO).json();
    assert!(!text.contains('\n'));
    let summary: serde_json::Value = serde_json::from_str(&text).expect("a JSON object");
    assert_eq!(summary["failed"], true);
    assert_eq!(summary["phases"][1]["loop"], "open");
    assert_eq!(summary["phases"][1]["verdicts"]["internal_error"], 10_000);
    assert_eq!(summary["phases"][1]["goodput_verdicts_per_s"], 0.0);
    assert_eq!(summary["memory"]["min_bytes"], 3);
}
