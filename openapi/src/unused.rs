//! Ignored fields of published interfaces.
//!
//! Clients of OpenAI, vLLM and SGLang send more than one server needs. A field that cannot change
//! the answer is ignored. One that would change it is refused by name unless its value requests the
//! default behaviour: a client that requests audio must not silently get text.

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess};
use serde_json::Value;

/// A field name with its ignored values.
#[derive(Debug, Clone, Copy)]
pub struct Unused(pub &'static str, pub Harmless);

/// Values that do not change the answer; null is always one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harmless {
    /// All values.
    Every,
    /// Null only.
    Null,
    /// `false`.
    False,
    /// `true`.
    True,
    /// `1`.
    One,
    /// An empty list, object or text.
    Empty,
    /// A list of `text` only.
    Text,
    /// This text.
    Exactly(&'static str),
}

impl Harmless {
    fn holds(self, value: &Value) -> bool {
        value.is_null()
            || match self {
                Harmless::Every => true,
                Harmless::Null => false,
                Harmless::False => *value == Value::Bool(false),
                Harmless::True => *value == Value::Bool(true),
                Harmless::One => value.as_f64() == Some(1.0),
                Harmless::Empty => match value {
                    Value::Array(list) => list.is_empty(),
                    Value::Object(map) => map.is_empty(),
                    Value::String(text) => text.is_empty(),
                    Value::Null | Value::Bool(_) | Value::Number(_) => false,
                },
                Harmless::Text => *value == serde_json::json!(["text"]),
                Harmless::Exactly(text) => value == text,
            }
    }
}

/// The entries of an object without ignored fields.
pub(crate) struct PassingOver<A> {
    pub(crate) map: A,
    pub(crate) unused: &'static [Unused],
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for PassingOver<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        mut seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        if self.unused.is_empty() {
            return self.map.next_key_seed(seed);
        }
        loop {
            let key = KeySeed { seed, unused: self.unused };
            match self.map.next_key_seed(key)? {
                None => return Ok(None),
                Some(FieldName::Used(value)) => return Ok(Some(value)),
                Some(FieldName::Unused(back, harmless)) => {
                    seed = back;
                    self.map.next_value_seed(ValueSeed(harmless))?;
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

struct KeySeed<K> {
    seed: K,
    unused: &'static [Unused],
}

enum FieldName<V, K> {
    Used(V),
    Unused(K, Harmless),
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KeySeed<K> {
    type Value = FieldName<K::Value, K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = String::deserialize(deserializer)?;
        match self.unused.iter().find(|Unused(name, _)| *name == key) {
            Some(Unused(_, harmless)) => Ok(FieldName::Unused(self.seed, *harmless)),
            None => self.seed.deserialize(key.into_deserializer()).map(FieldName::Used),
        }
    }
}

/// Checks a value while it is read, so that the error has the value's path.
struct ValueSeed(Harmless);

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.0 == Harmless::Every {
            return IgnoredAny::deserialize(deserializer).map(drop);
        }
        let value = Value::deserialize(deserializer)?;
        if self.0.holds(&value) {
            return Ok(());
        }
        Err(D::Error::custom(
            "not supported here, and not ignored because it would change the reply",
        ))
    }
}
