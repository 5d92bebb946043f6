//! Reads values that are text or a list.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Text or a list of `T`.
pub(crate) enum TextOrList<T> {
    Text(String),
    List(Vec<T>),
}

/// Reads text or a list of `T`; `expected` names both in the error of another value.
///
/// # Errors
/// A value that is neither, and those of the elements.
pub(crate) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<TextOrList<T>, D::Error> {
    deserializer.deserialize_any(TextOrListVisitor { expected, items: PhantomData })
}

struct TextOrListVisitor<T> {
    expected: &'static str,
    items: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for TextOrListVisitor<T> {
    type Value = TextOrList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E>(self, text: &str) -> Result<TextOrList<T>, E> {
        Ok(TextOrList::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<TextOrList<T>, E> {
        Ok(TextOrList::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TextOrList<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(TextOrList::List)
    }
}
