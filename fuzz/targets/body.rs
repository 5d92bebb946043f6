//! Any body of any route.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/body.rs"]
mod body;
#[path = "../entries/server.rs"]
mod server;

fuzz_target!(|data: &[u8]| body::run(data));
