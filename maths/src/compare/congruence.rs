//! Residue classes: `x ≡ 3 (mod 7)`.

use std::collections::BTreeSet;

use dashu::base::{Gcd as _, RemEuclid as _};
use dashu::integer::{IBig, UBig};

use super::{Comparer, Comparison, bare, mismatch};
use crate::algebra;
use crate::answer::{Answer, AnswerForm};
use crate::expr::Expr;
use crate::fuel::Exhausted;

/// Residues that are listed when two moduli are brought to a common one.
const MAX_RESIDUES: u64 = 100_000;

/// Residues modulo one modulus.
#[derive(Debug, Clone, Copy)]
pub(super) struct Congruence<'e> {
    pub(super) residues: &'e [Expr],
    pub(super) modulus: Expr,
}

/// The integers of a [`Congruence`].
struct Classes {
    residues: Vec<IBig>,
    modulus: UBig,
}

impl Comparer<'_, '_> {
    /// Compares with gold residue classes. `7k + 3` equals `3 (mod 7)`.
    pub(super) fn for_congruence(
        &mut self,
        gold: &Answer,
        (residues, modulus): (&[Expr], Expr),
        candidate: &Answer,
    ) -> Result<Comparison, Exhausted> {
        if let AnswerForm::Congruence { residues: others, modulus: other } = &candidate.form {
            return self.congruences(
                Congruence { residues, modulus },
                Congruence { residues: others, modulus: *other },
            );
        }
        let (own, theirs) = (self.classes_of(gold)?, self.classes_of(candidate)?);
        match (own, theirs) {
            (Some(own), Some(theirs)) => self.same_classes(&own, &theirs),
            _ => Ok(mismatch()),
        }
    }

    /// Compares a gold list of residue classes; `None` if neither side holds a congruence.
    pub(super) fn list_of_classes(
        &mut self,
        gold: &Answer,
        members: &[Answer],
        candidate: &Answer,
    ) -> Result<Option<Comparison>, Exhausted> {
        let is_class = |answer: &Answer| matches!(answer.form, AnswerForm::Congruence { .. });
        if !members.iter().any(is_class) && !is_class(candidate) {
            return Ok(None);
        }
        let (own, theirs) = (self.classes_of(gold)?, self.classes_of(candidate)?);
        match (own, theirs) {
            (Some(own), Some(theirs)) => self.same_classes(&own, &theirs).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the classes of integers that an answer lists: congruences, and families such as
    /// `4k + 1` over all integers.
    fn classes_of(&mut self, answer: &Answer) -> Result<Option<Vec<Classes>>, Exhausted> {
        self.ws.fuel.spend(1)?;
        let found = match &answer.form {
            AnswerForm::Congruence { residues, modulus } => {
                self.classes(Congruence { residues, modulus: *modulus })?
            }
            AnswerForm::Value(value) if value.unit.is_none() => {
                match self.family_residue(value.expr)? {
                    Some((residue, step)) => {
                        self.classes(Congruence { residues: &[residue], modulus: step })?
                    }
                    None => None,
                }
            }
            AnswerForm::List(members) => {
                let mut all = Vec::new();
                for member in self.without_declarations(members) {
                    let Some(classes) = self.classes_of(member)? else {
                        return Ok(None);
                    };
                    all.extend(classes);
                }
                return Ok((!all.is_empty()).then_some(all));
            }
            AnswerForm::Value(_)
            | AnswerForm::Equation(..)
            | AnswerForm::Inequality(_)
            | AnswerForm::Region(_)
            | AnswerForm::Set(_)
            | AnswerForm::Tuple(..)
            | AnswerForm::Matrix(_)
            | AnswerForm::Piecewise(_)
            | AnswerForm::Numeral(_)
            | AnswerForm::Ratio(_)
            | AnswerForm::Date(_)
            | AnswerForm::Clock(_)
            | AnswerForm::Truth(_)
            | AnswerForm::Sequence(_)
            | AnswerForm::Text(_) => None,
        };
        Ok(found.map(|classes| vec![classes]))
    }

    /// Decides whether two unions of classes are the same integers.
    fn same_classes(
        &mut self,
        own: &[Classes],
        theirs: &[Classes],
    ) -> Result<Comparison, Exhausted> {
        let mut common = UBig::ONE;
        for Classes { modulus, .. } in own.iter().chain(theirs) {
            common = &common / (&common).gcd(modulus) * modulus;
            if common > UBig::from(MAX_RESIDUES) {
                return Ok(Comparison::incomparable("congruence_no_rule"));
            }
        }
        let mut unions = [BTreeSet::new(), BTreeSet::new()];
        for (union, side) in unions.iter_mut().zip([own, theirs]) {
            for classes in side {
                let Some(listed) = self.listed(classes, &common)? else {
                    return Ok(Comparison::incomparable("congruence_no_rule"));
                };
                union.extend(listed);
            }
        }
        let is_same = unions[0] == unions[1];
        Ok(Comparison::proven(is_same, "congruence_equal", "congruence_different"))
    }

    /// Decides whether two lists of residues are the same classes.
    pub(super) fn congruences(
        &mut self,
        gold: Congruence<'_>,
        other: Congruence<'_>,
    ) -> Result<Comparison, Exhausted> {
        let own = self.classes(gold)?;
        let theirs = self.classes(other)?;
        let (Some(own), Some(theirs)) = (own, theirs) else {
            return self.symbolic_congruences(gold, other);
        };
        let common = &own.modulus / (&own.modulus).gcd(&theirs.modulus) * &theirs.modulus;
        let (Some(own), Some(theirs)) =
            (self.listed(&own, &common)?, self.listed(&theirs, &common)?)
        else {
            return Ok(Comparison::incomparable("congruence_no_rule"));
        };
        Ok(Comparison::proven(own == theirs, "congruence_equal", "congruence_different"))
    }

    fn symbolic_congruences(
        &mut self,
        gold: Congruence<'_>,
        other: Congruence<'_>,
    ) -> Result<Comparison, Exhausted> {
        if !self.exprs(gold.modulus, other.modulus)?.is_equal() {
            return Ok(Comparison::incomparable("congruence_no_rule"));
        }
        let answers = |exprs: &[Expr]| exprs.iter().map(|e| bare(*e)).collect::<Vec<_>>();
        Ok(match self.in_order(&answers(gold.residues), &answers(other.residues))? {
            Comparison::Equal(_) => Comparison::equal("congruence_equal"),
            Comparison::Different(_) | Comparison::Incomparable(_) | Comparison::Undecided(_) => {
                Comparison::incomparable("congruence_no_rule")
            }
        })
    }

    /// Residues and modulus as integers, where they are; a modulus of 0 has no classes.
    fn classes(
        &mut self,
        Congruence { residues, modulus }: Congruence<'_>,
    ) -> Result<Option<Classes>, Exhausted> {
        let Some(modulus) = self.whole(modulus)? else {
            return Ok(None);
        };
        let (_, modulus) = modulus.into_parts();
        if modulus.is_zero() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(residues.len());
        for residue in residues {
            let Some(value) = self.whole(*residue)? else {
                return Ok(None);
            };
            values.push(value);
        }
        Ok(Some(Classes { residues: values, modulus }))
    }

    fn whole(&mut self, expr: Expr) -> Result<Option<IBig>, Exhausted> {
        let value = algebra::rational(expr, self.ws)?;
        Ok(value.and_then(|value| IBig::try_from(value).ok()))
    }

    /// Returns the residues modulo `common`, a multiple of their own modulus.
    fn listed(
        &mut self,
        Classes { residues, modulus }: &Classes,
        common: &UBig,
    ) -> Result<Option<BTreeSet<IBig>>, Exhausted> {
        let repeats = u64::try_from(common / modulus).unwrap_or(u64::MAX);
        let count = repeats.saturating_mul(residues.len() as u64);
        if count > MAX_RESIDUES {
            return Ok(None);
        }
        self.ws.fuel.spend(1 + count)?;
        let modulus = IBig::from(modulus.clone());
        let mut all = BTreeSet::new();
        for residue in residues {
            let mut value = IBig::from(residue.rem_euclid(&modulus));
            for _ in 0..repeats {
                let next = &value + &modulus;
                all.insert(value);
                value = next;
            }
        }
        Ok(Some(all))
    }
}
