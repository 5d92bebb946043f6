//! The open loop: latency from the due time, a bounded pool, and nothing dropped in silence.

use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::phase;
use super::stub::{Act, Stub};
use crate::arrivals::poisson;
use crate::{Class, Load};

const STALL: Duration = Duration::from_millis(600);

/// The test of coordinated omission. The server stalls once; every request that was due during the
/// stall must show what was left of it, although the few connections were all busy and most of
/// these requests could not even be sent.
#[test]
fn stall_adds_latency_to_every_request_due_during_it() {
    static GATE: Mutex<()> = Mutex::new(());
    static STALLED: OnceLock<Instant> = OnceLock::new();
    let stub = Stub::new(|number| {
        let gate = GATE.lock().expect("no panic");
        if number == 60 {
            STALLED.set(Instant::now()).expect("one stall");
            thread::sleep(STALL);
        }
        drop(gate);
        Act::Answer
    });
    let before = Instant::now();
    let line = "--batch 1 --warmup 0s --rate 200 --duration 1500ms --connections 4 --seed 5";
    let phase = phase(&stub, line);
    let schedule = poisson(200.0, Duration::from_millis(1500), 5, 0);
    assert_eq!(phase.tally.get(Class::Ok), schedule.len() as u64, "{}", phase.tally);

    // Due times count from a moment after `before`, and the first request arrived after it was
    // due: each due time lies between these two bounds.
    let first_arrival = stub.seen()[0].arrived - before;
    let earliest = |due: u64| before + Duration::from_nanos(due);
    let latest = |due: u64| earliest(due - schedule[0]) + first_arrival;

    // What was due in the first half of the stall waited for the second half of it at least.
    let start = *STALLED.get().expect("the stall came");
    let in_first_half = |due: &&u64| earliest(**due) > start && latest(**due) < start + STALL / 2;
    let must_wait = schedule.iter().filter(in_first_half).count() as u64;
    assert!(must_wait > 10, "{must_wait} requests were due in half a stall");
    let waited = phase.latency.at_least(STALL / 2);
    assert!(waited >= must_wait, "{waited} of {must_wait} requests show the stall");

    // Four connections were busy, so all others waited for one, and that wait is counted separately.
    let for_connection = phase.connection_wait.at_least(STALL / 2);
    assert!(for_connection >= must_wait - 4, "{for_connection} of {must_wait}");
}

#[test]
fn connections_stay_below_the_limit() {
    let stub = Stub::new(|_| Act::AnswerAfter(Duration::from_millis(10)));
    let phase = phase(&stub, "--batch 1 --warmup 0s --rate 600 --duration 300ms --connections 3");
    assert_eq!(stub.most_busy(), 3);
    assert_eq!(stub.connections(), 2 + 3);
    assert!(phase.connection_wait.at_least(Duration::from_millis(1)) > 0);
    assert_eq!(phase.tally.get(Class::Ok), phase.tally.total());
}

#[test]
fn light_load_opens_few_connections() {
    let stub = Stub::new(|_| Act::Answer);
    let phase = phase(&stub, "--batch 1 --warmup 0s --rate 100 --duration 500ms");
    assert!(phase.tally.total() > 20);
    assert!(stub.connections() < 2 + 20, "{} connections", stub.connections());
}

#[test]
fn unsent_requests_count_as_timeouts() {
    // One connection that never gets an answer: the requests behind it run out of time.
    let stub = Stub::after_probe(Act::Silent);
    let line = "--batch 1 --warmup 0s --rate 4000 --duration 200ms --connections 1 --timeout 30ms";
    let phase = phase(&stub, line);
    let schedule = poisson(4000.0, Duration::from_millis(200), 0, 0);
    assert_eq!(phase.tally.total(), schedule.len() as u64);
    assert!(phase.tally.get(Class::Timeout) > 0 && phase.tally.get(Class::Unsent) > 0);
    let waited = phase.tally.get(Class::Timeout) + phase.tally.get(Class::Unsent);
    assert_eq!(waited, phase.tally.total(), "{}", phase.tally);
    // Both kinds are latency, of at least the timeout.
    assert_eq!(phase.latency.at_least(Duration::from_millis(30)), phase.tally.total());
    assert!(stub.seen().len() as u64 <= phase.tally.get(Class::Timeout));
}

#[test]
fn warm_up_is_scheduled_but_not_measured() {
    let stub = Stub::new(|_| Act::Answer);
    let phase = phase(&stub, "--batch 1 --warmup 200ms --rate 500 --duration 300ms --seed 2");
    let schedule = poisson(500.0, Duration::from_millis(500), 2, 0);
    let warm = schedule.iter().filter(|due| **due < 200_000_000).count() as u64;
    assert_eq!(phase.warmup.total(), warm);
    assert_eq!(phase.tally.total(), schedule.len() as u64 - warm);
    assert_eq!(stub.seen().len(), schedule.len());
    assert_eq!(phase.load, Load::Open { rate: 500.0, share_of_peak: None });
}

#[test]
fn empty_schedule_gives_empty_phase() {
    let stub = Stub::new(|_| Act::Answer);
    let phase = phase(&stub, "--batch 1 --warmup 0s --rate 0.001 --duration 10ms");
    assert_eq!((phase.tally.total(), stub.seen().len()), (0, 0));
}
