//! Tests of a submission.

use serde::Serialize;
use serde_json::{Map, Value};

/// One test of a submission. Expected values are in [`Test::Tests`] and [`Test::Check`] alone,
/// whose text reaches a process of its own, after the submission's process was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Test {
    /// Runs the submission as a program.
    Program {
        /// What it reads.
        stdin: String,
    },
    /// Calls a function of the submission, or a method of its class `Solution`.
    Call {
        /// The function.
        function: String,
        /// Its positional arguments.
        args: Vec<Value>,
        /// Its named arguments.
        kwargs: Map<String, Value>,
        /// Whether the result is the first argument after the call.
        in_place: bool,
    },
    /// Runs the loaded program with the names of three files as its arguments: `input.txt`,
    /// `correct_output.txt` and `solution_output.txt`. They are in its memory alone.
    Check(#[serde(skip)] CheckFiles),
    /// Runs tests in one process, which call the submission in another.
    Tests(#[serde(skip)] TestFile),
}

/// Python tests. They see the submission's functions as their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TestFile {
    /// Code that runs first: imports, helpers, `check(candidate)`, functions `test_*`, classes of
    /// `unittest.TestCase`, and classes `Test*` of pytest.
    pub code: String,
    /// The beginning of a module that the submission completes, which has imports and functions beside `entry`. The
    /// tests call those, and the submission finds them as its own.
    pub prompt: Option<String>,
    /// The function that `candidate` names.
    pub entry: Option<String>,
    /// Statements, each of which is a test.
    pub asserts: Vec<String>,
    /// Names of the submission's module beside `solution`.
    pub modules: Vec<String>,
}

/// The files of a program that checks an output.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CheckFiles {
    /// What a submission read.
    pub input: String,
    /// The output of the reference.
    pub expected: String,
    /// The output of the submission.
    pub output: String,
}

impl Test {
    /// Bytes of what the test brings into the memory of a worker, which may hold it while tests before it run; `None`
    /// if it may not. A worker whose template is lean forks itself for the first call.
    pub(crate) fn bytes_ahead(&self, is_lean: bool) -> Option<usize> {
        match self {
            Self::Program { stdin } => Some(stdin.len()),
            Self::Call { .. } if !is_lean => serde_json::to_vec(self).ok().map(|text| text.len()),
            Self::Call { .. } | Self::Check(_) | Self::Tests(_) => None,
        }
    }
}
