//! Methods of strings, lists and maps. Methods that would change their object are refused, as in
//! the immutable sandbox of Hugging Face.

use super::args::Args;
use super::error::{RenderError, invalid};
use super::heap::Heap;
use super::strings::{self, Ends};
use super::value::Value;
use super::{collections, format, write};
use crate::text::Text;

const STRING: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "find",
    "format",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "islower",
    "isnumeric",
    "isspace",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];
const MAP: &[&str] =
    &["clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"];
const LIST: &[&str] = &[
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse",
    "sort",
];
const TUPLE: &[&str] = &["count", "index"];

/// Whether a value has a method of this name.
pub(super) fn exists(value: &Value, name: &str) -> bool {
    match value {
        Value::Str(_) => STRING,
        Value::Map(_) => MAP,
        Value::Seq(s) if s.tuple => TUPLE,
        Value::Seq(_) => LIST,
        _ => return false,
    }
    .contains(&name)
}

/// Calls a method that [`exists`].
pub(super) fn call(
    heap: &Heap,
    receiver: &Value,
    name: &str,
    args: &Args<'_>,
) -> Result<Value, RenderError> {
    match receiver {
        Value::Str(s) => {
            heap.chars(s.text.len())?;
            of_string(heap, &s.text, name, args)
        }
        Value::Map(map) => collections::of_map(heap, receiver, map, name, args),
        Value::Seq(seq) => collections::of_list(heap, receiver, seq, name, args),
        other => Err(no_method(other, name)),
    }
}

fn no_method(value: &Value, name: &str) -> RenderError {
    invalid(format!("{} has no method `{name}` here", value.kind()))
}

fn of_string(heap: &Heap, text: &Text, name: &str, args: &Args<'_>) -> Result<Value, RenderError> {
    if let Some(answer) = predicate(text.as_str(), name) {
        args.only(name, &[])?;
        return Ok(Value::Bool(answer));
    }
    match name {
        "strip" => stripped(heap, text, Ends::Both, args),
        "lstrip" => stripped(heap, text, Ends::Start, args),
        "rstrip" => stripped(heap, text, Ends::End, args),
        "upper" => cased(heap, text, |c, out| out.extend(c.to_uppercase())),
        "lower" | "casefold" => cased(heap, text, |c, out| out.extend(c.to_lowercase())),
        "swapcase" => cased(heap, text, |c, out| {
            if c.is_uppercase() {
                out.extend(c.to_lowercase());
            } else {
                out.extend(c.to_uppercase());
            }
        }),
        "title" => heap.text(strings::title(text)),
        "capitalize" => heap.text(strings::capitalize(text)),
        "startswith" | "endswith" => affix(text, name, args),
        "find" | "rfind" | "index" | "rindex" | "count" => search(heap, text, name, args),
        "removeprefix" | "removesuffix" => {
            let affix = string_arg(args, 0, "affix")?;
            let kept = if name == "removeprefix" {
                text.as_str().strip_prefix(affix)
            } else {
                text.as_str().strip_suffix(affix)
            };
            heap.text(text.part_of(kept.unwrap_or(text.as_str())))
        }
        "replace" => {
            args.only(name, &["old", "new", "count"])?;
            let old = string_arg(args, 0, "old")?;
            let new = text_arg(args, 1, "new")?;
            let count = count_arg(args, 2, "count")?;
            heap.text(strings::replace(heap, text, old, new, count)?)
        }
        "split" | "rsplit" => {
            args.only(name, &["sep", "maxsplit"])?;
            let separator = match args.get(0, "sep") {
                None | Some(Value::None) => None,
                Some(_) => Some(string_arg(args, 0, "sep")?),
            };
            if separator == Some("") {
                return Err(invalid("an empty separator"));
            }
            heap.chars(separator.map_or(0, str::len))?;
            let most = count_arg(args, 1, "maxsplit")?;
            let parts = strings::split(heap, text, separator, most, name == "rsplit")?;
            texts(heap, parts, false)
        }
        "splitlines" => {
            let keep = args.get(0, "keepends").is_some_and(Value::truth);
            texts(heap, strings::split_lines(heap, text, keep)?, false)
        }
        "partition" | "rpartition" => partition(heap, text, name, args),
        "join" => join(heap, text, args),
        "center" => padded(heap, text, Ends::Both, args),
        "rjust" => padded(heap, text, Ends::Start, args),
        "ljust" => padded(heap, text, Ends::End, args),
        "zfill" => zero_filled(heap, text, args),
        "format" => heap.text(format::braces(heap, text, args)?),
        _ => Err(invalid(format!("a string has no method `{name}` here"))),
    }
}

fn predicate(s: &str, name: &str) -> Option<bool> {
    let all = |f: fn(char) -> bool| !s.is_empty() && s.chars().all(f);
    Some(match name {
        "isspace" => all(strings::is_space),
        "isdigit" | "isdecimal" | "isnumeric" => all(char::is_numeric),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isascii" => s.is_ascii(),
        "islower" => s.chars().any(char::is_lowercase) && !s.chars().any(char::is_uppercase),
        "isupper" => s.chars().any(char::is_uppercase) && !s.chars().any(char::is_lowercase),
        _ => return None,
    })
}

fn texts(heap: &Heap, parts: Vec<Text>, tuple: bool) -> Result<Value, RenderError> {
    let items: Result<Vec<Value>, RenderError> = parts.into_iter().map(|t| heap.text(t)).collect();
    if tuple { heap.tuple(items?) } else { heap.list(items?) }
}

fn cased(heap: &Heap, text: &Text, f: impl FnMut(char, &mut String)) -> Result<Value, RenderError> {
    heap.text(text.map_chars(f))
}

fn stripped(heap: &Heap, text: &Text, ends: Ends, args: &Args<'_>) -> Result<Value, RenderError> {
    args.only("strip", &["chars"])?;
    let chars = match args.get(0, "chars") {
        None | Some(Value::None) => None,
        Some(_) => Some(string_arg(args, 0, "chars")?),
    };
    heap.chars(text.len().saturating_mul(chars.map_or(1, str::len)))?;
    heap.text(strings::strip(text, ends, chars))
}

fn affix(text: &Text, name: &str, args: &Args<'_>) -> Result<Value, RenderError> {
    args.only(name, &["affix"])?;
    let wanted = args.need(0, "affix")?;
    let candidates = match wanted {
        Value::Seq(seq) if seq.tuple => seq.items.as_slice(),
        single => std::slice::from_ref(single),
    };
    for candidate in candidates {
        let affix = candidate
            .as_str()
            .ok_or_else(|| invalid(format!("`{name}` takes text, not {}", candidate.kind())))?;
        let found = if name == "startswith" {
            text.as_str().starts_with(affix)
        } else {
            text.as_str().ends_with(affix)
        };
        if found {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn search(heap: &Heap, text: &Text, name: &str, args: &Args<'_>) -> Result<Value, RenderError> {
    args.only(name, &["part"])?;
    let part = string_arg(args, 0, "part")?;
    heap.chars(part.len())?;
    let string = text.as_str();
    if name == "count" {
        return Ok(Value::Int(string.matches(part).count() as i128));
    }
    let found = if name.starts_with('r') { string.rfind(part) } else { string.find(part) };
    match found {
        Some(at) => Ok(Value::Int(string[..at].chars().count() as i128)),
        None if name.ends_with("index") => Err(invalid("the text has no such part")),
        None => Ok(Value::Int(-1)),
    }
}

fn partition(heap: &Heap, text: &Text, name: &str, args: &Args<'_>) -> Result<Value, RenderError> {
    let separator = text_arg(args, 0, "sep")?;
    heap.chars(separator.len())?;
    let string = text.as_str();
    let reverse = name == "rpartition";
    let found =
        if reverse { string.rfind(separator.as_str()) } else { string.find(separator.as_str()) };
    let parts = match found {
        Some(at) => {
            let end = at + separator.len();
            vec![text.part(0..at), text.part(at..end), text.part(end..text.len())]
        }
        None if reverse => vec![Text::default(), Text::default(), text.clone()],
        None => vec![text.clone(), Text::default(), Text::default()],
    };
    texts(heap, parts, true)
}

/// `separator.join(parts)`, where every part is text.
fn join(heap: &Heap, separator: &Text, args: &Args<'_>) -> Result<Value, RenderError> {
    let read;
    let parts: &[Value] = match args.need(0, "parts")? {
        Value::Seq(parts) => &parts.items,
        Value::Generator(generator) => {
            read = generator.read()?;
            &read
        }
        _ => return Err(invalid("`join` takes a list of texts")),
    };
    let mut out = Text::default();
    for (i, part) in parts.iter().enumerate() {
        let part = part
            .as_text()
            .ok_or_else(|| invalid(format!("`join` takes texts, not {}", part.kind())))?;
        heap.grow(out.len(), separator.len() + part.len())?;
        if i > 0 {
            out.push(separator);
        }
        out.push(part);
    }
    heap.text(out)
}

fn padded(heap: &Heap, text: &Text, ends: Ends, args: &Args<'_>) -> Result<Value, RenderError> {
    args.only("pad", &["width", "fill"])?;
    let width = count_arg(args, 0, "width")?;
    let fill = match args.get(1, "fill") {
        Some(_) => text_arg(args, 1, "fill")?.clone(),
        None => Text::template(" "),
    };
    if fill.as_str().chars().take(2).count() != 1 {
        return Err(invalid("`fill` is one character"));
    }
    heap.text(strings::pad(heap, text, width, ends, &fill)?)
}

fn zero_filled(heap: &Heap, text: &Text, args: &Args<'_>) -> Result<Value, RenderError> {
    let width = count_arg(args, 0, "width")?;
    let signed = text.as_str().starts_with(['-', '+']);
    let digits = text.part(usize::from(signed)..text.len());
    let zero = Text::template("0");
    let width = width.saturating_sub(usize::from(signed));
    let filled = strings::pad(heap, &digits, width, Ends::Start, &zero)?;
    let mut out = text.part(0..usize::from(signed));
    out.push(&filled);
    heap.text(out)
}

fn text_arg<'a>(args: &'a Args<'_>, at: usize, name: &str) -> Result<&'a Text, RenderError> {
    let value = args.need(at, name)?;
    value.as_text().ok_or_else(|| invalid(format!("`{name}` is text, not {}", value.kind())))
}

fn string_arg<'a>(args: &'a Args<'_>, at: usize, name: &str) -> Result<&'a str, RenderError> {
    text_arg(args, at, name).map(Text::as_str)
}

/// A count; absent or negative means unbounded.
fn count_arg(args: &Args<'_>, at: usize, name: &str) -> Result<usize, RenderError> {
    match args.get(at, name) {
        None | Some(Value::None) => Ok(usize::MAX),
        Some(value) => {
            let n = value
                .as_int()
                .ok_or_else(|| invalid(format!("`{name}` is an int, not {}", value.kind())))?;
            Ok(usize::try_from(n).unwrap_or(usize::MAX))
        }
    }
}

/// The `join` of the filter language, which writes any value as text first.
pub(super) fn join_values(
    heap: &Heap,
    items: &[Value],
    separator: &Text,
) -> Result<Value, RenderError> {
    let mut out = Text::default();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            heap.grow(out.len(), separator.len())?;
            out.push(separator);
        }
        write::push_str_of(heap, item, &mut out)?;
    }
    heap.text(out)
}
