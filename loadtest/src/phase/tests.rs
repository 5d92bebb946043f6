use openapi::Status;

use super::*;

const RULES: TimeLimits = TimeLimits {
    timeout: Duration::from_secs(1),
    deadline: Some(Duration::from_millis(100)),
    objective: Duration::from_millis(50),
};

fn ok(verdicts: &[Status]) -> Exchange {
    let mut counts = Verdicts::default();
    for status in verdicts {
        counts.add(*status, false);
    }
    Exchange { class: Class::Ok, verdicts: counts, detail: None }
}

struct Record {
    recorder: Recorder,
    start: Instant,
}

impl Record {
    fn new() -> Self {
        let start = Instant::now();
        let load = Load::Open { rate: 10.0, share_of_peak: None };
        Self { recorder: Recorder::new(load, 2, RULES, start, start), start }
    }

    fn add(&mut self, due_ms: u64, latency_ms: u64, exchange: Exchange) {
        let due = self.start + Duration::from_millis(due_ms);
        let done = due + Duration::from_millis(latency_ms);
        self.recorder.record(Times { due, delay: Delay::None, done }, exchange);
    }

    fn finish(self) -> Phase {
        self.recorder.finish(Some(Duration::from_secs(2)), None)
    }
}

#[test]
fn objective_bounds_goodput_and_deadline_bounds_ok() {
    let mut record = Record::new();
    record.add(0, 50, ok(&[Status::Ok, Status::Ok]));
    record.add(10, 51, ok(&[Status::Ok, Status::Ok]));
    record.add(20, 100, ok(&[Status::Ok, Status::Ok]));
    record.add(30, 101, ok(&[Status::Ok, Status::Ok]));
    record.add(40, 5, ok(&[Status::Overloaded, Status::BadReference]));
    let phase = record.finish();
    assert_eq!((phase.tally.get(Class::Ok), phase.tally.get(Class::Late)), (4, 1));
    assert_eq!((phase.good, phase.verdicts.total()), (3, 10));
    assert!((phase.goodput() - 1.5).abs() < 1e-9);
    assert!((phase.verdicts_per_s() - 5.0).abs() < 1e-9);
    assert!((phase.offered_inputs() - 5.0).abs() < 1e-9);
}

#[test]
fn timeouts_count_as_latency_and_refusals_separately() {
    let mut record = Record::new();
    record.add(0, 10, ok(&[Status::Ok, Status::Ok]));
    record.add(0, 1000, Exchange::failed(Class::Timeout, "t"));
    record.add(0, 1000, Exchange::failed(Class::Unsent, "u"));
    record.add(0, 1, Exchange::failed(Class::Overloaded, "503 first"));
    record.add(0, 1, Exchange::failed(Class::Overloaded, "503 second"));
    record.add(0, 1, Exchange::failed(Class::Lost, "l"));
    let phase = record.finish();
    assert_eq!((phase.latency.count(), phase.refusal.count()), (3, 2));
    assert!((phase.latency.quantiles().max - 1000.0).abs() <= 1.0);
    assert_eq!(phase.examples["http_503_retry_after"], "503 first");
    assert_eq!(phase.tally.total(), 6);
}

#[test]
fn ends_are_counted_by_second_and_extend_the_phase() {
    let mut record = Record::new();
    record.add(0, 10, ok(&[Status::Ok, Status::Ok]));
    record.add(900, 200, Exchange::failed(Class::Limited, "429"));
    record.add(1900, 1000, Exchange::failed(Class::Timeout, "t"));
    let phase = record.finish();
    let ends: Vec<_> = phase.seconds.iter().map(|second| second.tally.total()).collect();
    assert_eq!(ends, [1, 1, 1]);
    assert_eq!((phase.seconds[0].verdicts, phase.seconds[0].good), (2, 2));
    assert_eq!(phase.seconds[1].tally.get(Class::Limited), 1);
    assert_eq!(phase.window, Duration::from_secs(2));
    assert_eq!(phase.elapsed, Duration::from_millis(2900));
    assert_eq!(phase.answered, Duration::from_secs(2));
    assert!((phase.achieved() - 0.5).abs() < 1e-9, "a timeout does not lower the rate of replies");
}

#[test]
fn closed_loops_offer_load_for_as_long_as_replies_come() {
    let check = |last_ms: u64, planned: Option<u64>, expected_ms: u64| {
        let start = Instant::now();
        let load = Load::Closed { concurrency: 1 };
        let mut recorder = Recorder::new(load, 1, RULES, start, start);
        let times = |from: u64, to: u64| {
            let [due, done] = [from, to].map(|at| start + Duration::from_millis(at));
            Times { due, delay: Delay::None, done }
        };
        recorder.record(times(last_ms - 10, last_ms), ok(&[Status::Ok]));
        recorder.record(times(990, 1990), Exchange::failed(Class::Timeout, "t"));
        let phase = recorder.finish(planned.map(Duration::from_millis), None);
        let expected = Duration::from_millis(expected_ms);
        assert_eq!((phase.answered, phase.window), (expected, expected));
    };
    check(500, Some(1000), 1000);
    check(1100, Some(1000), 1100);
    check(500, None, 1990);
}

#[test]
fn requests_due_before_the_start_are_warm_up() {
    let run = Instant::now();
    let start = run + Duration::from_secs(1);
    let load = Load::Closed { concurrency: 1 };
    let mut recorder = Recorder::new(load, 2, RULES, run, start);
    let delay = Delay::None;
    recorder.record(Times { due: run, delay, done: start + RULES.timeout }, ok(&[Status::Ok; 2]));
    recorder.record(Times { due: start, delay, done: start }, ok(&[Status::Ok; 2]));
    let phase = recorder.finish(None, None);
    assert_eq!((phase.warmup.get(Class::Late), phase.warmup.total()), (1, 1));
    assert_eq!((phase.tally.total(), phase.latency.count(), phase.verdicts.total()), (1, 1, 2));
    assert_eq!((phase.started, phase.elapsed), (Duration::from_secs(1), Duration::ZERO));
    assert!(phase.achieved().abs() < 1e-9, "no time passed, and no rate is infinite");
}
