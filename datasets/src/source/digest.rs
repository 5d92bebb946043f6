//! The identity of a file's content.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::{DatasetError, Result};

/// The SHA-256 of a file as it lies there, packed or not: `sha256:` and 64 hexadecimal digits.
///
/// # Errors
/// [`DatasetError::Io`] where the file cannot be read.
pub fn digest(path: &Path) -> Result<String> {
    let failed = || DatasetError::io("read", path);
    let mut file = File::open(path).map_err(failed())?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block).map_err(failed())? {
            0 => break,
            read => hash.update(&block[..read]),
        }
    }
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
    }
    Ok(text)
}
