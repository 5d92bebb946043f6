//! Mistakes of the kind that kernels have, each planted in a copy of a source.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu_emulated::{FIRST_PLANTED, PLANTED};

use crate::emulator;

/// The checks that find them, in the order of [`PLANTED`].
const CHECKS: &[&str] = &[
    "adapters",
    "adapters",
    "attention",
    "adapters",
    "adapters",
    "adapters",
    "adapters",
    "rotation and storing of keys",
    "rows and blocks",
    "experts",
];

#[test]
fn each_planted_mistake_is_found() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    assert_eq!(PLANTED.len(), CHECKS.len());
    for (i, (planted, check)) in PLANTED.iter().zip(CHECKS).enumerate() {
        if !emulator.fills_variables && planted.name == "uninitialised accumulator" {
            continue;
        }
        let card = emulator.open(FIRST_PLANTED + i);
        // A card that is lost may show anywhere, also where a test lays out its data.
        let found = catch_unwind(AssertUnwindSafe(|| gpu_checks::run(check, &card)));
        assert!(!matches!(found, Ok(Ok(_))), "no check finds: {}", planted.name);
    }
}
