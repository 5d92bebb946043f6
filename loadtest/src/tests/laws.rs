//! Conservation: whatever the server does, every intended request ends in exactly one class.

use std::time::Duration;

use proptest::prelude::*;

use super::phase;
use super::stub::{Act, PROBES, Stub};
use crate::Class;
use crate::arrivals::poisson;

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Answer),
        1 => (1u64..20).prop_map(|ms| Act::AnswerAfter(Duration::from_millis(ms))),
        1 => Just(Act::AnswerAndClose),
        1 => Just(Act::Status(429, "")),
        1 => Just(Act::Status(503, "retry-after: 2\r\n")),
        1 => Just(Act::Status(500, "connection: close\r\n")),
        1 => Just(Act::Body("[")),
        1 => Just(Act::Raw("?\r\n\r\n")),
        1 => Just(Act::Cut),
        1 => Just(Act::Close),
        1 => Just(Act::Silent),
    ]
}

/// A server that answers once, and then goes through `acts` again and again.
fn server(acts: Vec<Act>) -> Stub {
    Stub::new(move |number| match number.checked_sub(PROBES) {
        None => Act::Answer,
        Some(number) => acts[number % acts.len()].clone(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn closed_loop_counts_every_request_once(
        acts in prop::collection::vec(act(), 1..12),
        concurrency in 1usize..6,
        requests in 1u64..40,
    ) {
        let stub = server(acts);
        let line = format!(
            "--batch 2 --warmup 0s --timeout 40ms --concurrency {concurrency} --requests {requests}"
        );
        let phase = phase(&stub, &line);
        prop_assert_eq!(phase.tally.total(), requests);
        let ended: u64 = phase.seconds.iter().map(|second| second.tally.total()).sum();
        prop_assert_eq!(ended, requests);
        let replies = phase.tally.get(Class::Ok) + phase.tally.get(Class::Late);
        prop_assert_eq!(phase.verdicts.total(), 2 * replies);
    }

    #[test]
    fn open_loop_counts_every_request_once(
        acts in prop::collection::vec(act(), 1..12),
        connections in 1usize..8,
        rate in 50u32..1500,
        seed: u64,
    ) {
        let stub = server(acts);
        let line = format!(
            "--batch 2 --warmup 50ms --duration 150ms --timeout 40ms --rate {rate} --seed {seed} \
             --connections {connections}"
        );
        let phase = phase(&stub, &line);
        let schedule = poisson(f64::from(rate), Duration::from_millis(200), seed, 0);
        let ends = phase.tally.total() + phase.warmup.total();
        prop_assert_eq!(ends, schedule.len() as u64);
        let sent = ends - phase.tally.get(Class::Unsent) - phase.warmup.get(Class::Unsent);
        prop_assert!(stub.seen().len() as u64 <= sent);
    }
}
