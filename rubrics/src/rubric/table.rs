//! Reads JSON objects key by key and keeps every fault with its place, as
//! [`crate::config::Section`] does for configuration files.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::config::{PathSegment, nearest};

/// A fault with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RubricFault {
    /// From the rubric's root.
    pub(crate) at: Vec<PathSegment>,
    /// The fault and its remedy.
    pub(crate) message: String,
}

/// Everything that was found so far.
pub(super) type Faults = RefCell<Vec<RubricFault>>;

/// One object under validation.
pub(super) struct Table<'v> {
    map: &'v Map<String, Value>,
    at: Vec<PathSegment>,
    faults: &'v Faults,
    known_keys: RefCell<BTreeSet<&'static str>>,
}

impl<'v> Table<'v> {
    /// The object that `value` is; anything else is a fault.
    pub(super) fn of(value: &'v Value, at: Vec<PathSegment>, faults: &'v Faults) -> Option<Self> {
        let Some(map) = value.as_object() else {
            let message = "expected a table".to_owned();
            faults.borrow_mut().push(RubricFault { at, message });
            return None;
        };
        Some(Self { map, at, faults, known_keys: RefCell::default() })
    }

    /// The number of faults so far, of the whole rubric.
    pub(super) fn n_faults(&self) -> usize {
        self.faults.borrow().len()
    }

    /// Whether `key` is present.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.get(key).is_some()
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: &'static str) -> Option<&'v Value> {
        self.known_keys.borrow_mut().insert(key);
        self.map.get(key)
    }

    /// A text with something in it.
    pub(super) fn text(&self, key: &'static str) -> Option<&'v str> {
        self.read(key, "a text that is not empty", |value| {
            value.as_str().filter(|text| !text.trim().is_empty())
        })
    }

    /// A finite number.
    pub(super) fn number(&self, key: &'static str) -> Option<f64> {
        self.read(key, "a finite number", |value| {
            value.as_f64().filter(|number| number.is_finite())
        })
    }

    /// A finite number whose absolute value is at most [`MOST`].
    pub(super) fn amount(&self, key: &'static str) -> Option<f64> {
        let number = self.number(key)?;
        if number.abs() > MOST {
            self.fault(key, format!("must not be larger than {MOST:e}"));
            return None;
        }
        Some(number)
    }

    /// True or false.
    pub(super) fn boolean(&self, key: &'static str) -> Option<bool> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &'static str) -> Option<Vec<&'v str>> {
        self.read(key, "a list of texts", |value| {
            value.as_array()?.iter().map(Value::as_str).collect()
        })
    }

    /// One of `words`.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let given = self.read(key, "a text", Value::as_str)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.fault(key, format!("'{given}' is not one of {}", names.join(", ")));
        None
    }

    /// A table inside this one.
    pub(super) fn table(&self, key: &'static str) -> Option<Table<'v>> {
        Table::of(self.get(key)?, self.place(key), self.faults)
    }

    /// The tables of a list; those that are none are faults, and left out.
    pub(super) fn tables(&self, key: &'static str) -> Option<Vec<(usize, Table<'v>)>> {
        let items = self.read(key, "a list of tables", Value::as_array)?;
        let tables = items.iter().enumerate().filter_map(|(index, value)| {
            let mut at = self.place(key);
            at.push(PathSegment::Index(index));
            Some((index, Table::of(value, at, self.faults)?))
        });
        Some(tables.collect())
    }

    /// Notes a fault at `key`, or at the table where the key is absent.
    pub(super) fn fault(&self, key: &'static str, message: impl Into<String>) {
        self.faults.borrow_mut().push(RubricFault { at: self.place(key), message: message.into() });
    }

    /// Notes a fault at a place from the root.
    pub(super) fn fault_at(&self, at: Vec<PathSegment>, message: String) {
        self.faults.borrow_mut().push(RubricFault { at, message });
    }

    /// Notes that `key` is absent, where it is.
    pub(super) fn require(&self, key: &'static str) {
        if !self.has(key) {
            self.fault(key, "missing");
        }
    }

    /// Reports `key` as unused here, with the reason.
    pub(super) fn refuse(&self, key: &'static str, why: &str) {
        if self.has(key) {
            self.fault(key, why);
        }
    }

    /// Reports the keys that were never read. Call it last.
    pub(super) fn finish(self) {
        let known_keys = self.known_keys.borrow();
        for key in self.map.keys().filter(|key| !known_keys.contains(key.as_str())) {
            let hint = nearest(key, known_keys.iter().copied())
                .map(|near| format!("; did you mean '{near}'?"))
                .unwrap_or_default();
            let mut at = self.at.clone();
            at.push(PathSegment::Key(key.clone()));
            let message = format!("unknown key{hint}");
            self.faults.borrow_mut().push(RubricFault { at, message });
        }
    }

    fn read<T>(
        &self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let converted = convert(self.get(key)?);
        if converted.is_none() {
            self.fault(key, format!("expected {expected}"));
        }
        converted
    }

    fn place(&self, key: &'static str) -> Vec<PathSegment> {
        let mut at = self.at.clone();
        at.push(PathSegment::Key(key.to_owned()));
        at
    }
}

/// The largest number that a rubric may hold: sums of a thousand of them stay far from infinity.
const MOST: f64 = 1e9;
