//! The program; its code is the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
