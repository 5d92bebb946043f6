//! Makes the models and the adapter of the gradient goldens:
//! `cargo run --release -p trainer --example gradient_folders -- DIR`.

#[path = "../tests/gradients/cases.rs"]
mod cases;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(parent), None) = (args.next().map(PathBuf::from), args.next()) else {
        eprintln!("usage: gradient_folders DIR");
        return ExitCode::from(2);
    };
    match cases::Cases::read().make(&parent) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
