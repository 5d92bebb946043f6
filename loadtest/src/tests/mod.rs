//! Tests of whole runs against a small server in this process.

mod failures;
mod laws;
mod open_loop;
mod reports;
mod stub;

use std::io;

use clap::Parser;

use crate::{BenchServe, Lines, LoadError, LoadReport, Phase, run};
use stub::Stub;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    bench: BenchServe,
}

/// The flags of `line`, pointed at `url`.
fn args(url: &str, line: &str) -> BenchServe {
    let words = ["bench", "--url", url].into_iter().chain(line.split_whitespace());
    Program::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).bench
}

fn bench(stub: &Stub, line: &str) -> Result<LoadReport, LoadError> {
    run(&args(&stub.url(), line), &mut Lines(io::sink()))
}

/// The only phase of a run that works.
fn phase(stub: &Stub, line: &str) -> Phase {
    let report = bench(stub, line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let [phase] = <[Phase; 1]>::try_from(report.phases).expect("one phase");
    phase
}
