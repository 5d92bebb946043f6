//! Decimals that stand for a value that rounds to them.

use dashu::base::Abs;
use dashu::integer::UBig;
use dashu::rational::RBig;

use super::Comparer;
use crate::algebra;
use crate::answer::Value;
use crate::expr::Expr;
use crate::fuel::Exhausted;
use crate::number;

impl Comparer<'_, '_> {
    /// Decides whether the gold answer is a measured amount, a decimal of at least three significant digits
    /// with a unit or a percent sign, and `expr`, the candidate in its unit, rounds to it.
    pub(super) fn rounds_to(
        &mut self,
        gold: &Value,
        candidate: &Value,
        expr: Expr,
    ) -> Result<bool, Exhausted> {
        let is_measured = gold.unit.is_some() || gold.is_percent;
        let Some(last) = gold.last_digit.filter(|last| is_measured && (-40..0).contains(last))
        else {
            return Ok(false);
        };
        // A decimal of as few digits is another one.
        let is_coarse = candidate.last_digit.is_some_and(|other| other >= last);
        if is_coarse && expr == candidate.expr {
            return Ok(false);
        }
        let Some(value) = algebra::rational(gold.expr, self.ws)? else {
            return Ok(false);
        };
        let unit = number::power_of_ten(last);
        if value.abs() < &unit * RBig::from(100u16) {
            return Ok(false);
        }
        self.is_near(gold.expr, expr, &(unit / UBig::from(2u8)))
    }

    /// Decides whether `expr`, the candidate in the gold answer's unit, is a decimal of at least four
    /// significant digits that the gold value rounds to.
    pub(super) fn rounds(
        &mut self,
        gold: &Value,
        candidate: &Value,
        expr: Expr,
    ) -> Result<bool, Exhausted> {
        /// Decimals of more digits are compared exactly.
        const MAX_DIGITS: i32 = 40;
        let is_written = expr == candidate.expr;
        let Some(last) = candidate.last_digit.filter(|last| is_written && last.abs() <= MAX_DIGITS)
        else {
            return Ok(false);
        };
        // A gold answer that is a decimal of as few digits is no longer one.
        if gold.last_digit.is_some_and(|own| own >= last) {
            return Ok(false);
        }
        let Some(value) = algebra::rational(expr, self.ws)? else {
            return Ok(false);
        };
        let unit = number::power_of_ten(last);
        if value.abs() < &unit * RBig::from(1000u16) {
            return Ok(false);
        }
        self.is_near(gold.expr, expr, &(unit / UBig::from(2u8)))
    }
}
