//! Digests as text.

use std::fmt::Write as _;

/// `sha256:` and hexadecimal digits.
pub fn sha256_text(digest: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in digest {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    text
}
