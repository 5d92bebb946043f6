//! JSON text to a value, refusing what `serde_json` lets pass: an object with the same key twice.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A document and how deep it nests; a scalar has depth 0.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) depth: usize,
}

/// Reason why a text is not a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malformed {
    /// The key that an object holds twice, where that is the reason.
    pub(super) duplicate: Option<String>,
    /// From 1.
    pub(super) line: usize,
    /// From 1, in bytes.
    pub(super) column: usize,
    /// The parser's message, without the place.
    pub(super) message: String,
}

/// Parses `text`, all of it.
///
/// Depth is capped by the parser at 127 containers, so nothing that walks the value can
/// overflow the stack. NaN, infinities and numbers beyond the range of a double are refused.
pub(super) fn parse_document(text: &str) -> Result<Document, Malformed> {
    let notes = Notes::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = Unique { notes: &notes, depth: 0 }
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value));
    match parsed {
        Ok(value) => Ok(Document { value, depth: notes.depth.get() }),
        Err(error) => Err(Malformed {
            duplicate: notes.duplicate.into_inner(),
            line: error.line(),
            column: error.column(),
            message: without_place(&error.to_string()),
        }),
    }
}

/// Returns `message` without the ` at line L column C` that `serde_json` ends it with.
fn without_place(message: &str) -> String {
    let place = message.rfind(" at line ").unwrap_or(message.len());
    message[..place].to_owned()
}

/// A value whose objects hold each key once, as a part of a type that is read.
pub(super) struct UniqueValue(pub(super) Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let notes = Notes::default();
        Unique { notes: &notes, depth: 0 }.deserialize(deserializer).map(Self)
    }
}

/// Notes of the parser.
#[derive(Default)]
struct Notes {
    duplicate: RefCell<Option<String>>,
    depth: Cell<usize>,
}

/// A value at `depth` whose objects hold each key once.
#[derive(Clone, Copy)]
struct Unique<'n> {
    notes: &'n Notes,
    depth: usize,
}

impl Unique<'_> {
    /// Returns the values inside this one.
    fn deeper(self) -> Self {
        let depth = self.depth + 1;
        self.notes.depth.set(self.notes.depth.get().max(depth));
        Self { depth, ..self }
    }
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper();
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.deeper();
        let mut fields = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if fields.contains_key(&key) {
                self.notes.duplicate.replace(Some(key));
                return Err(A::Error::custom("duplicate key"));
            }
            fields.insert(key, access.next_value_seed(inner)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn refused(text: &str) -> Malformed {
        parse_document(text).expect_err("these texts are malformed")
    }

    #[test]
    fn duplicate_keys_are_refused_in_any_spelling() {
        for (text, key, line) in [
            (r#"{"a":1,"a":2}"#, "a", 1),
            (r#"{"a":1,"\u0061":1}"#, "a", 1),
            (r#"[{"b":{"c":1,"c":1}}]"#, "c", 1),
            ("{\"\":1,\n\"\":2}", "", 2),
        ] {
            let malformed = refused(text);
            assert_eq!(malformed.duplicate.as_deref(), Some(key), "{text}");
            assert_eq!(malformed.line, line, "{text}");
        }
        assert!(parse_document(r#"[{"a":1},{"a":2}]"#).is_ok());
        assert!(parse_document(r#"{"a":{"a":{"a":1}}}"#).is_ok());
    }

    #[test]
    fn depth_counts_containers() {
        for (text, depth) in [("1", 0), ("[]", 1), ("[[],{\"a\":[]}]", 3), (" \n{} ", 1)] {
            assert_eq!(parse_document(text).map(|document| document.depth), Ok(depth), "{text}");
        }
        assert!(parse_document(&"[".repeat(100_000)).is_err());
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(parse_document(&deep(127)).map(|document| document.depth), Ok(127));
        assert!(parse_document(&deep(128)).is_err());
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_but_for_duplicates(text in "[\\[\\]{}:,\"a\\\\u0.1e-]{0,16}") {
            match (parse_document(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(ours), theirs) => prop_assert_eq!(Some(ours.value), theirs.ok()),
                (Err(malformed), theirs) => {
                    prop_assert!(malformed.duplicate.is_some() || theirs.is_err());
                }
            }
        }
    }

    #[test]
    fn numbers_keep_their_precision() {
        assert_eq!(parse_document("18446744073709551615").map(|d| d.value), Ok(json!(u64::MAX)));
        assert_eq!(parse_document("-9223372036854775808").map(|d| d.value), Ok(json!(i64::MIN)));
        assert!(parse_document("1e999").is_err());
        assert!(parse_document("NaN").is_err());
        assert!(parse_document("-Infinity").is_err());
    }
}
