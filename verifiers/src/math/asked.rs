//! Comparison of answers as their question asks for them.

use std::cmp::Ordering;

use maths::{Policy, Workspace};

use super::question::Question;
use super::{Math, ReadCandidate, ReadGold, report};
use crate::{Claim, UnitScore, Verdict, VerifyError};

impl Math {
    /// Compares one gold answer with what was read of a response, as the question asks for it.
    pub(super) fn asked(
        &self,
        gold: &ReadGold<'_>,
        candidate: &ReadCandidate<'_>,
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Result<Verdict, VerifyError> {
        let question = claim.question.filter(|_| self.config.question).map(Question::new);
        let Some(question) = question else {
            return self.pair(gold, candidate, self.config.policy, claim.explain, ws);
        };
        let policy = self.asked_policy(gold.text, &candidate.text, &question);
        if let Some(judged) = self.in_asked_unit(gold, candidate, (&question, policy), claim, ws) {
            return judged;
        }
        let judged = self.pair(gold, candidate, policy, claim.explain, ws);
        let is_right = is_right(&judged);
        if is_right && candidate.text != gold.text && question.gives(&candidate.text, gold.text) {
            return Ok(report::repeated(&candidate.text, claim.explain));
        }
        if !is_right && let Some(side) = wanted_side(&candidate.text, &question) {
            let side = self.read_candidate(side, ws);
            let of_side = self.pair(gold, &side, policy, claim.explain, ws);
            if self::is_right(&of_side) {
                return of_side;
            }
        }
        judged
    }

    /// Returns the policy with what the question decides of it.
    fn asked_policy(&self, gold: &str, candidate: &str, question: &Question<'_>) -> Policy {
        let mut policy = self.config.policy;
        let either = |signs: &[&str]| {
            signs.iter().any(|sign| gold.contains(sign) || candidate.contains(sign))
        };
        let holds_letter = |text: &str| text.bytes().any(|b| b.is_ascii_alphabetic());
        if gold.contains(['/', '\\']) && (gold.contains('/') || gold.contains("frac")) {
            policy.reduced |= question.wants_lowest_terms();
        }
        if gold.contains('(') && holds_letter(gold) {
            policy.factored |= question.wants_factors();
        }
        if either(&["%", "percent", "per cent", "Prozent"]) {
            policy.percent_as_number |= question.wants_percent();
        }
        if either(&["\\pi", "π"]) && either(&["°", "\\circ", "degree"]) {
            policy.degrees_as_radians |= question.wants_angle();
        }
        if holds_letter(gold) && holds_letter(candidate) && gold != candidate {
            policy.renamed_constants |= question.allows_renaming(gold, candidate);
        }
        policy
    }

    /// Compares a bare gold answer with an amount in a unit, as an amount in the unit that the question
    /// names: half an hour is right where 30 minutes are, and 30 hours are wrong.
    fn in_asked_unit(
        &self,
        gold: &ReadGold<'_>,
        candidate: &ReadCandidate<'_>,
        (question, policy): (&Question<'_>, Policy),
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Option<Result<Verdict, VerifyError>> {
        let has_unit = candidate.answer.as_ref().is_ok_and(maths::Answer::has_unit);
        if !has_unit || !gold.answer.is_value() || gold.answer.has_unit() {
            return None;
        }
        let text = format!("{} {}", gold.text, question.unit()?);
        let answer = maths::read_answer(&text, self.read_options(), ws).ok()?;
        let is_amount = answer.has_unit();
        let gold = ReadGold { text: &text, answer, label: None, has_content: true };
        let judged = self.pair(&gold, candidate, policy, claim.explain, ws);
        // A unit of another quantity may be a thing that is counted, or a currency for a mass.
        let is_other = matches!(&judged, Ok(verdict) if verdict.reason.code == "units_different");
        (is_amount && !is_other).then_some(judged)
    }
}

fn is_right(judged: &Result<Verdict, VerifyError>) -> bool {
    matches!(judged, Ok(verdict) if verdict.score == UnitScore::ONE)
}

/// Returns the side of an inequality that the question asks for: `3^{65}` of `3^{65} > 2^{100}` where the
/// larger one is wanted.
fn wanted_side<'t>(text: &'t str, question: &Question<'_>) -> Option<&'t str> {
    let signs = [
        (">", Ordering::Greater),
        ("\\gt", Ordering::Greater),
        ("<", Ordering::Less),
        ("\\lt", Ordering::Less),
    ];
    let (sign, relation) = signs.into_iter().find(|(sign, _)| text.contains(sign))?;
    let (left, right) = text.split_once(sign)?;
    let is_one = !right.contains(['<', '>', '=']) && !left.contains('=');
    let wanted = question.wants_extreme().filter(|_| is_one)?;
    Some(if wanted == relation { left } else { right })
}
