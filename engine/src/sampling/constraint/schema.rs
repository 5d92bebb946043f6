//! JSON schemas before they are compiled: their size, their references and the types of their
//! keywords, so that an error names its place.

use serde_json::{Map, Value};

use super::limits::bounded;

/// Values within values.
const MAX_DEPTH: usize = 64;
/// Values in all.
const MAX_VALUES: usize = 20_000;
/// The longest text anywhere, and the longest name.
const MAX_TEXT: usize = 8 << 10;
/// Bytes of all texts and names.
const MAX_BYTES: usize = 256 << 10;
/// Values of one `enum`.
const MAX_ENUM: usize = 2_000;
/// The largest number of items, properties or characters.
const MAX_COUNT: u64 = 10_000;

/// The types that JSON has.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// Refuses what is too large, refers to anything outside, or is no schema.
///
/// # Errors
/// A sentence that begins with the place as a JSON pointer, `#/properties/a/type`.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let mut size = Size::default();
    size.add(schema, 0)
        .map_err(|what| format!("the schema has {what}"))?;
    visit(schema, "#")
}

#[derive(Default)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.values += 1;
        if depth > MAX_DEPTH {
            return Err(format!("values nested more than {MAX_DEPTH} deep"));
        }
        if self.values > MAX_VALUES {
            return Err(format!("more than {MAX_VALUES} values"));
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.text(name)?;
                self.add(value, depth + 1)
            }),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        self.bytes += text.len();
        if text.len() > MAX_TEXT {
            return Err(format!(
                "a text of {} bytes, more than {MAX_TEXT}",
                text.len()
            ));
        }
        if self.bytes > MAX_BYTES {
            return Err(format!("more than {MAX_BYTES} bytes of text"));
        }
        Ok(())
    }
}

fn visit(schema: &Value, place: &str) -> Result<(), String> {
    match schema {
        Value::Bool(_) => Ok(()),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, value)| keyword(fields, name, value, &below(place, name))),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(format!("{place}: a schema is an object, true or false"))
        }
    }
}

/// The place of a field, as RFC 6901 writes it.
fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn keyword(
    fields: &Map<String, Value>,
    name: &str,
    value: &Value,
    place: &str,
) -> Result<(), String> {
    match name {
        "x-guidance" => Err(format!("{place}: is no keyword of JSON Schema")),
        "$ref" => reference(value, place),
        "$dynamicRef" | "$recursiveRef" => Err(format!("{place}: is not supported")),
        "type" => types(value, place),
        "enum" => match value.as_array().map(Vec::len) {
            Some(1..=MAX_ENUM) => Ok(()),
            Some(0) => Err(format!("{place}: is empty, so that nothing satisfies it")),
            Some(n) => Err(format!("{place}: {n} values, more than {MAX_ENUM}")),
            None => Err(format!("{place}: is not a list")),
        },
        "properties" | "patternProperties" | "$defs" | "definitions" => named(value, place),
        "items" if value.is_array() => listed(value, place),
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "not"
        | "contains"
        | "propertyNames" => visit(value, place),
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => listed(value, place),
        "required" => {
            let names = value.as_array().ok_or(format!("{place}: is not a list"))?;
            match names.iter().all(Value::is_string) {
                true => Ok(()),
                false => Err(format!("{place}: holds something that is no name")),
            }
        }
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            count(name, value, place).and_then(|()| in_order(fields, name, place))
        }
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => Ok(()),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match value.as_f64() {
            Some(_) => Ok(()),
            None => Err(format!("{place}: is not a number")),
        },
        "multipleOf" => match value.as_f64() {
            Some(x) if x > 0.0 => Ok(()),
            _ => Err(format!("{place}: is not a positive number")),
        },
        "pattern" | "format" | "$schema" | "$id" | "$anchor" => match value {
            Value::String(text) => bounded(&format!("{place}: the text"), text, MAX_TEXT),
            _ => Err(format!("{place}: is not a text")),
        },
        // The rest says nothing about a text, or llguidance refuses it by name.
        _ => Ok(()),
    }
}

fn reference(value: &Value, place: &str) -> Result<(), String> {
    match value.as_str() {
        Some(target) if target.starts_with('#') => Ok(()),
        Some(target) => Err(format!(
            "{place}: {target:?} is outside the schema; only references that begin with # are followed"
        )),
        None => Err(format!("{place}: is not a text")),
    }
}

fn types(value: &Value, place: &str) -> Result<(), String> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let all = match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(known),
        single => known(single),
    };
    match all {
        true => Ok(()),
        false => Err(format!(
            "{place}: {} is none of {}",
            short(value),
            TYPES.join(", ")
        )),
    }
}

/// Schemas by name.
fn named(value: &Value, place: &str) -> Result<(), String> {
    let fields = value.as_object();
    let fields = fields.ok_or(format!("{place}: is not an object"))?;
    fields
        .iter()
        .try_for_each(|(name, schema)| visit(schema, &below(place, name)))
}

/// A list of schemas.
fn listed(value: &Value, place: &str) -> Result<(), String> {
    let items = value.as_array().ok_or(format!("{place}: is not a list"))?;
    if items.is_empty() {
        return Err(format!("{place}: is empty"));
    }
    let mut items = items.iter().enumerate();
    items.try_for_each(|(at, schema)| visit(schema, &below(place, &at.to_string())))
}

fn count(name: &str, value: &Value, place: &str) -> Result<(), String> {
    match value.as_u64() {
        Some(..=MAX_COUNT) => Ok(()),
        Some(n) => Err(format!(
            "{place}: {n} is more than {MAX_COUNT}, the largest {name} that is taken"
        )),
        None => Err(format!("{place}: {} is not a count", short(value))),
    }
}

/// A least number beyond the largest cannot be met.
fn in_order(fields: &Map<String, Value>, name: &str, place: &str) -> Result<(), String> {
    let Some(what) = name.strip_prefix("min") else {
        return Ok(());
    };
    let bound = |name: &str| fields.get(name).and_then(Value::as_u64);
    match (bound(name), bound(&format!("max{what}"))) {
        (Some(least), Some(most)) if least > most => Err(format!(
            "{place}: {least} is more than max{what}, {most}: nothing satisfies both"
        )),
        _ => Ok(()),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
