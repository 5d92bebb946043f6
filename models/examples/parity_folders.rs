//! Makes the model and adapter folders of the parity goldens:
//! `cargo run --release -p models --example parity_folders -- DIR`.

#[path = "../tests/parity/cases.rs"]
mod cases;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cases::Cases;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let (Some(parent), None) = (args.next().map(PathBuf::from), args.next()) else {
        eprintln!("usage: parity_folders DIR");
        return ExitCode::from(2);
    };
    match make(&parent) {
        Ok(n) => {
            println!("made {n} folders");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn make(parent: &Path) -> Result<usize, String> {
    let cases = Cases::read();
    for case in &cases.models {
        case.make(parent)?;
    }
    for case in &cases.adapters {
        case.make(parent, &cases.model(&case.base)?.spec)?;
    }
    Ok(cases.models.len() + cases.adapters.len())
}
