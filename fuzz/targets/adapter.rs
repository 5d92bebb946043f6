//! Any `adapter_config.json`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/adapter.rs"]
mod adapter;

fuzz_target!(|data: &[u8]| adapter::run(data));
