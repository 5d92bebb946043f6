//! Any `tokenizer.json`.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[path = "../entries/folder.rs"]
mod folder;
#[path = "mutate.rs"]
mod mutate;
#[path = "panics.rs"]
mod panics;
#[path = "../entries/tokenizer.rs"]
mod tokenizer;

fuzz_target!(init: panics::of_libraries_pass(), |data: &[u8]| tokenizer::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, mutate::json)
});
