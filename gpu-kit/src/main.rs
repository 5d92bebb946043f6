//! Checks and measures a card, a part at a time: `xtask/gpu/check.py` runs the parts one after the other, each with its time.
//!
//! Usage: `gpu-kit [--device N] [--library FILE]... [--cache FOLDER] [--small] PART`. Each result is a line of JSON on stdout:
//! `{"name", "status": "ok" | "failed" | "skipped", "seconds", "figures": {name: number}, "why"}`. The exit status says whether
//! the part ran to its end, not whether its results are good.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts become rates, of which few digits are of interest"
)]

mod effort;
mod lines;
mod parts;
mod shapes;

use std::path::PathBuf;
use std::process::ExitCode;

use gpu::{Gpu, GpuOptions};

use effort::Effort;
use parts::Run;

const USAGE: &str = "usage: gpu-kit [--device N] [--library FILE]... [--cache FOLDER] [--small] \
                     card|kernels|families|invariance|physics|speed|host";

fn main() -> ExitCode {
    let parsed = parse(std::env::args().skip(1));
    let (options, effort, run) = match parsed {
        Ok(parsed) => parsed,
        Err(why) => {
            eprintln!("error: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // Checks that find a fault may panic; it becomes a line.
    std::panic::set_hook(Box::new(|_| {}));
    match Gpu::open(&options) {
        Ok(gpu) => {
            run(&gpu, effort);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: impl Iterator<Item = String>) -> Result<(GpuOptions, Effort, Run), String> {
    let mut args = args;
    let (mut options, mut effort, mut run) = (GpuOptions::default(), Effort::Full, None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--device" => {
                let text = value()?;
                options.index = text.parse().map_err(|_| format!("{text} is no card's number"))?;
            }
            "--library" => options.libraries.push(PathBuf::from(value()?)),
            "--cache" => options.cache = Some(PathBuf::from(value()?)),
            "--small" => effort = Effort::Small,
            part => {
                run = parts::ALL.iter().find(|(name, _)| *name == part).map(|(_, run)| *run);
                run.ok_or_else(|| format!("there is no part {part}"))?;
            }
        }
    }
    Ok((options, effort, run.ok_or("no part is named")?))
}
