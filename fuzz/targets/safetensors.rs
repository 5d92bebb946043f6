//! Any weight file.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/folder.rs"]
mod folder;
#[path = "../entries/safetensors.rs"]
mod safetensors;

fuzz_target!(|data: &[u8]| safetensors::run(data));
