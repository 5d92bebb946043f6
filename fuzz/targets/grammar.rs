//! Any regular expression, schema, list of choices or grammar.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[path = "../entries/grammar.rs"]
mod grammar;
#[path = "mutate.rs"]
mod mutate;
#[path = "panics.rs"]
mod panics;

fuzz_target!(init: panics::of_libraries_pass(), |data: &[u8]| grammar::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, |input, random| {
        let schema = mutate::json(input.strip_prefix(b"j")?, random)?;
        Some([&b"j"[..], &schema].concat())
    })
});
