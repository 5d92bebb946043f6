//! Kernels of cards: compiled for every architecture, packed with what measures a card, and the tables of its results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::cargo;
use crate::venv::Venv;

const VENV: Venv<'_> =
    Venv { folder: "target/gpu-venv", requirements: "xtask/gpu/requirements.txt", alone: None };

/// The images of all kernels, for `TRIBUNAL_KERNELS`.
const IMAGES: &str = "target/gpu-kernels.bin";
/// The folder to take along to a machine with a card.
const KIT: &str = ".gpu";
/// What the folder may weigh.
const MAX_BYTES: u64 = 45 << 20;

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GpuTask {
    /// Compile the kernels.
    Compile,
    /// Make the folder.
    Pack,
    /// Write the tables, with the results in these files.
    Report(Vec<String>),
}

/// The command `gpu`.
pub(crate) fn run(task: &GpuTask) -> ExitCode {
    let done = match task {
        GpuTask::Compile => return compile(),
        GpuTask::Pack => pack(),
        GpuTask::Report(files) => report(files),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Compiles the kernels with NVRTC and reads its report. Where the compiler cannot be had, that is said, and nothing fails.
fn compile() -> ExitCode {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(why) => {
            println!("skipped: NVRTC cannot be had: {why}\n\n0 passed, 0 failed, 1 skipped");
            return ExitCode::SUCCESS;
        }
    };
    match compile_with(&compiler) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn compile_with(compiler: &Path) -> Result<(), String> {
    let args = ["run", "--release", "--quiet", "-p", "gpu", "--example"];
    let mut command = cargo::cargo(&args);
    command.args(["compile", "--"]).arg(compiler).arg(cargo::root().join(IMAGES));
    cargo::run(&mut command).map_err(|why| format!("compile: {why}"))
}

/// The library of NVRTC, in an environment that is made where it is missing.
fn compiler() -> Result<PathBuf, String> {
    VENV.ensure()?;
    let lib = cargo::root().join(VENV.folder).join("lib");
    let folders = fs::read_dir(&lib).map_err(|error| format!("{}: {error}", lib.display()))?;
    let place = "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    let libraries = folders.flatten().map(|python| python.path().join(place));
    let found = libraries.into_iter().find(|library| library.is_file());
    found.ok_or_else(|| format!("{} has no {place}", lib.display()))
}

/// Makes the folder: the program with the kernels' images, its script, and the commit.
fn pack() -> Result<(), String> {
    let root = cargo::root();
    // The features of the command line's build: what it depends on is then compiled once.
    let args = ["build", "--release", "-p", "cli", "-p", "gpu-kit", "--bin", "gpu-kit"];
    let mut build = cargo::cargo(&args);
    match compiler() {
        Ok(compiler) => {
            compile_with(&compiler)?;
            build.env("TRIBUNAL_KERNELS", root.join(IMAGES));
        }
        Err(why) => println!("without images of the kernels, since NVRTC cannot be had: {why}"),
    }
    cargo::run(&mut build).map_err(|why| format!("gpu-kit: {why}"))?;
    let kit = root.join(KIT);
    fs::create_dir_all(&kit).map_err(|error| format!("{}: {error}", kit.display()))?;
    let mut bytes = copy(&root.join("target/release/gpu-kit"), &kit.join("gpu-kit"))?;
    bytes += copy(&root.join("xtask/gpu/check.py"), &kit.join("check.py"))?;
    let commit = kit.join("commit");
    fs::write(&commit, commit_of(root))
        .map_err(|error| format!("{}: {error}", commit.display()))?;
    if bytes > MAX_BYTES {
        return Err(format!("{KIT} has {} MiB, more than {}", bytes >> 20, MAX_BYTES >> 20));
    }
    println!("{} KiB in {KIT}; there: python3 check.py --out DIR", bytes >> 10);
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<u64, String> {
    fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))
}

/// The commit, with a mark if files were changed since; empty outside of a repository.
fn commit_of(root: &Path) -> Vec<u8> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--abbrev=40", "--dirty"]).current_dir(root);
    let output = git.stderr(Stdio::null()).output();
    output.map(|output| output.stdout).unwrap_or_default()
}

fn report(files: &[String]) -> Result<(), String> {
    let mut command = Command::new("python3");
    command.arg(cargo::root().join("xtask/gpu/report.py")).args(files);
    cargo::run(&mut command).map_err(|why| format!("report.py: {why}"))
}
