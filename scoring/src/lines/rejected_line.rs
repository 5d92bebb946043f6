//! Writes rejected lines for the reject file or the terminal.

use serde_json::value::RawValue;

use super::reader::InputLine;
use crate::rejects::{RejectForm, Rejected};

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
    line: InputLine<'_>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::reader::{ChunkLimits, LineReader};
    use crate::rejects::KEPT_BYTES;

    fn rejected(bytes: &[u8], form: RejectForm) -> String {
        let limits = ChunkLimits { line_bytes: 100_000, ..ChunkLimits::default() };
        let mut reader = LineReader::new(bytes, limits);
        let chunk = reader.next().expect("readable").expect("a line");
        let line = chunk.lines().next().expect("a line");
        let mut out = Vec::new();
        let rejection = Rejection { reason: "not JSON".to_owned(), id: None };
        write(&mut out, form, "in.jsonl", line, &rejection);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn rejected_line_is_kept_up_to_a_limit() {
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
