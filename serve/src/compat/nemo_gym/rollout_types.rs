//! The part of OpenAI's Responses API that a rollout needs: roles and texts.
//!
//! Other fields of an item, such as token ids and log-probabilities, are skipped in the same pass.

use std::fmt;

use openapi::read_object;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The request to a policy.
#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(crate) struct RolloutParams {
    /// Text that precedes the input; other types are ignored.
    pub(crate) instructions: Loose,
    /// The conversation.
    pub(crate) input: Option<RolloutInput>,
}

/// A conversation, or a single user text.
#[derive(Debug)]
pub(crate) enum RolloutInput {
    /// The user's text.
    Text(String),
    /// Messages, tool calls, tool outputs and reasoning.
    Items(Vec<RolloutItem>),
}

/// The response of a policy.
#[derive(Debug, Deserialize)]
#[serde(remote = "Self")]
pub(crate) struct RolloutResponse {
    /// Messages, tool calls and reasoning.
    pub(crate) output: Vec<RolloutItem>,
}

/// One item of a conversation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(crate) struct RolloutItem {
    /// Item type; `message` if absent.
    #[serde(rename = "type")]
    pub(crate) kind: Loose,
    /// Role of the speaker.
    pub(crate) role: Loose,
    /// Content.
    pub(crate) content: RolloutContent,
    /// Name of the called tool.
    pub(crate) name: Option<Value>,
    /// Arguments of the call.
    pub(crate) arguments: Option<Value>,
    /// Output of a tool.
    pub(crate) output: Loose,
}

read_object!(RolloutParams);
read_object!(RolloutResponse);
read_object!(RolloutItem);

/// Content of any type; readers that need text check for it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum RolloutContent {
    /// Absent.
    #[default]
    None,
    /// Text.
    Text(String),
    /// The `text` or `refusal` of each part, if it has one.
    Parts(Vec<Option<String>>),
    /// Another type.
    Other,
}

/// Text if the value is a string; values of other types are not an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Loose(pub(crate) Option<String>);

impl Loose {
    /// Returns the text.
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A value that is deserialised from JSON of any type.
trait FromAnyJson<'de>: Sized {
    fn none() -> Self;
    fn other() -> Self;
    fn text(text: String) -> Self;
    fn list<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::other())
    }
    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::other())
    }
}

struct Anything<T>(std::marker::PhantomData<T>);

impl<'de, T: FromAnyJson<'de>> Visitor<'de> for Anything<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::none())
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::other())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::other())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::other())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::other())
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::list(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::object(map)
    }
}

fn any<'de, T: FromAnyJson<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Anything(std::marker::PhantomData))
}

impl FromAnyJson<'_> for Loose {
    fn none() -> Self {
        Self(None)
    }

    fn other() -> Self {
        Self(None)
    }

    fn text(text: String) -> Self {
        Self(Some(text))
    }
}

/// A part of a message.
struct TextPart(Option<String>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum PartField {
    Text,
    Refusal,
    #[serde(other)]
    Other,
}

impl<'de> FromAnyJson<'de> for TextPart {
    fn none() -> Self {
        Self(None)
    }

    fn other() -> Self {
        Self(None)
    }

    fn text(_: String) -> Self {
        Self(None)
    }

    fn object<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut text, mut refusal) = (Loose(None), Loose(None));
        while let Some(field) = map.next_key()? {
            match field {
                PartField::Text => text = map.next_value()?,
                PartField::Refusal => refusal = map.next_value()?,
                PartField::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Self(text.0.or(refusal.0)))
    }
}

impl<'de> FromAnyJson<'de> for RolloutContent {
    fn none() -> Self {
        Self::None
    }

    fn other() -> Self {
        Self::Other
    }

    fn text(text: String) -> Self {
        Self::Text(text)
    }

    fn list<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut parts = Vec::new();
        while let Some(TextPart(part)) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Self::Parts(parts))
    }
}

macro_rules! deserialize_any {
    ($($type:ty)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                any(deserializer)
            }
        }
    )*};
}

deserialize_any!(Loose TextPart RolloutContent);

impl<'de> Deserialize<'de> for RolloutInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = RolloutInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of items")
    }

    fn visit_str<E>(self, text: &str) -> Result<RolloutInput, E> {
        Ok(RolloutInput::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RolloutInput, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(RolloutInput::Items(items))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::compat::nemo_gym::types::VerifyRequest;
    use openapi::{BodyError, parse_body};

    /// Checks kind, role and content of the response's only item.
    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check(item: Value, kind: Option<&str>, content: RolloutContent) {
        let body = json!({ "output": [item.clone()] }).to_string();
        let response: RolloutResponse = parse_body(body.as_bytes()).expect("it is read");
        assert_eq!(response.output[0].kind.as_str(), kind, "{item}");
        assert_eq!(response.output[0].content, content, "{item}");
    }

    #[test]
    fn texts_are_read_and_other_fields_skipped() {
        let parts = |parts: &[Option<&str>]| {
            let parts = parts.iter().map(|part| part.map(str::to_owned));
            RolloutContent::Parts(parts.collect())
        };
        check(json!({}), None, RolloutContent::None);
        check(json!({ "content": null, "type": 3 }), None, RolloutContent::None);
        check(
            json!({ "type": "message", "content": "a", "token_ids": [1, [2]], "x": { "y": {} } }),
            Some("message"),
            RolloutContent::Text("a".to_owned()),
        );
        check(
            json!({ "content": [{ "type": "output_text", "text": "a\n", "logprobs": [{}] },
                                { "refusal": "No." }, { "text": null, "refusal": "b" },
                                { "text": 3 }, "c", null, [{ "text": "d" }], {}] }),
            None,
            parts(&[Some("a\n"), Some("No."), Some("b"), None, None, None, None, None]),
        );
        for other in [json!(1), json!(-1), json!(1.5), json!(true), json!({ "text": "a" })] {
            check(json!({ "content": other }), None, RolloutContent::Other);
        }
    }

    /// Checks where a row is refused; `None` if it is accepted.
    fn check_row(row: &Value, expected: Option<(&str, &str)>) {
        match (parse_body::<VerifyRequest>(row.to_string().as_bytes()), expected) {
            (Ok(_), None) => {}
            (Err(BodyError::Invalid { path, message }), Some((place, part))) => {
                assert_eq!(path, place, "{row}");
                assert!(message.contains(part), "{row}: {message}");
            }
            (read, _) => panic!("{row}: {read:?}"),
        }
    }

    #[test]
    fn malformed_row_is_refused_at_its_path() {
        let row = |input: Value, output: Value| json!({ "responses_create_params": { "input": input }, "response": { "output": output } });
        check_row(&row(json!(null), json!([])), None);
        check_row(&row(json!("a"), json!([{}])), None);
        let items = "a text or a list of items";
        check_row(&row(json!(3), json!([])), Some(("responses_create_params.input", items)));
        let place = "responses_create_params.input[1]";
        check_row(&row(json!([{}, "a"]), json!([])), Some((place, "an object")));
        check_row(&row(json!([]), json!("a")), Some(("response.output", "a sequence")));
        check_row(&row(json!([]), json!([["a"]])), Some(("response.output[0]", "an object")));
        let mut bare = row(json!([]), json!([]));
        bare["response"] = json!({});
        check_row(&bare, Some(("response", "`output`")));
        bare["response"] = json!([[]]);
        check_row(&bare, Some(("response", "an object")));
        check_row(
            &json!({ "response": { "output": [] } }),
            Some((".", "`responses_create_params`")),
        );
    }
}
