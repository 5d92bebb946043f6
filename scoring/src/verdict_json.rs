//! A verdict as files and pipes hold it.
//!
//! It is a result of the HTTP interface without the fields that differ from run to run or belong to a
//! request: `id` (the row has its own), `timing`, `cached`, `metadata`, the cached tokens of `usage`,
//! and `usage` where it is zero. The rest depends on the input and the scorer alone, so the same row
//! gives the same bytes on every machine, in process or from a server; a signature, which a run adds
//! where it has a key, is of its own time.

use openapi::{
    Candidate, CandidateScore, Digests, Part, Reason, ScoreResult, Signature, Status, StepScore,
    Usage,
};
use serde::Serialize;

/// A verdict as files and pipes hold it.
#[derive(Debug, Serialize)]
pub struct VerdictJson<'r> {
    status: Status,
    score: Option<f64>,
    raw: Option<f64>,
    label: Option<&'r str>,
    reason: Option<&'r Reason>,
    candidate: Option<&'r Candidate>,
    steps: Option<&'r [StepScore]>,
    parts: Option<&'r [Part]>,
    candidates: Option<&'r [CandidateScore]>,
    label_mass: Option<f64>,
    digests: &'r Digests,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Spent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'r Signature>,
}

/// Tokens of a verdict, independent of caches.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct Spent {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
}

impl<'r> From<&'r ScoreResult> for VerdictJson<'r> {
    fn from(result: &'r ScoreResult) -> Self {
        Self {
            status: result.status,
            score: result.score,
            raw: result.raw,
            label: result.label.as_deref(),
            reason: result.reason.as_ref(),
            candidate: result.candidate.as_ref(),
            steps: result.steps.as_deref(),
            parts: result.parts.as_deref(),
            candidates: result.candidates.as_deref(),
            label_mass: result.label_mass,
            digests: &result.digests,
            usage: Some(&result.usage).filter(|usage| **usage != Usage::default()).map(|usage| {
                Spent {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    total_tokens: usage.total_tokens,
                }
            }),
            signature: result.signature.as_deref(),
        }
    }
}
