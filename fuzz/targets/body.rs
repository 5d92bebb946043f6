//! Any body of any route.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[path = "../entries/body.rs"]
mod body;
#[path = "lines.rs"]
mod lines;
#[path = "mutate.rs"]
mod mutate;
#[path = "../entries/server.rs"]
mod server;
#[path = "in_process.rs"]
mod transport;

fuzz_target!(|data: &[u8]| body::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, |input, random| {
        lines::headed(input, random, mutate::json)
    })
});
