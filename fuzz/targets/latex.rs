//! Any LaTeX as a gold answer: what is read equals itself, within fuel.

#![no_main]

use libfuzzer_sys::fuzz_target;

mod itself;

fuzz_target!(|text: &str| itself::check(&format!("${text}$")));
