//! Builds the server program and the soak beside it, and runs the soak.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::cargo;

/// The command `soak`. Its exit code is that of the soak: 1 for a failed check, 2 for a soak that
/// could not be run.
pub(crate) fn run(args: &[String]) -> ExitCode {
    // Both at once, so that what they share is built once, with the features of both.
    let build = &["build", "--release", "-p", "cli", "-p", "soak"];
    let built = cargo::run(&mut cargo::cargo(build)).map_err(|why| format!("cargo build: {why}"));
    let status = built.and_then(|()| program()).and_then(|program| {
        let run = Command::new(&program).args(args).current_dir(cargo::root()).status();
        run.map_err(|error| format!("{}: {error}", program.display()))
    });
    match status {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(2))
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// The built program: its folder is beside that of this program, whatever the target folder is.
fn program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.ancestors().nth(2).ok_or("this program is in no target folder")?;
    Ok(target.join("release").join(format!("soak{}", std::env::consts::EXE_SUFFIX)))
}
