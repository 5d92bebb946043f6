//! The claims of a signature about a result, and the bytes that are signed.

use std::borrow::Cow;

use openapi::{CandidateScore, Digests, Part, ScoreResult, Signature, Status, StepScore};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::frame::Frames;
use crate::convert::status_name;

/// Begins every signed message. It moves when the message changes.
const DOMAIN: &str = "tribunal-verdict-v1";

/// The part of a result that is signed, and its signature. Fields beside these are passed over.
#[derive(Debug, Deserialize)]
pub struct Claims<'a> {
    status: Cow<'a, str>,
    score: Option<Exact>,
    raw: Option<Exact>,
    label: Option<Cow<'a, str>>,
    steps: Option<Vec<StepClaims<'a>>>,
    parts: Option<Vec<PartClaims<'a>>>,
    candidates: Option<Vec<CandidateClaims<'a>>>,
    pub(super) digests: Digests,
    pub(super) signature: Option<Signature>,
}

/// The response of a group.
#[derive(Debug, Deserialize)]
struct CandidateClaims<'a> {
    status: Cow<'a, str>,
    score: Option<Exact>,
    raw: Option<Exact>,
    label: Option<Cow<'a, str>>,
    steps: Option<Vec<StepClaims<'a>>>,
    parts: Option<Vec<PartClaims<'a>>>,
}

#[derive(Debug, Deserialize)]
struct StepClaims<'a> {
    score: Option<Exact>,
    raw: Option<Exact>,
    label: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
struct PartClaims<'a> {
    name: Cow<'a, str>,
    status: Option<Cow<'a, str>>,
    score: Option<Exact>,
    raw: Option<Exact>,
}

/// The number that a JSON text names, to the last bit. `serde_json` may miss it by one unit in the
/// last place without its feature `float_roundtrip`, and a signature is over all bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Exact(f64);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let number = text.get().parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Exact).ok_or_else(|| serde::de::Error::custom("expected a finite number"))
    }
}

impl<'a> From<&'a ScoreResult> for Claims<'a> {
    fn from(result: &'a ScoreResult) -> Self {
        Self {
            status: status_name(result.status).into(),
            score: result.score.map(Exact),
            raw: result.raw.map(Exact),
            label: result.label.as_deref().map(Cow::from),
            steps: steps(result.steps.as_deref()),
            parts: parts(result.parts.as_deref()),
            candidates: result.candidates.as_ref().map(|all| all.iter().map(candidate).collect()),
            digests: result.digests.clone(),
            signature: None,
        }
    }
}

fn candidate(of: &CandidateScore) -> CandidateClaims<'_> {
    CandidateClaims {
        status: status_name(of.status).into(),
        score: of.score.map(Exact),
        raw: of.raw.map(Exact),
        label: of.label.as_deref().map(Cow::from),
        steps: steps(of.steps.as_deref()),
        parts: parts(of.parts.as_deref()),
    }
}

fn steps(of: Option<&[StepScore]>) -> Option<Vec<StepClaims<'_>>> {
    let step = |step: &'_ StepScore| StepClaims {
        score: step.score.map(Exact),
        raw: step.raw.map(Exact),
        label: Cow::Owned(step.label.clone()),
    };
    of.map(|all| all.iter().map(step).collect())
}

fn parts(of: Option<&[Part]>) -> Option<Vec<PartClaims<'_>>> {
    let part = |part: &'_ Part| PartClaims {
        name: Cow::Owned(part.name.clone()),
        status: part.status.map(|status| status_name(status).into()),
        score: part.score.map(Exact),
        raw: part.raw.map(Exact),
    };
    of.map(|all| all.iter().map(part).collect())
}

impl Claims<'_> {
    /// Whether a number is exactly where a measurement succeeded.
    pub(super) fn is_consistent(&self) -> bool {
        let fits = |status: &str, score: Option<Exact>| {
            (status == status_name(Status::Ok)) == score.is_some()
        };
        let candidates = self.candidates.iter().flatten();
        fits(&self.status, self.score)
            && candidates.into_iter().all(|one| fits(&one.status, one.score))
    }

    /// Returns the signed message.
    pub(super) fn message(&self, kid: &str, created: u64, input: &str) -> Vec<u8> {
        let mut out = Frames::new(DOMAIN);
        out.text(Some(kid));
        out.text(Some(&created.to_string()));
        out.text(Some(input));
        let Digests { scorer, model, adapter, prompt, revisions } = &self.digests;
        out.text(Some(scorer));
        for digest in [model, adapter, prompt] {
            out.text(digest.as_deref());
        }
        let revisions = revisions.map(|[oldest, newest]| format!("{oldest},{newest}"));
        out.text(revisions.as_deref());
        out.text(Some(&self.status));
        values(&mut out, self.score, self.raw, self.label.as_deref());
        details(&mut out, self.steps.as_deref(), self.parts.as_deref());
        out.list(self.candidates.as_deref(), |out, one| {
            out.text(Some(&one.status));
            values(out, one.score, one.raw, one.label.as_deref());
            details(out, one.steps.as_deref(), one.parts.as_deref());
        });
        out.bytes().to_vec()
    }
}

fn values(out: &mut Frames, score: Option<Exact>, raw: Option<Exact>, label: Option<&str>) {
    out.number(score.map(|score| score.0));
    out.number(raw.map(|raw| raw.0));
    out.text(label);
}

fn details(out: &mut Frames, steps: Option<&[StepClaims<'_>]>, parts: Option<&[PartClaims<'_>]>) {
    out.list(steps, |out, step| values(out, step.score, step.raw, Some(&step.label)));
    out.list(parts, |out, part| {
        out.text(Some(&part.name));
        out.text(part.status.as_deref());
        values(out, part.score, part.raw, None);
    });
}
