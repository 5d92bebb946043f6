//! Tools that a model may call, and its calls.

use std::fmt;

use openapi::object;
use openapi::unused::{Harmless, Unused};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Ref, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Tool {
    /// Tool type: `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// The function.
    pub(crate) function: FunctionDefinition,
}

object!(Tool, but & [Unused("custom", Harmless::Null)]);

/// The types of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolKind {
    /// A function with a schema.
    Function,
}

/// The definition of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct FunctionDefinition {
    /// Name: 1 to 64 letters, digits, `_`, `-` or `.`.
    pub(crate) name: String,
    /// Description for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// JSON Schema of its arguments; without it the function has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Map<String, Value>>,
    /// Accepted without effect: the schema of a required call is always enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict: Option<bool>,
}

object!(FunctionDefinition);

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct ToolCall {
    /// Call id, to which the tool's output refers.
    pub(crate) id: String,
    /// Tool type: `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// The function and its arguments.
    pub(crate) function: FunctionCall,
}

object!(ToolCall, but & [Unused("index", Harmless::Every)]);

/// The function and arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct FunctionCall {
    /// Name of the function.
    pub(crate) name: String,
    /// Arguments: a JSON object as text.
    pub(crate) arguments: String,
}

object!(FunctionCall);

/// Whether the model calls tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    /// Never: the prompt does not contain the tools.
    None,
    /// The model decides.
    Auto,
    /// At least one call, of any tool.
    Required,
    /// A call of this function.
    Function(String),
}

/// A choice of one function: `{"type": "function", "function": {"name": …}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct NamedToolChoice {
    /// Tool type: `function`.
    #[serde(rename = "type")]
    pub(crate) kind: ToolKind,
    /// The function.
    pub(crate) function: FunctionName,
}

object!(NamedToolChoice);

/// The name of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct FunctionName {
    /// Name.
    pub(crate) name: String,
}

object!(FunctionName);

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ToolChoice::None => serializer.serialize_str("none"),
            ToolChoice::Auto => serializer.serialize_str("auto"),
            ToolChoice::Required => serializer.serialize_str("required"),
            ToolChoice::Function(name) => {
                let function = FunctionName { name: name.clone() };
                let kind = ToolKind::Function;
                Serialize::serialize(&NamedToolChoice { kind, function }, serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl<'de> Visitor<'de> for ChoiceVisitor {
    type Value = ToolChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"none\", \"auto\", \"required\" or an object that names a function")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ToolChoice, E> {
        match text {
            "none" => Ok(ToolChoice::None),
            "auto" => Ok(ToolChoice::Auto),
            "required" => Ok(ToolChoice::Required),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ToolChoice, A::Error> {
        let named: NamedToolChoice = Deserialize::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ToolChoice::Function(named.function.name))
    }
}

impl PartialSchema for ToolChoice {
    fn schema() -> RefOr<Schema> {
        let word = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["none", "auto", "required"]));
        let any = OneOfBuilder::new()
            .item(Schema::Object(word.build()))
            .item(Ref::from_schema_name("NamedToolChoice"))
            .description(Some("Whether the model calls a function."));
        Schema::OneOf(any.build()).into()
    }
}

impl ToSchema for ToolChoice {
    fn name() -> std::borrow::Cow<'static, str> {
        "ToolChoice".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("NamedToolChoice".to_owned(), NamedToolChoice::schema()));
        <NamedToolChoice as ToSchema>::schemas(schemas);
    }
}
