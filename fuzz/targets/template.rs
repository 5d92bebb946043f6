//! Any chat template.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/template.rs"]
mod template;

fuzz_target!(|data: &[u8]| template::run(data));
