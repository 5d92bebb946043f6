//! OpenAI's graders: what is asked of `POST /v1/fine_tuning/alpha/graders/run` and `…/validate`.

use std::fmt;

use openapi::unused::{Harmless, Unused};
use openapi::{BodyError, object};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A grader and the sample that it grades.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GraderRunRequest {
    /// How to grade.
    pub(crate) grader: Grader,
    /// What a model wrote: `sample.output_text` in templates, and `sample.output_json` where it is
    /// JSON.
    pub(crate) model_sample: String,
    /// A row of a dataset: `item` in templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) item: Option<Map<String, Value>>,
}

object!(GraderRunRequest, but & [Unused("reference_answer", Harmless::Null)]);

/// A grader to be checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GraderValidateRequest {
    /// The grader.
    pub(crate) grader: Grader,
}

object!(GraderValidateRequest);

/// How a sample is graded. Which fields there are depends on `type`; texts are templates, in which
/// `{{ item.NAME }}` and `{{ sample.NAME }}` are replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct Grader {
    /// What kind of grader it is.
    #[serde(rename = "type")]
    pub(crate) kind: GraderKind,
    /// Its name.
    #[serde(default)]
    pub(crate) name: String,
    /// The text that is graded; of graders that ask a model, the conversation that it is asked
    /// with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<GraderInput>,
    /// The text that it is graded against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<String>,
    /// Of `string_check`: what the texts are held to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<StringOperation>,
    /// Of `text_similarity`: the measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) evaluation_metric: Option<SimilarityMetric>,
    /// Of `score_model` and `label_model`: a model or an adapter of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Of `score_model`: the least and the highest score; 0 and 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 2, max_items = 2)]
    pub(crate) range: Option<Vec<f64>>,
    /// Of `score_model` and `label_model`: how the model is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sampling_params: Option<GraderSampling>,
    /// Of `label_model`: what the model chooses from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) labels: Option<Vec<String>>,
    /// Of `label_model`: the labels that give 1; the others give 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) passing_labels: Option<Vec<String>>,
    /// Of `multi`: its graders by the names that its formula has for them; or a list of graders, or
    /// one grader, by their own names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) graders: Option<Value>,
    /// Of `multi`: the reward, from those of its graders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0.8 * exact + 0.2 * min(style, tone)")]
    pub(crate) calculate_output: Option<String>,
    /// Of `python`: a program, which is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// Of `python`: where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) image_tag: Option<String>,
}

object!(Grader);

/// The kinds of graders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GraderKind {
    /// Two texts are held to be equal, or one to contain the other.
    StringCheck,
    /// How alike two texts are.
    TextSimilarity,
    /// A model gives a number.
    ScoreModel,
    /// A model gives a label.
    LabelModel,
    /// A formula over other graders.
    Multi,
    /// A program; refused, because there is nowhere to run it.
    Python,
}

/// What two texts are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StringOperation {
    /// They are the same.
    Eq,
    /// They are not.
    #[serde(alias = "neq")]
    Ne,
    /// The input contains the reference.
    Like,
    /// The same, whatever the case.
    Ilike,
}

/// A measure of likeness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum SimilarityMetric {
    /// Of embeddings; refused, because there are no embedding models.
    #[serde(rename = "cosine")]
    Cosine,
    /// Of characters in order.
    #[serde(rename = "fuzzy_match")]
    FuzzyMatch,
    /// BLEU of up to four words.
    #[serde(rename = "bleu")]
    Bleu,
    /// Google's BLEU.
    #[serde(rename = "gleu")]
    Gleu,
    /// METEOR, without synonyms.
    #[serde(rename = "meteor")]
    Meteor,
    /// ROUGE of single words.
    #[serde(rename = "rouge_1")]
    Rouge1,
    /// ROUGE of two words.
    #[serde(rename = "rouge_2")]
    Rouge2,
    /// ROUGE of three words.
    #[serde(rename = "rouge_3")]
    Rouge3,
    /// ROUGE of four words.
    #[serde(rename = "rouge_4")]
    Rouge4,
    /// ROUGE of five words.
    #[serde(rename = "rouge_5")]
    Rouge5,
    /// ROUGE of the longest common subsequence.
    #[serde(rename = "rouge_l")]
    RougeL,
}

/// How a grader's model is sampled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub(crate) struct GraderSampling {
    /// Most tokens that it may write; 1024 unless given.
    #[serde(
        deserialize_with = "openapi::whole::read_option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub(crate) max_completions_tokens: Option<u64>,
    /// Follows the same path with the same request; without it 0.
    #[serde(
        deserialize_with = "openapi::whole::read_signed",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) seed: Option<i64>,
    /// 0 is greedy; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// Only the most likely tokens that have this probability together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub(crate) top_p: Option<f64>,
}

object!(GraderSampling, but & [Unused("reasoning_effort", Harmless::Null)]);

/// A text, or the conversation that a model is asked with.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum GraderInput {
    /// A text.
    Text(String),
    /// Messages.
    Messages(Vec<GraderMessage>),
}

impl<'de> Deserialize<'de> for GraderInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = GraderInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of messages")
    }

    fn visit_str<E>(self, text: &str) -> Result<GraderInput, E> {
        Ok(GraderInput::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<GraderInput, E> {
        Ok(GraderInput::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<GraderInput, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(GraderInput::Messages)
    }
}

/// A turn of the conversation that a grader's model is asked with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GraderMessage {
    /// Who speaks.
    pub(crate) role: GraderRole,
    /// What is said: a text, a part, or a list of texts and parts, which are joined by line ends.
    #[schema(value_type = GraderContentShape)]
    pub(crate) content: GraderContent,
}

object!(GraderMessage, but & [Unused("type", Harmless::Every)]);

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GraderRole {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// Rules of the conversation.
    System,
    /// The same in newer words.
    Developer,
}

/// What is said, in parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct GraderContent(pub(crate) Vec<GraderPart>);

/// What is said, as it may be written.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a description for the OpenAPI document")]
enum GraderContentShape {
    Text(String),
    Part(GraderPart),
    Parts(Vec<GraderPiece>),
}

/// A text or a part.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "a description for the OpenAPI document")]
enum GraderPiece {
    Text(String),
    Part(GraderPart),
}

impl<'de> Deserialize<'de> for GraderContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = GraderContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a part or a list of them")
    }

    fn visit_str<E>(self, text: &str) -> Result<GraderContent, E> {
        Ok(GraderContent(vec![GraderPart::text(text)]))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GraderContent, A::Error> {
        let part = <GraderPart as Deserialize>::deserialize(MapAccessDeserializer::new(map))?;
        Ok(GraderContent(vec![part]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<GraderContent, A::Error> {
        let pieces: Vec<Piece> = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        let parts = pieces.into_iter().map(|Piece(part)| part);
        Ok(GraderContent(parts.collect()))
    }
}

/// An element of a list of parts.
struct Piece(GraderPart);

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PieceVisitor)
    }
}

struct PieceVisitor;

impl<'de> Visitor<'de> for PieceVisitor {
    type Value = Piece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a part")
    }

    fn visit_str<E>(self, text: &str) -> Result<Piece, E> {
        Ok(Piece(GraderPart::text(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Piece, A::Error> {
        <GraderPart as Deserialize>::deserialize(MapAccessDeserializer::new(map)).map(Piece)
    }
}

/// A part of what is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(crate) struct GraderPart {
    /// What kind of part it is.
    #[serde(rename = "type")]
    pub(crate) kind: GraderPartKind,
    /// The text of a part that is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

object!(
    GraderPart,
    but & [
        Unused("image_url", Harmless::Every),
        Unused("detail", Harmless::Every),
        Unused("input_audio", Harmless::Every),
        Unused("prompt_cache_breakpoint", Harmless::Every),
    ]
);

impl GraderPart {
    fn text(text: &str) -> GraderPart {
        GraderPart { kind: GraderPartKind::InputText, text: Some(text.to_owned()) }
    }
}

/// The kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GraderPartKind {
    /// Text.
    InputText,
    /// Text that a model wrote.
    OutputText,
    /// A picture; refused.
    InputImage,
    /// Sound; refused.
    InputAudio,
}

/// The graders of a `multi` grader, which stand at `path`, with the names that its formula has for
/// them.
///
/// # Errors
/// The first of them that is none, by its path.
pub(crate) fn grader_parts(path: &str, graders: Value) -> Result<Vec<(String, Grader)>, BodyError> {
    match graders {
        Value::Object(one) if one.get("type").is_some_and(Value::is_string) => {
            let grader = part(path, Value::Object(one))?;
            Ok(vec![(grader.name.clone(), grader)])
        }
        Value::Object(named) => {
            let graders = named.into_iter().map(|(name, grader)| {
                let grader = part(&format!("{path}.{name}"), grader)?;
                Ok((name, grader))
            });
            graders.collect()
        }
        Value::Array(all) => {
            let graders = all.into_iter().enumerate().map(|(at, grader)| {
                let grader = part(&format!("{path}[{at}]"), grader)?;
                Ok((grader.name.clone(), grader))
            });
            graders.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(BodyError::Invalid {
                path: path.to_owned(),
                message: "expected graders by name, or a list of them".to_owned(),
            })
        }
    }
}

fn part(path: &str, grader: Value) -> Result<Grader, BodyError> {
    serde_path_to_error::deserialize(grader).map_err(|error| {
        let inner = error.path().to_string();
        let path = match &*inner {
            "." => path.to_owned(),
            _ if inner.starts_with('[') => format!("{path}{inner}"),
            _ => format!("{path}.{inner}"),
        };
        BodyError::Invalid { path, message: error.inner().to_string() }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use openapi::parse_body;

    #[expect(clippy::needless_pass_by_value, reason = "rows are literals")]
    fn check(body: Value, expected: &str) {
        let found = match parse_body::<GraderValidateRequest>(body.to_string().as_bytes()) {
            Ok(_) => "ok".to_owned(),
            Err(BodyError::Invalid { path, message }) => format!("{path}: {message}"),
            Err(error @ BodyError::Malformed { .. }) => panic!("{error:?}"),
        };
        assert!(found.contains(expected), "{body}: {found}");
    }

    #[test]
    fn bodies_are_read_and_faults_have_their_place() {
        let model = |content: Value| {
            json!({ "grader": {
                "type": "score_model", "name": "m", "model": "judge",
                "input": [{ "role": "user", "type": "message", "content": content }],
            }})
        };
        check(model(json!("a")), "ok");
        check(model(json!({ "type": "output_text", "text": "a" })), "ok");
        check(model(json!(["a", { "type": "input_text", "text": "b" }])), "ok");
        let image = json!({ "type": "input_image", "image_url": "x", "detail": "low" });
        check(model(json!([image])), "ok");
        check(model(json!(3)), "grader.input[0].content: ");
        check(model(json!(["a", 3])), "grader.input[0].content[1]: ");
        check(model(json!([{ "type": "video" }])), "grader.input[0].content[0].type: ");
        check(json!({ "grader": { "type": "robot" } }), "grader.type: ");
        check(json!({ "grader": { "name": "x" } }), "grader: missing field `type`");
        check(json!({ "grader": [] }), "grader: ");
        check(json!({ "grader": { "type": "multi", "fields": 1 } }), "grader.fields: ");
        check(json!({}), "missing field `grader`");
        let metric = json!({ "type": "text_similarity", "evaluation_metric": "rouge_6" });
        check(json!({ "grader": metric }), "grader.evaluation_metric: ");
    }

    #[test]
    fn parts_have_their_names() {
        let one = |name: &str| json!({ "type": "string_check", "name": name });
        let check = |graders: Value, expected: Result<&[&str], &str>| {
            let found = grader_parts("graders", graders.clone());
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
                    assert_eq!(names, expected, "{graders}");
                }
                (Err(BodyError::Invalid { path, .. }), Err(expected)) => {
                    assert_eq!(path, expected, "{graders}");
                }
                (found, _) => panic!("{graders}: {found:?}"),
            }
        };
        check(one("a"), Ok(&["a"]));
        check(json!([one("a"), one("b")]), Ok(&["a", "b"]));
        check(json!({ "x": one("a"), "y": one("b") }), Ok(&["x", "y"]));
        // A grader may be called so.
        check(json!({ "type": one("a") }), Ok(&["type"]));
        check(json!({}), Ok(&[]));
        check(json!(null), Err("graders"));
        check(json!([3]), Err("graders[0]"));
        check(json!({ "x": { "type": "python", "input": 3 } }), Err("graders.x.input"));
    }
}
