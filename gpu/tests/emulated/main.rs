//! Every kernel, and the runtime that starts it, on the emulated driver, with lanes in both orders.

mod faults;
mod graphs;
mod planted;

use std::path::Path;

use gpu_emulated::Emulator;

/// None where there is no C++ compiler.
fn emulator() -> Option<&'static Emulator> {
    Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

/// Runs a check on the card that runs lanes forwards and on the one that runs them backwards.
fn on_both(name: &str) {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let forwards = gpu_checks::run(name, &emulator.open(0)).expect("forwards");
    let backwards = gpu_checks::run(name, &emulator.open(1)).expect("backwards");
    assert!(!forwards.is_empty(), "the check has results");
    assert!(forwards == backwards, "the order of lanes shows");
}

#[test]
fn products_are_chains_in_every_tile() {
    on_both("products");
}

#[test]
fn epilogues_round_alike_fused_and_alone() {
    on_both("epilogues");
}

#[test]
fn attention_depends_on_its_sequence_alone() {
    on_both("attention");
}

#[test]
fn long_contexts_have_the_same_bits_whole_and_in_parts() {
    on_both("attention over long contexts");
}

#[test]
fn queries_and_keys_turn_and_find_their_places() {
    on_both("rotation and storing of keys");
}

#[test]
fn adapters_change_their_own_rows() {
    on_both("adapters");
}

#[test]
fn experts_are_those_of_the_reference() {
    on_both("experts");
}

#[test]
fn norms_are_those_of_the_reference() {
    on_both("norms");
}

#[test]
fn rows_and_blocks_are_moved_and_rounded() {
    on_both("rows and blocks");
}

#[test]
fn log_probabilities_are_those_of_the_reference() {
    on_both("log-probabilities");
}

#[test]
fn draws_are_those_of_a_full_sort() {
    on_both("draws");
}
