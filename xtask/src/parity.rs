//! Writes the goldens that hold this project's models to transformers and peft: folders are made
//! from their seeds, the reference reads them in its own virtual environment, and what it computes
//! is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::args::ParityOptions;
use crate::cargo;

/// What the virtual environment was made from, kept inside it.
const STAMP: &str = "requirements.txt";

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
        Some(venv) => interpreter(Path::new(venv)),
        None => environment()?,
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
    named("the reference", &mut reference)
}

/// Makes every folder anew.
fn make_folders(folders: &Path) -> Result<(), String> {
    if folders.exists() {
        fs::remove_dir_all(folders).map_err(|error| format!("{}: {error}", folders.display()))?;
    }
    let mut make = cargo::cargo(&["run", "--release", "--package", "models"]);
    make.args(["--example", "parity_folders", "--"])
        .arg(folders);
    named("the folders", &mut make)
}

/// The interpreter of our own virtual environment, made where it is missing or where its packages
/// have changed since.
fn environment() -> Result<PathBuf, String> {
    let venv = cargo::root().join("target/parity-venv");
    let requirements = cargo::root().join("xtask/parity").join(STAMP);
    let wanted = read(&requirements)?;
    let python = interpreter(&venv);
    if read(&venv.join(STAMP)).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    println!("making target/parity-venv");
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(&venv);
    named("python3 -m venv", &mut create)?;
    let mut install = Command::new(&python);
    install
        .args(["-m", "pip", "install", "--requirement"])
        .arg(&requirements);
    named("pip install", &mut install)?;
    // Last, so that an environment that was left half made is made again.
    let stamp = venv.join(STAMP);
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

fn interpreter(venv: &Path) -> PathBuf {
    if cfg!(windows) {
        venv.join("Scripts/python.exe")
    } else {
        venv.join("bin/python")
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn named(what: &str, command: &mut Command) -> Result<(), String> {
    cargo::run(command).map_err(|why| format!("{what}: {why}"))
}
