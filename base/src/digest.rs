//! SHA-256 digests as text.

use sha2::{Digest as _, Sha256};

/// Lower-case hexadecimal digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// `sha256:` and the hexadecimal digits of `digest`: the form in which every digest is shown and stored.
pub fn text(digest: &[u8]) -> String {
    format!("sha256:{}", hex(digest))
}

/// The digest of a finished hash in the form of [`text`].
pub fn finish(hash: Sha256) -> String {
    text(&hash.finalize())
}

/// The digest of `bytes` in the form of [`text`].
pub fn of(bytes: &[u8]) -> String {
    finish(Sha256::new_with_prefix(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            of(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
