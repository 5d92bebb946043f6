//! Rows that could not be scored, kept with their text and the reason.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stream::Line;

/// Most bytes of a rejected line that are kept.
const KEPT_BYTES: usize = 64 << 10;

/// Most bytes of an id that is repeated; a longer one is no id.
const KEPT_ID_BYTES: usize = 1 << 10;

/// One line of a reject file.
#[derive(Serialize)]
struct Reject<'r> {
    file: &'r str,
    /// Line in the file, from 1.
    row: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'r RawValue>,
    reason: &'r str,
    /// The line; what is not UTF-8 is replaced.
    line: &'r str,
    /// Bytes of the whole line.
    line_bytes: u64,
    /// Whether `line` is only its head.
    truncated: bool,
}

/// How rejected rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectForm {
    /// One JSON object a line, with the row's text.
    Json,
    /// One sentence a line, for a terminal.
    Note,
}

/// Why a row was rejected.
#[derive(Debug)]
pub(crate) struct Rejection<'l> {
    /// A sentence without its full stop.
    pub(crate) reason: String,
    /// The row's id, where it could be read.
    pub(crate) id: Option<&'l RawValue>,
}

/// Appends one rejected line to `out`.
pub(crate) fn write(
    out: &mut Vec<u8>,
    form: RejectForm,
    file: &str,
    line: Line<'_>,
    rejection: &Rejection<'_>,
) {
    let whole = line.bytes.len() as u64;
    let rejected = Rejected {
        file,
        row: line.number,
        id: rejection.id,
        reason: &rejection.reason,
        line: line.bytes,
        line_bytes: line.cut.map_or(whole, |cut| cut.line_bytes),
    };
    rejected.write(out, form);
}

/// A row that was rejected, whatever it was read from.
pub(crate) struct Rejected<'r> {
    /// The file as it was named.
    pub(crate) file: &'r str,
    /// Where it stands in the file, from 1.
    pub(crate) row: u64,
    /// The row's id, where it could be read.
    pub(crate) id: Option<&'r RawValue>,
    /// A sentence without its full stop.
    pub(crate) reason: &'r str,
    /// The row as a line, or its head.
    pub(crate) line: &'r [u8],
    /// Bytes of the whole line.
    pub(crate) line_bytes: u64,
}

impl Rejected<'_> {
    /// Appends the row to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, form: RejectForm) {
        match form {
            RejectForm::Note => {
                let note = format!("{}:{}: {}\n", self.file, self.row, self.reason);
                out.extend_from_slice(note.as_bytes());
            }
            RejectForm::Json => {
                let kept = &self.line[..self.line.len().min(KEPT_BYTES)];
                let reject = Reject {
                    file: self.file,
                    row: self.row,
                    id: self.id.filter(|id| id.get().len() <= KEPT_ID_BYTES),
                    reason: self.reason,
                    line: &String::from_utf8_lossy(kept),
                    line_bytes: self.line_bytes,
                    truncated: self.line_bytes > kept.len() as u64,
                };
                serde_json::to_writer(&mut *out, &reject).expect("a reject serialises to memory");
                out.push(b'\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Limits, Reader};

    fn rejected(bytes: &[u8], form: RejectForm) -> String {
        let limits = Limits { line_bytes: 100_000, ..Limits::default() };
        let mut reader = Reader::new(bytes, limits);
        let chunk = reader.next().expect("readable").expect("a line");
        let line = chunk.lines().next().expect("a line");
        let mut out = Vec::new();
        let rejection = Rejection { reason: "not JSON".to_owned(), id: None };
        write(&mut out, form, "in.jsonl", line, &rejection);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn the_text_is_kept_up_to_a_limit() {
        let check = |bytes: &[u8], text: &str, line_bytes: u64| {
            let shown = rejected(bytes, RejectForm::Json);
            let value: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
            let truncated = line_bytes != text.len() as u64 && !text.contains('\u{fffd}');
            let expected = serde_json::json!({
                "file": "in.jsonl", "row": 1, "reason": "not JSON",
                "line": text, "line_bytes": line_bytes, "truncated": truncated,
            });
            assert_eq!(value, expected);
        };
        check(b"abc\n", "abc", 3);
        check(b"a\xffc", "a\u{fffd}c", 3);
        let kept = "x".repeat(KEPT_BYTES);
        check(kept.as_bytes(), &kept, 65_536);
        check(&b"x".repeat(KEPT_BYTES + 1), &kept, 65_537);
        check(&b"x".repeat(200_000), &kept, 200_000);
    }

    #[test]
    fn a_note_is_one_line() {
        assert_eq!(rejected(b"abc\n", RejectForm::Note), "in.jsonl:1: not JSON\n");
    }
}
