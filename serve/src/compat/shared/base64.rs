//! Base64 encoding of vectors as little-endian 32-bit floats, the form that embedding clients read.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes numbers as 32-bit floats.
pub(crate) fn floats(numbers: impl Iterator<Item = f64>) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "heads give 32-bit floats, and the encoding has no more"
    )]
    let bytes = numbers.flat_map(|number| (number as f32).to_le_bytes());
    encode(&bytes.collect::<Vec<u8>>())
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(group);
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[six as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(encode(bytes), expected, "{bytes:?}");
    }

    /// The test vectors of RFC 4648.
    #[test]
    fn rfc_4648_vectors_are_encoded() {
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foob", "Zm9vYg==");
        check(b"fooba", "Zm9vYmE=");
        check(b"foobar", "Zm9vYmFy");
        check(&[0xfb, 0xff], "+/8=");
    }

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(floats([1.0, -2.5].into_iter()), "AACAPwAAIMA=");
    }
}
