//! Pipelines: one number from the outcomes of other scorers, as pure functions.
//!
//! A pipeline never runs anything. [`Pipeline::next`] names the part to evaluate next, given the
//! outcomes so far, and [`Pipeline::combine`] makes the outcome once no part is left, so the same
//! logic serves verifiers and models. [`spec`] holds the configuration and the value of a part,
//! [`combined`] the formulas.

mod combined;
mod spec;
mod value;

use verifiers::Reason;

use crate::combine::group::advantages;
use crate::group;
use crate::outcome::{Evidence, ExtractedAnswer, Failure, FailureKind, Outcome, PartReport, Score};

use combined::decides;
pub use spec::{Combine, OnError, PartSpec, Pipeline, Role};
pub use value::{Adjust, Measured};

impl Pipeline {
    /// Whether the outcome of a part decides if others are evaluated. If not, all parts may be
    /// evaluated concurrently.
    pub fn is_sequential(&self) -> bool {
        match self.combine {
            Combine::WeightedSum
            | Combine::Mean
            | Combine::Min
            | Combine::Product
            | Combine::Uwo { .. } => false,
            Combine::R1 | Combine::Gate | Combine::GRa | Combine::Cascade => true,
        }
    }

    /// The next part to evaluate, given the outcomes so far (one slot for each part); `None` if the
    /// pipeline can be combined.
    pub fn next(&self, outcomes: &[Option<Outcome>]) -> Option<usize> {
        let is_open = |index: &usize| outcomes[*index].is_none() && self.matters(*index, outcomes);
        let open = (0..outcomes.len()).find(is_open)?;
        let evaluated = || self.parts.iter().zip(&outcomes[..open]);
        let fatal = self.fatal(outcomes).is_some();
        let closed = match self.combine {
            Combine::WeightedSum
            | Combine::Mean
            | Combine::Min
            | Combine::Product
            | Combine::Uwo { .. }
            | Combine::R1 => false,
            Combine::Gate | Combine::GRa => {
                evaluated().any(|(part, outcome)| !self.opens(part, outcome.as_ref()))
            }
            Combine::Cascade => evaluated().any(|(_, outcome)| decides(outcome.as_ref())),
        };
        (!fatal && !closed).then_some(open)
    }

    /// Combines the outcomes of the parts. Call it once [`Self::next`] returns `None`.
    pub fn combine(&self, outcomes: Vec<Option<Outcome>>) -> Outcome {
        let whole = match self.fatal(&outcomes) {
            Some(failure) => Err(failure),
            None => self.combined(&outcomes),
        };
        let evidence = Evidence {
            trace: group::trace(outcomes.iter().flatten()),
            candidate: first_candidate(&outcomes),
            parts: Some(self.report(outcomes)),
            ..Evidence::default()
        };
        match whole {
            Ok(scored) => Ok(Score { evidence, ..scored }),
            Err(failure) => Err(Failure { evidence, ..failure }),
        }
    }

    /// Says in the reason of a combined score what the parts gave. The reason of a cascade is that of the
    /// part that decided.
    pub fn explained(&self, mut scored: Score) -> Score {
        if self.combine != Combine::Cascade && scored.reason.detail.is_none() {
            let parts = scored.evidence.parts.iter().flatten().map(explained_part);
            scored.reason.detail = Some(parts.collect::<Vec<_>>().join("; ").into());
        }
        scored
    }

    /// Adds the scores of a group's responses relative to each other, if `normalise` is configured.
    /// A group with a response without a score is a failure already: scores relative to a part of
    /// the group would be other numbers.
    pub(crate) fn normalise(&self, group: Outcome) -> Outcome {
        let mut scored = group?;
        if let (Some(how), Some(members)) = (self.normalise, &mut scored.evidence.members) {
            let scores: Vec<f64> = members
                .iter()
                .flat_map(|member| &member.outcome)
                .map(|scored| scored.score)
                .collect();
            let normalised = advantages(&scores, how).map_err(spec::no_combination)?;
            for (member, value) in members.iter_mut().zip(normalised) {
                member.normalised = Some(value);
            }
        }
        Ok(scored)
    }

    /// Whether a part can still change the outcome: in R1 the consistency of a wrong answer counts
    /// for nothing.
    fn matters(&self, index: usize, outcomes: &[Option<Outcome>]) -> bool {
        if self.combine != Combine::R1 || self.parts[index].role != Some(Role::Consistency) {
            return true;
        }
        let is_wrong = |(part, outcome): (&PartSpec, &Option<Outcome>)| {
            let counted = outcome.as_ref().and_then(|outcome| part.counted(outcome));
            part.role == Some(Role::Accuracy) && counted == Some(0.0)
        };
        !self.parts.iter().zip(outcomes).any(is_wrong)
    }

    /// The failure of a part that ends the pipeline; `None` if there is none. In a cascade an
    /// abstention moves on to the next part. A transient failure always ends it: with a part left out
    /// or counted as 0, the score would depend on the machine's load.
    fn fatal(&self, outcomes: &[Option<Outcome>]) -> Option<Failure> {
        let fatal = |(part, outcome): (&PartSpec, &Option<Outcome>)| {
            let failure = part.value(outcome.as_ref()?).err()?;
            let hands_on = self.combine == Combine::Cascade && failure.kind == FailureKind::Abstain;
            // That of a model that calls tools without end is not the machine's.
            let transient = !failure.kind.is_lasting() && failure.reason.code != "turn_limit";
            let ends = transient || (part.on_error == OnError::Fail && !hands_on);
            ends.then(|| part_failure(part, &failure))
        };
        self.parts.iter().zip(outcomes).find_map(fatal)
    }

    /// Whether the part of a gate lets the next one be evaluated.
    fn opens(&self, part: &PartSpec, outcome: Option<&Outcome>) -> bool {
        let Some(outcome) = outcome else {
            return false;
        };
        let Some(threshold) = part.threshold else {
            return true;
        };
        match part.counted(outcome) {
            Some(value) if self.combine == Combine::GRa => value > threshold,
            Some(value) => value >= threshold,
            None => part.on_error == OnError::Skip,
        }
    }

    fn report(&self, outcomes: Vec<Option<Outcome>>) -> Vec<PartReport> {
        let reports = self.parts.iter().zip(outcomes).map(|(part, outcome)| PartReport {
            name: part.name.clone(),
            weight: part.weight,
            outcome,
        });
        reports.collect()
    }
}

/// A part, its score or status, and the reason.
fn explained_part(part: &PartReport) -> String {
    let PartReport { name, weight, outcome } = part;
    let weight = if (*weight - 1.0).abs() < f64::EPSILON {
        String::new()
    } else {
        format!(", weight {weight}")
    };
    match outcome {
        None => format!("'{name}' was not evaluated"),
        Some(Ok(Score { score, reason, .. })) => {
            // Four digits after the point are enough for people.
            let score = (score * 1e4).round() / 1e4;
            format!("'{name}' {score} ({}{weight})", reason.code)
        }
        Some(Err(failure)) => format!("'{name}' has no score ({}{weight})", failure.reason.code),
    }
}

/// The answer that the first part with an answer extracted.
fn first_candidate(outcomes: &[Option<Outcome>]) -> Option<ExtractedAnswer> {
    outcomes.iter().flatten().find_map(|outcome| Evidence::of(outcome).candidate.clone())
}

fn part_failure(part: &PartSpec, failure: &Failure) -> Failure {
    let code = failure.reason.code;
    let detail = failure.reason.detail.as_deref().unwrap_or(code);
    let detail = format!("part '{}': {detail}", part.name);
    Failure::new(failure.kind, Reason::with(code, detail))
}

#[cfg(test)]
mod tests;
