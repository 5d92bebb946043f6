//! Mathematical answers: does the candidate mean the same as the gold answer?
//!
//! Both sides are read once, each as a whole or not at all, and then compared. What is read today
//! is single exact numbers: integers of any size, decimals, fractions, mixed numbers, percentages,
//! powers of ten and amounts of money, with or without a unit and a variable (`x = 5`). Anything
//! else is unread: on the gold side an error, on the candidate's side a presumed 0 that a cascade
//! may hand on.
//!
//! Comparison is asymmetric: see [`Math`].

mod algebra;
mod answer;
mod calculus;
mod calendar;
mod cursor;
mod enclosure;
mod expr;
mod finding;
mod form;
mod lexer;
mod measure;
mod numerals;
mod read;
mod reader;
mod report;
mod steps;
mod symbols;
mod tolerance;
mod unit;
mod words;

use serde::Serialize;

use self::answer::Answer;
use self::cursor::Obstacle;
use crate::{
    Claim, Fuel, Gold, Reason, Standing, UnitScore, Verdict, Verifier, VerifierId, VerifyError,
};

pub use self::tolerance::{BadBound, Bound, Tolerance};

/// What a [`Math`] verifier may be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MathConfig {
    /// How far a candidate may lie from the gold value. Exact by default.
    pub tolerance: Tolerance,
}

/// Compares answers by exact arithmetic.
///
/// - Values are equal when they are the same fraction, or within the declared tolerance.
///   `10%` is `0.1` and never `10`.
/// - A unit on one side only is accepted, and the reason says so. Two different units are a
///   presumed 0, because nothing is converted. A word that touches its number (`3m`) counts as a
///   unit only where the gold answer has the same one; else the candidate is unread.
/// - `x = 5` is `5`; it differs from the gold answer `y = 5`.
/// - Of several gold answers one must be equal. Where none is and one of them cannot be read, the
///   reference is at fault: the unread one might have matched.
/// - Gold answers may use half of the fuel at most, so that their cost is never blamed on the
///   candidate. Texts of more than 64 KiB are not read.
#[derive(Debug, Clone, Default)]
pub struct Math {
    config: MathConfig,
}

/// A gold answer that was read.
#[derive(Debug)]
struct ReadGold<'a> {
    text: &'a str,
    answer: Answer,
}

impl Math {
    /// A verifier for `config`.
    pub fn new(config: MathConfig) -> Self {
        Self { config }
    }

    /// The best verdict that any of `golds` gives the candidate; they are at least one.
    fn judge(&self, golds: &[ReadGold<'_>], claim: &Claim<'_>, fuel: &mut Fuel) -> Verdict {
        let Some(text) = claim
            .candidate
            .text()
            .filter(|text| !text.trim().is_empty())
        else {
            return Verdict::no_answer();
        };
        let candidate = match reader::read(text, fuel) {
            Ok(candidate) => candidate,
            Err(obstacle) => return report::refused(obstacle, text, claim.explain),
        };
        let mut best: Option<Verdict> = None;
        for gold in golds {
            let tolerance = &self.config.tolerance;
            let verdict = match answer::compare(&gold.answer, &candidate, tolerance, fuel) {
                Ok(comparison) => {
                    let detail = || report::detail(comparison, gold, &candidate, text);
                    report::compared(comparison, claim.explain, detail)
                }
                Err(exhausted) => report::refused(exhausted.into(), text, claim.explain),
            };
            if verdict.score == UnitScore::ONE {
                return verdict;
            }
            // What no rule could tell outweighs a proof against another gold answer.
            let is_better = best.is_none() || verdict.standing == Standing::Presumed;
            best = if is_better { Some(verdict) } else { best };
        }
        best.expect("there is at least one gold answer")
    }

    /// Reads one gold answer. `entry` is its place in a list of several, and `spent` the fuel that
    /// was used before the first of them.
    fn read_gold<'a>(
        text: &'a str,
        entry: Option<usize>,
        spent: u64,
        fuel: &mut Fuel,
    ) -> Result<ReadGold<'a>, VerifyError> {
        let answer = reader::read(text, fuel).and_then(|answer| {
            if answer.may_be_expression() {
                return Err(Obstacle::Unread);
            }
            // As much again must be left for the candidate.
            fuel.clone().spend(fuel.used() - spent)?;
            Ok(answer)
        });
        match answer {
            Ok(answer) => Ok(ReadGold { text, answer }),
            Err(obstacle) => Err(report::bad_reference(obstacle, text, entry)),
        }
    }

    /// Judges against a list of accepted answers.
    fn any_of(
        &self,
        texts: &[String],
        claim: &Claim<'_>,
        fuel: &mut Fuel,
    ) -> Result<Verdict, VerifyError> {
        let mut golds = Vec::with_capacity(texts.len());
        let mut first_error = None;
        let spent = fuel.used();
        for (entry, text) in texts.iter().enumerate() {
            match Self::read_gold(text, Some(entry), spent, fuel) {
                Ok(gold) => golds.push(gold),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match (golds.is_empty(), first_error) {
            (true, None) => Err(VerifyError::BadReference(Reason::with(
                "reference_empty",
                "the list of accepted answers is empty",
            ))),
            (true, Some(error)) => Err(error),
            (false, None) => Ok(self.judge(&golds, claim, fuel)),
            (false, Some(error)) => {
                let verdict = self.judge(&golds, claim, fuel);
                let is_equal = verdict.score == UnitScore::ONE;
                is_equal.then_some(verdict).ok_or(error)
            }
        }
    }
}

impl Verifier for Math {
    fn id(&self) -> VerifierId {
        VerifierId {
            name: "math",
            revision: 1,
        }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        match claim.gold {
            Gold::Missing => Err(VerifyError::missing_reference()),
            Gold::Text(text) if text.trim().is_empty() => Err(VerifyError::missing_reference()),
            Gold::Text(text) => {
                let gold = Self::read_gold(text, None, fuel.used(), fuel)?;
                Ok(self.judge(&[gold], claim, fuel))
            }
            Gold::AnyOf(texts) => self.any_of(texts, claim, fuel),
            Gold::Object(_) => Err(VerifyError::BadReference(Reason::with(
                "reference_shape",
                "this scorer takes a text or a list of texts, not an object",
            ))),
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
