//! Verdicts in unit tests of the verifiers.

use serde_json::Value;

use crate::{Candidate, Claim, Fuel, Gold, Verdict, Verifier, VerifyError};

/// Returns the verdict on `candidate`. Gold as JSON: null is missing, an array is a list of
/// accepted texts.
pub(crate) fn judge(
    verifier: &dyn Verifier,
    gold: &Value,
    candidate: Option<&str>,
    fuel: &mut Fuel,
) -> Result<Verdict, VerifyError> {
    let list: Vec<String> = gold
        .as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().expect("a list of texts").to_owned())
        .collect();
    let gold = match gold {
        Value::Null => Gold::Missing,
        Value::String(text) => Gold::Text(text),
        Value::Array(_) => Gold::AnyOf(&list),
        Value::Object(fields) => Gold::Object(fields),
        Value::Bool(_) | Value::Number(_) => panic!("{gold} is no gold answer"),
    };
    let candidate = candidate.map_or(Candidate::Missing, Candidate::Text);
    let claim = |explain| Claim { gold, candidate, response: None, question: None, explain };
    let brief = verifier.verify(&claim(false), &mut fuel.clone());
    let explained = verifier.verify(&claim(true), fuel);
    if let (Ok(brief), Ok(explained)) = (&brief, &explained) {
        assert_eq!(brief.score, explained.score, "explaining changes no score");
        assert_eq!(brief.reason.code, explained.reason.code);
        assert_eq!(brief.reason.detail, None, "no detail was requested");
    } else {
        assert_eq!(brief, explained, "explaining changes no error");
    }
    explained
}

/// Returns score and code of the verdict on the default fuel; a score of -1 marks a bad reference.
pub(crate) fn outcome(
    verifier: &dyn Verifier,
    gold: &Value,
    candidate: Option<&str>,
) -> (f64, &'static str) {
    outcome_within(verifier, gold, candidate, Fuel::DEFAULT)
}

/// Returns [`outcome`] with `units` of fuel.
pub(crate) fn outcome_within(
    verifier: &dyn Verifier,
    gold: &Value,
    candidate: Option<&str>,
    units: u64,
) -> (f64, &'static str) {
    match judge(verifier, gold, candidate, &mut Fuel::new(units)) {
        Ok(verdict) => (verdict.score.get(), verdict.reason.code),
        Err(VerifyError::BadReference(reason)) => (-1.0, reason.code),
        Err(VerifyError::Undecided(_)) => panic!("these verifiers are never undecided"),
    }
}
