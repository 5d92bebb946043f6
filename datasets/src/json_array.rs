//! A JSON array as JSON lines, without holding more of it than a buffer.

use std::io::{self, BufRead, Read};

/// Whether a text is one array of objects and not JSON lines, by its first bytes.
pub fn begins_array(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    head.trim_ascii_start().strip_prefix(b"[").is_some_and(|rest| {
        let rest = rest.trim_ascii_start();
        rest.is_empty() || rest.starts_with(b"{") || rest.starts_with(b"]")
    })
}

/// The values of an array, a line each: line breaks between their parts become blanks.
#[derive(Debug)]
pub struct ArrayLines<R> {
    text: R,
    splitter: Splitter,
}

#[derive(Debug)]
struct Splitter {
    place: Place,
    /// Whether a value has begun since the last comma.
    has_value: bool,
}

/// Where in the array the next byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    /// Within so many brackets of a value; 0 between values.
    Value(usize),
    /// In a text, within so many brackets.
    Text(usize),
    /// After a backslash in a text.
    Escape(usize),
    After,
}

impl<R: BufRead> ArrayLines<R> {
    /// Reads a text for which [`begins_array`] holds.
    pub fn new(text: R) -> Self {
        Self { text, splitter: Splitter { place: Place::Before, has_value: false } }
    }
}

impl Splitter {
    /// The byte of the lines that a byte of the array becomes, if it becomes one.
    fn next(&mut self, byte: u8) -> io::Result<Option<u8>> {
        let (place, out) = match (self.place, byte) {
            (Place::Before, b'[') => (Place::Value(0), None),
            // White space, or a byte order mark.
            (Place::Before, _) => (Place::Before, None),
            (Place::After, byte) if byte.is_ascii_whitespace() => (Place::After, None),
            (Place::After, _) => return Err(fault("something follows the JSON array")),
            (Place::Value(0), byte) if byte.is_ascii_whitespace() => (self.place, None),
            (Place::Value(0), b',') if !self.has_value => {
                return Err(fault("a comma of the JSON array has no value before it"));
            }
            (Place::Value(0), b',') => (self.place, Some(b'\n')),
            (Place::Value(0), b']') => (Place::After, Some(b'\n')),
            (Place::Value(depth), b'\n' | b'\r') => (Place::Value(depth), Some(b' ')),
            (Place::Value(depth), b'{' | b'[') => (Place::Value(depth + 1), Some(byte)),
            (Place::Value(depth), b'}' | b']') => {
                (Place::Value(depth.saturating_sub(1)), Some(byte))
            }
            (Place::Value(depth), b'"') | (Place::Escape(depth), _) => {
                (Place::Text(depth), Some(byte))
            }
            (Place::Text(depth), b'"') => (Place::Value(depth), Some(byte)),
            (Place::Text(depth), b'\\') => (Place::Escape(depth), Some(byte)),
            // No text of JSON has a line break or a tab: the value stays one line, and broken.
            (Place::Text(_), b'\n') => (self.place, Some(b'\t')),
            (Place::Value(_) | Place::Text(_), _) => (self.place, Some(byte)),
        };
        self.place = place;
        self.has_value = match out {
            Some(b'\n') => false,
            Some(_) => true,
            None => self.has_value,
        };
        Ok(out)
    }
}

fn fault(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

impl<R: BufRead> Read for ArrayLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.text.fill_buf()?;
            if bytes.is_empty() && self.splitter.place != Place::After {
                return Err(fault("the JSON array is not closed: the file was cut off"));
            }
            let taken = bytes.len().min(out.len());
            let mut written = 0;
            for byte in &bytes[..taken] {
                if let Some(byte) = self.splitter.next(*byte)? {
                    out[written] = byte;
                    written += 1;
                }
            }
            self.text.consume(taken);
            if written > 0 || taken == 0 {
                return Ok(written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(array: &str, capacity: usize) -> io::Result<String> {
        let mut text = String::new();
        let array = io::BufReader::with_capacity(capacity, array.as_bytes());
        ArrayLines::new(array).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn values_become_lines() {
        #[track_caller]
        fn check(array: &str, expected: &str) {
            for capacity in [1, 3, 4096] {
                assert_eq!(lines(array, capacity).expect("an array"), expected, "{array}");
            }
        }
        check("[]", "\n");
        check("[{\"a\": 1}]", "{\"a\": 1}\n");
        check("\u{feff} [ {\"a\":\n[1,\n2]} ,\n{} ]\n ", "{\"a\": [1, 2]}\n{}\n");
        let text = r#"{"a": "],[\"}, \\"}"#;
        check(&format!("[{text},{text}]"), &format!("{text}\n{text}\n"));
        check("[{\"a\": \"x\ny\"}]", "{\"a\": \"x\ty\"}\n");
        check("[1, \"a\", {}]", "1\n\"a\"\n{}\n");
    }

    #[test]
    fn other_texts_are_errors() {
        for (array, problem) in [
            ("[{}", "not closed"),
            ("[{}, ", "not closed"),
            ("[{}] {}", "follows"),
            ("[{},,{}]", "no value before it"),
        ] {
            let error = lines(array, 4096).expect_err(array);
            assert!(error.to_string().contains(problem), "{array}: {error}");
        }
    }

    #[test]
    fn arrays_are_told_from_lines() {
        for (head, is_array) in [
            ("[{", true),
            (" [\n {", true),
            ("\u{feff}[", true),
            ("[]", true),
            ("{}", false),
            ("[1]\n", false),
            ("", false),
        ] {
            assert_eq!(begins_array(head.as_bytes()), is_array, "{head}");
        }
    }
}
