//! Fields with more than one JSON shape.
//!
//! Each is read by a visitor and not by `#[serde(untagged)]`: an untagged enum loses the JSON path
//! and answers "did not match any variant", which does not say what to repair.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Ref, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Message {
    /// Role: `system`, `user`, `assistant`, `tool`, or another that the scorer's template knows.
    pub role: String,
    /// Text of the turn.
    pub content: String,
}

crate::object!(Message);

/// A prompt or a response: text, or a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// Text.
    Text(String),
    /// Turns in order.
    Messages(Vec<Message>),
}

/// The gold answer or other ground truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reference {
    /// One accepted answer.
    Text(String),
    /// Several accepted answers.
    AnyOf(Vec<String>),
    /// An object whose fields the scorer defines.
    Object(serde_json::Map<String, serde_json::Value>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Content, E> {
        Ok(Content::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Content, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Content::Messages)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReferenceVisitor)
    }
}

struct ReferenceVisitor;

impl<'de> Visitor<'de> for ReferenceVisitor {
    type Value = Reference;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a text, a list of texts or an object (write a number as a text, so that no digit is lost)",
        )
    }

    fn visit_str<E>(self, text: &str) -> Result<Reference, E> {
        Ok(Reference::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Reference, E> {
        Ok(Reference::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Reference, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Reference::AnyOf)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reference, A::Error> {
        serde_json::Map::deserialize(MapAccessDeserializer::new(map)).map(Reference::Object)
    }
}

fn text_schema() -> Object {
    ObjectBuilder::new().schema_type(Type::String).build()
}

impl PartialSchema for Content {
    fn schema() -> RefOr<Schema> {
        let messages = ArrayBuilder::new().items(Ref::from_schema_name("Message"));
        let any = OneOfBuilder::new()
            .item(Schema::Object(text_schema()))
            .item(Schema::Array(messages.build()))
            .description(Some("Plain text, or the turns of a conversation in order."));
        Schema::OneOf(any.build()).into()
    }
}

impl ToSchema for Content {
    fn name() -> std::borrow::Cow<'static, str> {
        "Content".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("Message".to_owned(), Message::schema()));
    }
}

impl PartialSchema for Reference {
    fn schema() -> RefOr<Schema> {
        let any = OneOfBuilder::new()
            .item(Schema::Object(text_schema()))
            .item(Schema::Array(ArrayBuilder::new().items(text_schema()).build()))
            .item(Schema::Object(ObjectBuilder::new().schema_type(Type::Object).build()))
            .description(Some(
                "One accepted answer, several accepted answers, or an object the scorer defines.",
            ));
        Schema::OneOf(any.build()).into()
    }
}

impl ToSchema for Reference {
    fn name() -> std::borrow::Cow<'static, str> {
        "Reference".into()
    }
}
