//! Modules a second, each compiled beside its golden one and simulated.
//!
//! `cargo test --release -p verifiers --test verilog -- --ignored --nocapture throughput`

use std::time::Instant;

use serde_json::json;
use verifiers::verilog::VerilogPolicy;

use super::{CIRCUITS, judged, sandbox};

#[test]
#[ignore = "prints figures of this machine and asserts none"]
fn throughput() {
    let Some(sandbox) = sandbox() else { return };
    let (start, mut count) = (Instant::now(), 0_u32);
    for _ in 0..3 {
        for circuit in CIRCUITS {
            let golden = json!({"golden": circuit.golden});
            for text in [circuit.equal, circuit.mutants[0], circuit.mutants[1]] {
                let policy = VerilogPolicy::default();
                judged(&sandbox, text, &golden, policy).expect("a result");
                count += 1;
            }
        }
    }
    let rate = f64::from(count) / start.elapsed().as_secs_f64();
    println!("{rate:.1} modules/s in one slot, {} cycles each", VerilogPolicy::default().cycles);
}
