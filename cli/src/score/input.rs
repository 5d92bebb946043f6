//! The input of a run.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::CliError;
use crate::stream::{Chunk, Limits, Reader};

/// The name of standard input and output on the command line.
pub(crate) const STREAM: &str = "-";

/// An open input.
pub(crate) struct Input {
    /// As it was named on the command line.
    pub(crate) name: String,
    path: PathBuf,
    reader: Reader<Box<dyn Read + Send>>,
    /// Size, where it is known.
    pub(crate) total_bytes: Option<u64>,
}

impl Input {
    /// Opens `name`, `-` for standard input, and reads at most `limit` rows of it.
    pub(crate) fn open(name: &str, limit: Option<u64>) -> Result<Self, CliError> {
        // Somebody may be waiting at the other end of the pipe.
        let (rows, eager) = (limit.unwrap_or(u64::MAX), name == STREAM);
        Self::with_limits(name, Limits { rows, eager, ..Limits::default() })
    }

    /// Opens `name` with one row a chunk.
    #[cfg(test)]
    pub(crate) fn in_small_chunks(name: &str) -> Self {
        let limits = Limits { chunk_rows: 1, ..Limits::default() };
        Self::with_limits(name, limits).expect("the test has written it")
    }

    fn with_limits(name: &str, limits: Limits) -> Result<Self, CliError> {
        let path = PathBuf::from(if name == STREAM { "standard input" } else { name });
        let (source, total_bytes): (Box<dyn Read + Send>, _) = if name == STREAM {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(&path).map_err(CliError::named(&path))?;
            let metadata = file.metadata().map_err(CliError::file("read", &path))?;
            (Box::new(file), Some(metadata.len()).filter(|_| metadata.is_file()))
        };
        let reader = Reader::new(source, limits);
        Ok(Self { name: name.to_owned(), path, reader, total_bytes })
    }

    /// Whether it can be read only once.
    pub(crate) fn is_stdin(&self) -> bool {
        self.name == STREAM
    }

    /// The next chunk, which [`Input::next`] will return again.
    pub(crate) fn peek(&mut self) -> Result<Option<&Chunk>, CliError> {
        self.reader.peek().map_err(CliError::file("read", &self.path))
    }

    /// The next chunk; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, CliError> {
        self.reader.next().map_err(CliError::file("read", &self.path))
    }
}

/// Refuses an output that would be written over the input.
pub(crate) fn refuse_same_file(input: &str, outputs: &[PathBuf]) -> Result<(), CliError> {
    if input == STREAM {
        return Ok(());
    }
    for output in outputs {
        if is_same_file(Path::new(input), output) {
            let message = format!("{} is the input; name another output", output.display());
            return Err(CliError::Usage(message));
        }
    }
    Ok(())
}

/// Whether both names lead to one file, through links too.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(a).is_some_and(|identity_a| identity(b) == Some(identity_a))
}
