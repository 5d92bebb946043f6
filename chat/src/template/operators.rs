//! Operators, with Python's meaning.

use minijinja::machinery::ast::BinOpKind;

use super::compare::{check_key, equal, lookup, order};
use super::error::{RenderError, invalid, needs_list};
use super::heap::Heap;
use super::value::Value;
use super::{format, write};
use crate::text::Text;

/// `left op right`, for every operator that evaluates both sides.
pub(super) fn binary(
    heap: &Heap,
    op: BinOpKind,
    left: &Value,
    right: &Value,
) -> Result<Value, RenderError> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let is = |among: &[std::cmp::Ordering]| -> Result<Value, RenderError> {
        let found = order(heap, left, right)?;
        Ok(Value::Bool(found.is_some_and(|o| among.contains(&o))))
    };
    match op {
        BinOpKind::Eq => Ok(Value::Bool(equal(heap, left, right)?)),
        BinOpKind::Ne => Ok(Value::Bool(!equal(heap, left, right)?)),
        BinOpKind::Lt => is(&[Less]),
        BinOpKind::Lte => is(&[Less, Equal]),
        BinOpKind::Gt => is(&[Greater]),
        BinOpKind::Gte => is(&[Greater, Equal]),
        BinOpKind::Concat => concat(heap, left, right),
        BinOpKind::In => Ok(Value::Bool(contains(heap, right, left)?)),
        BinOpKind::Add => add(heap, left, right),
        BinOpKind::Mul => multiply(heap, left, right),
        BinOpKind::Rem if left.as_text().is_some() => format::percent(heap, left, right),
        BinOpKind::Sub
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::Pow
        | BinOpKind::ScAnd
        | BinOpKind::ScOr => arithmetic(op, left, right),
    }
}

fn undefined_for(what: &str, left: &Value, right: &Value) -> RenderError {
    invalid(format!("`{what}` is not defined for {} and {}", left.kind(), right.kind()))
}

/// `~`: both sides as text.
fn concat(heap: &Heap, left: &Value, right: &Value) -> Result<Value, RenderError> {
    let mut out = write::str_of(heap, left)?;
    write::push_str_of(heap, right, &mut out)?;
    heap.text(out)
}

/// `+`.
pub(super) fn add(heap: &Heap, left: &Value, right: &Value) -> Result<Value, RenderError> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => {
            heap.room(a.text.len() + b.text.len())?;
            let mut out = a.text.clone();
            out.push(&b.text);
            heap.text(out)
        }
        (Value::Seq(a), Value::Seq(b)) if a.tuple == b.tuple => {
            heap.room((a.items.len() + b.items.len()) * size_of::<Value>())?;
            let items = a.items.iter().chain(&b.items).cloned().collect();
            if a.tuple { heap.tuple(items) } else { heap.list(items) }
        }
        _ => arithmetic(BinOpKind::Add, left, right),
    }
}

fn multiply(heap: &Heap, left: &Value, right: &Value) -> Result<Value, RenderError> {
    let (repeated, times) = match (left, right) {
        (Value::Str(_) | Value::Seq(_), _) => (left, right.as_int()),
        (_, Value::Str(_) | Value::Seq(_)) => (right, left.as_int()),
        _ => return arithmetic(BinOpKind::Mul, left, right),
    };
    let times = times.ok_or_else(|| undefined_for("*", left, right))?;
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    match repeated {
        Value::Str(s) => {
            let marks = s.text.marks().len() * size_of::<Value>();
            heap.room(times.saturating_mul(s.text.len() + marks))?;
            let mut out = Text::default();
            for _ in 0..if s.text.len() == 0 { 0 } else { times } {
                out.push(&s.text);
            }
            heap.text(out)
        }
        Value::Seq(seq) => {
            let bytes = seq.items.len().saturating_mul(size_of::<Value>());
            heap.room(times.saturating_mul(bytes))?;
            let length = seq.items.len() * if bytes == 0 { 0 } else { times };
            let items = seq.items.iter().cycle().take(length).cloned().collect();
            if seq.tuple { heap.tuple(items) } else { heap.list(items) }
        }
        _ => Err(undefined_for("*", left, right)),
    }
}

fn arithmetic(op: BinOpKind, left: &Value, right: &Value) -> Result<Value, RenderError> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int())
        && !matches!(op, BinOpKind::Div)
        && !(matches!(op, BinOpKind::Pow) && b < 0)
    {
        return integers(op, a, b);
    }
    let (Some(a), Some(b)) = (left.as_f64(), right.as_f64()) else {
        return Err(undefined_for(symbol(op), left, right));
    };
    if b == 0.0 && matches!(op, BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem) {
        return Err(invalid("division by zero"));
    }
    Ok(Value::Float(match op {
        BinOpKind::Add => a + b,
        BinOpKind::Sub => a - b,
        BinOpKind::Mul => a * b,
        BinOpKind::Div => a / b,
        BinOpKind::FloorDiv => (a / b).floor(),
        BinOpKind::Rem => a - b * (a / b).floor(),
        BinOpKind::Pow => a.powf(b),
        _ => return Err(undefined_for(symbol(op), left, right)),
    }))
}

fn integers(op: BinOpKind, a: i128, b: i128) -> Result<Value, RenderError> {
    if b == 0 && matches!(op, BinOpKind::FloorDiv | BinOpKind::Rem) {
        return Err(invalid("division by zero"));
    }
    // Python floors and Rust truncates: they differ if the signs differ and a remainder is left.
    let floors = |a: i128, b: i128| a.checked_rem(b).map(|r| r != 0 && (r < 0) != (b < 0));
    let result = match op {
        BinOpKind::Add => a.checked_add(b),
        BinOpKind::Sub => a.checked_sub(b),
        BinOpKind::Mul => a.checked_mul(b),
        BinOpKind::FloorDiv => {
            a.checked_div(b).zip(floors(a, b)).and_then(|(q, down)| q.checked_sub(i128::from(down)))
        }
        BinOpKind::Rem => a
            .checked_rem(b)
            .zip(floors(a, b))
            .and_then(|(r, down)| r.checked_add(if down { b } else { 0 })),
        BinOpKind::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        _ => None,
    };
    result.map(Value::Int).ok_or_else(|| invalid(format!("{a} {} {b} is too large", symbol(op))))
}

fn symbol(op: BinOpKind) -> &'static str {
    match op {
        BinOpKind::Eq => "==",
        BinOpKind::Ne => "!=",
        BinOpKind::Lt => "<",
        BinOpKind::Lte => "<=",
        BinOpKind::Gt => ">",
        BinOpKind::Gte => ">=",
        BinOpKind::ScAnd => "and",
        BinOpKind::ScOr => "or",
        BinOpKind::Add => "+",
        BinOpKind::Sub => "-",
        BinOpKind::Mul => "*",
        BinOpKind::Div => "/",
        BinOpKind::FloorDiv => "//",
        BinOpKind::Rem => "%",
        BinOpKind::Pow => "**",
        BinOpKind::Concat => "~",
        BinOpKind::In => "in",
    }
}

/// `-value`.
pub(super) fn negate(value: &Value) -> Result<Value, RenderError> {
    match value.as_int() {
        Some(i) => Ok(Value::Int(i.saturating_neg())),
        None => match value.as_f64() {
            Some(f) => Ok(Value::Float(-f)),
            None => Err(invalid(format!("`-` is not defined for {}", value.kind()))),
        },
    }
}

/// `item in container`.
pub(super) fn contains(heap: &Heap, container: &Value, item: &Value) -> Result<bool, RenderError> {
    match container {
        Value::Str(s) => match item.as_str() {
            Some(part) => {
                heap.work(s.text.len())?;
                heap.chars(part.len())?;
                Ok(s.text.as_str().contains(part))
            }
            None => Err(undefined_for("in", item, container)),
        },
        Value::Seq(seq) => {
            for other in &seq.items {
                if equal(heap, other, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => Ok(lookup(heap, map, item)?.is_some()),
        Value::Generator(generator) => {
            // Python stops reading at the item.
            for other in generator.lend()? {
                if equal(heap, &other, item)? {
                    return Ok(true);
                }
            }
            generator.end();
            Ok(false)
        }
        Value::Undefined => Ok(false),
        _ => Err(undefined_for("in", item, container)),
    }
}

/// Sets `key` in a map under construction.
pub(super) fn insert(
    heap: &Heap,
    entries: &mut Vec<(Value, Value)>,
    key: Value,
    value: Value,
) -> Result<(), RenderError> {
    check_key(&key)?;
    for (k, v) in entries.iter_mut() {
        if equal(heap, k, &key)? {
            *v = value;
            return Ok(());
        }
    }
    entries.push((key, value));
    Ok(())
}

/// The position of a Python index in a sequence of `length` items.
pub(super) fn index(key: &Value, length: usize) -> Option<usize> {
    let at = key.as_int()?;
    let at = if at < 0 { at + length as i128 } else { at };
    usize::try_from(at).ok().filter(|&at| at < length)
}

/// The character at an index, counted in characters.
pub(super) fn char_at(heap: &Heap, text: &Text, key: &Value) -> Result<Option<Value>, RenderError> {
    heap.work(text.len())?;
    let string = text.as_str();
    let Some(at) = index(key, string.chars().count()) else {
        return Ok(None);
    };
    let Some((start, c)) = string.char_indices().nth(at) else {
        return Ok(None);
    };
    heap.text(text.part(start..start + c.len_utf8())).map(Some)
}

/// `value[start:stop:step]`.
pub(super) fn slice(
    heap: &Heap,
    value: &Value,
    bounds: [Option<i128>; 3],
) -> Result<Value, RenderError> {
    match value {
        Value::Str(s) => {
            heap.chars(s.text.len())?;
            let string = s.text.as_str();
            let ends: Vec<usize> =
                string.char_indices().map(|(at, _)| at).chain([string.len()]).collect();
            let picked = picked(ends.len() - 1, bounds)?;
            let mut out = Text::default();
            if bounds[2].is_none_or(|step| step == 1) {
                if let (Some(first), Some(last)) = (picked.clone().next(), picked.last()) {
                    out.push_part(&s.text, ends[first]..ends[last + 1]);
                }
            } else {
                picked.for_each(|i| out.push_part(&s.text, ends[i]..ends[i + 1]));
            }
            heap.text(out)
        }
        Value::Seq(seq) => {
            heap.room(seq.items.len() * size_of::<Value>())?;
            let items = picked(seq.items.len(), bounds)?.map(|i| seq.items[i].clone()).collect();
            if seq.tuple { heap.tuple(items) } else { heap.list(items) }
        }
        Value::Generator(_) => Err(needs_list()),
        other => Err(invalid(format!("{} cannot be sliced", other.kind()))),
    }
}

/// The positions that a slice selects from `length`, as Python's `slice.indices`.
fn picked(
    length: usize,
    [start, stop, step]: [Option<i128>; 3],
) -> Result<impl Iterator<Item = usize> + Clone, RenderError> {
    let length = length as i128;
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(invalid("a slice's step cannot be zero"));
    }
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let clamp = |bound: Option<i128>, default: i128| match bound {
        None => default,
        Some(b) if b < 0 => b.saturating_add(length).max(low),
        Some(b) => b.min(high),
    };
    let start = clamp(start, if step > 0 { low } else { high });
    let stop = clamp(stop, if step > 0 { high } else { low });
    let mut at = start;
    Ok(std::iter::from_fn(move || {
        let inside = if step > 0 { at < stop } else { at > stop };
        let here = usize::try_from(at).ok().filter(|_| inside)?;
        at = at.saturating_add(step);
        Some(here)
    }))
}
