//! Values as text: Python's `str`, `repr` and `json.dumps`.

use std::fmt::Write;

use super::error::{RenderError, invalid, needs_list};
use super::heap::Heap;
use super::value::Value;
use crate::text::{Origin, Text};

/// Python's `str(value)`; an undefined value is empty.
pub(super) fn str_of(heap: &Heap, value: &Value) -> Result<Text, RenderError> {
    let mut out = Text::default();
    push_str_of(heap, value, &mut out)?;
    Ok(out)
}

/// Appends `str(value)`, after the heap has admitted its length.
pub(super) fn push_str_of(heap: &Heap, value: &Value, out: &mut Text) -> Result<(), RenderError> {
    if matches!(value, Value::Undefined) {
        return Ok(());
    }
    let Value::Str(s) = value else { return push_repr(heap, value, out) };
    heap.grow(out.len(), s.text.len())?;
    out.push(&s.text);
    Ok(())
}

/// Appends `repr(value)`.
pub(super) fn push_repr(heap: &Heap, value: &Value, out: &mut Text) -> Result<(), RenderError> {
    heap.grow(out.len(), 0)?;
    let plain = |out: &mut Text, s: &str| out.push_str(s, Origin::Template);
    match value {
        Value::Undefined => plain(out, "Undefined"),
        Value::None => plain(out, "None"),
        Value::Bool(b) => plain(out, if *b { "True" } else { "False" }),
        Value::Int(i) => plain(out, &i.to_string()),
        Value::Float(f) => plain(out, &float(*f)),
        Value::Str(s) => {
            heap.grow(out.len(), s.text.len())?;
            heap.chars(s.text.len())?;
            push_quoted(&s.text, out);
        }
        Value::Seq(seq) => {
            plain(out, if seq.tuple { "(" } else { "[" });
            for (i, item) in seq.items.iter().enumerate() {
                if i > 0 {
                    plain(out, ", ");
                }
                push_repr(heap, item, out)?;
            }
            if seq.tuple && seq.items.len() == 1 {
                plain(out, ",");
            }
            plain(out, if seq.tuple { ")" } else { "]" });
        }
        Value::Map(map) => {
            plain(out, "{");
            for (i, (key, item)) in map.entries.iter().enumerate() {
                if i > 0 {
                    plain(out, ", ");
                }
                push_repr(heap, key, out)?;
                plain(out, ": ");
                push_repr(heap, item, out)?;
            }
            plain(out, "}");
        }
        Value::Generator(_) => return Err(needs_list()),
        Value::Namespace(_)
        | Value::Macro(_)
        | Value::Builtin(_)
        | Value::Method(_)
        | Value::Loop(_) => {
            return Err(invalid(format!("a {} cannot be written as text", value.kind())));
        }
    }
    Ok(())
}

/// Python's `repr` of a string: single quotes unless only they occur inside.
fn push_quoted(text: &Text, out: &mut Text) {
    let quote =
        if text.as_str().contains('\'') && !text.as_str().contains('"') { '"' } else { '\'' };
    let mark = quote.to_string();
    out.push_str(&mark, Origin::Template);
    out.push(&text.map_chars(|c, out| match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c == quote => out.extend(['\\', c]),
        c if c.is_control() || c == '\u{ad}' => {
            let _infallible = write!(out, "\\x{:02x}", u32::from(c));
        }
        c if unprintable(c) => {
            let _infallible = match u32::from(c) {
                n if n <= 0xffff => write!(out, "\\u{n:04x}"),
                n => write!(out, "\\U{n:08x}"),
            };
        }
        c => out.push(c),
    }));
    out.push_str(&mark, Origin::Template);
}

/// Format, separator, private and unassigned characters that Python's `repr` escapes; the ranges
/// that occur in practice.
fn unprintable(c: char) -> bool {
    matches!(u32::from(c),
        0x1680 | 0x180e | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f
        | 0x3000 | 0xa0 | 0xfeff | 0xe000..=0xf8ff | 0xfff0..=0xfffb | 0xfdd0..=0xfdef
        | 0xfffe..=0xffff | 0xe0000..=0xe00ff | 0xf0000..)
}

/// Python's `repr` of a float: the shortest digits that read back, with an exponent below 1e-4 and
/// from 1e16.
pub(super) fn float(f: f64) -> String {
    if f.is_nan() {
        return "nan".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{f:e}");
    let (digits, exponent) = scientific.split_once('e').expect("`{:e}` writes an exponent");
    let exponent: i32 = exponent.parse().expect("`{:e}` writes a decimal exponent");
    if f != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{f}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Layout of `tojson`.
pub(super) struct JsonStyle {
    pub(super) indent: Option<String>,
    pub(super) item_separator: Text,
    pub(super) key_separator: Text,
    pub(super) ensure_ascii: bool,
    pub(super) sort_keys: bool,
}

/// Python's `json.dumps`.
pub(super) fn json(heap: &Heap, value: &Value, style: &JsonStyle) -> Result<Text, RenderError> {
    let mut out = Text::default();
    push_json(heap, value, style, 0, &mut out)?;
    Ok(out)
}

fn push_json(
    heap: &Heap,
    value: &Value,
    style: &JsonStyle,
    level: usize,
    out: &mut Text,
) -> Result<(), RenderError> {
    heap.grow(out.len(), 0)?;
    let plain = |out: &mut Text, s: &str| out.push_str(s, Origin::Template);
    match value {
        Value::None => plain(out, "null"),
        Value::Bool(b) => plain(out, if *b { "true" } else { "false" }),
        Value::Int(i) => plain(out, &i.to_string()),
        Value::Float(f) => plain(out, &json_float(*f)),
        Value::Str(s) => {
            heap.grow(out.len(), s.text.len())?;
            heap.chars(s.text.len())?;
            push_json_string(&s.text, style.ensure_ascii, out);
        }
        Value::Seq(seq) => {
            let mut body = Body::open(["[", "]"], style, level, out);
            for item in &seq.items {
                body.next(out);
                push_json(heap, item, style, level + 1, out)?;
            }
            body.close(out);
        }
        Value::Map(map) => push_json_map(heap, &map.entries, style, level, out)?,
        Value::Generator(_) => return Err(needs_list()),
        Value::Undefined
        | Value::Namespace(_)
        | Value::Macro(_)
        | Value::Builtin(_)
        | Value::Method(_)
        | Value::Loop(_) => {
            return Err(invalid(format!("{} is not JSON serializable", value.kind())));
        }
    }
    Ok(())
}

fn push_json_map(
    heap: &Heap,
    entries: &[(Value, Value)],
    style: &JsonStyle,
    level: usize,
    out: &mut Text,
) -> Result<(), RenderError> {
    let mut sorted: Vec<&(Value, Value)> = entries.iter().collect();
    if style.sort_keys {
        if sorted.iter().any(|(k, _)| k.as_str().is_none()) {
            return Err(invalid("only string keys can be sorted"));
        }
        sorted.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
    }
    let mut body = Body::open(["{", "}"], style, level, out);
    for (key, item) in sorted {
        body.next(out);
        match key {
            Value::Str(s) => push_json_string(&s.text, style.ensure_ascii, out),
            Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
                out.push_str("\"", Origin::Template);
                push_json(heap, key, style, level, out)?;
                out.push_str("\"", Origin::Template);
            }
            _ => return Err(invalid(format!("{} cannot be a JSON key", key.kind()))),
        }
        out.push(&style.key_separator);
        push_json(heap, item, style, level + 1, out)?;
    }
    body.close(out);
    Ok(())
}

/// The brackets, separators and line breaks around the items of a list or map.
struct Body<'s> {
    style: &'s JsonStyle,
    level: usize,
    close: &'static str,
    first: bool,
}

impl<'s> Body<'s> {
    fn open(
        [open, close]: [&'static str; 2],
        style: &'s JsonStyle,
        level: usize,
        out: &mut Text,
    ) -> Body<'s> {
        out.push_str(open, Origin::Template);
        Body { style, level, close, first: true }
    }

    fn next(&mut self, out: &mut Text) {
        if !std::mem::take(&mut self.first) {
            out.push(&self.style.item_separator);
        }
        self.line(self.level + 1, out);
    }

    fn close(&self, out: &mut Text) {
        if !self.first {
            self.line(self.level, out);
        }
        out.push_str(self.close, Origin::Template);
    }

    fn line(&self, level: usize, out: &mut Text) {
        if let Some(indent) = &self.style.indent {
            out.push_str("\n", Origin::Template);
            out.push_str(&indent.repeat(level), Origin::Template);
        }
    }
}

fn json_float(f: f64) -> String {
    if f.is_nan() {
        "NaN".to_owned()
    } else if f.is_infinite() {
        if f > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        float(f)
    }
}

fn push_json_string(text: &Text, ascii: bool, out: &mut Text) {
    out.push_str("\"", Origin::Template);
    out.push(&text.map_chars(|c, out| match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        // Where the output must be ASCII, Python escapes DEL too, although it is.
        c if c < ' ' || (ascii && (c == '\x7f' || !c.is_ascii())) => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _infallible = write!(out, "\\u{unit:04x}");
            }
        }
        c => out.push(c),
    }));
    out.push_str("\"", Origin::Template);
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_are_formatted_as_in_python() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.234e-7, "1.234e-07"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(value), expected);
        }
    }
}
