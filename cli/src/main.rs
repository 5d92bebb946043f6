//! The program; its code is the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Set by `cargo xtask dist`. Here alone, so that another commit compiles no more than this file.
    cli::main(option_env!("TRIBUNAL_COMMIT").unwrap_or("unknown"))
}
