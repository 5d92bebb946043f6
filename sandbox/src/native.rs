//! Programs that installed tools compile and run.

use std::time::Duration;

use serde::Serialize;

/// How a program is compiled and run: commands whose first word is a path, in a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeProgram {
    /// Files by name, which the commands find in their folder.
    pub files: Vec<(String, String)>,
    /// Commands that run first, one after the other; one that fails says that the text is no program.
    pub compile: Vec<Vec<String>>,
    /// The file that they make. It alone is there when tests run; without one, `files` are.
    pub keep: Option<String>,
    /// The command of a test; the kept file if it begins with its name.
    pub run: Vec<String>,
    /// The command of a call, which reads it from descriptor 4 and writes the framed value to 3.
    pub call: Option<Vec<String>>,
    /// `NAME=VALUE`, beside PATH, LANG, HOME and TMPDIR.
    pub environment: Vec<String>,
    /// Whether it may start processes. Each has the limits of CPU time and memory.
    pub processes: bool,
    /// For a program that reserves address space without end: memory that it may write to beyond the
    /// limit, which counts that memory instead.
    pub data_spare: Option<u64>,
    /// CPU time of each command of `compile`; twice as much by the clock.
    pub compile_time: Duration,
}

impl Default for NativeProgram {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            compile: Vec::new(),
            keep: None,
            run: Vec::new(),
            call: None,
            environment: Vec::new(),
            processes: false,
            data_spare: None,
            compile_time: Duration::from_secs(30),
        }
    }
}

/// The address space of a compiler.
pub(crate) const COMPILER_BYTES: u64 = 4 << 30;

/// A program as its worker reads it.
#[derive(Debug, Serialize)]
pub(crate) struct NativeMessage<'a, L> {
    pub(crate) files: std::collections::BTreeMap<&'a str, &'a str>,
    pub(crate) compile: &'a [Vec<String>],
    pub(crate) keep: Option<&'a str>,
    pub(crate) run: &'a [String],
    pub(crate) call: Option<&'a [String]>,
    pub(crate) environment: &'a [String],
    pub(crate) processes: bool,
    pub(crate) data_spare: Option<u64>,
    pub(crate) compile_limits: L,
}

impl NativeProgram {
    pub(crate) fn message<L>(&self, compile_limits: L) -> NativeMessage<'_, L> {
        NativeMessage {
            files: self.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect(),
            compile: &self.compile,
            keep: self.keep.as_deref(),
            run: &self.run,
            call: self.call.as_deref(),
            environment: &self.environment,
            processes: self.processes,
            data_spare: self.data_spare,
            compile_limits,
        }
    }
}
