//! Gold answers whose members have their places: tuples, vectors and matrices.

use super::{Comparer, Comparison, bare, mismatch, region, subject, vector};
use crate::answer::{Answer, AnswerForm, Brackets, Note};
use crate::expr::Expr;
use crate::fuel::Exhausted;

impl Comparer<'_, '_> {
    pub(super) fn for_tuple(
        &mut self,
        gold: &Answer,
        (brackets, members): (Brackets, &[Answer]),
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        let outcome = self.tuple(gold, (brackets, members), candidate)?;
        let is_vector = brackets == Brackets::Angle || !gold.subjects.is_empty();
        self.same_line_or(outcome, is_vector, gold, candidate)
    }

    fn tuple(
        &mut self,
        gold: &Answer,
        (brackets, members): (Brackets, &[Answer]),
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        match &candidate.form {
            AnswerForm::Tuple(others_in, others) => {
                // A pair may be an interval, where brackets mean something.
                let is_pair = members.len() == 2 && others.len() == 2;
                let may_differ = |b| b == Brackets::Angle;
                if is_pair
                    && brackets != *others_in
                    && !may_differ(brackets)
                    && !may_differ(*others_in)
                {
                    return Ok(Comparison::different("brackets_different"));
                }
                self.in_order(members, others)
            }
            AnswerForm::Matrix(rows) => match (vector::rows(&gold.form), vector::entries(rows)) {
                (Some(own), _) => self.for_matrix(&own, candidate),
                (None, Some(entries))
                    if self.policy.column_as_tuple
                        || brackets == Brackets::Angle && vector::is_column(rows) =>
                {
                    self.in_order(members, &entries)
                }
                (None, _) => Ok(mismatch()),
            },
            // `x = y = z = 1`
            AnswerForm::Value(_) if subject::are_letters(self.ws, candidate, members.len()) => {
                let other = Answer { subjects: Vec::new(), ..candidate.clone() };
                self.in_order(members, &vec![other; members.len()])
            }
            AnswerForm::Value(value) => match self.components(value, members.len())? {
                Some(components) => self.in_order(members, &components),
                None => Ok(mismatch()),
            },
            AnswerForm::Region(region) => match region::of_pair(brackets, members) {
                Some(interval) => self.regions(&interval, region),
                None => Ok(mismatch()),
            },
            AnswerForm::Inequality(chain) => match region::of_pair(brackets, members) {
                Some(interval) => self.interval_by_inequality(&interval, chain),
                None => Ok(mismatch()),
            },
            // `100 \pm 4` is the interval from 96 to 104.
            AnswerForm::List(others) if is_symmetric(members, candidate, others) => {
                let ends = [others[1].clone(), others[0].clone()];
                let outcome = self.in_order(members, &ends)?;
                Ok(if outcome.is_equal() { outcome } else { mismatch() })
            }
            // `x = 1, y = 2` equals `(1, 2)`; `1, 2` is ambiguous.
            AnswerForm::List(others) => match subject::assigned(self.ws, &gold.subjects, others) {
                Some(others) => self.in_order(members, &others),
                None => Ok(mismatch()),
            },
            AnswerForm::Equation(..)
            | AnswerForm::Set(_)
            | AnswerForm::Piecewise(_)
            | AnswerForm::Congruence { .. }
            | AnswerForm::Numeral(_)
            | AnswerForm::Ratio(_)
            | AnswerForm::Date(_)
            | AnswerForm::Clock(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => Ok(mismatch()),
        }
    }

    pub(super) fn for_matrix(
        &mut self,
        rows: &[Vec<Expr>],
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Matrix(others) = &candidate.form {
            if rows.len() != others.len() || rows[0].len() != others[0].len() {
                return Ok(Comparison::different("shape_different"));
            }
            let flat = |rows: &[Vec<Expr>]| -> Vec<Answer> {
                rows.iter().flatten().map(|entry| bare(*entry)).collect()
            };
            return self.in_order(&flat(rows), &flat(others));
        }
        if let Some(others) = vector::rows(&candidate.form) {
            let matrix = Answer { form: AnswerForm::Matrix(others), ..candidate.clone() };
            return self.for_matrix(rows, &matrix);
        }
        let Some(entries) = vector::entries(rows) else {
            return Ok(mismatch());
        };
        if let AnswerForm::Value(value) = &candidate.form
            && let Some(components) = self.components(value, entries.len())?
        {
            return self.in_order(&entries, &components);
        }
        if let AnswerForm::Tuple(brackets, members) = &candidate.form
            && (self.policy.column_as_tuple
                || *brackets == Brackets::Angle && vector::is_column(rows))
        {
            return self.in_order(&entries, members);
        }
        Ok(mismatch())
    }
}

/// Returns whether a candidate is `a \pm b`, which may stand for a pair.
fn is_symmetric(members: &[Answer], candidate: &Answer, others: &[Answer]) -> bool {
    candidate.notes.contains(&Note::PlusMinusExpanded)
        && members.len() == 2
        && others.len() == 2
        && others.iter().chain([candidate]).all(|other| other.subjects.is_empty())
}
