//! Jinja's tests: the names that may follow `is`.

use std::cmp::Ordering;

use super::compare::{equal, order};
use super::error::{RenderError, invalid};
use super::heap::Heap;
use super::operators::contains;
use super::value::Value;

/// `value is name(args)`.
pub(super) fn perform(
    heap: &Heap,
    name: &str,
    value: &Value,
    args: &[Value],
) -> Result<bool, RenderError> {
    heap.steps(1)?;
    Ok(match name {
        "defined" => !matches!(value, Value::Undefined),
        "undefined" => matches!(value, Value::Undefined),
        "none" => matches!(value, Value::None),
        "boolean" => matches!(value, Value::Bool(_)),
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "integer" => matches!(value, Value::Int(_)),
        "float" => matches!(value, Value::Float(_)),
        "number" => matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_)),
        "string" => matches!(value, Value::Str(_)),
        "mapping" => matches!(value, Value::Map(_)),
        // In Jinja whatever has a length and takes an index is a sequence: maps and undefined
        // values have and do, generators do not.
        "sequence" => is_sized(value),
        "iterable" => is_sized(value) || matches!(value, Value::Generator(_)),
        "callable" => matches!(value, Value::Macro(_) | Value::Builtin(_) | Value::Method(_)),
        "odd" => remainder(value, 2)? != 0,
        "even" => remainder(value, 2)? == 0,
        "divisibleby" => remainder(value, integer(argument(name, args)?)?)? == 0,
        "lower" => cased(value, char::is_lowercase, char::is_uppercase),
        "upper" => cased(value, char::is_uppercase, char::is_lowercase),
        "in" => contains(heap, argument(name, args)?, value)?,
        "eq" | "equalto" | "==" => equal(heap, value, argument(name, args)?)?,
        "ne" | "!=" => !equal(heap, value, argument(name, args)?)?,
        "sameas" => same(heap, value, argument(name, args)?)?,
        "lt" | "lessthan" | "<" | "le" | "<=" | "gt" | "greaterthan" | ">" | "ge" | ">=" => {
            ordered(heap, name, value, argument(name, args)?)?
        }
        _ => return Err(invalid(format!("there is no test `{name}`"))),
    })
}

fn is_sized(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Seq(_) | Value::Map(_) | Value::Undefined)
}

fn argument<'a>(name: &str, args: &'a [Value]) -> Result<&'a Value, RenderError> {
    args.first().ok_or_else(|| invalid(format!("the test `{name}` needs an argument")))
}

fn integer(value: &Value) -> Result<i128, RenderError> {
    value.as_int().ok_or_else(|| invalid(format!("{} is no integer", value.kind())))
}

fn remainder(value: &Value, by: i128) -> Result<i128, RenderError> {
    integer(value)?.checked_rem_euclid(by).ok_or_else(|| invalid("division by zero"))
}

fn cased(value: &Value, wanted: fn(char) -> bool, unwanted: fn(char) -> bool) -> bool {
    value.as_str().is_some_and(|s| s.chars().any(wanted) && !s.chars().any(unwanted))
}

/// `is`: the same constant; small integers and equal strings count as the same object.
fn same(heap: &Heap, a: &Value, b: &Value) -> Result<bool, RenderError> {
    Ok(std::mem::discriminant(a) == std::mem::discriminant(b) && equal(heap, a, b)?)
}

fn ordered(heap: &Heap, name: &str, a: &Value, b: &Value) -> Result<bool, RenderError> {
    let Some(found) = order(heap, a, b)? else {
        return Ok(false);
    };
    Ok(match name {
        "lt" | "lessthan" | "<" => found == Ordering::Less,
        "le" | "<=" => found != Ordering::Greater,
        "gt" | "greaterthan" | ">" => found == Ordering::Greater,
        _ => found != Ordering::Less,
    })
}
