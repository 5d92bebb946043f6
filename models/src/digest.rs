//! The identity of content: SHA-256 over named parts.
//!
//! The digest of parts `(name, content)` is the SHA-256 of, for each part in the order of the
//! names' bytes: the name's length in bytes as a little-endian u64, the name in UTF-8, the
//! content's length as a little-endian u64, and the content. Lengths come first, so that no two
//! different sets of parts give the same stream. It is written `sha256:` and 64 hexadecimal digits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::error::Result;
use chat::Positioned;

/// Bytes read and hashed at once.
const BLOCK: usize = 1 << 20;

/// The content of a part.
#[derive(Clone, Copy, Debug)]
pub enum DigestPart<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file, up to its length when opened; read in blocks.
    File(&'a Positioned),
}

/// The digest of parts by name.
///
/// # Errors
/// [`crate::ModelError::Io`] if a file cannot be read up to its length when opened.
pub fn digest(parts: &BTreeMap<&str, DigestPart<'_>>) -> Result<String> {
    let mut hash = Sha256::new();
    for (name, content) in parts {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        match content {
            DigestPart::Bytes(bytes) => {
                hash.update((bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
            DigestPart::File(file) => stream(&mut hash, file)?,
        }
    }
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").expect("a string takes all that is written to it");
    }
    Ok(text)
}

fn stream(hash: &mut Sha256, file: &Positioned) -> Result<()> {
    hash.update(file.byte_len().to_le_bytes());
    let mut block = vec![0; BLOCK];
    let mut at = 0;
    while at < file.byte_len() {
        let size = (file.byte_len() - at).min(BLOCK as u64);
        let bytes = &mut block[..usize::try_from(size).expect("a block fits in memory")];
        file.read_exact_at(bytes, at)?;
        hash.update(&*bytes);
        at += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{DigestPart, digest};
    use chat::Positioned;

    fn of(parts: &[(&str, &[u8])]) -> String {
        let parts = parts.iter().map(|(name, bytes)| (*name, DigestPart::Bytes(bytes)));
        digest(&parts.collect::<BTreeMap<_, _>>()).expect("bytes can be read")
    }

    #[test]
    fn digest_separates_parts() {
        let digests = [
            of(&[]),
            of(&[("a", b"bc")]),
            of(&[("ab", b"c")]),
            of(&[("a", b""), ("b", b"c")]),
            of(&[("a", b"b"), ("c", b"")]),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|b| a != b), "{a}");
        }
        // SHA-256 of the empty input.
        let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digests[0], nothing);
    }

    #[test]
    fn digest_of_a_file_is_that_of_its_bytes() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
        let dir = tempfile::tempdir().expect("a temporary folder");
        for len in [0, 1, 1 << 20, (1 << 20) + 1, bytes.len()] {
            let path = dir.path().join("part");
            std::fs::write(&path, &bytes[..len]).expect("it is written");
            let file = Positioned::open(&path).expect("it is opened");
            let parts = BTreeMap::from([("part", DigestPart::File(&file))]);
            let streamed = digest(&parts).expect("it is read");
            assert_eq!(streamed, of(&[("part", &bytes[..len])]), "{len} bytes");
        }
    }
}
