//! Other readings of texts that have two.

use maths::{ReadOptions, Workspace};

use super::decimals::{has_decimal_comma, holds_decimal};
use super::shorter::{molar, with_blank};
use super::{ComparedAnswers, Math, ReadGold};
use crate::{UnitScore, Verdict, VerifyError};

impl Math {
    /// Compares other readings of texts that have two, as the types of both sides say: the unit of `150km` where the
    /// other side has one, the decimal commas of `1,5`, and the decimal after an exact value where the gold answer is a decimal. Returns a verdict
    /// where that is the answer.
    pub(super) fn otherwise(
        &self,
        gold: &ReadGold<'_>,
        pair: ComparedAnswers<'_>,
        explain: bool,
        ws: &mut Workspace<'_>,
    ) -> Option<Result<Verdict, VerifyError>> {
        let ComparedAnswers { gold: own, candidate: other, texts, .. } = pair;
        let with_comma = ReadOptions { decimal_comma: true, ..self.read_options() };
        let comma = |text: &str| self.config.policy.repair && has_decimal_comma(text);
        let (gold_again, candidate_again);
        let both_commas = || comma(texts.candidate) && comma(gold.text);
        let pair = if own.is_list() && other.is_list() && both_commas() {
            candidate_again = maths::read_answer(texts.candidate, with_comma, ws).ok()?;
            gold_again = maths::read_answer(gold.text, with_comma, ws).ok()?;
            ComparedAnswers { gold: &gold_again, candidate: &candidate_again, ..pair }
        } else if own.has_unit()
            && !other.has_unit()
            && let Some(apart) = with_blank(texts.candidate).or_else(|| molar(texts.candidate))
        {
            candidate_again = maths::read_answer(&apart, self.read_options(), ws).ok()?;
            ComparedAnswers { candidate: &candidate_again, ..pair }
        } else if other.has_unit()
            && !own.has_unit()
            && let Some(apart) = with_blank(gold.text).or_else(|| molar(gold.text))
        {
            gold_again = maths::read_answer(&apart, self.read_options(), ws).ok()?;
            ComparedAnswers { gold: &gold_again, ..pair }
        } else if other.is_list() && own.is_value() && comma(texts.candidate) {
            candidate_again = maths::read_answer(texts.candidate, with_comma, ws).ok()?;
            candidate_again.is_value().then_some(())?;
            ComparedAnswers { candidate: &candidate_again, ..pair }
        } else if own.is_list() && other.is_value() && comma(gold.text) {
            gold_again = maths::read_answer(gold.text, with_comma, ws).ok()?;
            gold_again.is_value().then_some(())?;
            ComparedAnswers { gold: &gold_again, ..pair }
        } else if own.is_decimal() && other.drops_approximation() {
            let signs = ["≈", "\\approx"];
            let (before, after) =
                signs.iter().find_map(|sign| texts.candidate.rsplit_once(sign))?;
            // `1.10 - 0.059 ≈ 1.04` rounds what was rounded; `2/3 ≈ 0.67` is exact before the sign.
            if !holds_decimal(before) && other.is_rational(ws).ok()? {
                return None;
            }
            candidate_again = maths::read_answer(after, self.read_options(), ws).ok()?;
            ComparedAnswers { candidate: &candidate_again, ..pair }
        } else {
            return None;
        };
        let verdict = self.compare(pair, explain, ws);
        matches!(&verdict, Ok(verdict) if verdict.score == UnitScore::ONE).then_some(verdict)
    }
}
