//! `kind = "arithmetic"`: checks the equalities that the steps of a response state, as a process
//! reward.

use std::ops::Range;

use serde::Serialize;
use verifiers::arithmetic::{
    self, Arithmetic, ArithmeticConfig, ArithmeticStep, Equality, Rounding, RunOn, Splitter,
    StepLabel, StepReport,
};
use verifiers::math::steps as symbolic;
use verifiers::{Fuel, Reason, UnitScore, Verdict, VerifierId, VerifyError};

use crate::Input;
use crate::bounds::WorkBounds;
use crate::config::Section;
use crate::outcome::{CodePoints, EqualityReport, Evidence, Failure, Outcome, Score, StepScore};

/// Aggregation of checked steps. Steps without a checkable equality do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Aggregate {
    /// 0 if any checked step is wrong, else 1.
    #[default]
    Min,
    /// The share of checked steps that are right.
    Mean,
}

/// Checks and their aggregation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Checks {
    /// Whether equalities and rewrites with variables are checked too.
    symbolic: bool,
    aggregate: Aggregate,
}

/// Checks the equalities that the steps of a response state.
pub(crate) struct ArithmeticScorer {
    config: ArithmeticConfig,
    arithmetic: Arithmetic,
    checks: Checks,
    fuel: u64,
}

/// Name of the kind in configurations.
pub(crate) const NAME: &str = "arithmetic";

/// Purpose in one sentence, without its full stop.
pub(crate) const DESCRIPTION: &str = "checks every equality that a solution's steps state";

impl ArithmeticScorer {
    /// Reads the options of a section; errors become its problems. `fuel` bounds the work on one
    /// response.
    pub(crate) fn read(section: &Section<'_, '_>, fuel: u64) -> Self {
        let splitters = [
            ("lines", Splitter::Lines),
            ("blank_lines", Splitter::BlankLines),
            ("sentences", Splitter::Sentences),
            ("numbered", Splitter::Numbered),
        ];
        let aggregates = [("min", Aggregate::Min), ("mean", Aggregate::Mean)];
        let roundings = [
            ("exact", Rounding::Exact),
            ("nearest", Rounding::Nearest),
            ("nearest_or_truncated", Rounding::NearestOrTruncated),
        ];
        let run_ons = [("wrong", RunOn::Wrong), ("unchecked", RunOn::Unchecked)];
        let default = ArithmeticConfig::default();
        let config = ArithmeticConfig {
            splitter: section.word("splitter", &splitters).unwrap_or(default.splitter),
            decimals: section.word("decimals", &roundings).unwrap_or(default.decimals),
            whole_numbers: section
                .word("whole_numbers", &roundings)
                .unwrap_or(default.whole_numbers),
            run_on: section.word("run_on", &run_ons).unwrap_or(default.run_on),
        };
        let checks = Checks {
            symbolic: section.boolean("symbolic").unwrap_or(false),
            aggregate: section.word("aggregate", &aggregates).unwrap_or_default(),
        };
        Self { arithmetic: Arithmetic::new(config.clone()), config, checks, fuel }
    }

    /// Name and revision of the verifier.
    pub(crate) fn id(&self) -> VerifierId {
        self.arithmetic.id()
    }

    /// Everything that may change a score, for the digest.
    pub(crate) fn options(&self) -> impl Serialize + use<> {
        (self.config.clone(), self.checks, self.fuel)
    }

    /// Scores `response`, split by the client's steps if the input has them.
    pub(crate) fn evaluate(&self, input: &Input, response: &str, bounds: &WorkBounds) -> Outcome {
        let given = match &input.steps {
            None => None,
            Some(steps) => Some(
                arithmetic::locate(response, steps).ok_or_else(Failure::steps_not_in_response)?,
            ),
        };
        let mut fuel = Fuel::new(self.fuel);
        let report = self.arithmetic.check(response, given.as_deref(), &mut fuel);
        let mut steps = step_scores(&report, response);
        let mut exhausted = report.exhausted;
        if self.checks.symbolic {
            let spans: Vec<Range<usize>> =
                report.steps.iter().map(|step| step.span.clone()).collect();
            let symbolic = symbolic::check(response, &spans, &mut fuel);
            exhausted |= symbolic.exhausted;
            add(&symbolic, &report, response, &mut steps);
        }
        bounds.spend(fuel.used());
        let verdict = conclude(&steps, exhausted, self.checks.aggregate);
        let evidence = Evidence { steps: Some(steps), ..Evidence::default() };
        match verdict {
            Ok(verdict) => Ok(Score::from_verdict(verdict, evidence)),
            Err(error) => Err(Failure::from_error(error, evidence)),
        }
    }
}

fn conclude(
    steps: &[StepScore],
    exhausted: bool,
    aggregate: Aggregate,
) -> Result<Verdict, VerifyError> {
    let scores: Vec<f64> = steps.iter().filter_map(|step| step.score).collect();
    let is_wrong = |step: &StepScore| step.label == StepLabel::Wrong.as_str();
    if let Some(index) = steps.iter().position(is_wrong) {
        let detail = format!("the first wrong step is step {} (steps[{index}])", index + 1);
        let reason = Reason::with("step_wrong", detail);
        return Ok(Verdict::proven(aggregate.of(&scores), "wrong", reason));
    }
    if exhausted {
        // Else a text that is too costly to read would be a way around the check.
        let reason = Reason::with("fuel_spent", "the response was too costly to read to its end");
        return Ok(Verdict::presumed_wrong("too_costly", reason));
    }
    if scores.is_empty() {
        let detail = "no step states an equality that can be checked";
        return Err(VerifyError::Undecided(Reason::with("nothing_checked", detail)));
    }
    let reason = Reason::code("checked_steps_right");
    Ok(Verdict::proven(aggregate.of(&scores), "right", reason))
}

/// Adds the claims of a symbolic check to the steps, but for those that arithmetic has judged.
fn add(
    symbolic: &symbolic::StepReport,
    report: &StepReport,
    response: &str,
    steps: &mut [StepScore],
) {
    let mut points = CodePoints::new(response);
    for ((step, counted), judged) in symbolic.steps.iter().zip(&report.steps).zip(steps) {
        let is_judged = |claim: &symbolic::StepClaim| {
            counted.equalities.iter().any(|equality| {
                let overlaps =
                    equality.span.start < claim.span.end && claim.span.start < equality.span.end;
                overlaps && equality.check.label() != StepLabel::Unchecked
            })
        };
        let mut label = counted.label();
        for claim in step.claims.iter().filter(|claim| !is_judged(claim)) {
            label = combined(label, claim.check.label());
            judged.equalities.get_or_insert_default().push(EqualityReport {
                span: points.range(&claim.span),
                text: claim.formula.clone(),
                label: claim.check.label().as_str(),
                detail: claim.check.detail(),
            });
        }
        judged.label = label.as_str().into();
        judged.score = match label {
            StepLabel::Right => Some(1.0),
            StepLabel::Wrong => Some(0.0),
            StepLabel::Unchecked => None,
        };
    }
}

/// Combines labels of a step: wrong with one wrong claim, right with a right claim and no wrong
/// one.
fn combined(own: StepLabel, other: StepLabel) -> StepLabel {
    match (own, other) {
        (StepLabel::Wrong, _) | (_, StepLabel::Wrong) => StepLabel::Wrong,
        (StepLabel::Right, _) | (_, StepLabel::Right) => StepLabel::Right,
        (StepLabel::Unchecked, StepLabel::Unchecked) => StepLabel::Unchecked,
    }
}

impl Aggregate {
    /// The number that `scores` make; they are not empty and lie in [0, 1].
    fn of(self, scores: &[f64]) -> UnitScore {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 steps")]
        let value = match self {
            Self::Min => scores.iter().copied().fold(1.0, f64::min),
            Self::Mean => scores.iter().sum::<f64>() / scores.len() as f64,
        };
        UnitScore::new(value).expect("the least and the mean of unit scores are unit scores")
    }
}

fn step_scores(report: &StepReport, response: &str) -> Vec<StepScore> {
    let mut points = CodePoints::new(response);
    let steps = report.steps.iter();
    steps.map(|step| step_score(step, response, &mut points)).collect()
}

fn step_score(step: &ArithmeticStep, response: &str, points: &mut CodePoints<'_>) -> StepScore {
    let span = points.range(&step.span);
    let equalities = step.equalities.iter();
    let equalities = equalities.map(|equality| report(equality, response, points)).collect();
    StepScore {
        span,
        score: step.score(),
        raw: None,
        reward: None,
        label: step.label().as_str().into(),
        critique: None,
        equalities: Some(equalities),
    }
}

fn report(equality: &Equality, response: &str, points: &mut CodePoints<'_>) -> EqualityReport {
    EqualityReport {
        span: points.range(&equality.span),
        text: response[equality.span.clone()].to_owned(),
        label: equality.check.label().as_str(),
        detail: equality.check.detail(),
    }
}

#[cfg(test)]
mod tests;
