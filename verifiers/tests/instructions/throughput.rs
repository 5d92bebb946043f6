//! Responses a second of one core, by processor time.
//!
//! `cargo test --release -p verifiers --test instructions -- --ignored --nocapture throughput`

use serde_json::{Value, json};
use verifiers::instructions::{InstructionsConfig, InstructionsVerifier, Strictness};
use verifiers::{Candidate, Claim, Fuel, Gold, Verifier as _};

/// Processor time of this thread in seconds.
#[expect(clippy::cast_precision_loss, reason = "a process does not run for 2^52 seconds")]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let [seconds, nanos] = [time.tv_sec, time.tv_nsec].map(|part| part as f64);
    seconds + nanos / 1e9
}

/// 120 words, the length of a short answer.
fn response() -> String {
    let sentence = "The harbour wakes before the town does; boats leave while the light is grey. ";
    let paragraph =
        format!("{}\n\n* Nets are mended by noon.\n* Fish is sold by one.\n", sentence.repeat(4));
    paragraph.repeat(2)
}

fn rows(instructions: &[(&str, Value)]) -> Vec<Value> {
    // Rows of the benchmarks have one to three.
    let ids = instructions.iter().cycle();
    (0..instructions.len())
        .map(|index| {
            let own: Vec<_> = ids.clone().skip(index * 2).take(1 + index % 3).collect();
            let (ids, kwargs): (Vec<_>, Vec<_>) = own.into_iter().cloned().unzip();
            json!({ "instruction_id_list": ids, "kwargs": kwargs })
        })
        .collect()
}

#[test]
#[ignore = "prints figures of this machine and asserts none"]
fn throughput() {
    let ifeval: Vec<(&str, Value)> =
        super::matrix().into_iter().map(|(id, kwargs, ..)| (id, kwargs)).collect();
    let response = response();
    for (name, types) in [("IFEval", ifeval), ("IFBench", super::ifbench::types())] {
        let rows = rows(&types);
        for mode in [Strictness::Strict, Strictness::Loose] {
            let verifier =
                InstructionsVerifier::new(InstructionsConfig { mode, ..Default::default() });
            let rate = rate(verifier, &rows, &response);
            println!("{name} {mode:?}: {rate:.0} responses/s of a core, {} bytes", response.len());
        }
        if std::env::args().any(|argument| argument == "--show-output") {
            for (id, kwargs) in types {
                let row = json!({ "instruction_id_list": [id], "kwargs": [kwargs] });
                let verifier = InstructionsVerifier::new(InstructionsConfig::default());
                println!("{id}: {:.0}", rate(verifier, &[row], &response));
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "responses are few")]
fn rate(verifier: InstructionsVerifier, rows: &[Value], response: &str) -> f64 {
    let rounds = 6_000 / rows.len();
    let start = cpu_seconds();
    for row in std::iter::repeat_n(rows, rounds).flatten() {
        let gold = Gold::Object(row.as_object().expect("an object"));
        let claim = Claim {
            gold,
            candidate: Candidate::Text(response),
            response: None,
            question: None,
            explain: false,
        };
        let verdict = verifier.verify(&claim, &mut Fuel::new(Fuel::DEFAULT));
        std::hint::black_box(verdict).expect("a verdict");
    }
    (rounds * rows.len()) as f64 / (cpu_seconds() - start)
}
