//! Any lines of a batch.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/batch.rs"]
mod batch;
#[path = "../entries/server.rs"]
mod server;

fuzz_target!(|data: &[u8]| batch::run(data));
