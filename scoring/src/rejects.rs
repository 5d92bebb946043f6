//! Rows that could not be scored, with their text and the reason.

use serde::Serialize;
use serde_json::value::RawValue;

/// Most bytes of a rejected line that are kept.
pub(crate) const KEPT_BYTES: usize = 64 << 10;

/// Most bytes of an id; a longer one is left out.
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
    /// The line; bytes that are not UTF-8 are replaced.
    line: &'r str,
    /// Length of the complete line in bytes.
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

/// A rejected row of a line or a table.
pub(crate) struct Rejected<'r> {
    /// The file as it was named.
    pub(crate) file: &'r str,
    /// Its position in the file, from 1.
    pub(crate) row: u64,
    /// The row's id, where it could be read.
    pub(crate) id: Option<&'r RawValue>,
    /// A sentence without its full stop.
    pub(crate) reason: &'r str,
    /// The row as a line, or its head.
    pub(crate) line: &'r [u8],
    /// Length of the complete line in bytes.
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
