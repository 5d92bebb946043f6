//! The program behind `cargo xtask soak`.

use std::process::ExitCode;

use clap::Parser as _;
use soak::SoakOptions;

fn main() -> ExitCode {
    match soak::run(&SoakOptions::parse()) {
        Ok(report) => {
            print!("{report}");
            if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
