//! Detects the interface of a decision body.

use openapi::{BodyError, parse_body};
use serde::Deserialize;
use serde::de::IgnoredAny;
use utoipa::ToSchema;

use crate::compat::openai_decisions::types::DecisionRequest;
use crate::compat::sglang::decision_types::SglangDecisionRequest;
use crate::compat::systemone::types::SystemOneRequest;

/// A body of `POST /v1/decisions`.
#[derive(Debug, Clone, PartialEq, ToSchema)]
#[schema(title = "DecisionBody")]
#[serde(untagged)]
pub(crate) enum DecisionBody {
    /// OpenAI's: `input`, and a list of questions with `instructions`.
    OpenAi(DecisionRequest),
    /// `SGLang`'s: `input`, and a list of questions with `id` and `question`.
    Sglang(SglangDecisionRequest),
    /// System One's: `state`, and questions by name.
    SystemOne(SystemOneRequest),
}

/// The fields of a body that its interface is detected by. Faults inside them are reported by the
/// parser of that interface.
#[derive(Deserialize)]
struct Outline {
    state: Option<IgnoredAny>,
    temperature: Option<IgnoredAny>,
    chat_template_kwargs: Option<IgnoredAny>,
    prompt_format_version: Option<IgnoredAny>,
    return_prompt_token_ids: Option<IgnoredAny>,
    questions: Option<Questions>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Questions {
    List(Vec<QuestionFields>),
    ByName {},
    Other(IgnoredAny),
}

/// Fields of a question that differ between interfaces.
#[derive(Deserialize)]
struct QuestionFields {
    id: Option<IgnoredAny>,
    question: Option<IgnoredAny>,
    instructions: Option<IgnoredAny>,
}

enum BodyShape {
    OpenAi,
    Sglang,
    SystemOne,
}

/// Parses a body of `POST /v1/decisions` by its shape: System One's has `state` or questions by
/// name; `SGLang`'s has a field of its own or `question` in its questions; any other is OpenAI's.
///
/// # Errors
/// As [`parse_body`] for the detected interface.
pub(crate) fn parse_decision(bytes: &[u8]) -> Result<DecisionBody, BodyError> {
    match shape(bytes) {
        BodyShape::OpenAi => parse_body(bytes).map(DecisionBody::OpenAi),
        BodyShape::Sglang => parse_body(bytes).map(DecisionBody::Sglang),
        BodyShape::SystemOne => parse_body(bytes).map(DecisionBody::SystemOne),
    }
}

fn shape(bytes: &[u8]) -> BodyShape {
    let Ok(outline) = serde_json::from_slice::<Outline>(bytes) else {
        return BodyShape::OpenAi;
    };
    let own = [
        outline.temperature,
        outline.chat_template_kwargs,
        outline.prompt_format_version,
        outline.return_prompt_token_ids,
    ];
    match outline.questions {
        Some(Questions::ByName {}) => BodyShape::SystemOne,
        _ if outline.state.is_some() => BodyShape::SystemOne,
        _ if own.iter().any(Option::is_some) => BodyShape::Sglang,
        Some(Questions::List(list)) => {
            let asks = |fields: &QuestionFields| {
                fields.question.is_some() || (fields.id.is_some() && fields.instructions.is_none())
            };
            if list.iter().any(asks) { BodyShape::Sglang } else { BodyShape::OpenAi }
        }
        Some(Questions::Other(_)) | None => BodyShape::OpenAi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let found = match parse_decision(body.as_bytes()) {
            Ok(DecisionBody::OpenAi(_)) => "openai".to_owned(),
            Ok(DecisionBody::Sglang(_)) => "sglang".to_owned(),
            Ok(DecisionBody::SystemOne(_)) => "systemone".to_owned(),
            Err(BodyError::Invalid { path, .. }) => format!("invalid {path}"),
            Err(BodyError::Malformed { line, column, .. }) => format!("malformed {line}:{column}"),
        };
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn interfaces_are_detected() {
        check(
            r#"{"model":"m","input":"x","questions":[{"type":"predicate","instructions":"?"}]}"#,
            "openai",
        );
        check(r#"{"model":"m","input":"x","questions":[]}"#, "openai");
        check(r#"{"input":"x","questions":[{"id":"a","type":"yes_no","question":"?"}]}"#, "sglang");
        check(r#"{"model":"m","input":{"a":1},"questions":[],"temperature":2}"#, "sglang");
        check(
            r#"{"model":"m","state":[1],"questions":{"a":{"type":"noul","instructions":"?"}}}"#,
            "systemone",
        );
    }

    #[test]
    fn errors_name_the_path_in_the_detected_shape() {
        check("{", "malformed 1:1");
        check("[]", "invalid .");
        check(r#"{"model":"m","input":"x","questions":{}}"#, "invalid input");
        check(r#"{"model":"m","state":"x","questions":[]}"#, "invalid questions");
        check(
            r#"{"model":"m","input":"x","questions":[{"type":"predicate","instruction":"?"}]}"#,
            "invalid questions[0].instruction",
        );
        check(
            r#"{"model":"m","input":[{"role":"user","content":[{"type":"text"}]}],"questions":[]}"#,
            "invalid input[0].content[0].type",
        );
        check(
            r#"{"model":"m","input":"x","questions":[{"type":"choice","instructions":"?","choices":[{"value":1}]}]}"#,
            "invalid questions[0].choices[0].value",
        );
        check(r#"{"model":"m","input":"x","questions":3}"#, "invalid questions");
        check(
            r#"{"input":"x","questions":[{"id":"a","type":"choice","question":"?","options":[{"nam":"x"}]}]}"#,
            "invalid questions[0].options[0].nam",
        );
        check(r#"{"model":"m","state":5,"questions":{"a":{"type":"noul"}}}"#, "invalid state");
        check(
            r#"{"model":"m","state":"x","questions":{"a":{"type":"noul","x":1}}}"#,
            "invalid questions.a.x",
        );
        check(
            r#"{"model":"m","state":"x","questions":{"a":{"type":"choice","criteria":{"b":1}}}}"#,
            "invalid questions.a.criteria.b",
        );
        check(
            r#"{"model":"m","state":"x","questions":{"a":{"type":"noul","instructions":"?"},"a":{"type":"noul","instructions":"?"}}}"#,
            "invalid questions",
        );
    }
}
