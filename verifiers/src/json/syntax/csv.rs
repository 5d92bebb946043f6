//! CSV: RFC 4180 with a header, whose names are distinct, and rows of its length.

use serde_json::{Map, Value};

use super::{Document, Malformed};

/// Bytes of names that the rows may have for each byte of the text: every row gets all of them.
const MAX_NAME_BYTES_PER_BYTE: usize = 64;

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    if let Some(at) = misplaced_quote(text) {
        return Err(Malformed::at_byte(text, at, "a quote is out of place"));
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut records = reader.records().map(|record| {
        record.map_err(|error| {
            let line = error.position().map_or(1, csv::Position::line);
            Malformed::at(usize::try_from(line).unwrap_or(usize::MAX), 1, error.to_string())
        })
    });
    let Some(header) = records.next().transpose()? else {
        return Err(Malformed::at(1, 1, "there is no header"));
    };
    let mut seen = std::collections::HashSet::new();
    if let Some(name) = header.iter().find(|name| !seen.insert(*name)) {
        return Err(Malformed::twice(1, 1, name));
    }
    let name_bytes = header.iter().map(str::len).sum::<usize>();
    let max_rows = text.len().saturating_mul(MAX_NAME_BYTES_PER_BYTE) / name_bytes.max(1);
    let mut rows = Vec::new();
    for record in records {
        let record = record?;
        if rows.len() == max_rows {
            let what = format!("the header is too long for more than {max_rows} rows");
            let line = record.position().map_or(1, csv::Position::line);
            return Err(Malformed::at(usize::try_from(line).unwrap_or(usize::MAX), 1, what));
        }
        let fields = header.iter().zip(&record);
        let fields: Map<_, _> =
            fields.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        rows.push(Value::Object(fields));
    }
    let depth = if rows.is_empty() { 1 } else { 2 };
    Ok(Document { value: Value::Array(rows), depth })
}

/// The place of a quote that RFC 4180 does not allow, which the reader takes for text: one within a
/// field without quotes, one that more of its field follows, and one that is never closed.
fn misplaced_quote(text: &str) -> Option<usize> {
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = text.len() - content.len();
    let ends_field = |c: char| matches!(c, ',' | '\n' | '\r');
    let mut chars = content.char_indices().peekable();
    let (mut at_start, mut open) = (true, None);
    while let Some((at, c)) = chars.next() {
        if open.is_some() {
            // A quote within quotes is two.
            if c == '"' && chars.next_if(|(_, next)| *next == '"').is_none() {
                if chars.peek().is_some_and(|(_, next)| !ends_field(*next)) {
                    return Some(start + at);
                }
                open = None;
            }
            continue;
        }
        if c == '"' {
            if !at_start {
                return Some(start + at);
            }
            open = Some(start + at);
        }
        at_start = ends_field(c);
    }
    open
}
