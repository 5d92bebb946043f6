//! Runs the binary.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("the binary prints text"),
            stderr: String::from_utf8(output.stderr).expect("the binary prints text"),
        }
    }
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that standard error says all of this.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is missing: {self:#?}");
        }
        self
    }
}

/// The binary, not started yet.
pub(crate) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tribunal"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the binary to its end.
pub(crate) fn tribunal<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    command(args).output().expect("the binary starts").into()
}

/// Runs the binary with a text on standard input.
pub(crate) fn tribunal_reading<S: AsRef<OsStr>>(
    stdin: &[u8],
    args: impl IntoIterator<Item = S>,
) -> Ran {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    let output = std::thread::scope(|scope| {
        // A program that ends early closes the pipe; what it makes of its input is checked later.
        scope.spawn(move || drop(pipe.write_all(stdin)));
        child.wait_with_output().expect("the binary ends")
    });
    output.into()
}

/// A folder of a test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn name(&self, name: &str) -> String {
        self.path(name).to_str().expect("temporary folders have plain names").to_owned()
    }

    /// Writes a file and returns its path as an argument.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).expect("the folder is ours");
        self.name(name)
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }

    /// The lines of a file as JSON.
    #[track_caller]
    pub(crate) fn rows(&self, name: &str) -> Vec<Value> {
        rows(&String::from_utf8(self.read(name)).expect("JSONL is text"))
    }

    /// The names of the files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names_in("")
    }

    /// The names of the files in a folder of it, sorted.
    #[track_caller]
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).expect("the folder is ours");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("readable").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

/// JSON lines.
#[track_caller]
pub(crate) fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Rows like those of a dataset, with right and wrong answers and unused columns.
pub(crate) fn dataset(n_rows: usize) -> String {
    let mut text = String::new();
    for row in 0..n_rows {
        let (a, b) = (row * 7919 % 9973, row % 89 + 2);
        let answer = a * b + usize::from(row % 5 == 0);
        writeln!(
            text,
            r#"{{"id": {row}, "weight": 1.50e-{exponent}, "prompt": "What is {a} times {b}?", "response": "It is {a} * {b} = {answer}, so\n#### {answer}", "reference": "{gold}"}}"#,
            exponent = row % 7,
            gold = a * b,
        )
        .expect("writing to memory does not fail");
    }
    text
}

/// The folder of real data, if this machine has it.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    folder.is_dir().then_some(folder)
}
