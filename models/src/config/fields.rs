//! A JSON object that is read field by field and records which fields were read.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{ModelError, Result};

/// The content of a field. Absent and null differ: in a configuration the first means "the family's
/// default" and the second "none".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Given<T> {
    Absent,
    Null,
    Is(T),
}

impl<T> Given<T> {
    /// The value; the default if the field is absent, `None` if it is null.
    pub(super) fn absent_as(self, default: Option<T>) -> Option<T> {
        match self {
            Given::Absent => default,
            Given::Null => None,
            Given::Is(value) => Some(value),
        }
    }

    /// The value; `None` if absent or null.
    pub(super) fn value(self) -> Option<T> {
        self.absent_as(None)
    }
}

/// A JSON object and the names that were read from it.
#[derive(Debug)]
pub(super) struct ConfigFields<'a> {
    path: &'a Path,
    within: String,
    map: &'a Map<String, Value>,
    read: BTreeSet<&'a str>,
}

impl<'a> ConfigFields<'a> {
    pub(super) fn new(path: &'a Path, map: &'a Map<String, Value>) -> Self {
        ConfigFields { path, within: String::new(), map, read: BTreeSet::new() }
    }

    /// An error about a field of this object.
    pub(super) fn error(&self, name: &str, what: impl Into<String>) -> ModelError {
        ModelError::Config {
            path: self.path.to_path_buf(),
            field: format!("{}{name}", self.within),
            what: what.into(),
        }
    }

    fn get(&mut self, name: &str) -> Given<&'a Value> {
        match self.map.get_key_value(name) {
            None => Given::Absent,
            Some((key, value)) => {
                self.read.insert(key);
                match value {
                    Value::Null => Given::Null,
                    Value::Bool(_)
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => Given::Is(value),
                }
            }
        }
    }

    fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Given<T>> {
        match self.get(name) {
            Given::Absent => Ok(Given::Absent),
            Given::Null => Ok(Given::Null),
            Given::Is(value) => match convert(value) {
                Some(value) => Ok(Given::Is(value)),
                None => {
                    Err(self.error(name, format!("{} is not {expected}", display_value(value))))
                }
            },
        }
    }

    /// An integer within bounds.
    pub(super) fn size(
        &mut self,
        name: &str,
        bounds: RangeInclusive<usize>,
    ) -> Result<Given<usize>> {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.read(name, &expected, |value| integer_within(value, &bounds))
    }

    /// An integer within bounds; the default if absent, an error if null.
    pub(super) fn size_or(
        &mut self,
        name: &str,
        bounds: RangeInclusive<usize>,
        default: usize,
    ) -> Result<usize> {
        self.size(name, bounds)?
            .absent_as(Some(default))
            .ok_or_else(|| self.error(name, "null is not a number"))
    }

    /// A token id; `None` inside for a negative one, which older files write where there is none.
    pub(super) fn token(&mut self, name: &str) -> Result<Given<Option<u32>>> {
        self.read(name, "a token id", |value| match value.as_i64()? {
            id if id < 0 => Some(None),
            id => u32::try_from(id).ok().map(Some),
        })
    }

    /// A number within [`POSITIVE`], so that it is finite and not zero as f32 too.
    pub(super) fn positive(&mut self, name: &str) -> Result<Given<f64>> {
        self.read(name, POSITIVE_TEXT, positive)
    }

    /// A boolean; the default if absent or null.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> Result<bool> {
        Ok(self.read(name, "true or false", Value::as_bool)?.value().unwrap_or(default))
    }

    /// A string.
    pub(super) fn text(&mut self, name: &str) -> Result<Given<&'a str>> {
        self.read(name, "a string", Value::as_str)
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, name: &str) -> Result<Given<Vec<&'a str>>> {
        self.read(name, "a list of strings", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    /// A list of integers within bounds.
    pub(super) fn sizes(
        &mut self,
        name: &str,
        bounds: RangeInclusive<usize>,
    ) -> Result<Given<Vec<usize>>> {
        let expected =
            format!("a list of whole numbers from {} to {}", bounds.start(), bounds.end());
        self.read(name, &expected, |value| {
            let items = value.as_array()?.iter();
            items.map(|item| integer_within(item, &bounds)).collect()
        })
    }

    /// A list of numbers within [`POSITIVE`].
    pub(super) fn positives(&mut self, name: &str) -> Result<Given<Vec<f64>>> {
        self.read(name, "a list of numbers from 1e-12 to 1e12", |value| {
            value.as_array()?.iter().map(positive).collect()
        })
    }

    /// An object inside this one.
    pub(super) fn object(&mut self, name: &str) -> Result<Given<ConfigFields<'a>>> {
        let (path, within) = (self.path, format!("{}{name}.", self.within));
        self.read(name, "an object", |value| {
            Some(ConfigFields { path, within, map: value.as_object()?, read: BTreeSet::new() })
        })
    }

    /// The fields that were not read, in the file's order.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let fields = self.map.iter().map(|(name, value)| (name.as_str(), value));
        fields.filter(|(name, _)| !self.read.contains(name))
    }

    /// Refuses the first field that was not read.
    pub(super) fn finish(self) -> Result<()> {
        match self.unread().next() {
            None => Ok(()),
            Some((name, _)) => Err(self.error(name, NOT_UNDERSTOOD)),
        }
    }
}

/// The positive numbers that fields may hold.
const POSITIVE: RangeInclusive<f64> = 1e-12..=1e12;
const POSITIVE_TEXT: &str = "a number from 1e-12 to 1e12";

fn positive(value: &Value) -> Option<f64> {
    value.as_f64().filter(|x| POSITIVE.contains(x))
}

/// The error for a field that is not known.
pub(super) const NOT_UNDERSTOOD: &str = "is not understood and may change the result";

fn integer_within(value: &Value, bounds: &RangeInclusive<usize>) -> Option<usize> {
    let number = usize::try_from(value.as_u64()?).ok()?;
    bounds.contains(&number).then_some(number)
}

/// A value for an error message: its JSON, cut if it is long.
pub(super) fn display_value(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        None => format!("`{text}`"),
        Some((end, _)) => format!("`{}…`", &text[..end]),
    }
}
