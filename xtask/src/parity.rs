//! Writes the goldens that hold this project's models to transformers and peft: folders are made
//! from their seeds, the reference reads them in its own virtual environment, and what it computes
//! is committed.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::args::ParityOptions;
use crate::venv::Venv;
use crate::{cargo, venv};

/// The environment that the reference runs in, where none is named.
const VENV: Venv<'_> = Venv {
    folder: "target/parity-venv",
    requirements: "xtask/parity/requirements.txt",
    alone: None,
};

/// The command `parity`.
pub(crate) fn run(options: &ParityOptions) -> ExitCode {
    match write_goldens(options) {
        Ok(()) => {
            println!("wrote models/tests/goldens; `cargo test -p models --test parity` compares");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn write_goldens(options: &ParityOptions) -> Result<(), String> {
    let python = match &options.venv {
        Some(venv) => venv::interpreter(Path::new(venv)),
        None => VENV.ensure()?,
    };
    let folders = cargo::root().join("target/parity/folders");
    make_folders(&folders)?;
    let scripts = cargo::root().join("xtask/parity");
    let mut reference = Command::new(&python);
    reference
        .arg(scripts.join("parity.py"))
        .arg("--folders")
        .arg(&folders)
        .arg("--goldens")
        .arg(cargo::root().join("models/tests/goldens"))
        // Everything that it reads was just made.
        .env("HF_HUB_OFFLINE", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run_named("the reference", &mut reference)
}

/// Makes every folder anew.
fn make_folders(folders: &Path) -> Result<(), String> {
    if folders.exists() {
        fs::remove_dir_all(folders).map_err(|error| format!("{}: {error}", folders.display()))?;
    }
    let mut make = cargo::cargo(&["run", "--release", "--package", "models"]);
    make.args(["--example", "parity_folders", "--"]).arg(folders);
    run_named("the folders", &mut make)
}

fn run_named(what: &str, command: &mut Command) -> Result<(), String> {
    cargo::run(command).map_err(|why| format!("{what}: {why}"))
}
