//! Functions of `SQLite` that a query may call, and our own ones for those that it lacks, and for those
//! that take more than linear time: the steps of a query bound its time only if no single step is long.

use memchr::memmem;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use super::mathematics;
use super::reals::real_text;

/// Bytes of a value or of a row.
pub(super) const MAX_VALUE_BYTES: usize = 1 << 20;

/// Functions that a query may call. Absent are those that read or write files, load code, draw at
/// random or make long values of nothing.
#[rustfmt::skip]
const ALLOWED: &[&str] = &[
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "ceil",
    "ceiling", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
    "current_date", "current_time", "current_timestamp", "date", "datetime", "degrees",
    "dense_rank", "exp", "first_value", "floor", "format", "glob", "group_concat", "hex", "if",
    "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
    "json_group_array", "json_group_object", "json_object", "json_quote", "json_type", "json_valid",
    "julianday", "lag", "last_value", "lead", "length", "like", "likelihood", "likely", "ln", "log",
    "log10", "log2", "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile", "nullif",
    "octet_length", "percent_rank", "pi", "pow", "power", "printf", "quote", "radians", "rank",
    "replace", "round", "row_number", "rtrim", "sign", "sin", "sinh", "soundex", "sqlite_version",
    "sqrt", "strftime", "string_agg", "substr", "substring", "sum", "tan", "tanh", "time",
    "timediff", "total", "trim", "trunc", "typeof", "unicode", "unixepoch", "unlikely", "upper",
];

/// Whether a query may call the function.
pub(super) fn is_allowed(name: &str) -> bool {
    ALLOWED.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
}

/// Whether a query may depend on the clock: a text that names a function of time in any way.
pub(super) fn may_read_clock(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ["date", "time", "julianday", "epoch", "current"].iter().any(|name| sql.contains(name))
}

/// Adds the mathematical functions, and replaces those whose built-in forms take the product of two
/// lengths.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    mathematics::register(connection, flags)?;
    connection.create_scalar_function(c"instr", 2, flags, |context| Ok(instr(context)))?;
    connection.create_scalar_function(c"replace", 3, flags, |context| replace(context))?;
    for (name, start, end) in
        [(c"trim", true, true), (c"ltrim", true, false), (c"rtrim", false, true)]
    {
        for arguments in [1, 2] {
            let call = move |context: &mut Context<'_>| Ok(trim(context, start, end));
            connection.create_scalar_function(name, arguments, flags, call)?;
        }
    }
    Ok(())
}

/// The text of an argument as `SQLite` casts it; `None` for NULL.
fn text(context: &Context<'_>, index: usize) -> Option<Vec<u8>> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(real_text(number).into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
    }
}

/// A text as a value, with what is no UTF-8 replaced.
fn value(bytes: Vec<u8>) -> Value {
    let text = String::from_utf8(bytes);
    Value::Text(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn is_blob(context: &Context<'_>, index: usize) -> bool {
    matches!(context.get_raw(index), ValueRef::Blob(_))
}

/// The place of the second argument in the first, counted in characters, or bytes of blobs, from 1.
fn instr(context: &Context<'_>) -> Option<i64> {
    let (whole, part) = (text(context, 0)?, text(context, 1)?);
    let Some(at) = memmem::find(&whole, &part) else { return Some(0) };
    let are_bytes = is_blob(context, 0) && is_blob(context, 1);
    let before = if are_bytes { at } else { String::from_utf8_lossy(&whole[..at]).chars().count() };
    Some(i64::try_from(before + 1).unwrap_or(i64::MAX))
}

fn replace(context: &Context<'_>) -> Result<Value> {
    let texts = (text(context, 0), text(context, 1), text(context, 2));
    let (Some(whole), Some(old), Some(new)) = texts else { return Ok(Value::Null) };
    if old.is_empty() {
        return Ok(value(whole));
    }
    let (mut made, mut rest) = (Vec::with_capacity(whole.len()), 0);
    for at in memmem::find_iter(&whole, &old) {
        made.extend_from_slice(&whole[rest..at]);
        made.extend_from_slice(&new);
        rest = at + old.len();
        if made.len() > MAX_VALUE_BYTES {
            return Err(Error::UserFunctionError("string or blob too big".into()));
        }
    }
    made.extend_from_slice(&whole[rest..]);
    Ok(value(made))
}

fn trim(context: &Context<'_>, start: bool, end: bool) -> Value {
    let Some(whole) = text(context, 0) else { return Value::Null };
    let set = match context.len() {
        1 => b" ".to_vec(),
        _ => match text(context, 1) {
            Some(set) => set,
            None => return Value::Null,
        },
    };
    let set: std::collections::HashSet<char> = String::from_utf8_lossy(&set).chars().collect();
    let text = String::from_utf8_lossy(&whole);
    let mut kept = &*text;
    if start {
        kept = kept.trim_start_matches(|c| set.contains(&c));
    }
    if end {
        kept = kept.trim_end_matches(|c| set.contains(&c));
    }
    Value::Text(kept.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_order() {
        assert!(ALLOWED.is_sorted());
    }
}
