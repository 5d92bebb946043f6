//! A file that any number of threads can read at positions, or bytes in its place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{ChatError, Result};

/// An open file, its path, and its length when it was opened.
#[derive(Debug)]
pub struct Positioned {
    content: ByteSource,
    path: PathBuf,
    len: u64,
}

#[derive(Debug)]
enum ByteSource {
    File(File),
    Memory(&'static [u8]),
}

impl Positioned {
    /// Opens a regular file. Anything else is refused, because reading it could block for ever.
    pub fn open(path: &Path) -> Result<Positioned> {
        let io = |source| ChatError::Io { path: path.to_path_buf(), source };
        // The type is checked before opening: opening a pipe blocks until its other end is opened.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(ChatError::File {
                path: path.to_path_buf(),
                what: "not a regular file".into(),
            });
        }
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        Ok(Positioned { content: ByteSource::File(file), path: path.to_path_buf(), len })
    }

    /// Wraps bytes that stand in for a file; errors name `path`.
    pub(crate) fn in_memory(path: PathBuf, bytes: &'static [u8]) -> Positioned {
        Positioned { content: ByteSource::Memory(bytes), path, len: bytes.len() as u64 }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let read = match &self.content {
            ByteSource::File(file) => read_exact_at(file, buffer, offset),
            ByteSource::Memory(bytes) => copy_exact_at(bytes, buffer, offset),
        };
        read.map_err(|source| ChatError::Io { path: self.path.clone(), source })
    }

    /// Reads all bytes; a file longer than `limit` is refused.
    pub fn read_all(&self, limit: u64) -> Result<Vec<u8>> {
        if self.len > limit {
            return Err(self.error(format!("longer than {limit} bytes")));
        }
        let len = usize::try_from(self.len).map_err(|_| self.error("longer than memory"))?;
        let mut bytes = vec![0; len];
        self.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// The path that the file was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length in bytes when the file was opened.
    pub fn byte_len(&self) -> u64 {
        self.len
    }

    /// An error about this file.
    pub fn error(&self, what: impl Into<String>) -> ChatError {
        ChatError::File { path: self.path.clone(), what: what.into() }
    }
}

fn copy_exact_at(bytes: &[u8], buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let from = usize::try_from(offset).ok().and_then(|at| bytes.get(at..));
    match from.and_then(|from| from.get(..buffer.len())) {
        Some(from) => {
            buffer.copy_from_slice(from);
            Ok(())
        }
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buffer = &mut buffer[n..];
                offset += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
