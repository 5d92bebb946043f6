//! Lists of pairs as environment variables of OpenTelemetry have them: `key=value,key2=value2`, with
//! other characters in percent encoding.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is encoded in a key or a value.
const PART: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'+');

/// Reads a list; `None` if a part of it is no pair.
pub fn read(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let (key, value) = (decoded(key.trim())?, decoded(value.trim())?);
        (!key.is_empty()).then_some((key, value))
    };
    parts.map(pair).collect()
}

/// Writes a list that is read as `pairs`.
pub fn write(pairs: &[(String, String)]) -> String {
    let encoded = |text| utf8_percent_encode(text, &PART);
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    pairs.join(",")
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        let check = |text: &str, expected: Option<&[(&str, &str)]>| {
            let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
                pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
            };
            let found = read(text);
            assert_eq!(found, expected.map(owned), "{text}");
            if let Some(pairs) = found {
                assert_eq!(read(&write(&pairs)), Some(pairs), "{text}");
            }
        };
        check("", Some(&[]));
        check("a=1", Some(&[("a", "1")]));
        check(" a = 1 ,, b=x=y,", Some(&[("a", "1"), ("b", "x=y")]));
        check("a=", Some(&[("a", "")]));
        check("a=%20%2C%3d%C3%A9", Some(&[("a", " ,=\u{e9}")]));
        check("a=\u{e9}", Some(&[("a", "\u{e9}")]));
        check("authorization=Bearer%20k", Some(&[("authorization", "Bearer k")]));
        for bad in ["a", "=1", "a=%", "a=%2", "a=%+1", "a=%zz", "a=%ff", "a=%\u{e9}"] {
            check(bad, None);
        }
    }
}
