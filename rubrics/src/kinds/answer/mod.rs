//! Scorers that extract an answer and verify it.

pub(crate) mod options;

use serde::Serialize;
use verifiers::extract::{
    self, AnswerPolicy, Extracted, ExtractedTexts, MANY_CANDIDATES, Occurrence,
};
use verifiers::{Candidate, Claim, Fuel, Gold, Reason, Verdict, Verifier};

use crate::bounds::WorkBounds;
use crate::outcome::{CodePoints, Evidence, ExtractedAnswer, Failure, Outcome, Score};
use crate::{Input, Passage, Reference};

/// Part of a response that is verified.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extract {
    /// The final answer, found by the rules of `verifiers::extract`.
    Answer(AnswerPolicy),
    /// The same, and the text after the last thinking block where no answer is marked.
    AnswerOrWhole(AnswerPolicy),
    /// The text between the balanced braces of one marker, and nothing else.
    Marked {
        /// `\boxed` in `\boxed{…}`.
        marker: String,
        /// The occurrence that counts.
        occurrence: Occurrence,
    },
    /// The text after the last thinking block.
    Visible,
    /// The response as it is.
    Whole,
}

/// Configuration of a scorer that extracts an answer and verifies it.
pub(crate) struct AnswerSpec {
    /// Purpose in one sentence, without its full stop.
    pub(crate) description: &'static str,
    /// Part of a response that is verified.
    pub(crate) extract: Extract,
    /// Compares it with the reference.
    pub(crate) verifier: Box<dyn Verifier>,
    /// The verifier's configuration, for the digest.
    pub(crate) options: serde_json::Value,
}

/// An extraction, a verifier and a budget.
pub(crate) struct AnswerScorer {
    extract: Extract,
    verifier: Box<dyn Verifier>,
    fuel: u64,
}

impl AnswerScorer {
    pub(crate) fn new(extract: Extract, verifier: Box<dyn Verifier>, fuel: u64) -> Self {
        Self { extract, verifier, fuel }
    }

    /// Verifies the answer of `response`; the fuel it takes is counted in `bounds`.
    pub(crate) fn evaluate(
        &self,
        input: &Input,
        response: &str,
        explain: bool,
        bounds: &WorkBounds,
    ) -> Outcome {
        let extracted = self.extract(response);
        let texts = extracted.as_ref().map(|found| found.texts(response));
        let claim = Claim {
            gold: gold(input.reference.as_ref()),
            candidate: texts.as_ref().map_or(Candidate::Missing, ExtractedTexts::candidate),
            response: self.searches().then_some(response),
            question: input.prompt.as_deref().and_then(Passage::question),
            explain,
        };
        let mut fuel = Fuel::new(self.fuel);
        let verdict = self.verifier.verify(&claim, &mut fuel);
        bounds.spend(fuel.used());
        let verdict = verdict.map(|verdict| match &extracted {
            Some(found) if self.is_hedge(found) => hedged(explain),
            Some(_) | None => verdict,
        });
        let evidence =
            Evidence { candidate: self.report(response, extracted), ..Evidence::default() };
        match verdict {
            Ok(verdict) => Ok(Score::from_verdict(verdict, evidence)),
            Err(error) => Err(Failure::from_error(error, evidence)),
        }
    }

    /// Whether an answer may stand anywhere in the response.
    fn searches(&self) -> bool {
        match &self.extract {
            Extract::Answer(policy) | Extract::AnswerOrWhole(policy) => policy.last_number,
            Extract::Marked { .. } | Extract::Visible | Extract::Whole => false,
        }
    }

    /// Whether the response tried more answers than the policy lets pass.
    fn is_hedge(&self, found: &Extracted<'_>) -> bool {
        match &self.extract {
            Extract::Answer(policy) | Extract::AnswerOrWhole(policy) => {
                policy.refuse_many && found.flags.contains(&MANY_CANDIDATES)
            }
            Extract::Marked { .. } | Extract::Visible | Extract::Whole => false,
        }
    }

    fn extract<'r>(&self, response: &'r str) -> Option<Extracted<'r>> {
        match &self.extract {
            Extract::Answer(policy) => extract::answer(response, policy),
            Extract::AnswerOrWhole(policy) => {
                extract::answer(response, policy).or_else(|| unmarked(response))
            }
            Extract::Marked { marker, occurrence } => {
                extract::marked(response, marker, *occurrence)
            }
            Extract::Visible => extract::visible_response(response),
            Extract::Whole => Some(as_it_is(response)),
        }
    }

    /// A whole response is not echoed: the client has it, and it may be long.
    fn report(&self, response: &str, extracted: Option<Extracted<'_>>) -> Option<ExtractedAnswer> {
        let extracted = extracted?;
        match self.extract {
            Extract::Answer(_) | Extract::AnswerOrWhole(_) | Extract::Marked { .. } => {
                Some(ExtractedAnswer {
                    text: extracted.text.to_owned(),
                    span: CodePoints::new(response).range(&extracted.span),
                    count: extracted.count,
                    source: extracted.source,
                    flags: extracted.flags,
                })
            }
            Extract::Visible | Extract::Whole => None,
        }
    }
}

/// A 0 for a response that gives one answer after the other.
fn hedged(explain: bool) -> Verdict {
    let detail = || "the response marks too many different answers".to_owned();
    let reason = Reason::explained(MANY_CANDIDATES, explain, detail);
    Verdict::proven(false, "hedged", reason)
}

/// The visible text as an answer that nothing marks as one.
fn unmarked(response: &str) -> Option<Extracted<'_>> {
    let whole = extract::visible_response(response)?;
    Some(Extracted { flags: vec!["fallback"], ..whole })
}

fn as_it_is(response: &str) -> Extracted<'_> {
    Extracted {
        text: response,
        span: 0..response.len(),
        count: 1,
        source: "response",
        members: Vec::new(),
        readings: Vec::new(),
        earlier: Vec::new(),
        parts: None,
        flags: Vec::new(),
    }
}

/// The reference as verifiers take it.
pub(crate) fn gold(reference: Option<&Reference>) -> Gold<'_> {
    match reference {
        None => Gold::Missing,
        Some(Reference::Text(text)) => Gold::Text(text),
        Some(Reference::AnyOf(texts)) => Gold::AnyOf(texts),
        Some(Reference::Object(object)) => Gold::Object(object),
    }
}
