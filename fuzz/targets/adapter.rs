//! Any `adapter_config.json`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[path = "../entries/adapter.rs"]
mod adapter;
#[path = "mutate.rs"]
mod mutate;

fuzz_target!(|data: &[u8]| adapter::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, mutate::json)
});
