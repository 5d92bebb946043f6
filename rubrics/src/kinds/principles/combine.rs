//! One score of the scores of several principles.

use serde::Serialize;
use verifiers::Reason;

use crate::outcome::{Evidence, Failure, Outcome, PartReport, Score};

/// Aggregation of the principles' scores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Combine {
    /// Their weighted mean.
    #[default]
    Mean,
    /// The least of them.
    Min,
    /// The product of each to the power of its weight.
    Product,
}

impl Combine {
    /// One outcome of those of the principles. It exists only where each of them has a score.
    pub(super) fn whole(self, parts: Vec<PartReport>, mut evidence: Evidence) -> Outcome {
        let mut measured = Vec::with_capacity(parts.len());
        for part in &parts {
            match part.outcome.as_ref().expect("every principle was judged") {
                Ok(scored) => measured.push((scored.clone(), part.weight)),
                Err(failure) => {
                    let detail = failure.reason.detail.as_deref().unwrap_or_default();
                    let detail = format!("principle '{}': {detail}", part.name);
                    let reason = Reason::with(failure.reason.code, detail);
                    let kind = failure.kind;
                    evidence.parts = Some(parts);
                    return Err(Failure::new(kind, reason).with_evidence(evidence));
                }
            }
        }
        evidence.parts = Some(parts);
        if let [(only, _)] = &mut measured[..] {
            let only = only.clone();
            return Ok(Score { evidence, ..only });
        }
        let scores = measured.iter().map(|(scored, weight)| (scored.score, *weight));
        let code = match self {
            Self::Mean => "principles_mean",
            Self::Min => "principles_min",
            Self::Product => "principles_product",
        };
        Ok(Score { evidence, ..Score::proven(self.of(scores.collect()), Reason::code(code)) })
    }

    /// Combines scores with their weights.
    fn of(self, scores: Vec<(f64, f64)>) -> f64 {
        let scores = scores.into_iter();
        match self {
            Self::Mean => {
                let weights: f64 = scores.clone().map(|(_, weight)| weight).sum();
                scores.map(|(score, weight)| score * weight).sum::<f64>() / weights
            }
            Self::Min => scores.map(|(score, _)| score).fold(1.0, f64::min),
            Self::Product => scores.map(|(score, weight)| score.powf(weight)).product(),
        }
    }
}
