//! Bytes to numbered lines.

use std::io::{self, BufRead};

/// Maximum length of a line in bytes. A longer one is rejected; only its head is kept.
pub(super) const MAX_LINE_BYTES: usize = 512 << 20;

/// Lines of a text.
pub(super) struct LineReader {
    text: Box<dyn BufRead + Send>,
    number: u64,
}

/// A line that is not blank, in the buffer that it was read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberedLine {
    /// Position in the file, from 1; blank lines count.
    pub(super) number: u64,
    /// Whether only the head of the line is in the buffer.
    pub(super) cut: bool,
}

impl LineReader {
    pub(super) fn new(text: Box<dyn BufRead + Send>) -> Self {
        Self { text, number: 0 }
    }

    /// Lines read so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line that is not blank into `line`, which it replaces, without its end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<NumberedLine>> {
        loop {
            line.clear();
            let mut cut = false;
            let mut any = false;
            loop {
                let available = match self.text.fill_buf() {
                    Ok(available) => available,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                if available.is_empty() {
                    break;
                }
                any = true;
                let newline = memchr::memchr(b'\n', available);
                let content = &available[..newline.unwrap_or(available.len())];
                let room = MAX_LINE_BYTES.saturating_sub(line.len());
                cut |= content.len() > room;
                line.extend_from_slice(&content[..content.len().min(room)]);
                let taken = newline.map_or(available.len(), |at| at + 1);
                self.text.consume(taken);
                if newline.is_some() {
                    break;
                }
            }
            if !any {
                return Ok(None);
            }
            self.number += 1;
            if line.last() == Some(&b'\r') && !cut {
                line.pop();
            }
            if cut || !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(NumberedLine { number: self.number, cut }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered() {
        #[track_caller]
        fn check(text: &str, expected: &[(u64, &str)]) {
            for capacity in [1, 3, 100] {
                let text = io::BufReader::with_capacity(capacity, io::Cursor::new(text.to_owned()));
                let mut lines = LineReader::new(Box::new(text));
                let (mut line, mut found) = (Vec::new(), Vec::new());
                while let Some(next) = lines.next(&mut line).expect("memory is readable") {
                    found.push((next.number, String::from_utf8(line.clone()).expect("text")));
                }
                let found: Vec<_> = found.iter().map(|(n, text)| (*n, text.as_str())).collect();
                assert_eq!(found, expected);
            }
        }
        check("", &[]);
        check("a", &[(1, "a")]);
        check("a\nb\n", &[(1, "a"), (2, "b")]);
        check("a\r\n\r\n \t\nb", &[(1, "a"), (4, "b")]);
        check("\n\n", &[]);
        check("a\rb\n", &[(1, "a\rb")]);
    }
}
