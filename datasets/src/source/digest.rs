//! SHA-256 digests of files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::{DatasetError, Result};

/// Digests the first bytes of a file as stored, compressed or not: `sha256:` and 64 hexadecimal
/// digits. A file that grows has the digest of what was read of it.
///
/// # Errors
/// [`DatasetError::Io`] if the file cannot be read.
pub fn digest(path: &Path, bytes: u64) -> Result<String> {
    let failed = || DatasetError::io("read", path);
    let mut file = File::open(path).map_err(failed())?.take(bytes);
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).map_err(failed())? {
            0 => break,
            read => hash.update(&block[..read]),
        }
    }
    Ok(base::digest::finish(hash))
}
