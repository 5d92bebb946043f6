//! TOML.

use serde_json::{Map, Number, Value};

use super::{Document, Malformed, within_depth};

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        Malformed::at_byte(text, offset, error.message())
    })?;
    let mut depth = 0;
    let value = value(toml::Value::Table(table), 0, &mut depth)?;
    within_depth(value, depth)
}

/// The parser bounds how deep tables nest.
fn value(value: toml::Value, level: usize, depth: &mut usize) -> Result<Value, Malformed> {
    *depth = level.max(*depth);
    let mut inner = |item| self::value(item, level + 1, depth);
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Float(number) => {
            let number = Number::from_f64(number);
            Value::Number(number.ok_or_else(|| Malformed::at(1, 1, "a number that is not finite"))?)
        }
        toml::Value::Array(items) => {
            Value::Array(items.into_iter().map(&mut inner).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let fields = table.into_iter().map(|(key, item)| Ok((key, inner(item)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, Malformed>>()?)
        }
    })
}
