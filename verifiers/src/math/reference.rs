//! References given as objects, and gold answers of a type that the request names.

use maths::AnswerType;
use serde_json::{Map, Value as Json};

use super::ReadGold;
use crate::{Reason, VerifyError};

/// Converts the gold answer to the type in the request.
pub(super) fn typed(
    gold: ReadGold<'_>,
    wanted: Option<AnswerType>,
) -> Result<ReadGold<'_>, VerifyError> {
    let Some(wanted) = wanted else {
        return Ok(gold);
    };
    let ReadGold { text, answer, label, has_content, .. } = gold;
    let answer = answer.into_type(wanted, text).ok_or_else(|| {
        VerifyError::BadReference(Reason::with(
            "reference_type",
            "the reference is not of the type that the request names",
        ))
    })?;
    Ok(ReadGold { text, answer, label, has_content, cost: None })
}

/// Returns the accepted answers and the type of a reference given as an object:
/// `{"answer": "(0, 1)", "type": "interval"}`.
pub(super) fn of_object(
    object: &Map<String, Json>,
) -> Result<(Vec<&str>, Option<AnswerType>), VerifyError> {
    let bad =
        |detail: &'static str| VerifyError::BadReference(Reason::with("reference_shape", detail));
    if object.keys().any(|key| key != "answer" && key != "type") {
        return Err(bad("an object holds `answer` and perhaps `type`, nothing else"));
    }
    let answers = match object.get("answer") {
        Some(Json::String(text)) => vec![text.as_str()],
        Some(Json::Array(texts)) => texts
            .iter()
            .map(Json::as_str)
            .collect::<Option<Vec<&str>>>()
            .ok_or_else(|| bad("`answer` is a text or a list of texts"))?,
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => {
            return Err(bad("`answer` is a text or a list of texts"));
        }
    };
    let hint = match object.get("type").map(Json::as_str) {
        None => None,
        Some(name) => {
            let found = name.and_then(AnswerType::named);
            Some(found.ok_or_else(|| bad("`type` is one of number, interval, tuple, set, text"))?)
        }
    };
    Ok((answers, hint))
}
