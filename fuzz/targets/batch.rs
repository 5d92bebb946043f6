//! Any lines of a batch.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

#[path = "../entries/batch.rs"]
mod batch;
#[path = "lines.rs"]
mod lines;
#[path = "mutate.rs"]
mod mutate;
#[path = "../entries/server.rs"]
mod server;
#[path = "in_process.rs"]
mod transport;

use mutate::Random;

fuzz_target!(|data: &[u8]| batch::run(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::with(data, (size, max_size), seed, |input, random| lines::headed(input, random, line))
});

/// The lines with one repeated, removed or changed.
fn line(body: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = body.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    match random.below(8) {
        0 => lines.push(lines[at].clone()),
        1 => drop(lines.remove(at)),
        _ => lines[at] = mutate::json(&lines[at], random)?,
    }
    Some(lines.join(&b'\n'))
}
