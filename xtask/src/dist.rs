//! Builds what is installed: an archive and a Python wheel of the program.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cargo;

/// Shells, and the files below a prefix where they look for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/tribunal"),
    ("zsh", "zsh/site-functions/_tribunal"),
    ("fish", "fish/vendor_completions.d/tribunal.fish"),
];

/// The command `dist`.
pub(crate) fn run() -> ExitCode {
    match build().and_then(|()| stage()).and_then(|()| package()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let mut build = cargo::cargo(&["build", "--release", "--locked", "--package", "cli"]);
    let commit = commit()?;
    cargo::run(build.env("TRIBUNAL_COMMIT", commit)).map_err(|why| format!("cargo build: {why}"))
}

/// The commit of the checkout, with a mark where files differ from it.
fn commit() -> Result<String, String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"]);
    let output = git.current_dir(cargo::root()).output();
    let output = output.map_err(|error| format!("git describe: {error}"))?;
    if !output.status.success() {
        return Err(format!("git describe: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Lays the files out as below a prefix.
fn stage() -> Result<(), String> {
    let staging = cargo::root().join("target/dist/staging");
    let problem = |error: std::io::Error| format!("{}: {error}", staging.display());
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(problem)?;
    }
    let program = staging.join("bin/tribunal");
    fs::create_dir_all(staging.join("bin")).map_err(problem)?;
    fs::copy(cargo::root().join("target/release/tribunal"), &program).map_err(problem)?;
    for (shell, file) in COMPLETIONS {
        let file = staging.join("share").join(file);
        fs::create_dir_all(file.parent().expect("it lies in a folder")).map_err(problem)?;
        fs::write(file, printed(&program, &["completions", shell])?).map_err(problem)?;
    }
    let pages = staging.join("share/man/man1");
    printed(&program, &["man", &pages.to_string_lossy()])?;
    Ok(())
}

fn printed(program: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program).args(args).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(format!("tribunal {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)))
}

fn package() -> Result<(), String> {
    let script = cargo::root().join("xtask/dist/package.py");
    let mut python = Command::new("python3");
    python.current_dir(cargo::root()).arg(script);
    python.args(["target/dist/staging", env!("CARGO_PKG_VERSION"), "target/dist"]);
    cargo::run(&mut python).map_err(|why| format!("package.py: {why}"))
}
