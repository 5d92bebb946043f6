//! YAML by its events. Aliases are refused: ten of them can stand for a billion values.

use std::borrow::Cow;

use saphyr::{Scalar, ScalarStyle, Tag};
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Number, Value};

use super::{Document, MAX_DEPTH, Malformed};

enum Container {
    Sequence(Vec<Value>),
    /// Its fields, and the key whose value comes next.
    Mapping(Map<String, Value>, Option<String>),
}

pub(super) fn parse(text: &str) -> Result<Document, Malformed> {
    let mut open: Vec<Container> = Vec::new();
    let (mut root, mut depth, mut documents) = (None, 0, 0);
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            Malformed::at(error.marker().line(), error.marker().col() + 1, error.info())
        })?;
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let malformed = |message: &str| Malformed::at(line, column, message);
        let value = match event {
            Event::Alias(_) => return Err(malformed("aliases are not accepted")),
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(malformed("a second document"));
                }
                continue;
            }
            Event::SequenceStart(_, Some(tag)) if !is_core(&tag, &["seq"]) => {
                return Err(malformed("an unknown tag"));
            }
            Event::MappingStart(_, Some(tag)) if !is_core(&tag, &["map"]) => {
                return Err(malformed("an unknown tag"));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == MAX_DEPTH => {
                return Err(malformed("it nests too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push(Container::Sequence(Vec::new()));
                depth = depth.max(open.len());
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Container::Mapping(Map::new(), None));
                depth = depth.max(open.len());
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Container::Sequence(items)) => Value::Array(items),
                Some(Container::Mapping(fields, _)) => Value::Object(fields),
                None => return Err(malformed("an end without a start")),
            },
            Event::Scalar(text, style, _, tag) => {
                scalar(text, style, tag.as_ref()).map_err(malformed)?
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
        };
        match open.last_mut() {
            None => root = Some(value),
            Some(Container::Sequence(items)) => items.push(value),
            Some(Container::Mapping(fields, key)) => {
                if let Some(key) = key.take() {
                    fields.insert(key, value);
                    continue;
                }
                let name = key_of(value).map_err(malformed)?;
                if fields.contains_key(&name) {
                    return Err(Malformed::twice(line, column, name));
                }
                *key = Some(name);
            }
        }
    }
    let value = root.ok_or_else(|| Malformed::at(1, 1, "there is no document"))?;
    Ok(Document { value, depth })
}

/// Whether a tag is one of these of the core schema.
fn is_core(tag: &Tag, names: &[&str]) -> bool {
    tag.is_yaml_core_schema() && names.contains(&tag.suffix.as_str())
}

fn scalar(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Cow<'_, Tag>>,
) -> Result<Value, &'static str> {
    let scalars = ["bool", "int", "float", "null", "str"];
    if tag.is_some_and(|tag| !is_core(tag, &scalars)) {
        return Err("an unknown tag");
    }
    match Scalar::parse_from_cow_and_metadata(text, style, tag) {
        Some(Scalar::Null) => Ok(Value::Null),
        Some(Scalar::Boolean(value)) => Ok(Value::Bool(value)),
        Some(Scalar::Integer(value)) => Ok(Value::from(value)),
        Some(Scalar::FloatingPoint(value)) => {
            let number = Number::from_f64(value.into_inner());
            number.map(Value::Number).ok_or("a number that is not finite")
        }
        Some(Scalar::String(text)) => Ok(Value::String(text.into_owned())),
        None => Err("a value that its tag does not allow"),
    }
}

/// A key as JSON has it.
fn key_of(value: Value) -> Result<String, &'static str> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(_) | Value::Bool(_) | Value::Null => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err("a key that is no scalar"),
    }
}
