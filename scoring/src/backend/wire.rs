//! Inputs of the core as wire inputs, and wire results as outcomes of the core: the way of
//! [`serve::convert`] backwards, for callers that score by a server what they hold as inputs.

use openapi as wire;
use rubrics::{
    Evidence, ExtractedAnswer, Failure, FailureKind, Input, Outcome, PartReport, Passage,
    Reference, Responses, Score, StepScore,
};
use verifiers::{Certainty, Reason};

/// The code of reasons and the source of answers that a server gave, which stand in the detail.
const REMOTE: &str = "remote";

/// An input as its request has it.
pub fn input(input: &Input) -> wire::ScoreInput {
    let (response, responses) = match &input.responses {
        Responses::One(one) => (Some(content(one)), None),
        Responses::Group(group) => (None, Some(group.iter().map(content).collect())),
        Responses::Missing | Responses::Conflicting => (None, None),
    };
    wire::ScoreInput {
        id: None,
        prompt: input.prompt.as_deref().map(content),
        response,
        responses,
        reference: input.reference.as_ref().map(|reference| match reference {
            Reference::Text(text) => wire::Reference::Text(text.clone()),
            Reference::AnyOf(texts) => wire::Reference::AnyOf(texts.clone()),
            Reference::Object(object) => wire::Reference::Object(object.clone()),
        }),
        steps: input.steps.clone(),
        principles: input.principles.clone(),
        rubric: input.rubric.clone(),
        context: input.context.clone(),
        metadata: None,
    }
}

fn content(passage: &Passage) -> wire::Content {
    match passage {
        Passage::Text(text) => wire::Content::Text(text.clone()),
        Passage::Messages(messages) => {
            let message = |message: &rubrics::Message| wire::Message {
                role: message.role.clone(),
                content: message.content.clone(),
            };
            wire::Content::Messages(messages.iter().map(message).collect())
        }
    }
}

/// A result with what it is made of: the answer, the steps, and the parts of a pipeline. The code of a
/// reason is `remote`, and its detail has the server's.
pub fn outcome(result: wire::ScoreResult) -> Outcome {
    let evidence = Evidence {
        candidate: result.candidate.map(candidate),
        steps: result.steps.map(|steps| steps.into_iter().map(step).collect()),
        parts: result.parts.map(|parts| parts.into_iter().map(part).collect()),
        ..Evidence::default()
    };
    let reason = reason(result.reason);
    match (failure_kind(result.status), result.score) {
        (None, Some(number)) if number.is_finite() => Ok(Score {
            raw: result.raw,
            label: result.label.map(Into::into),
            evidence,
            ..score(number, reason)
        }),
        (kind, _) => {
            let kind = kind.unwrap_or(FailureKind::Internal);
            Err(Failure { kind, reason, evidence })
        }
    }
}

/// An input that does not fit into a request.
pub fn refused(why: String) -> Outcome {
    let reason = Reason::with(REMOTE, why);
    Err(Failure { kind: FailureKind::Refused, reason, evidence: Evidence::default() })
}

fn score(score: f64, reason: Reason) -> Score {
    Score {
        score,
        raw: None,
        label: None,
        reason,
        certainty: Certainty::Proven,
        evidence: Evidence::default(),
    }
}

fn reason(reason: Option<wire::Reason>) -> Reason {
    match reason {
        None => Reason::code(REMOTE),
        Some(wire::Reason { code, detail: None }) => Reason::with(REMOTE, code),
        // A server that scores by another has the words of that one.
        Some(wire::Reason { code, detail: Some(detail) }) if code == REMOTE => {
            Reason::with(REMOTE, detail)
        }
        Some(wire::Reason { code, detail: Some(detail) }) => {
            Reason::with(REMOTE, format!("{code}: {detail}"))
        }
    }
}

fn candidate(candidate: wire::Candidate) -> ExtractedAnswer {
    let [begin, end] = candidate.span;
    ExtractedAnswer {
        text: candidate.text,
        span: begin..end,
        count: candidate.count,
        source: REMOTE,
        flags: Vec::new(),
    }
}

fn step(step: wire::StepScore) -> StepScore {
    let [begin, end] = step.span;
    StepScore {
        span: begin..end,
        score: step.score,
        raw: step.raw,
        reward: None,
        label: step.label.into(),
        critique: step.critique,
        equalities: None,
    }
}

fn part(part: wire::Part) -> PartReport {
    let outcome = part.status.map(|status| match (failure_kind(status), part.score) {
        (None, Some(number)) => Ok(Score { raw: part.raw, ..score(number, reason(part.reason)) }),
        (kind, _) => Err(Failure {
            kind: kind.unwrap_or(FailureKind::Internal),
            reason: reason(part.reason),
            evidence: Evidence::default(),
        }),
    });
    PartReport { name: part.name, weight: part.weight, outcome }
}

/// The kind of a failure; `None` for a score.
fn failure_kind(status: wire::Status) -> Option<FailureKind> {
    Some(match status {
        wire::Status::Ok => return None,
        wire::Status::Abstain => FailureKind::Abstain,
        wire::Status::Refused => FailureKind::Refused,
        wire::Status::BadReference => FailureKind::BadReference,
        wire::Status::Truncated => FailureKind::Truncated,
        wire::Status::ParseError => FailureKind::ParseError,
        wire::Status::ToolError => FailureKind::ToolError,
        wire::Status::Timeout => FailureKind::Timeout,
        wire::Status::Overloaded => FailureKind::Overloaded,
        wire::Status::InternalError => FailureKind::Internal,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use serve::convert::{self, Frame, InputEcho};

    use super::*;

    #[test]
    fn inputs_survive_the_wire() {
        let check = |sent: Value| {
            let sent: wire::ScoreInput = serde_json::from_value(sent).expect("an input");
            assert_eq!(input(&convert::input(sent.clone()).0), sent);
        };
        check(json!({
            "prompt": [{"role": "user", "content": "2+2?"}], "response": "4", "reference": ["4", "four"],
            "steps": ["4"], "principles": ["p"], "context": ["c"], "rubric": {"items": []},
        }));
        check(json!({"responses": ["a", "b"], "reference": {"tests": [1]}}));
        check(json!({"prompt": "q", "response": "a", "reference": "b"}));
        check(json!({}));
    }

    /// The outcome as its result on the wire says it.
    fn back(sent: &Outcome) -> Outcome {
        let frame = Frame {
            scorer_digest: "sha256:0",
            queue: Duration::ZERO,
            exec: Duration::ZERO,
            cached: false,
        };
        outcome(convert::result(0, InputEcho::default(), sent, frame))
    }

    fn evidence() -> Evidence {
        Evidence {
            candidate: Some(ExtractedAnswer {
                text: "4".to_owned(),
                span: 0..1,
                count: 1,
                source: REMOTE,
                flags: Vec::new(),
            }),
            steps: Some(vec![StepScore {
                span: 0..1,
                score: Some(0.25),
                raw: Some(-1.0),
                reward: None,
                label: "wrong".into(),
                critique: None,
                equalities: None,
            }]),
            parts: Some(vec![
                PartReport {
                    name: "a".to_owned(),
                    weight: 2.0,
                    outcome: Some(Ok(score(0.5, Reason::with(REMOTE, "code")))),
                },
                PartReport { name: "b".to_owned(), weight: 1.0, outcome: None },
            ]),
            ..Evidence::default()
        }
    }

    #[test]
    fn scores_survive_the_wire() {
        let scored = Score {
            raw: Some(0.1),
            label: Some("equal".into()),
            evidence: evidence(),
            ..score(0.75, Reason::code("equal"))
        };
        let found = back(&Ok(scored.clone())).expect("a score");
        assert_eq!(found, Score { reason: Reason::with(REMOTE, "equal"), ..scored });
    }

    #[test]
    fn failures_survive_the_wire() {
        for kind in [
            FailureKind::Abstain,
            FailureKind::Refused,
            FailureKind::BadReference,
            FailureKind::Truncated,
            FailureKind::ParseError,
            FailureKind::ToolError,
            FailureKind::Timeout,
            FailureKind::Overloaded,
            FailureKind::Internal,
        ] {
            let failed =
                Failure { kind, reason: Reason::with("why", "because"), evidence: evidence() };
            let found = back(&Err(failed.clone())).expect_err("a failure");
            assert_eq!(found, Failure { reason: Reason::with(REMOTE, "why: because"), ..failed });
        }
    }
}
