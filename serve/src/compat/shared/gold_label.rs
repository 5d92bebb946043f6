//! Gold answers as datasets have them.

use std::fmt;

use openapi::Reference;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The gold answer of a sample. Trainers pass on the dataset's value: usually text, sometimes a
/// number, and empty text or null for none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct GoldLabel(pub(crate) Option<Reference>);

impl<'de> Deserialize<'de> for GoldLabel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LabelVisitor)
    }
}

struct LabelVisitor;

impl<'de> Visitor<'de> for LabelVisitor {
    type Value = GoldLabel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, a list of texts, an object or null")
    }

    fn visit_unit<E>(self) -> Result<GoldLabel, E> {
        Ok(GoldLabel(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<GoldLabel, E> {
        Ok(label(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<GoldLabel, E> {
        Ok(label(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<GoldLabel, E> {
        Ok(label(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<GoldLabel, E> {
        Ok(label(number.to_string()))
    }

    /// Formats a float with the fewest digits that parse back to it, as the sending clients do.
    fn visit_f64<E>(self, number: f64) -> Result<GoldLabel, E> {
        Ok(label(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<GoldLabel, A::Error> {
        let texts = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(GoldLabel(Some(Reference::AnyOf(texts))))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GoldLabel, A::Error> {
        let object = serde_json::Map::deserialize(MapAccessDeserializer::new(map))?;
        Ok(GoldLabel(Some(Reference::Object(object))))
    }
}

/// Converts text to a gold answer; empty text is none.
fn label(text: String) -> GoldLabel {
    GoldLabel((!text.is_empty()).then_some(Reference::Text(text)))
}

impl PartialSchema for GoldLabel {
    fn schema() -> RefOr<Schema> {
        let plain = |kind| Object::with_type(kind);
        let texts = ArrayBuilder::new().items(plain(Type::String)).build();
        let any = OneOfBuilder::new()
            .item(plain(Type::String))
            .item(plain(Type::Number))
            .item(Schema::Array(texts))
            .item(ObjectBuilder::new().schema_type(Type::Object).build())
            .item(plain(Type::Null))
            .description(Some(
                "The gold answer: a text, a number, several accepted answers, an object the \
                 scorer defines, or nothing.",
            ));
        Schema::OneOf(any.build()).into()
    }
}

impl ToSchema for GoldLabel {
    fn name() -> std::borrow::Cow<'static, str> {
        "Label".into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Option<Reference>) {
        let read: GoldLabel = serde_json::from_str(text).expect("a label");
        assert_eq!(read, GoldLabel(expected), "{text}");
    }

    #[test]
    fn gold_labels_of_datasets_are_read() {
        let text = |text: &str| Some(Reference::Text(text.to_owned()));
        check("null", None);
        check("\"\"", None);
        check("\"1/2\"", text("1/2"));
        check("42", text("42"));
        check("18446744073709551615", text("18446744073709551615"));
        check("-7", text("-7"));
        check("0.1", text("0.1"));
        check("[\"a\", \"b\"]", Some(Reference::AnyOf(vec!["a".into(), "b".into()])));
        let object = json!({"answer": 3}).as_object().cloned();
        check("{\"answer\": 3}", object.map(Reference::Object));
        for bad in ["true", "[1]"] {
            assert!(serde_json::from_str::<GoldLabel>(bad).is_err(), "{bad}");
        }
    }
}
