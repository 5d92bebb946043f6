//! The input of a run over lines.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::PathBuf;

use datasets::json_array::{ArrayLines, begins_array};

use super::reader::{ChunkLimits, LineChunk, LineReader};
use crate::error::RunError;
use crate::files::STREAM;

/// An open input.
pub struct Input {
    /// The name that the caller gave.
    name: String,
    path: PathBuf,
    reader: LineReader<Box<dyn Read + Send>>,
    /// Bytes that are read, those of the file when it was opened; `None` for streams.
    pub(crate) total_bytes: Option<u64>,
}

impl Input {
    /// Opens `name`, `-` for standard input, and reads at most `limit` rows of it.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(name: &str, limit: Option<u64>) -> Result<Self, RunError> {
        // The writer of a pipe may wait for results before it writes more.
        let (rows, eager) = (limit.unwrap_or(u64::MAX), name == STREAM);
        Self::with_limits(name, ChunkLimits { rows, eager, ..ChunkLimits::default() })
    }

    /// Opens `name` with one row a chunk.
    #[cfg(test)]
    pub(crate) fn in_small_chunks(name: &str) -> Self {
        let limits = ChunkLimits { chunk_rows: 1, ..ChunkLimits::default() };
        Self::with_limits(name, limits).expect("the test has written it")
    }

    fn with_limits(name: &str, limits: ChunkLimits) -> Result<Self, RunError> {
        let path = PathBuf::from(if name == STREAM { "standard input" } else { name });
        let (source, total_bytes): (Box<dyn Read + Send>, _) = if name == STREAM {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(&path).map_err(RunError::named(&path))?;
            let metadata = file.metadata().map_err(RunError::file("read", &path))?;
            let bytes = Some(metadata.len()).filter(|_| metadata.is_file());
            // Lines that another process adds meanwhile are of another run.
            (Box::new(file.take(bytes.unwrap_or(u64::MAX))), bytes)
        };
        let mut text = BufReader::new(source);
        let is_array = begins_array(text.fill_buf().map_err(RunError::file("read", &path))?);
        let source: Box<dyn Read + Send> =
            if is_array { Box::new(ArrayLines::new(text)) } else { Box::new(text) };
        let reader = LineReader::new(source, limits);
        Ok(Self { name: name.to_owned(), path, reader, total_bytes })
    }

    /// Whether it is standard input, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        self.name == STREAM
    }

    /// Returns the next chunk without consuming it.
    pub(crate) fn peek(&mut self) -> Result<Option<&LineChunk>, RunError> {
        self.reader.peek().map_err(RunError::file("read", &self.path))
    }

    /// Returns the next chunk; `None` at the end.
    ///
    /// # Errors
    /// A read that fails.
    pub fn next_chunk(&mut self) -> Result<Option<LineChunk>, RunError> {
        self.reader.next().map_err(RunError::file("read", &self.path))
    }
}
