//! Splits bytes into chunks of lines.
//!
//! Where chunks end depends on the bytes and on [`ChunkLimits`] alone (unless they are eager), so that
//! reading the same input again gives the same chunks. Resuming a run needs this.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::ordered::Held;

/// Where chunks and lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkLimits {
    /// Lines in a chunk that are not blank.
    pub(crate) chunk_rows: usize,
    /// Bytes after which a chunk ends with the line at hand.
    pub(crate) chunk_bytes: usize,
    /// Most bytes of a line; only the head of a longer line is kept.
    pub(crate) line_bytes: usize,
    /// Bytes of the head of a line that is too long.
    pub(crate) head_bytes: usize,
    /// Lines to read, blank ones not counted.
    pub(crate) rows: u64,
    /// Whether a chunk ends where the next line has not arrived yet. Chunks then depend on time too:
    /// for pipes only, never for inputs that are read again.
    pub(crate) eager: bool,
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self {
            chunk_rows: 256,
            chunk_bytes: 1 << 20,
            line_bytes: 64 << 20,
            head_bytes: 64 << 10,
            rows: u64::MAX,
            eager: false,
        }
    }
}

/// A position in the input, at the end of a line or of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Lines up to here, blank ones included.
    pub(crate) lines: u64,
    /// Bytes up to here.
    pub(crate) bytes: u64,
    /// SHA-256 of the bytes up to here.
    pub(crate) digest: [u8; 32],
}

/// Consecutive lines.
#[derive(Debug)]
pub struct LineChunk {
    bytes: Vec<u8>,
    spans: Vec<LineSpan>,
    /// Where the chunk ends in the input.
    pub(crate) end: Mark,
}

#[derive(Debug)]
struct LineSpan {
    number: u64,
    range: Range<usize>,
    cut: Option<Cut>,
}

/// Marks a line that is too long, of which only the head is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Length of the complete line in bytes.
    pub line_bytes: u64,
}

/// A line that is not blank, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputLine<'c> {
    /// Position in the input, from 1; blank lines count.
    pub number: u64,
    /// The line, or its head if it was cut.
    pub bytes: &'c [u8],
    /// Set if the line was too long; `None` if it is complete.
    pub cut: Option<Cut>,
}

impl LineChunk {
    /// Returns the lines in order.
    pub fn lines(&self) -> impl Iterator<Item = InputLine<'_>> {
        self.spans.iter().map(|span| InputLine {
            number: span.number,
            bytes: &self.bytes[span.range.clone()],
            cut: span.cut,
        })
    }
}

impl Held for LineChunk {
    fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Reads chunks.
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    limits: ChunkLimits,
    hash: Sha256,
    lines: u64,
    bytes: u64,
    rows: u64,
    peeked: Option<LineChunk>,
}

const READ_BYTES: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<R: Read> LineReader<R> {
    pub(crate) fn new(source: R, limits: ChunkLimits) -> Self {
        Self {
            source: BufReader::with_capacity(READ_BYTES, source),
            limits,
            hash: Sha256::new(),
            lines: 0,
            bytes: 0,
            rows: 0,
            peeked: None,
        }
    }

    /// Returns the next chunk without consuming it.
    pub(crate) fn peek(&mut self) -> io::Result<Option<&LineChunk>> {
        if self.peeked.is_none() {
            self.peeked = self.read_chunk()?;
        }
        Ok(self.peeked.as_ref())
    }

    /// Returns the next chunk; `None` at the end of the input or of `limits.rows`.
    pub(crate) fn next(&mut self) -> io::Result<Option<LineChunk>> {
        match self.peeked.take() {
            Some(chunk) => Ok(Some(chunk)),
            None => self.read_chunk(),
        }
    }

    fn read_chunk(&mut self) -> io::Result<Option<LineChunk>> {
        let begin = self.bytes;
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        while spans.len() < self.limits.chunk_rows
            && bytes.len() < self.limits.chunk_bytes
            && self.rows < self.limits.rows
        {
            match self.read_line(&mut bytes)? {
                None => break,
                Some(span) if is_blank(&bytes[span.range.clone()]) && span.cut.is_none() => {}
                Some(span) => {
                    self.rows += 1;
                    spans.push(span);
                    if self.limits.eager && memchr::memchr(b'\n', self.source.buffer()).is_none() {
                        break;
                    }
                }
            }
        }
        if self.bytes == begin {
            return Ok(None);
        }
        let digest = self.hash.clone().finalize().into();
        let end = Mark { lines: self.lines, bytes: self.bytes, digest };
        Ok(Some(LineChunk { bytes, spans, end }))
    }

    /// Appends one line without its end to `bytes`; `None` at the end of the input.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<Option<LineSpan>> {
        let (begin, start) = (self.bytes, bytes.len());
        let (mut cut, mut ended) = (false, false);
        while !ended {
            let piece = match self.source.fill_buf() {
                Ok([]) => break,
                Ok(piece) => piece,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let newline = memchr::memchr(b'\n', piece);
            let taken = newline.map_or(piece.len(), |at| at + 1);
            cut = cut || !keep(&piece[..newline.unwrap_or(taken)], bytes, start, self.limits);
            self.hash.update(&piece[..taken]);
            self.bytes += taken as u64;
            self.source.consume(taken);
            ended = newline.is_some();
        }
        if self.bytes == begin {
            return Ok(None);
        }
        self.lines += 1;
        let line_bytes = self.bytes - begin - u64::from(ended);
        let mut range = start..bytes.len();
        if begin == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            range.start += BYTE_ORDER_MARK.len();
        }
        if !cut && bytes[range.clone()].ends_with(b"\r") {
            range.end -= 1;
        }
        let cut = cut.then_some(Cut { line_bytes });
        Ok(Some(LineSpan { number: self.lines, range, cut }))
    }
}

/// Appends `content` to the line that begins at `start`. Keeps only the head of a line that grows
/// too long, and returns false.
fn keep(content: &[u8], bytes: &mut Vec<u8>, start: usize, limits: ChunkLimits) -> bool {
    let held = bytes.len() - start;
    if held + content.len() <= limits.line_bytes {
        bytes.extend_from_slice(content);
        return true;
    }
    let wanted = limits.head_bytes.saturating_sub(held).min(content.len());
    bytes.extend_from_slice(&content[..wanted]);
    bytes.truncate(start + limits.head_bytes);
    bytes.shrink_to_fit();
    false
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: ChunkLimits = ChunkLimits {
        chunk_rows: 2,
        chunk_bytes: 16,
        line_bytes: 8,
        head_bytes: 4,
        rows: u64::MAX,
        eager: false,
    };

    /// Hands out a few bytes at a time, so that every boundary is met.
    struct Trickle<'b>(&'b [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(buffer.len()).min(self.0.len());
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn chunks(input: &[u8], limits: ChunkLimits, step: usize) -> Vec<LineChunk> {
        let mut reader = LineReader::new(Trickle(input, step), limits);
        std::iter::from_fn(|| reader.next().expect("memory does not fail")).collect()
    }

    fn shown(chunks: &[LineChunk]) -> Vec<Vec<String>> {
        let line = |line: InputLine<'_>| {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            let cut = line.cut.map(|cut| format!(" of {}", cut.line_bytes)).unwrap_or_default();
            format!("{}:{text}{cut}", line.number)
        };
        chunks.iter().map(|chunk| chunk.lines().map(line).collect()).collect()
    }

    #[track_caller]
    fn check(input: &str, expected: &[&[&str]]) {
        for step in [1, 3, 1000] {
            assert_eq!(shown(&chunks(input.as_bytes(), SMALL, step)), expected, "{input:?}");
        }
    }

    #[test]
    fn lines_are_numbered_and_chunked() {
        check("", &[]);
        check("a", &[&["1:a"]]);
        check("a\nb\nc\n", &[&["1:a", "2:b"], &["3:c"]]);
        check("a\r\nb\r\n", &[&["1:a", "2:b"]]);
        check("\n \t\r\na\n\nb", &[&["3:a", "5:b"]]);
        check("\n\n", &[&[]]);
        check("\u{feff}a\nb", &[&["1:a", "2:b"]]);
        check("\u{feff}\r\na", &[&["2:a"]]);
        // A mark anywhere else is text.
        check("a\n\u{feff}b", &[&["1:a", "2:\u{feff}b"]]);
    }

    #[test]
    fn long_lines_are_cut_to_their_head() {
        check("12345678\n9", &[&["1:12345678", "2:9"]]);
        check("123456789\n0", &[&["1:1234 of 9", "2:0"]]);
        check(&"x".repeat(100), &[&["1:xxxx of 100"]]);
        check(&format!("{}\na", " ".repeat(9)), &[&["1:     of 9", "2:a"]]);
    }

    #[test]
    fn limit_of_rows_ends_reading() {
        let limits = ChunkLimits { rows: 3, ..SMALL };
        let read = chunks(b"a\n\nb\nc\nd\ne\n", limits, 100);
        assert_eq!(shown(&read), [vec!["1:a", "3:b"], vec!["4:c"]]);
    }

    #[test]
    fn peek_does_not_consume() {
        let mut reader = LineReader::new(&b"a\nb\nc"[..], SMALL);
        let end = reader.peek().expect("readable").expect("a chunk").end;
        assert_eq!(reader.next().expect("readable").expect("the same chunk").end, end);
        assert_eq!(reader.next().expect("readable").expect("another").end.lines, 3);
    }

    #[test]
    fn eager_reader_returns_complete_lines_without_waiting() {
        let limits = ChunkLimits { eager: true, chunk_rows: 100, ..SMALL };
        let lines = |step| -> Vec<usize> {
            let chunks = chunks(b"a\nb\nc\nd", limits, step);
            chunks.iter().map(|chunk| chunk.lines().count()).collect()
        };
        // Two lines and a piece of the third arrive at once.
        assert_eq!(lines(5), [2, 1, 1]);
        assert_eq!(lines(100), [3, 1]);
        assert_eq!(lines(1), [1, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn chunks_depend_only_on_the_bytes(input in "[ab\\n\\r ]{0,80}", step in 1usize..9) {
            let (whole, pieces) = (chunks(input.as_bytes(), SMALL, 1000),
                                   chunks(input.as_bytes(), SMALL, step));
            prop_assert_eq!(shown(&whole), shown(&pieces));
            let ends = |chunks: &[LineChunk]| chunks.iter().map(|chunk| chunk.end).collect::<Vec<_>>();
            prop_assert_eq!(ends(&whole), ends(&pieces));
            for chunk in &whole {
                let prefix = &input.as_bytes()[..usize::try_from(chunk.end.bytes).expect("small")];
                prop_assert_eq!(&chunk.end.digest[..], &Sha256::digest(prefix)[..]);
            }
            if let Some(last) = whole.last() {
                prop_assert_eq!(last.end.bytes, input.len() as u64);
            }
        }
    }
}
