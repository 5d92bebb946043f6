//! Every family and head on the emulated card: near the same model on a processor, and with the same bits alone, in company,
//! in chunks over scattered blocks, beside adapters, and with lanes in both orders.

mod agreement;
mod bits;
mod draws;
mod faults;
mod memory;

use std::path::Path;

use gpu_emulated::Emulator;
use gpu_kit::subject;

/// None, and a line about it, where there is no C++ compiler.
fn emulator() -> Option<&'static Emulator> {
    let emulator = Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if emulator.is_none() {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
    }
    emulator
}
