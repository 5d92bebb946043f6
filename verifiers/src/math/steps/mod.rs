//! A symbolic process scorer: finds steps of a solution with false statements.
//!
//! The formulas of each step are found, split at their relations, read completely or not at all,
//! and compared exactly. A false alarm trains a model against right steps, so that only a proven
//! difference is wrong, and only if the formula certainly claims an equality.
//!
//! # Claims
//! - An equality without variables: `2(3 + 4) = 15`.
//! - An equality with variables on both sides, the same ones, where the chain has already rewritten
//!   something (`2(x+1) = 2x + 2 = 2x + 3`), or the step says that it expands, factors or
//!   simplifies. Any other may be an equation to be solved, and is right or unchecked.
//! - The solutions of a polynomial equation in one variable, after an arrow or a word such as "so":
//!   `x^2 = 9 \Rightarrow x = \pm 3`. A value that does not solve it is wrong; a root that is left
//!   out makes the claim partial, since the context may exclude it.
//!
//! A lone symbol or `f(x)` before the first sign is defined and claims nothing.

mod find;
mod judge;
mod report;

use std::ops::Range;

pub use self::report::{ClaimCheck, DerivationStep, StepClaim, StepReport, Why};

use self::judge::Setting;
use crate::arithmetic::StepLabel;
use crate::{Exhausted, Fuel};
use maths::Workspace;

/// Words that draw a conclusion from the formula before them.
const CONCLUSIONS: [&str; 10] = [
    "so",
    "thus",
    "hence",
    "therefore",
    "then",
    "gives",
    "we get",
    "which gives",
    "implies",
    "this means",
];

/// Checks the formulas in the steps of `solution`, which are byte ranges of it.
///
/// A range that does not lie in `solution`, or splits a character, gives a step without claims. The
/// rest is unchecked when the fuel runs out.
pub fn check(solution: &str, spans: &[Range<usize>], fuel: &mut Fuel) -> StepReport {
    let mut exhausted = false;
    let mut steps = Vec::with_capacity(spans.len());
    for (index, span) in spans.iter().enumerate() {
        let text = solution.get(span.clone()).unwrap_or_default();
        let mut claims = Vec::new();
        if !exhausted {
            exhausted = claims_of(text, span.start, &mut claims, fuel).is_err();
        }
        steps.push(DerivationStep { index, span: span.clone(), claims });
    }
    let first_wrong = steps.iter().position(|step| step.label() == StepLabel::Wrong);
    StepReport { steps, first_wrong, exhausted }
}

/// The claims of one step, whose text starts at `offset`.
fn claims_of(
    text: &str,
    offset: usize,
    claims: &mut Vec<StepClaim>,
    fuel: &mut Fuel,
) -> Result<(), Exhausted> {
    fuel.spend(1 + text.len() as u64 / 8)?;
    let setting = Setting::of(text);
    let mut ws = Workspace::new(fuel);
    let mut premise: Option<Range<usize>> = None;
    for formula in find::formulas(text) {
        for part in find::statements(&text[formula.clone()]) {
            let part = formula.start + part.start..formula.start + part.end;
            let statement = &text[part.clone()];
            if let Some(premise) = premise.take()
                && is_conclusion(&text[premise.end..part.start])
                && let Some(check) =
                    judge::implication(&text[premise.clone()], statement, setting, &mut ws)?
            {
                claims.push(StepClaim {
                    span: offset + premise.start..offset + part.end,
                    formula: format!("{} => {}", text[premise].trim(), statement.trim()),
                    check,
                });
            } else {
                for (link, check) in judge::links(statement, setting, &mut ws)? {
                    claims.push(StepClaim {
                        span: offset + part.start + link.start..offset + part.start + link.end,
                        formula: statement[link].trim().to_owned(),
                        check,
                    });
                }
            }
            premise = Some(part);
        }
    }
    Ok(())
}

/// Returns whether what stands between two formulas draws a conclusion: an arrow within one
/// formula, or a few words between two.
fn is_conclusion(between: &str) -> bool {
    let words =
        between.trim_matches(|c: char| !c.is_alphanumeric() && c != '\\').to_ascii_lowercase();
    let words = words.trim_end_matches([':', ',', ' ']);
    CONCLUSIONS.contains(&words) || words.starts_with('\\') && words.len() < 20
}

#[cfg(test)]
mod tests;
