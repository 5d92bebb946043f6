//! Values that are text or JSON, and objects that keep their order.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// Text, or an object or list that is shown to the model as compact JSON.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum TextOrJson {
    /// Text.
    Text(String),
    /// Object.
    #[schema(value_type = Object)]
    Object(serde_json::Map<String, serde_json::Value>),
    /// List.
    #[schema(value_type = Vec<Object>)]
    List(Vec<serde_json::Value>),
}

impl TextOrJson {
    /// Returns the text that the model is shown.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Object(_) | Self::List(_) => {
                serde_json::to_string(self).expect("JSON that was read can be written").into()
            }
        }
    }

    /// Returns whether it is blank text, `{}` or `[]`.
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Object(fields) => fields.is_empty(),
            Self::List(items) => items.is_empty(),
        }
    }
}

impl<'de> Deserialize<'de> for TextOrJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrJsonVisitor)
    }
}

struct TextOrJsonVisitor;

impl<'de> Visitor<'de> for TextOrJsonVisitor {
    type Value = TextOrJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, an object or a list")
    }

    fn visit_str<E>(self, text: &str) -> Result<TextOrJson, E> {
        Ok(TextOrJson::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<TextOrJson, E> {
        Ok(TextOrJson::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<TextOrJson, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(TextOrJson::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextOrJson, A::Error> {
        serde_json::Map::deserialize(MapAccessDeserializer::new(map)).map(TextOrJson::Object)
    }
}

/// An object as a list of names and values in order; duplicate names are refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
        let mut entries: Vec<(String, T)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("{name:?} stands there twice")));
            }
            entries.push((name, map.next_value()?));
        }
        Ok(Named(entries))
    }
}
