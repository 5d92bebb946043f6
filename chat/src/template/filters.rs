//! Jinja's filters that chat templates use. Any other name is an error.

use std::cmp::Ordering;

use super::args::Args;
use super::error::{RenderError, invalid, needs_list};
use super::eval::evaluator::TemplateEvaluator;
use super::heap::Heap;
use super::strings::{self, Ends};
use super::value::Value;
use super::write::{self, JsonStyle};
use super::{collections, format, lists, methods};
use crate::text::Text;

/// The widest indentation that `tojson` and `indent` accept.
const MAX_INDENT: usize = 64;

impl<'t> TemplateEvaluator<'t> {
    /// `value | name(args)`.
    pub(super) fn apply_filter(
        &mut self,
        name: &str,
        value: &Value,
        args: &Args<'t>,
    ) -> Result<Value, RenderError> {
        apply(self, name, value, args)
    }
}

/// `value | name(args)`.
fn apply<'t>(
    ev: &mut TemplateEvaluator<'t>,
    name: &str,
    value: &Value,
    args: &Args<'t>,
) -> Result<Value, RenderError> {
    if let Some(result) = of_text(&ev.heap, name, value, args)? {
        return Ok(result);
    }
    if let Some(result) = of_number(&ev.heap, name, value, args)? {
        return Ok(result);
    }
    match name {
        "default" | "d" => {
            args.only(name, &["default_value", "boolean"])?;
            let falsy = args.get(1, "boolean").is_some_and(Value::truth);
            if matches!(value, Value::Undefined) || (falsy && !value.truth()) {
                return match args.get(0, "default_value") {
                    Some(default) => Ok(default.clone()),
                    None => ev.heap.str(""),
                };
            }
            Ok(value.clone())
        }
        "length" | "count" => length(&ev.heap, value),
        "tojson" => {
            let style = json_style(args)?;
            let text = write::json(&ev.heap, value, &style)?;
            ev.heap.text(text)
        }
        "attr" => match args.need(0, "name")?.as_str() {
            // Unlike `map.name`, it does not fall back to the items.
            Some(name) if matches!(value, Value::Map(_)) && !methods::exists(value, name) => {
                Ok(Value::Undefined)
            }
            Some(name) => ev.attr(value, name),
            None => Err(invalid("`attr` needs a name")),
        },
        "items" => match value {
            Value::Undefined => ev.heap.generator(Vec::new()),
            Value::Map(map) => ev.heap.generator(collections::pairs(&ev.heap, map)?),
            other => Err(invalid(format!("`items` needs a map, not {}", other.kind()))),
        },
        _ => lists::apply(ev, name, value, args),
    }
}

fn length(heap: &Heap, value: &Value) -> Result<Value, RenderError> {
    let length = match value {
        Value::Undefined => 0,
        Value::Str(s) => {
            heap.work(s.text.len())?;
            s.text.as_str().chars().count()
        }
        Value::Seq(seq) => seq.items.len(),
        Value::Map(map) => map.entries.len(),
        Value::Loop(info) => info.items.len(),
        Value::Generator(_) => return Err(needs_list()),
        other => return Err(invalid(format!("{} has no length", other.kind()))),
    };
    Ok(Value::Int(length as i128))
}

/// Applies a filter that reads its value as text.
fn of_text(
    heap: &Heap,
    name: &str,
    value: &Value,
    args: &Args<'_>,
) -> Result<Option<Value>, RenderError> {
    let known = [
        "capitalize",
        "center",
        "e",
        "escape",
        "forceescape",
        "format",
        "indent",
        "lower",
        "replace",
        "safe",
        "string",
        "title",
        "trim",
        "upper",
        "wordcount",
    ];
    if !known.contains(&name) {
        return Ok(None);
    }
    let text = write::str_of(heap, value)?;
    heap.chars(text.len())?;
    let result = match name {
        "string" | "safe" => text,
        "upper" => text.map_chars(|c, out| out.extend(c.to_uppercase())),
        "lower" => text.map_chars(|c, out| out.extend(c.to_lowercase())),
        "capitalize" => strings::capitalize(&text),
        "title" => strings::title_words(&text),
        "trim" => {
            let chars = match args.get(0, "chars") {
                None | Some(Value::None) => None,
                Some(v) => Some(v.as_str().ok_or_else(|| invalid("`trim` takes text"))?),
            };
            heap.chars(text.len().saturating_mul(chars.map_or(1, str::len)))?;
            strings::strip(&text, Ends::Both, chars)
        }
        "replace" => {
            let old = write::str_of(heap, args.need(0, "old")?)?;
            let new = write::str_of(heap, args.need(1, "new")?)?;
            let count = match args.get(2, "count").and_then(Value::as_int) {
                Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
                None => usize::MAX,
            };
            strings::replace(heap, &text, old.as_str(), &new, count)?
        }
        "center" => {
            let width = args.get(0, "width").and_then(Value::as_int).unwrap_or(80);
            let width = usize::try_from(width).unwrap_or(0);
            strings::pad(heap, &text, width, Ends::Both, &Text::template(" "))?
        }
        "indent" => indented(heap, &text, args)?,
        "format" => format::filled(heap, &text, &args.positional)?,
        "wordcount" => {
            return Ok(Some(Value::Int(strings::words(text.as_str()) as i128)));
        }
        _ => text.map_chars(|c, out| match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }),
    };
    heap.text(result).map(Some)
}

fn indented(heap: &Heap, text: &Text, args: &Args<'_>) -> Result<Text, RenderError> {
    args.only("indent", &["width", "first", "blank"])?;
    let prefix = match args.get(0, "width") {
        Some(Value::Str(s)) => s.text.clone(),
        Some(other) => Text::template(" ".repeat(indent_width(other)?)),
        None => Text::template("    "),
    };
    let flag = |at, name| args.get(at, name).is_some_and(Value::truth);
    strings::indent(heap, text, &prefix, (flag(1, "first"), flag(2, "blank")))
}

fn indent_width(value: &Value) -> Result<usize, RenderError> {
    value
        .as_int()
        .and_then(|n| usize::try_from(n.max(0)).ok())
        .filter(|n| *n <= MAX_INDENT)
        .ok_or_else(|| invalid(format!("an indentation is an int of at most {MAX_INDENT}")))
}

fn json_style(args: &Args<'_>) -> Result<JsonStyle, RenderError> {
    args.only("tojson", &["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match args.get(1, "indent") {
        None | Some(Value::None) => None,
        Some(Value::Str(s)) if s.text.len() <= MAX_INDENT => Some(s.text.as_str().to_owned()),
        Some(other) => Some(" ".repeat(indent_width(other)?)),
    };
    let separators = match args.get(2, "separators") {
        None | Some(Value::None) => None,
        Some(Value::Seq(seq)) => match &seq.items[..] {
            [Value::Str(item), Value::Str(key)] => Some((item.text.clone(), key.text.clone())),
            _ => return Err(invalid("`separators` is a pair of texts")),
        },
        Some(_) => return Err(invalid("`separators` is a pair of texts")),
    };
    let (item_separator, key_separator) = separators.unwrap_or_else(|| {
        let item = if indent.is_some() { "," } else { ", " };
        (Text::template(item), Text::template(": "))
    });
    Ok(JsonStyle {
        indent,
        item_separator,
        key_separator,
        ensure_ascii: args.get(0, "ensure_ascii").is_some_and(Value::truth),
        sort_keys: args.get(3, "sort_keys").is_some_and(Value::truth),
    })
}

/// Applies a filter that returns a number.
fn of_number(
    heap: &Heap,
    name: &str,
    value: &Value,
    args: &Args<'_>,
) -> Result<Option<Value>, RenderError> {
    Ok(Some(match name {
        "int" => {
            args.only(name, &["default", "base"])?;
            let base = args.get(1, "base").map_or(Some(10), Value::as_int);
            if value.as_str().is_some() && base != Some(10) {
                return Err(invalid("`int` reads a text to no other `base` than 10"));
            }
            to_int(heap, value).or_else(|| args.get(0, "default").cloned()).unwrap_or(Value::Int(0))
        }
        "float" => to_float(value)
            .map(Value::Float)
            .or_else(|| args.get(0, "default").cloned())
            .unwrap_or(Value::Float(0.0)),
        "abs" => match (value.as_int(), value.as_f64()) {
            (Some(i), _) => Value::Int(i.saturating_abs()),
            (None, Some(f)) => Value::Float(f.abs()),
            (None, None) => return Err(invalid(format!("`abs` of {}", value.kind()))),
        },
        "round" => round(value, args)?,
        _ => return Ok(None),
    }))
}

fn to_int(heap: &Heap, value: &Value) -> Option<Value> {
    if let Some(i) = value.as_int() {
        return Some(Value::Int(i));
    }
    let float = match value {
        Value::Float(f) => *f,
        Value::Str(s) => {
            heap.work(s.text.len()).ok()?;
            let trimmed = s.text.as_str().trim();
            if let Ok(i) = trimmed.parse::<i128>() {
                return Some(Value::Int(i));
            }
            trimmed.parse().ok()?
        }
        _ => return None,
    };
    // Every float below 1e38 in size fits 128 bits.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let int = float.trunc() as i128;
    (float.abs() < 1e38).then_some(Value::Int(int))
}

fn to_float(value: &Value) -> Option<f64> {
    match value {
        Value::Str(s) => s.text.as_str().trim().parse().ok(),
        other => other.as_f64(),
    }
}

fn round(value: &Value, args: &Args<'_>) -> Result<Value, RenderError> {
    args.only("round", &["precision", "method"])?;
    let x = value.as_f64().ok_or_else(|| invalid(format!("`round` of {}", value.kind())))?;
    let digits = args.get(0, "precision").and_then(Value::as_int).unwrap_or(0);
    let digits = i32::try_from(digits.clamp(-300, 300)).expect("clamped");
    let method = args.get(1, "method").map_or(Some("common"), Value::as_str);
    if let (Some("common"), Some(int)) = (method, value.as_int()) {
        return round_int(int, digits);
    }
    let scale = 10f64.powi(digits);
    let rounded = match method {
        Some("ceil") => (x * scale).ceil() / scale,
        Some("floor") => (x * scale).floor() / scale,
        // Python rounds the exact decimal value, halves to even; Rust's formatting does the same.
        Some("common") if digits >= 0 => format!("{x:.*}", usize::try_from(digits).expect("≥ 0"))
            .parse()
            .map_err(|_| invalid("`round` of a value that is not a number"))?,
        Some("common") => (x * scale).round_ties_even() / scale,
        _ => return Err(invalid("`round` knows common, ceil and floor")),
    };
    Ok(Value::Float(rounded))
}

/// Python's `round` of an int, which stays one. Halves go to the even neighbour.
fn round_int(value: i128, digits: i32) -> Result<Value, RenderError> {
    let Ok(zeros) = u32::try_from(-digits) else {
        return Ok(Value::Int(value));
    };
    // A power beyond 128 bits is more than twice any value.
    let Some(unit) = 10i128.checked_pow(zeros) else {
        return Ok(Value::Int(0));
    };
    let over = value.rem_euclid(unit);
    let rounded = value.checked_sub(over).and_then(|below| match over.cmp(&(unit - over)) {
        Ordering::Less => Some(below),
        Ordering::Equal if below / unit % 2 == 0 => Some(below),
        Ordering::Equal | Ordering::Greater => below.checked_add(unit),
    });
    rounded.map(Value::Int).ok_or_else(|| invalid(format!("`round` of {value} is too large")))
}
