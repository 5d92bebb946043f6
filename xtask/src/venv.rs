//! Virtual environments for Python, made from lists of packages and made again when a list changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;

/// What an environment was made from, kept inside it.
const STAMP: &str = "made-from.txt";

/// An environment and its lists, relative to the workspace root.
#[derive(Debug)]
pub(crate) struct Venv<'a> {
    pub(crate) folder: &'a str,
    /// Lists for pip, each installed with what its packages require.
    pub(crate) requirements: &'a str,
    /// A list of packages that are installed without what they require, after the others.
    pub(crate) alone: Option<&'a str>,
}

impl Venv<'_> {
    /// Its interpreter. The environment is made where it is missing or where its lists have changed
    /// since. The error is a message for the user.
    pub(crate) fn ensure(&self) -> Result<PathBuf, String> {
        let venv = cargo::root().join(self.folder);
        let python = interpreter(&venv);
        let wanted = self.wanted()?;
        let stamp = venv.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
            return Ok(python);
        }
        println!("making {}", self.folder);
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&venv);
        run_named("python3 -m venv", &mut create)?;
        pip(&python, &["--requirement", self.requirements])?;
        if let Some(alone) = self.alone {
            pip(&python, &["--no-deps", "--requirement", alone])?;
        }
        // Last, so that an environment that was left half made is made again.
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
        Ok(python)
    }

    /// The text of its lists.
    fn wanted(&self) -> Result<String, String> {
        let lists = [Some(self.requirements), self.alone];
        lists.into_iter().flatten().map(read_list).collect()
    }
}

/// The interpreter of the environment in a folder.
pub(crate) fn interpreter(venv: &Path) -> PathBuf {
    if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
}

fn pip(python: &Path, args: &[&str]) -> Result<(), String> {
    let mut install = Command::new(python);
    // A list names folders of the checkout.
    install.current_dir(cargo::root());
    // As a module: the script that is called pip may be another interpreter's.
    install.args(["-m", "pip", "install", "--quiet"]).args(args);
    run_named("pip install", &mut install)
}

fn read_list(list: &str) -> Result<String, String> {
    fs::read_to_string(cargo::root().join(list)).map_err(|error| format!("{list}: {error}"))
}

fn run_named(what: &str, command: &mut Command) -> Result<(), String> {
    cargo::run(command).map_err(|why| format!("{what}: {why}"))
}
