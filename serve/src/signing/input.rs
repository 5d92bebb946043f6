//! Digests of inputs, which clients can compute as well.

use openapi::{Content, Reference, ScoreInput};
use serde_json::{Map, Value};

use super::frame::Frames;

/// Begins what is hashed. It moves when the same input would have another digest.
const DOMAIN: &str = "tribunal-input-v1";

/// Returns the digest of everything in an input that a scorer may read: all but id and metadata.
pub fn input_digest(input: &ScoreInput) -> String {
    let mut out = Frames::new(DOMAIN);
    content(&mut out, input.prompt.as_ref());
    content(&mut out, input.response.as_ref());
    out.list(input.responses.as_deref(), |out, one| content(out, Some(one)));
    match &input.reference {
        None => out.tag(b'-'),
        Some(Reference::Text(text)) => {
            out.tag(b't');
            out.text(Some(text));
        }
        Some(Reference::AnyOf(texts)) => {
            out.tag(b'l');
            out.list(Some(texts), |out, text| {
                out.tag(b't');
                out.text(Some(text));
            });
        }
        Some(Reference::Object(fields)) => object(&mut out, fields),
    }
    for texts in [&input.steps, &input.principles, &input.context] {
        out.list(texts.as_deref(), |out, text| out.text(Some(text)));
    }
    match &input.rubric {
        None => out.tag(b'-'),
        Some(fields) => object(&mut out, fields),
    }
    base::digest::of(out.bytes())
}

fn content(out: &mut Frames, content: Option<&Content>) {
    match content {
        None => out.tag(b'-'),
        Some(Content::Text(text)) => {
            out.tag(b't');
            out.text(Some(text));
        }
        Some(Content::Messages(messages)) => {
            out.tag(b'm');
            out.list(Some(messages), |out, message| {
                out.text(Some(&message.role));
                out.text(Some(&message.content));
            });
        }
    }
}

/// Objects keep the order of their keys: a scorer may read it.
fn object(out: &mut Frames, fields: &Map<String, Value>) {
    out.tag(b'o');
    out.count(fields.len());
    for (key, value) in fields {
        out.text(Some(key));
        json(out, value);
    }
}

fn json(out: &mut Frames, value: &Value) {
    match value {
        Value::Null => out.tag(b'-'),
        Value::Bool(false) => out.tag(b'0'),
        Value::Bool(true) => out.tag(b'1'),
        Value::Number(number) => {
            out.tag(b'n');
            out.number(number.as_f64());
        }
        Value::String(text) => {
            out.tag(b't');
            out.text(Some(text));
        }
        Value::Array(values) => {
            out.tag(b'l');
            out.list(Some(values), json);
        }
        Value::Object(fields) => object(out, fields),
    }
}
