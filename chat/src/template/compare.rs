//! Equality, order and look-up of values, as Python defines them.

use std::cmp::Ordering;
use std::rc::Rc;

use super::error::{RenderError, invalid};
use super::heap::Heap;
use super::value::{Map, Value};

/// Python's `==`. Origins do not count.
pub(super) fn equal(heap: &Heap, a: &Value, b: &Value) -> Result<bool, RenderError> {
    heap.steps(1)?;
    Ok(match (a, b) {
        (Value::Undefined, Value::Undefined) | (Value::None, Value::None) => true,
        (Value::Str(a), Value::Str(b)) => {
            heap.work(a.text.len().min(b.text.len()))?;
            a.text.as_str() == b.text.as_str()
        }
        (Value::Seq(a), Value::Seq(b)) => {
            a.tuple == b.tuple && a.items.len() == b.items.len() && {
                let mut same = true;
                for (a, b) in a.items.iter().zip(&b.items) {
                    same = same && equal(heap, a, b)?;
                }
                same
            }
        }
        (Value::Map(a), Value::Map(b)) => {
            a.entries.len() == b.entries.len() && {
                let mut same = true;
                for (key, value) in &a.entries {
                    same = same
                        && match lookup(heap, b, key)? {
                            Some(other) => equal(heap, value, &other)?,
                            None => false,
                        };
                }
                same
            }
        }
        (Value::Generator(a), Value::Generator(b)) => Rc::ptr_eq(a, b),
        (Value::Namespace(a), Value::Namespace(b)) | (Value::Macro(a), Value::Macro(b)) => a == b,
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (a, b) => match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => a.partial_cmp(&b) == Some(Ordering::Equal),
                _ => false,
            },
        },
    })
}

/// The value of a map under `key`, charged by the number of entries compared.
pub(super) fn lookup(heap: &Heap, map: &Map, key: &Value) -> Result<Option<Value>, RenderError> {
    if let Some(key) = key.as_str() {
        heap.steps(1 + map.entries.len() as u64 / 16)?;
        return Ok(map.get(key).cloned());
    }
    check_key(key)?;
    for (k, v) in &map.entries {
        if equal(heap, k, key)? {
            return Ok(Some(v.clone()));
        }
    }
    Ok(None)
}

/// Refuses what Python cannot hash.
pub(super) fn check_key(key: &Value) -> Result<(), RenderError> {
    if matches!(key, Value::Seq(s) if !s.tuple) || matches!(key, Value::Map(_)) {
        return Err(invalid(format!("{} cannot be a key", key.kind())));
    }
    Ok(())
}

/// Python's order for `<`, `<=`, `>`, `>=`; `None` if a float is NaN.
pub(super) fn order(heap: &Heap, a: &Value, b: &Value) -> Result<Option<Ordering>, RenderError> {
    heap.steps(1)?;
    if let (Value::Str(a), Value::Str(b)) = (a, b) {
        heap.work(a.text.len().min(b.text.len()))?;
        return Ok(Some(a.text.as_str().cmp(b.text.as_str())));
    }
    if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
        return Ok(Some(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) {
        return Ok(a.partial_cmp(&b));
    }
    if let (Value::Seq(a), Value::Seq(b)) = (a, b)
        && a.tuple == b.tuple
    {
        for (a, b) in a.items.iter().zip(&b.items) {
            if !equal(heap, a, b)? {
                return order(heap, a, b);
            }
        }
        return Ok(Some(a.items.len().cmp(&b.items.len())));
    }
    Err(invalid(format!("{} and {} cannot be ordered", a.kind(), b.kind())))
}
