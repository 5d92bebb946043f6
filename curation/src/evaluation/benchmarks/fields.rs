//! Typed fields of a JSON row. Errors are sentences without their full stop.

use datasets::json_rows::JsonRow;
use openapi::Content;
use serde_json::Value;

/// A row or a nested object.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFields<'r> {
    object: &'r JsonRow,
    /// Path of the object in the row, with a trailing dot.
    within: &'static str,
}

impl<'r> RowFields<'r> {
    pub(super) fn new(row: &'r JsonRow) -> Self {
        Self { object: row, within: "" }
    }

    /// Fields of a nested object.
    pub(super) fn inside(self, name: &str, within: &'static str) -> Result<Self, String> {
        let value = self.value(name)?;
        let object = value.as_object();
        let object = object.ok_or_else(|| self.wrong(name, value, "an object"))?;
        Ok(Self { object, within })
    }

    /// A required value.
    pub(super) fn value(self, name: &str) -> Result<&'r Value, String> {
        self.optional(name).ok_or_else(|| format!("no column '{}{name}'", self.within))
    }

    /// A value; `None` if missing or null.
    pub(super) fn optional(self, name: &str) -> Option<&'r Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub(super) fn text(self, name: &str) -> Result<&'r str, String> {
        let value = self.value(name)?;
        value.as_str().ok_or_else(|| self.wrong(name, value, "a text"))
    }

    /// A text or a number, as text.
    pub(super) fn key(self, name: &str) -> Result<String, String> {
        let value = self.value(name)?;
        let text = value.as_str().map(str::to_owned);
        let key = text.or_else(|| value.as_number().map(ToString::to_string));
        key.ok_or_else(|| self.wrong(name, value, "a text or a number"))
    }

    /// Text or messages.
    pub(super) fn content(self, name: &str) -> Result<Content, String> {
        let value = self.value(name)?;
        serde_json::from_value(value.clone())
            .map_err(|_| self.wrong(name, value, "a text or messages {role, content}"))
    }

    /// A list of values.
    pub(super) fn list(self, name: &str) -> Result<&'r [Value], String> {
        let value = self.value(name)?;
        let list = value.as_array().map(Vec::as_slice);
        list.ok_or_else(|| self.wrong(name, value, "a list"))
    }

    /// A list of texts.
    pub(super) fn texts(self, name: &str) -> Result<Vec<String>, String> {
        let texts = self.list(name)?.iter().enumerate().map(|(index, value)| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| self.wrong(&format!("{name}[{index}]"), value, "a text"))
        });
        texts.collect()
    }

    /// A whole number.
    pub(super) fn integer(self, name: &str) -> Result<i64, String> {
        let value = self.value(name)?;
        integer(value).ok_or_else(|| self.wrong(name, value, "a whole number"))
    }

    /// A list of whole numbers.
    pub(super) fn integers(self, name: &str) -> Result<Vec<i64>, String> {
        let integers = self.list(name)?.iter().enumerate().map(|(index, value)| {
            integer(value)
                .ok_or_else(|| self.wrong(&format!("{name}[{index}]"), value, "a whole number"))
        });
        integers.collect()
    }

    /// True or false.
    pub(super) fn flag(self, name: &str) -> Result<bool, String> {
        let value = self.value(name)?;
        let flag = value.as_bool();
        flag.ok_or_else(|| self.wrong(name, value, "true or false"))
    }

    /// Error message with the actual value and the expected type.
    pub(super) fn wrong(self, name: &str, value: &Value, expected: &str) -> String {
        let is = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => format!("the text {:?}", shortened(text)),
            Value::Array(list) => format!("a list of {}", list.len()),
            Value::Object(_) => "an object".to_owned(),
        };
        format!("'{}{name}' is {is}, and not {expected}", self.within)
    }
}

/// An integer, also if it is stored as a float, as Parquet files and pandas often do.
fn integer(value: &Value) -> Option<i64> {
    let float = value.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 1e15);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    let of_float = || float.map(|float| float as i64);
    value.as_i64().or_else(of_float)
}

/// Shortens a text for a message.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
