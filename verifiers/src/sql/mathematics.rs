//! The mathematical functions of `SQLite`, which the copy of it that is compiled in leaves out.

use std::ffi::CStr;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::reals::real;

/// A function of one number with its name.
type Unary = (&'static CStr, fn(f64) -> f64);

/// A function of two numbers with its name.
type Binary = (&'static CStr, fn(f64, f64) -> f64);

/// Functions that leave an integer as it is.
const ROUNDING: [Unary; 4] =
    [(c"ceil", f64::ceil), (c"ceiling", f64::ceil), (c"floor", f64::floor), (c"trunc", f64::trunc)];

/// Functions of one number. What is no number is NULL to `SQLite`.
const UNARY: [Unary; 20] = [
    (c"acos", f64::acos),
    (c"acosh", f64::acosh),
    (c"asin", f64::asin),
    (c"asinh", f64::asinh),
    (c"atan", f64::atan),
    (c"atanh", f64::atanh),
    (c"cos", f64::cos),
    (c"cosh", f64::cosh),
    (c"degrees", f64::to_degrees),
    (c"exp", f64::exp),
    (c"ln", |x| positive(x).ln()),
    (c"log", |x| positive(x).log10()),
    (c"log10", |x| positive(x).log10()),
    (c"log2", |x| positive(x).log2()),
    (c"radians", f64::to_radians),
    (c"sin", f64::sin),
    (c"sinh", f64::sinh),
    (c"sqrt", f64::sqrt),
    (c"tan", f64::tan),
    (c"tanh", f64::tanh),
];

/// Functions of two numbers.
const BINARY: [Binary; 5] = [
    (c"atan2", f64::atan2),
    (c"log", |base, x| positive(x).ln() / positive(positive(base).ln())),
    (c"mod", |x, y| x % y),
    (c"pow", f64::powf),
    (c"power", f64::powf),
];

/// A number above 0; no number otherwise.
fn positive(number: f64) -> f64 {
    if number > 0.0 { number } else { f64::NAN }
}

/// Adds the functions.
pub(super) fn register(connection: &Connection, flags: FunctionFlags) -> Result<()> {
    for (name, round) in ROUNDING {
        let call = move |context: &mut Context<'_>| {
            Ok(match number(context, 0) {
                Some(Value::Real(number)) => Some(Value::Real(round(number))),
                other => other,
            })
        };
        connection.create_scalar_function(name, 1, flags, call)?;
    }
    for (name, function) in UNARY {
        let call = move |context: &mut Context<'_>| Ok(float(context, 0).map(function));
        connection.create_scalar_function(name, 1, flags, call)?;
    }
    for (name, function) in BINARY {
        let call = move |context: &mut Context<'_>| {
            let both = float(context, 0).zip(float(context, 1));
            Ok(both.map(|(x, y)| function(x, y)))
        };
        connection.create_scalar_function(name, 2, flags, call)?;
    }
    connection.create_scalar_function(c"pi", 0, flags, |_| Ok(std::f64::consts::PI))
}

/// An argument as a number; `None` for what neither is one nor writes one.
fn number(context: &Context<'_>, index: usize) -> Option<Value> {
    match context.get_raw(index) {
        ValueRef::Integer(number) => Some(Value::Integer(number)),
        ValueRef::Real(number) => Some(Value::Real(number)),
        ValueRef::Text(bytes) => written(std::str::from_utf8(bytes).ok()?),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn float(context: &Context<'_>, index: usize) -> Option<f64> {
    match number(context, index)? {
        Value::Integer(number) => Some(real(number)),
        Value::Real(number) => Some(number),
        Value::Null | Value::Text(_) | Value::Blob(_) => None,
    }
}

/// The number that a text is, with nothing but white space around it.
fn written(text: &str) -> Option<Value> {
    let text = text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    // Not `inf` and `nan`, which Rust reads too.
    if text.contains(|c: char| !c.is_ascii_digit() && !matches!(c, '+' | '-' | '.' | 'e' | 'E')) {
        return None;
    }
    let integer = text.parse().ok().map(Value::Integer);
    integer.or_else(|| text.parse().ok().map(Value::Real))
}
