//! Types of the values of XML and CSV, which are texts: those that a schema names.

use serde_json::{Map, Value};

/// References that are followed from one schema.
const MAX_REFERENCES: usize = 16;

/// `value` with texts as the numbers, truth values and nulls that `schema` names, where they read as
/// such, and a single value as an array where it names an array alone. What does not fit stays.
pub(in super::super) fn typed_by(value: Value, schema: &Value) -> Value {
    typed(value, schema, schema)
}

fn typed(value: Value, schema: &Value, root: &Value) -> Value {
    let Some(fields) = resolved(schema, root) else { return value };
    if !is_only(fields, "array") || value.is_array() {
        return fitted(value, fields, root);
    }
    // An element that is there once, or an empty one around none. It stays the member of one array
    // even if its own schema names one: that schema may be the same.
    let part = fields.get("items").and_then(|part| resolved(part, root));
    let member = |value| match part {
        Some(part) => fitted(value, part, root),
        None => value,
    };
    Value::Array(if value == "" { Vec::new() } else { vec![member(value)] })
}

/// A value, whose members are [`typed`].
fn fitted(value: Value, fields: &Map<String, Value>, root: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let known = |key: &str| fields.get("properties").and_then(|known| known.get(key));
            let other = fields.get("additionalProperties");
            let field = |(key, item): (String, Value)| match known(&key).or(other) {
                Some(part) => (key, typed(item, part, root)),
                None => (key, item),
            };
            Value::Object(object.into_iter().map(field).collect())
        }
        Value::Array(items) => {
            let Some(part) = fields.get("items") else { return Value::Array(items) };
            Value::Array(items.into_iter().map(|item| typed(item, part, root)).collect())
        }
        Value::String(text) => scalar(text, fields),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// The schema that `$ref` leads to.
fn resolved<'s>(mut schema: &'s Value, root: &'s Value) -> Option<&'s Map<String, Value>> {
    for _ in 0..MAX_REFERENCES {
        let Some(Value::String(reference)) = schema.get("$ref") else { return schema.as_object() };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

fn names(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let (one, many) = match fields.get("type") {
        Some(Value::String(name)) => (Some(name.as_str()), [].as_slice()),
        Some(Value::Array(names)) => (None, names.as_slice()),
        _ => (None, [].as_slice()),
    };
    one.into_iter().chain(many.iter().filter_map(Value::as_str))
}

fn is_only(fields: &Map<String, Value>, name: &str) -> bool {
    let mut names = names(fields);
    names.next() == Some(name) && names.next().is_none()
}

fn scalar(text: String, fields: &Map<String, Value>) -> Value {
    // A schema that allows texts gets one.
    if names(fields).all(|name| name != "string") {
        for name in names(fields) {
            let read = serde_json::from_str::<Value>(text.trim()).ok();
            let fits = |value: &Value| match name {
                "integer" | "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                _ => false,
            };
            match read.filter(fits) {
                Some(value) => return value,
                None if name == "null" && text.is_empty() => return Value::Null,
                None => {}
            }
        }
    }
    Value::String(text)
}
