//! Functions of integers.

use dashu::base::{BitTest, Gcd, Signed, UnsignedAbs};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::Evaluator;
use crate::expr::Function;
use crate::interval::Stop;
use crate::interval::bounds::Interval;
use crate::interval::value::{MAX_EXACT_BITS, NumericValue, size};

/// Most factors of a product of consecutive integers.
const MAX_FACTORS: u64 = 20_000;

impl Evaluator<'_, '_, '_> {
    /// Returns the product of every `step`-th integer from `n` down to 1.
    pub(super) fn factorial(
        &mut self,
        value: &NumericValue,
        step: u64,
    ) -> Result<NumericValue, Stop> {
        let n = u64::try_from(value.exact_integer()?).map_err(|_| Stop::NoValue)?;
        let count = n.div_ceil(step);
        let top = RBig::from(n);
        self.falling(&top, step, count)
    }

    /// Returns `top (top - step) (top - 2 step) …`, `count` factors.
    fn falling(&mut self, top: &RBig, step: u64, count: u64) -> Result<NumericValue, Stop> {
        if count > MAX_FACTORS {
            return Err(Stop::NoValue);
        }
        let bits = self.bits();
        let step = RBig::from(step);
        let mut factor = top.clone();
        let mut exact = RBig::ONE;
        let mut done = 0;
        while done < count && size(&exact) + size(&factor) <= MAX_EXACT_BITS {
            let words = u64::try_from(size(&exact) / 512).unwrap_or(u64::MAX);
            self.spend(2 + words)?;
            exact *= &factor;
            factor -= &step;
            done += 1;
        }
        if done == count {
            return NumericValue::rational(exact, bits);
        }
        let mut product = Interval::from_rational(&exact, bits + 32)?;
        while done < count {
            self.spend_step()?;
            let next = Interval::from_rational(&factor, bits + 32)?;
            product = product.mul(&next, bits + 32)?;
            factor -= &step;
            done += 1;
        }
        Ok(NumericValue::from_interval(product))
    }

    /// Returns `n (n-1) … (n-k+1) / k!` for an exact `n` and an integer `k`.
    pub(super) fn binomial(
        &mut self,
        n: &NumericValue,
        k: &NumericValue,
    ) -> Result<NumericValue, Stop> {
        let top = n.exact()?.clone();
        let k = k.exact_integer()?;
        if k.is_negative() {
            return Err(Stop::NoValue);
        }
        let mut count = u64::try_from(k).map_err(|_| Stop::NoValue)?;
        if top.denominator().is_one() && top >= RBig::ZERO {
            // The smaller of k and n - k.
            let rest = &top - RBig::from(count);
            if rest < RBig::ZERO {
                return Ok(NumericValue::integer(0));
            }
            count = u64::try_from(rest.numerator()).map_or(count, |rest| rest.min(count));
        }
        let numerator = self.falling(&top, 1, count)?;
        let denominator = self.falling(&RBig::from(count), 1, count)?;
        self.div(&numerator, &denominator)
    }

    /// Returns `n (n-1) … (n-k+1)` for integers from 0 up.
    pub(super) fn permutations(
        &mut self,
        n: &NumericValue,
        k: &NumericValue,
    ) -> Result<NumericValue, Stop> {
        let top = n.exact_integer()?;
        let k = k.exact_integer()?;
        if k.is_negative() || top.is_negative() {
            return Err(Stop::NoValue);
        }
        if k > top {
            return Ok(NumericValue::integer(0));
        }
        let count = u64::try_from(k).map_err(|_| Stop::NoValue)?;
        self.falling(&RBig::from(top.clone()), 1, count)
    }

    /// Returns the greatest common divisor, or the least common multiple, of integers.
    pub(super) fn divisors(
        &mut self,
        function: Function,
        values: &[NumericValue],
    ) -> Result<NumericValue, Stop> {
        let is_gcd = function == Function::Gcd;
        let mut result: Option<UBig> = None;
        for value in values {
            let value = value.exact_integer()?.clone().unsigned_abs();
            let words = u64::try_from(value.bit_len() / 64).unwrap_or(u64::MAX);
            self.spend(2 + words.saturating_mul(words) / 4)?;
            result = Some(match result {
                None => value,
                Some(result) if result.is_zero() && value.is_zero() => UBig::ZERO,
                Some(result) if is_gcd => result.gcd(value),
                Some(result) if result.is_zero() || value.is_zero() => UBig::ZERO,
                Some(result) => {
                    let divisor = (&result).gcd(&value);
                    result / divisor * value
                }
            });
        }
        let result = IBig::from(result.ok_or(Stop::NoRule)?);
        NumericValue::rational(RBig::from(result), self.bits())
    }
}
