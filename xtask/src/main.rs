//! Developer commands: `cargo xtask help` lists them.
//!
//! Built on the standard library alone, so that a fresh checkout has these commands after a few
//! seconds of compiling. It runs cargo and does not depend on the crates that it builds.

mod answers;
mod args;
mod book;
mod cargo;
mod check;
mod clients;
mod dist;
mod gpu;
mod house;
mod openapi;
mod parity;
mod soak;
mod summary;
mod test;
mod venv;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::USAGE);
            ExitCode::SUCCESS
        }
        Ok(Command::Answers) => answers::run(),
        Ok(Command::Book) => book::run(),
        Ok(Command::Check) => check::run(),
        Ok(Command::Test(options)) => test::run(&options),
        Ok(Command::Clients(names)) => clients::run(&names),
        Ok(Command::Dist) => dist::run(),
        Ok(Command::Gpu(task)) => gpu::run(&task),
        Ok(Command::House(crates)) => house::run(&crates),
        Ok(Command::Openapi) => openapi::run(),
        Ok(Command::Soak(args)) => soak::run(&args),
        Ok(Command::Parity(options)) => parity::run(&options),
        Err(problem) => {
            eprint!("error: {problem}\n\n{}", args::USAGE);
            ExitCode::from(2)
        }
    }
}
