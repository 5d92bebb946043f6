//! Converts wire types to core types and back. The wire has types of its own, so that it can
//! stay as it is when the core changes.

use std::sync::Arc;
use std::time::Duration;

use openapi as wire;
use rubrics::{Evidence, FailureKind, Input, Message, Outcome, Passage, Reference, Responses};

/// Splits a wire input into a core input and the fields that are echoed.
pub fn input(input: wire::ScoreInput) -> (Input, InputEcho) {
    let responses = match (input.response, input.responses) {
        (None, None) => Responses::Missing,
        (Some(_), Some(_)) => Responses::Conflicting,
        (Some(one), None) => Responses::One(passage(one)),
        (None, Some(group)) => Responses::Group(group.into_iter().map(passage).collect()),
    };
    let core = Input {
        prompt: input.prompt.map(|prompt| Arc::new(passage(prompt))),
        responses,
        reference: input.reference.map(reference),
        steps: input.steps,
        principles: input.principles,
        rubric: input.rubric,
        context: input.context,
    };
    (core, InputEcho { id: input.id, metadata: input.metadata })
}

/// The fields of an input that are returned unchanged.
#[derive(Debug, Clone, Default)]
pub struct InputEcho {
    /// The client's id.
    pub id: Option<String>,
    /// The client's metadata.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

pub(crate) fn passage(content: wire::Content) -> Passage {
    match content {
        wire::Content::Text(text) => Passage::Text(text),
        wire::Content::Messages(messages) => {
            let turn = |m: wire::Message| Message { role: m.role, content: m.content };
            Passage::Messages(messages.into_iter().map(turn).collect())
        }
    }
}

pub(crate) fn reference(reference: wire::Reference) -> Reference {
    match reference {
        wire::Reference::Text(text) => Reference::Text(text),
        wire::Reference::AnyOf(texts) => Reference::AnyOf(texts),
        wire::Reference::Object(object) => Reference::Object(object),
    }
}

/// The fields of a result that its outcome does not have.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Digest of the scorer.
    pub scorer_digest: &'a str,
    /// Time from admission to the start of work.
    pub queue: Duration,
    /// Time of the work.
    pub exec: Duration,
    /// Whether the outcome was stored or computed for another request.
    pub cached: bool,
}

/// Converts a core outcome to a wire result.
pub fn result(
    index: usize,
    echo: InputEcho,
    outcome: &Outcome,
    frame: Frame<'_>,
) -> wire::ScoreResult {
    let evidence = Evidence::of(outcome);
    let summary = OutcomeSummary::of(outcome);
    let trace = evidence.trace.as_ref();
    wire::ScoreResult {
        id: echo.id.unwrap_or_else(|| index.to_string()),
        status: summary.status,
        score: summary.score,
        raw: summary.raw,
        label: summary.label,
        reason: summary.reason,
        candidate: evidence.candidate.as_ref().map(candidate),
        steps: steps(evidence),
        parts: parts(evidence),
        candidates: evidence
            .members
            .as_ref()
            .map(|members| members.iter().enumerate().map(member).collect()),
        spans: spans(evidence),
        outputs: outputs(evidence),
        label_mass: trace.and_then(|trace| trace.label_mass),
        digests: digests(frame.scorer_digest, trace),
        usage: trace.map(usage).unwrap_or_default(),
        timing: wire::Timing {
            queue_ms: frame.queue.as_secs_f64() * 1e3,
            exec_ms: frame.exec.as_secs_f64() * 1e3,
        },
        cached: frame.cached,
        metadata: echo.metadata,
        signature: None,
    }
}

fn digests(scorer: &str, trace: Option<&rubrics::Trace>) -> wire::Digests {
    let text = |digest: &Option<Arc<str>>| digest.as_deref().map(str::to_owned);
    wire::Digests {
        scorer: scorer.to_owned(),
        model: trace.and_then(|trace| text(&trace.model)),
        adapter: trace.and_then(|trace| text(&trace.adapter)),
        prompt: trace.and_then(|trace| text(&trace.prompt)),
        revisions: trace.and_then(|trace| trace.revisions).map(revisions),
    }
}

/// Converts weights revisions to their wire form.
pub(crate) fn revisions(of: engine::Revisions) -> [u64; 2] {
    [of.oldest, of.newest]
}

fn usage(trace: &rubrics::Trace) -> wire::Usage {
    let usage = &trace.usage;
    wire::Usage {
        input_tokens: usage.input_tokens as u64,
        cached_tokens: usage.cached_tokens as u64,
        output_tokens: usage.output_tokens as u64,
        total_tokens: (usage.input_tokens + usage.output_tokens) as u64,
    }
}

fn steps(evidence: &Evidence) -> Option<Vec<wire::StepScore>> {
    let steps = evidence.steps.as_ref()?;
    Some(steps.iter().enumerate().map(step).collect())
}

fn parts(evidence: &Evidence) -> Option<Vec<wire::Part>> {
    let parts = evidence.parts.as_ref()?;
    Some(parts.iter().map(part).collect())
}

fn spans(evidence: &Evidence) -> Option<Vec<wire::SpanNote>> {
    let notes = evidence.spans.as_ref()?.iter();
    let notes = notes.map(|note| wire::SpanNote {
        span: [note.span.start, note.span.end],
        label: note.label.to_string(),
        value: note.value,
    });
    Some(notes.collect())
}

fn outputs(evidence: &Evidence) -> Option<Vec<wire::ModelText>> {
    let texts = evidence.outputs.as_ref()?.iter();
    let texts = texts.map(|text| wire::ModelText {
        role: text.role.to_string(),
        text: text.text.clone(),
        finish: text.finish.to_owned(),
    });
    Some(texts.collect())
}

/// The fields that a result, a part and a group's response share.
struct OutcomeSummary {
    status: wire::Status,
    score: Option<f64>,
    raw: Option<f64>,
    label: Option<String>,
    reason: Option<wire::Reason>,
}

impl OutcomeSummary {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Ok(score) => Self {
                status: wire::Status::Ok,
                score: Some(score.score),
                raw: score.raw,
                label: score.label.as_deref().map(str::to_owned),
                reason: Some(reason(&score.reason)),
            },
            Err(failure) => Self {
                status: status(failure.kind),
                score: None,
                raw: None,
                label: None,
                reason: Some(reason(&failure.reason)),
            },
        }
    }
}

/// Returns the wire status of a failure.
pub fn status(kind: FailureKind) -> wire::Status {
    match kind {
        FailureKind::Abstain => wire::Status::Abstain,
        FailureKind::Refused => wire::Status::Refused,
        FailureKind::BadReference => wire::Status::BadReference,
        FailureKind::Truncated => wire::Status::Truncated,
        FailureKind::ParseError => wire::Status::ParseError,
        FailureKind::ToolError => wire::Status::ToolError,
        FailureKind::Timeout => wire::Status::Timeout,
        FailureKind::Overloaded => wire::Status::Overloaded,
        FailureKind::Internal => wire::Status::InternalError,
    }
}

/// Returns the status name of an outcome, as used in metrics.
pub fn outcome_status_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(_) => status_name(wire::Status::Ok),
        Err(failure) => status_name(status(failure.kind)),
    }
}

/// Returns the name of a status, as used in metrics and summaries.
pub fn status_name(status: wire::Status) -> &'static str {
    match status {
        wire::Status::Ok => "ok",
        wire::Status::Abstain => "abstain",
        wire::Status::Refused => "refused",
        wire::Status::Truncated => "truncated",
        wire::Status::ParseError => "parse_error",
        wire::Status::ToolError => "tool_error",
        wire::Status::Timeout => "timeout",
        wire::Status::Overloaded => "overloaded",
        wire::Status::BadReference => "bad_reference",
        wire::Status::InternalError => "internal_error",
    }
}

fn reason(reason: &verifiers::Reason) -> wire::Reason {
    wire::Reason {
        code: reason.code.to_owned(),
        detail: reason.detail.as_deref().map(str::to_owned),
    }
}

fn candidate(found: &rubrics::ExtractedAnswer) -> wire::Candidate {
    wire::Candidate {
        text: found.text.clone(),
        span: [found.span.start, found.span.end],
        count: found.count,
        source: found.source.to_owned(),
        flags: found.flags.iter().map(ToString::to_string).collect(),
    }
}

fn step((index, step): (usize, &rubrics::StepScore)) -> wire::StepScore {
    let equality = |equality: &rubrics::EqualityReport| wire::CheckedEquality {
        span: [equality.span.start, equality.span.end],
        text: equality.text.clone(),
        label: equality.label.to_owned(),
        detail: equality.detail.clone(),
    };
    let equalities = step.equalities.as_ref();
    wire::StepScore {
        index,
        span: [step.span.start, step.span.end],
        score: step.score,
        raw: step.raw,
        label: step.label.to_string(),
        critique: step.critique.clone(),
        equalities: equalities.map(|all| all.iter().map(equality).collect()),
    }
}

fn part(part: &rubrics::PartReport) -> wire::Part {
    let summary = part.outcome.as_ref().map(OutcomeSummary::of);
    wire::Part {
        name: part.name.clone(),
        weight: part.weight,
        status: summary.as_ref().map(|s| s.status),
        score: summary.as_ref().and_then(|s| s.score),
        raw: summary.as_ref().and_then(|s| s.raw),
        reason: summary.and_then(|s| s.reason),
    }
}

fn member((index, member): (usize, &rubrics::Member)) -> wire::CandidateScore {
    let summary = OutcomeSummary::of(&member.outcome);
    let evidence = Evidence::of(&member.outcome);
    wire::CandidateScore {
        index,
        status: summary.status,
        score: summary.score,
        rank: member.rank,
        normalised: member.normalised,
        raw: summary.raw,
        label: summary.label,
        reason: summary.reason,
        candidate: evidence.candidate.as_ref().map(candidate),
        against: member.against.clone(),
        steps: steps(evidence),
        parts: parts(evidence),
        spans: spans(evidence),
        outputs: outputs(evidence),
    }
}
