//! Any `tokenizer.json`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/folder.rs"]
mod folder;
#[path = "../entries/tokenizer.rs"]
mod tokenizer;

fuzz_target!(|data: &[u8]| tokenizer::run(data));
