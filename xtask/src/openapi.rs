//! Writes the committed description of the HTTP interface. The program describes itself: the text
//! is what `tribunal openapi` prints, so no second description exists that could drift.

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::{fs, io};

use crate::cargo;

/// The command `openapi`.
pub(crate) fn run() -> ExitCode {
    let target = cargo::root().join("openapi").join("openapi.json");
    match describe().and_then(|text| replace(&target, &text)) {
        Ok(()) => {
            println!("wrote openapi/openapi.json");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn describe() -> io::Result<Vec<u8>> {
    let output = cargo::cargo(&["run", "--release", "--package", "cli", "--", "openapi"])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("`tribunal openapi`: {}", output.status)));
    }
    if output.stdout.is_empty() {
        return Err(io::Error::other("`tribunal openapi` printed nothing"));
    }
    Ok(output.stdout)
}

/// The file is written atomically: a half-written description would pass for a real one.
fn replace(target: &Path, text: &[u8]) -> io::Result<()> {
    let partial = target.with_extension("json.partial");
    fs::write(&partial, text)?;
    fs::rename(&partial, target)
}
