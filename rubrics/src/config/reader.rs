//! Reads TOML tables key by key and keeps every problem with its place.
//!
//! serde stops at the first error; this reader reports all of them, each with file, line and key. A
//! [`Section`] returns typed values, records the keys that were read, and reports the others on
//! [`Section::finish`].

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use base::nearest;

use super::problem::{PathSegment, Problem};
use super::schema::TableSchema;

/// A configuration file under validation.
pub struct Document<'t> {
    file: String,
    text: &'t str,
    problems: RefCell<Vec<Problem>>,
    /// In place of tables that are absent, while the schema of the file is found out.
    empty: DeTable<'t>,
    schema: Option<Rc<RefCell<TableSchema>>>,
    /// Whether readers that ask for it are told that a key is there, while recording.
    all_present: bool,
}

impl<'t> Document<'t> {
    /// `file` is named in problems; `text` is its content.
    pub fn new(file: impl Into<String>, text: &'t str) -> Self {
        Self {
            file: file.into(),
            text,
            problems: RefCell::default(),
            empty: DeTable::new(),
            schema: None,
            all_present: false,
        }
    }

    /// A document whose readers are asked what they would read: optional tables that are absent are
    /// there and empty, texts and numbers that are missing are there, and [`Document::schema`] has
    /// all keys afterwards. Its values and problems mean nothing. With `all_present`, what is read
    /// only beside another key is read too.
    pub fn recording(text: &'t str, all_present: bool) -> Self {
        Self { schema: Some(Rc::default()), all_present, ..Self::new("schema", text) }
    }

    /// The JSON schema of what was read; null unless the document records.
    pub fn schema(&self) -> Value {
        self.schema.as_ref().map_or(Value::Null, |schema| schema.borrow().to_json())
    }

    /// The parsed file. Syntax errors become problems, and what could be read is still returned,
    /// so that the rest of the file is checked in the same run.
    pub fn parse(&self) -> Spanned<DeTable<'t>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            self.problem(at, "", error.message());
        }
        table
    }

    /// The top-level section of a parsed file.
    pub fn root<'d>(&'d self, table: &'d Spanned<DeTable<'t>>) -> Section<'d, 't> {
        let schema = self.schema.clone();
        Section { schema, ..Section::new(self, String::new(), table.get_ref(), table.span()) }
    }

    /// Everything that is wrong, in file order.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.line);
        problems
    }

    fn problem(&self, offset: usize, key: &str, message: impl Into<String>) {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let problem = Problem {
            file: self.file.clone(),
            line: Some(line),
            key: key.to_owned(),
            message: message.into(),
        };
        // A table with two readers (scorers, for the names of models) reports a problem once.
        let mut problems = self.problems.borrow_mut();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

/// One table of the file.
pub struct Section<'d, 't> {
    document: &'d Document<'t>,
    path: String,
    table: &'d DeTable<'t>,
    span: Range<usize>,
    known_keys: RefCell<BTreeSet<&'static str>>,
    schema: Option<Rc<RefCell<TableSchema>>>,
}

impl<'d, 't> Section<'d, 't> {
    fn new(
        document: &'d Document<'t>,
        path: String,
        table: &'d DeTable<'t>,
        span: Range<usize>,
    ) -> Self {
        Self { document, path, table, span, known_keys: RefCell::default(), schema: None }
    }

    /// Whether `key` is present.
    pub fn has(&self, key: &'static str) -> bool {
        self.find(key).is_some() || self.document.all_present
    }

    /// Whether `key` is present and a text.
    pub fn holds_text(&self, key: &'static str) -> bool {
        if let Some(schema) = &self.schema {
            schema.borrow_mut().text(key);
        }
        let found = self.find(key);
        found.is_some_and(|(_, value)| value.get_ref().as_str().is_some())
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Option<String> {
        self.note(key, || json!({ "type": "string" }));
        self.read(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    /// A text that must be there.
    pub fn required_text(&self, key: &'static str) -> Option<String> {
        self.require(key);
        self.text(key).or_else(|| self.recorded(String::new()))
    }

    /// A text, a whole number or a truth value as the text of it, for settings whose values are
    /// read from other sources too.
    pub fn scalar(&self, key: &'static str) -> Option<String> {
        self.note(key, || json!({ "type": ["string", "number", "boolean"] }));
        self.read(key, "a single value", |value| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(digits) => Some(digits.to_string()),
            DeValue::Float(digits) => Some(digits.to_string()),
            DeValue::Boolean(flag) => Some(flag.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        })
    }

    /// True or false.
    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        self.note(key, || json!({ "type": "boolean" }));
        self.read(key, "true or false", DeValue::as_bool)
    }

    /// A whole number within `range`.
    pub fn integer(&self, key: &'static str, range: Range<u64>) -> Option<u64> {
        self.note(
            key,
            || json!({ "type": "integer", "minimum": range.start, "maximum": range.end - 1 }),
        );
        let expected = format!("a whole number from {} to {}", range.start, range.end - 1);
        self.read(key, &expected, |value| {
            let digits = value.as_integer()?;
            let number = u64::from_str_radix(digits.as_str(), digits.radix()).ok()?;
            range.contains(&number).then_some(number)
        })
    }

    /// A finite number; whole numbers count.
    pub fn number(&self, key: &'static str) -> Option<f64> {
        self.note(key, || json!({ "type": "number" }));
        self.read(key, "a finite number", finite_number)
    }

    /// A finite number that must be there.
    pub fn required_number(&self, key: &'static str) -> Option<f64> {
        self.require(key);
        self.number(key).or_else(|| self.recorded(0.0))
    }

    /// A number as the text of its digits, so that it is exact: `"0.05"` or `0.05`.
    pub fn decimal(&self, key: &'static str) -> Option<String> {
        self.note(key, || json!({ "type": ["string", "number"] }));
        self.read(key, "a number such as 0.05", |value| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(digits) => Some(digits.to_string()),
            DeValue::Float(digits) => Some(digits.to_string()),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                None
            }
        })
    }

    /// A list of finite numbers.
    pub fn numbers(&self, key: &'static str) -> Option<Vec<f64>> {
        self.note(key, || json!({ "type": "array", "items": { "type": "number" } }));
        self.read(key, "a list of finite numbers", |value| {
            let items = value.as_array()?.iter();
            items.map(|item| finite_number(item.get_ref())).collect()
        })
    }

    /// A list of texts.
    pub fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        self.note(key, || json!({ "type": "array", "items": { "type": "string" } }));
        self.read(key, "a list of texts", |value| {
            let items = value.as_array()?.iter();
            items.map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
        })
    }

    /// One of `words`.
    pub fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.note(key, || {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            json!({ "enum": names })
        });
        self.among(key, &self.text(key)?, words)
    }

    /// One of `words`, which must be there.
    pub fn required_word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        if let Some(schema) = &self.schema {
            schema.borrow_mut().require(key);
        }
        if self.find(key).is_none() {
            self.problem(key, format!("missing; it is one of {}", listed(words)));
        }
        self.word(key, words)
    }

    /// A list of `words`.
    pub fn words<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<Vec<T>> {
        self.note(key, || {
            let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            json!({ "type": "array", "items": { "enum": names } })
        });
        self.texts(key)?.iter().map(|given| self.among(key, given, words)).collect()
    }

    fn among<T: Copy>(&self, key: &'static str, given: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == given) {
            return Some(*value);
        }
        let hint = nearest(given, words.iter().map(|(word, _)| *word))
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        self.problem(key, format!("'{given}' is not one of {}{hint}", listed(words)));
        None
    }

    /// A size such as `8MiB`, in bytes.
    pub fn bytes(&self, key: &'static str) -> Option<usize> {
        self.note(key, || json!({ "type": "string", "pattern": "^[0-9]+(B|[KMG]iB)?$" }));
        self.read(key, "a size such as \"8MiB\"", |value| parse_bytes(value.as_str()?))
    }

    /// A time such as `30s` or `250ms`.
    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        self.note(key, || json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m)$" }));
        self.read(key, "a time such as \"30s\" or \"250ms\"", |value| {
            parse_duration(value.as_str()?)
        })
    }

    /// A table inside this one.
    pub fn section(&self, key: &'static str) -> Option<Section<'d, 't>> {
        let schema = self.schema.as_ref().map(|schema| schema.borrow_mut().table(key));
        let Some((_, value)) = self.find(key) else {
            return self.recorded(Section { schema, ..self.empty(key) });
        };
        let Some(table) = value.get_ref().as_table() else {
            self.problem(key, "expected a table");
            return None;
        };
        let section = Section::new(self.document, self.join(key), table, value.span());
        Some(Section { schema, ..section })
    }

    /// The tables of a list such as `[[scorer]]`.
    pub fn sections(&self, key: &'static str) -> Vec<Section<'d, 't>> {
        let schema = self.schema.as_ref().map(|schema| schema.borrow_mut().tables(key));
        let Some((_, value)) = self.find(key) else {
            // Two, because readers may ask the last one for other keys.
            let section = || Section { schema: schema.clone(), ..self.empty(key) };
            return self.recorded([section(), section()]).into_iter().flatten().collect();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.problem(key, format!("expected [[{}]]", self.join(key)));
            return Vec::new();
        };
        let mut sections = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", self.join(key));
            match item.get_ref().as_table() {
                Some(table) => {
                    let section = Section::new(self.document, path, table, item.span());
                    sections.push(Section { schema: schema.clone(), ..section });
                }
                None => self.problem(key, format!("entry {index} is not a table")),
            }
        }
        sections
    }

    /// The JSON value of a key, for options that are JSON by nature, such as a schema.
    pub fn json(&self, key: &'static str) -> Option<Value> {
        self.note(key, || json!({ "type": "object" }));
        self.read(key, "a table", |value| value.as_table().and_then(table_to_json))
    }

    /// Converts the table to JSON, for sections with their own reader; every key counts as read.
    /// Dates and numbers that are not finite become null.
    pub fn to_json(&self) -> Value {
        if let Some(schema) = &self.schema {
            schema.borrow_mut().open();
        }
        table_to_lenient_json(self.table)
    }

    /// Reports every number of the table that is not finite. Call it beside [`Section::to_json`], in
    /// whose value such a number is the same as an absent one.
    pub fn refuse_non_finite(&self) {
        let mut place = Vec::new();
        self.refuse_non_finite_entries(self.table, &mut place);
    }

    fn refuse_non_finite_entries(&self, table: &DeTable<'_>, place: &mut Vec<PathSegment>) {
        for (key, value) in table {
            place.push(PathSegment::Key(key.get_ref().to_string()));
            self.refuse_non_finite_value(value.get_ref(), place);
            place.pop();
        }
    }

    fn refuse_non_finite_value(&self, value: &DeValue<'_>, place: &mut Vec<PathSegment>) {
        match value {
            DeValue::Table(table) => self.refuse_non_finite_entries(table, place),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    place.push(PathSegment::Index(index));
                    self.refuse_non_finite_value(item.get_ref(), place);
                    place.pop();
                }
            }
            DeValue::Float(digits) if finite_number(value).is_none() => {
                self.problem_at(place, format!("{} is not a finite number", digits.as_str()));
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }

    /// Reports a problem at a place inside of this table, or at the nearest table around it where
    /// there is nothing at that place.
    pub fn problem_at(&self, place: &[PathSegment], message: impl Into<String>) {
        let mut path = self.path.clone();
        for step in place {
            step.write_to(&mut path);
        }
        let offset = offset_of(self.table, place).unwrap_or(self.span.start);
        self.document.problem(offset, &path, message);
    }

    /// Reports a problem at `key`, or at the table when the key is absent.
    pub fn problem(&self, key: &'static str, message: impl Into<String>) {
        let offset = self.find(key).map_or(self.span.start, |(span, _)| span.start);
        self.document.problem(offset, &self.join(key), message);
    }

    /// Reports the keys that were not read. Call it last.
    pub fn finish(self) {
        let known_keys = self.known_keys.borrow();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if known_keys.contains(name) {
                continue;
            }
            let hint = nearest(name, known_keys.iter().copied())
                .map(|near| format!("; did you mean '{near}'?"))
                .unwrap_or_default();
            let path = self.join(name);
            self.document.problem(key.span().start, &path, format!("unknown key{hint}"));
        }
    }

    /// Reports `key` when it is absent.
    pub fn require(&self, key: &'static str) {
        if let Some(schema) = &self.schema {
            schema.borrow_mut().require(key);
        }
        if self.find(key).is_none() {
            self.problem(key, "missing");
        }
    }

    /// Notes the schema of a key where the document records.
    fn note(&self, key: &'static str, schema: impl FnOnce() -> Value) {
        if let Some(table) = &self.schema {
            table.borrow_mut().value(key, schema());
        }
    }

    /// What takes the place of an absent value where the document records.
    fn recorded<T>(&self, value: T) -> Option<T> {
        self.schema.is_some().then_some(value)
    }

    fn empty(&self, key: &str) -> Section<'d, 't> {
        Section::new(self.document, self.join(key), &self.document.empty, 0..0)
    }

    fn read<T>(
        &self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&DeValue<'t>) -> Option<T>,
    ) -> Option<T> {
        let (_, value) = self.find(key)?;
        let converted = convert(value.get_ref());
        if converted.is_none() {
            self.problem(key, format!("expected {expected}"));
        }
        converted
    }

    fn find(&self, key: &'static str) -> Option<(Range<usize>, &'d Spanned<DeValue<'t>>)> {
        self.known_keys.borrow_mut().insert(key);
        self.note(key, || json!({}));
        let entry = self.table.iter().find(|(name, _)| name.get_ref() == key);
        entry.map(|(name, value)| (name.span(), value))
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The names of some words.
fn listed<T>(words: &[(&str, T)]) -> String {
    words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
}

/// Returns the offset of the last existing segment of a path.
fn offset_of(table: &DeTable<'_>, place: &[PathSegment]) -> Option<usize> {
    let mut steps = place.iter();
    let Some(PathSegment::Key(first)) = steps.next() else {
        return None;
    };
    let (key, mut value) = table.iter().find(|(key, _)| *key.get_ref() == *first)?;
    let mut offset = key.span().start;
    for step in steps {
        let next = match step {
            PathSegment::Key(name) => {
                let mut entries = value.get_ref().as_table().into_iter().flatten();
                let entry = entries.find(|(key, _)| *key.get_ref() == **name);
                entry.map(|(key, value)| (key.span().start, value))
            }
            PathSegment::Index(index) => {
                let entry = value.get_ref().as_array().and_then(|list| list.get(*index));
                entry.map(|value| (value.span().start, value))
            }
        };
        let Some(next) = next else {
            return Some(offset);
        };
        (offset, value) = next;
    }
    Some(offset)
}

fn table_to_lenient_json(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| {
        let value = lenient_json(value.get_ref());
        (key.get_ref().to_string(), value)
    });
    Value::Object(entries.collect())
}

fn lenient_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Array(items) => items.iter().map(|item| lenient_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_to_lenient_json(table),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => value_to_json(value).unwrap_or(Value::Null),
    }
}

fn finite_number(value: &DeValue<'_>) -> Option<f64> {
    let text = value
        .as_float()
        .map(toml::de::DeFloat::as_str)
        .or_else(|| value.as_integer().map(toml::de::DeInteger::as_str))?;
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

fn table_to_json(table: &DeTable<'_>) -> Option<Value> {
    let entries = table.iter().map(|(key, value)| {
        let value = value_to_json(value.get_ref())?;
        Some((key.get_ref().to_string(), value))
    });
    entries.collect::<Option<serde_json::Map<_, _>>>().map(Into::into)
}

fn value_to_json(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::String(text) => Some(text.as_ref().into()),
        DeValue::Integer(digits) => {
            i64::from_str_radix(digits.as_str(), digits.radix()).ok().map(Into::into)
        }
        DeValue::Float(digits) => {
            let number = digits.as_str().parse().ok()?;
            serde_json::Number::from_f64(number).map(Into::into)
        }
        DeValue::Boolean(flag) => Some((*flag).into()),
        DeValue::Datetime(_) => None,
        DeValue::Array(items) => items.iter().map(|item| value_to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_to_json(table),
    }
}

/// Reads `512`, `64KiB`, `8MiB`, `2GiB`.
pub fn parse_bytes(text: &str) -> Option<usize> {
    let (digits, unit) = split_unit(text)?;
    let factor = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(factor)
}

/// Reads `250ms`, `30s`, `5m`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (digits, unit) = split_unit(text)?;
    let number = digits.parse::<u64>().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

fn split_unit(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}
