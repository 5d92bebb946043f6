//! The cheap check of a 200: the number of results and their statuses.
//!
//! The generator shares its cores with the server, so a reply is parsed once, for `status` and `cached`
//! alone, and nothing of it is stored.

use std::fmt;

use openapi::Status;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::outcome::Verdicts;

#[derive(Deserialize)]
struct Reply {
    results: Results,
}

struct Results(Verdicts);

#[derive(Deserialize)]
struct ReplyResult {
    status: Status,
    #[serde(default)]
    cached: bool,
}

impl<'de> Deserialize<'de> for Results {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ResultsVisitor)
    }
}

struct ResultsVisitor;

impl<'de> Visitor<'de> for ResultsVisitor {
    type Value = Results;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of results")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Results, A::Error> {
        let mut verdicts = Verdicts::default();
        while let Some(ReplyResult { status, cached }) = seq.next_element()? {
            verdicts.add(status, cached);
        }
        Ok(Results(verdicts))
    }
}

/// Counts the verdicts of a 200 to a request of `batch` inputs.
///
/// # Errors
/// A message if the body is not JSON, has no results, a result has no known status, or the number of
/// results is not `batch`.
pub(crate) fn count_verdicts(body: &[u8], batch: usize) -> Result<Verdicts, String> {
    let Reply { results: Results(verdicts) } =
        serde_json::from_slice(body).map_err(|error| format!("not a score reply: {error}"))?;
    if verdicts.total() == batch as u64 {
        Ok(verdicts)
    } else {
        Err(format!("{} results for {batch} inputs", verdicts.total()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ok((total, ok, cached))`, or the beginning of the complaint.
    fn check(body: &str, batch: usize, expected: Result<(u64, u64, u64), &str>) {
        let counted = count_verdicts(body.as_bytes(), batch)
            .map(|counts| (counts.total(), counts.get(Status::Ok), counts.cached()));
        match (&counted, expected) {
            (Err(message), Err(beginning)) => assert!(message.starts_with(beginning), "{message}"),
            (counted, expected) => {
                assert_eq!(counted.as_ref().ok(), expected.as_ref().ok(), "{body}");
            }
        }
    }

    #[test]
    fn replies_are_counted() {
        let full = r#"{"id":"score-1","object":"score","results":[
            {"id":"0","status":"ok","score":1.0,"reason":{"code":"x","status":"no"},"cached":true},
            {"id":"1","status":"bad_reference","score":null,"cached":false},
            {"status":"ok"}],"usage":{"total_tokens":0}}"#;
        check(full, 3, Ok((3, 2, 1)));
        check(full, 2, Err("3 results for 2 inputs"));
        check(r#"{"results":[]}"#, 0, Ok((0, 0, 0)));
        check(r#"{"results":[{"status":"fine"}]}"#, 1, Err("not a score reply"));
        check(r#"{"results":[{}]}"#, 1, Err("not a score reply"));
        check(r#"{"error":{"code":"x"}}"#, 1, Err("not a score reply"));
        check(r#"{"results":[{"status":"ok"}"#, 1, Err("not a score reply"));
        check("", 1, Err("not a score reply"));
        check("<html>", 1, Err("not a score reply"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_an_overflow() {
        let deep = format!(r#"{{"x":{}"#, "[".repeat(1_000_000));
        check(&deep, 1, Err("not a score reply"));
    }

    #[test]
    fn serialised_wire_type_is_counted() {
        let result = openapi::ScoreResult {
            id: "0".to_owned(),
            status: Status::Ok,
            score: Some(1.0),
            raw: None,
            label: Some("equal".to_owned()),
            reason: None,
            candidate: None,
            steps: None,
            parts: None,
            candidates: None,
            spans: None,
            outputs: None,
            label_mass: None,
            digests: openapi::Digests::default(),
            usage: openapi::Usage::default(),
            timing: openapi::Timing::default(),
            cached: true,
            metadata: None,
            signature: None,
        };
        let reply = openapi::ScoreResponse {
            id: "score-1".to_owned(),
            object: "score".to_owned(),
            created: 0,
            model: "math".to_owned(),
            results: vec![result.clone(), result],
            usage: openapi::Usage::default(),
        };
        let body = serde_json::to_string(&reply).expect("a reply serialises");
        check(&body, 2, Ok((2, 2, 2)));
    }
}
