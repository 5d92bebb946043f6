//! Any regular expression, schema, list of choices or grammar.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/grammar.rs"]
mod grammar;

fuzz_target!(|data: &[u8]| grammar::run(data));
