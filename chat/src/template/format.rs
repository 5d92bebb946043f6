//! Python's two formatting operations, as far as chat templates use them.

use super::args::Args;
use super::error::{RenderError, invalid};
use super::heap::Heap;
use super::value::Value;
use super::write;
use crate::text::{Origin, Text};

/// `format % values`: `%s`, `%d`, `%r`, `%%`, without width or precision.
pub(super) fn percent(heap: &Heap, format: &Value, values: &Value) -> Result<Value, RenderError> {
    let Some(format) = format.as_text() else {
        return Err(invalid("`%` needs a format"));
    };
    let values: &[Value] = match values {
        Value::Seq(seq) if seq.tuple => &seq.items,
        single => std::slice::from_ref(single),
    };
    heap.text(filled(heap, format, values)?)
}

/// The `format` filter: `%` with the values as arguments.
pub(super) fn filled(heap: &Heap, format: &Text, values: &[Value]) -> Result<Text, RenderError> {
    heap.work(format.len())?;
    let mut out = Text::default();
    let mut values = values.iter();
    let mut done = 0;
    let string = format.as_str();
    while let Some(at) = string[done..].find('%').map(|at| at + done) {
        out.push_part(format, done..at);
        let conversion = string[at + 1..].chars().next();
        match conversion {
            Some('%') => out.push_str("%", Origin::Template),
            Some('s' | 'd' | 'i' | 'r') => {
                let value = values.next().ok_or_else(|| invalid("too few values for `%`"))?;
                match (conversion, value) {
                    (Some('d' | 'i'), Value::Float(f)) => {
                        out.push_str(&format!("{:.0}", f.trunc()), Origin::Template);
                    }
                    (Some('d' | 'i'), other) if other.as_int().is_none() => {
                        return Err(invalid(format!("`%d` needs a number, not {}", other.kind())));
                    }
                    (Some('r'), other) => write::push_repr(heap, other, &mut out)?,
                    (_, other) => write::push_str_of(heap, other, &mut out)?,
                }
            }
            _ => return Err(invalid("only %s, %d, %r and %% are supported")),
        }
        done = at + 2;
    }
    if values.next().is_some() {
        return Err(invalid("too many values for `%`"));
    }
    out.push_part(format, done..format.len());
    Ok(out)
}

/// `format.format(…)`: `{}`, `{0}`, `{name}` and doubled braces, without format specifications.
pub(super) fn braces(heap: &Heap, format: &Text, args: &Args<'_>) -> Result<Text, RenderError> {
    let mut out = Text::default();
    let mut next = 0;
    let mut done = 0;
    let string = format.as_str();
    while let Some(at) = string[done..].find(['{', '}']).map(|at| at + done) {
        out.push_part(format, done..at);
        let rest = &string[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            out.push_part(format, at..at + 1);
            done = at + 2;
            continue;
        }
        let Some(end) = rest.find('}').filter(|_| rest.starts_with('{')) else {
            return Err(invalid("unbalanced braces in a format"));
        };
        let field = &rest[1..end];
        let value = match field.parse::<usize>() {
            Ok(i) => args.positional.get(i),
            Err(_) if field.is_empty() => {
                next += 1;
                args.positional.get(next - 1)
            }
            Err(_) => args.named.iter().find(|(n, _)| *n == field).map(|(_, v)| v),
        };
        let value = value.ok_or_else(|| invalid(format!("nothing to put in for `{{{field}}}`")))?;
        write::push_str_of(heap, value, &mut out)?;
        done = at + end + 1;
    }
    out.push_part(format, done..format.len());
    Ok(out)
}
