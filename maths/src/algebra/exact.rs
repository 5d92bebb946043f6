//! Exact rational values, computed directly: the rung that settles most comparisons.
//!
//! The size of a result is estimated and paid for before the result is built, so that
//! `3^{1500000000}` and towers of powers cost nothing.

use dashu::base::{Abs, BitTest, Gcd, Sign, Signed};
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::stop::{Share, Stop, big};
use crate::expr::{Constant, Expr, Function, Node, Workspace};

/// Roots of an index above this are left to other rungs.
const MAX_INDEX: usize = 4096;

/// Evaluates expressions to rational numbers.
#[derive(Debug)]
pub(super) struct ExactEvaluator<'r, 'f> {
    pub(super) ws: &'r mut Workspace<'f>,
    pub(super) share: &'r mut Share,
}

/// Counts the bits of the numerator and the denominator.
pub(super) fn bits(value: &RBig) -> u64 {
    let length = value.numerator().bit_len() + value.denominator().bit_len();
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Returns `value` where it is an integer that fits.
pub(super) fn small(value: &RBig) -> Option<i64> {
    if !value.is_int() {
        return None;
    }
    i64::try_from(value.numerator()).ok()
}

/// Returns the `index`-th root of `value` where it is a natural number.
pub(super) fn integer_root(value: &UBig, index: usize) -> Option<UBig> {
    if value.is_zero() || value.is_one() {
        return Some(value.clone());
    }
    if index >= value.bit_len() {
        return None;
    }
    let root = value.nth_root(index);
    (root.pow(index) == *value).then_some(root)
}

impl ExactEvaluator<'_, '_> {
    /// Returns the value of `expr` if it is rational and direct arithmetic finds it; `None` proves
    /// nothing.
    pub(super) fn value(&mut self, expr: Expr) -> Result<Option<RBig>, Stop> {
        self.spend(1)?;
        match self.ws.node(expr) {
            Node::Number(value) => Ok(Some(value.clone())),
            Node::Constant(Constant::Undefined) => Err(Stop::Undefined),
            Node::Symbol(_) | Node::Constant(_) | Node::Apply(..) | Node::Bound(_) => Ok(None),
            Node::Sum(terms) => {
                let terms = terms.clone();
                self.fold(&terms, RBig::ZERO, |sum, term| sum + term)
            }
            Node::Product(factors) => {
                let factors = factors.clone();
                self.fold(&factors, RBig::ONE, |product, factor| product * factor)
            }
            Node::Power(base, exponent) => {
                let (base, exponent) = (*base, *exponent);
                self.power_of(base, exponent)
            }
            Node::Call(function, arguments) => {
                let (function, arguments) = (*function, arguments.clone());
                self.call(function, &arguments)
            }
        }
    }

    fn fold(
        &mut self,
        operands: &[Expr],
        start: RBig,
        combine: impl Fn(RBig, RBig) -> RBig,
    ) -> Result<Option<RBig>, Stop> {
        let mut total = start;
        for operand in operands {
            let Some(value) = self.value(*operand)? else {
                return Ok(None);
            };
            self.spend(big(bits(&total) + bits(&value)))?;
            total = combine(total, value);
        }
        Ok(Some(total))
    }

    fn power_of(&mut self, base: Expr, exponent: Expr) -> Result<Option<RBig>, Stop> {
        let Some(base) = self.value(base)? else {
            return Ok(None);
        };
        let Some(exponent) = self.value(exponent)? else {
            return Ok(None);
        };
        self.power(&base, &exponent)
    }

    /// Returns `base^exponent` where that is rational; the principal value.
    pub(super) fn power(&mut self, base: &RBig, exponent: &RBig) -> Result<Option<RBig>, Stop> {
        if exponent.is_zero() || base.is_one() {
            return Ok(Some(RBig::ONE));
        }
        if base.is_zero() {
            return match exponent.sign() {
                Sign::Positive => Ok(Some(RBig::ZERO)),
                Sign::Negative => Err(Stop::Undefined),
            };
        }
        if exponent.is_int() {
            return self.integer_power(base, exponent.numerator()).map(Some);
        }
        let index = usize::try_from(exponent.denominator()).ok();
        let Some(index) = index.filter(|index| *index <= MAX_INDEX) else {
            return Ok(None);
        };
        if base.is_negative() {
            return Ok(None);
        }
        match self.root(base, index)? {
            Some(root) => self.integer_power(&root, exponent.numerator()).map(Some),
            None => Ok(None),
        }
    }

    /// Returns `base^exponent` of a base that is not zero.
    fn integer_power(&mut self, base: &RBig, exponent: &IBig) -> Result<RBig, Stop> {
        let is_even = !exponent.bit(0);
        if base.is_int() && is_unit(base.numerator()) {
            let is_positive = is_even || base.is_positive();
            return Ok(if is_positive { RBig::ONE } else { -RBig::ONE });
        }
        let times = isize::try_from(exponent).map_err(|_| Stop::Costly)?;
        let magnitude = u64::try_from(times.unsigned_abs()).unwrap_or(u64::MAX);
        self.spend(big(bits(base).saturating_mul(magnitude)))?;
        Ok(base.pow(times))
    }

    /// Returns the non-negative `index`-th root of `value` where it is rational; `value` is not
    /// negative.
    pub(super) fn root(&mut self, value: &RBig, index: usize) -> Result<Option<RBig>, Stop> {
        self.spend(1 + big(2 * bits(value)))?;
        let numerator = value.numerator().clone().into_parts().1;
        let Some(numerator) = integer_root(&numerator, index) else {
            return Ok(None);
        };
        let denominator = integer_root(value.denominator(), index);
        Ok(denominator.map(|below| RBig::from_parts(numerator.into(), below)))
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> Result<Option<RBig>, Stop> {
        if !has_rational_rule(function) {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.value(*argument)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        self.apply(function, &values)
    }

    /// Returns `function` of rational arguments, where the result is rational.
    pub(super) fn apply(
        &mut self,
        function: Function,
        values: &[RBig],
    ) -> Result<Option<RBig>, Stop> {
        let sizes: u64 = values.iter().map(bits).sum();
        self.spend(big(2 * sizes))?;
        match (function, values) {
            (Function::Abs, [value]) => Ok(Some(value.clone().abs())),
            (Function::Sign, [value]) => {
                Ok(Some(if value.is_zero() { RBig::ZERO } else { value.signum() }))
            }
            (Function::Floor, [value]) => Ok(Some(value.floor().into())),
            (Function::Ceiling, [value]) => Ok(Some(value.ceil().into())),
            (Function::Re | Function::Conjugate, [value]) => Ok(Some(value.clone())),
            (Function::Im, [_]) => Ok(Some(RBig::ZERO)),
            (Function::Max, [first, rest @ ..]) => {
                Ok(Some(rest.iter().fold(first, Ord::max).clone()))
            }
            (Function::Min, [first, rest @ ..]) => {
                Ok(Some(rest.iter().fold(first, Ord::min).clone()))
            }
            (Function::Mod, [value, modulus]) => {
                if modulus.is_zero() {
                    return Err(Stop::Undefined);
                }
                let whole = RBig::from((value / modulus).floor());
                Ok(Some(value - whole * modulus))
            }
            (Function::Gcd, values) => Ok(Some(common(values, false))),
            (Function::Lcm, values) => Ok(Some(common(values, true))),
            (Function::Root, [radicand, index]) => self.real_root(radicand, index),
            (Function::Factorial, [value]) => self.factorial(value, 1),
            (Function::DoubleFactorial, [value]) => self.factorial(value, 2),
            (Function::Binomial, [upper, lower]) => self.binomial(upper, lower),
            (Function::Permutations, [upper, lower]) => self.falling(upper, lower),
            _ => Ok(None),
        }
    }

    fn real_root(&mut self, radicand: &RBig, index: &RBig) -> Result<Option<RBig>, Stop> {
        let index = small(index).and_then(|index| usize::try_from(index).ok());
        let Some(index) = index.filter(|index| (1..=MAX_INDEX).contains(index)) else {
            return Ok(None);
        };
        if radicand.is_negative() {
            if index % 2 == 0 {
                return Ok(None);
            }
            let root = self.root(&-radicand.clone(), index)?;
            return Ok(root.map(|root| -root));
        }
        self.root(radicand, index)
    }

    /// Returns the product of `value`, `value - step`, … down to the last that is positive.
    fn factorial(&mut self, value: &RBig, step: u64) -> Result<Option<RBig>, Stop> {
        if !value.is_int() {
            return Ok(None);
        }
        if value.is_negative() {
            let is_empty = step == 2 && *value == -RBig::ONE;
            return if is_empty { Ok(Some(RBig::ONE)) } else { Err(Stop::Undefined) };
        }
        let top = u64::try_from(value.numerator()).map_err(|_| Stop::Costly)?;
        let count = top / step;
        let length = u64::from(u64::BITS - top.leading_zeros());
        self.spend(count / 4 + big(count.saturating_mul(length)))?;
        let lowest = if top % step == 0 { step } else { top % step };
        if top == 0 {
            return Ok(Some(RBig::ONE));
        }
        Ok(Some(RBig::from(product_of(lowest, top, step))))
    }

    /// Returns `upper (upper - 1) … (upper - lower + 1)`.
    fn falling(&mut self, upper: &RBig, lower: &RBig) -> Result<Option<RBig>, Stop> {
        if !lower.is_int() || lower.is_negative() {
            return Ok(None);
        }
        if upper.is_int() && !upper.is_negative() && lower > upper {
            return Ok(Some(RBig::ZERO));
        }
        let count = u64::try_from(lower.numerator()).map_err(|_| Stop::Costly)?;
        self.spend(count.saturating_add(big(count.saturating_mul(1 + bits(upper)))))?;
        if let (true, Ok(top)) = (upper.is_int(), u64::try_from(upper.numerator())) {
            let product = if count == 0 { UBig::ONE } else { product_of(top - count + 1, top, 1) };
            return Ok(Some(RBig::from(product)));
        }
        let mut product = RBig::ONE;
        let mut factor = upper.clone();
        for _ in 0..count {
            product *= &factor;
            factor -= RBig::ONE;
        }
        Ok(Some(product))
    }

    fn binomial(&mut self, upper: &RBig, lower: &RBig) -> Result<Option<RBig>, Stop> {
        if !lower.is_int() {
            return Ok(None);
        }
        if lower.is_negative() {
            return Ok(upper.is_int().then_some(RBig::ZERO));
        }
        let mut lower = lower.clone();
        if upper.is_int() && !upper.is_negative() {
            if lower > *upper {
                return Ok(Some(RBig::ZERO));
            }
            let rest = upper - &lower;
            lower = lower.min(rest);
        }
        let (Some(above), Some(below)) = (self.falling(upper, &lower)?, self.factorial(&lower, 1)?)
        else {
            return Ok(None);
        };
        self.spend(big(bits(&above) + bits(&below)))?;
        Ok(Some(above / below))
    }

    fn spend(&mut self, units: u64) -> Result<(), Stop> {
        self.share.spend(self.ws.fuel, units)
    }
}

/// Returns whether the function's value at rational arguments is often rational.
fn has_rational_rule(function: Function) -> bool {
    matches!(
        function,
        Function::Abs
            | Function::Sign
            | Function::Floor
            | Function::Ceiling
            | Function::Re
            | Function::Im
            | Function::Conjugate
            | Function::Max
            | Function::Min
            | Function::Mod
            | Function::Gcd
            | Function::Lcm
            | Function::Root
            | Function::Factorial
            | Function::DoubleFactorial
            | Function::Binomial
            | Function::Permutations
    )
}

/// Returns the product of `low`, `low + step`, … `high`, by halves so that factors grow together.
fn product_of(low: u64, high: u64, step: u64) -> UBig {
    let count = (high - low) / step;
    if count < 8 {
        // As many factors as fit a machine's number are one.
        let (mut product, mut part) = (UBig::ONE, u128::from(low));
        for factor in (1..=count).map(|place| u128::from(low + place * step)) {
            part = part.checked_mul(factor).unwrap_or_else(|| {
                product *= UBig::from(part);
                factor
            });
        }
        return product * UBig::from(part);
    }
    let middle = low + count / 2 * step;
    product_of(low, middle, step) * product_of(middle + step, high, step)
}

/// Returns the greatest common divisor or least common multiple of fractions; neither is negative.
fn common(values: &[RBig], is_multiple: bool) -> RBig {
    let mut result: Option<RBig> = None;
    for value in values {
        let value = value.clone().abs();
        result = Some(match result {
            None => value,
            Some(other) => {
                let divisor = divisor(&other, &value);
                if is_multiple && !divisor.is_zero() { other * value / divisor } else { divisor }
            }
        });
    }
    result.unwrap_or(RBig::ZERO)
}

/// Returns the greatest fraction of which both are integer multiples; the other one where one is
/// zero.
fn divisor(left: &RBig, right: &RBig) -> RBig {
    if left.is_zero() || right.is_zero() {
        return left + right;
    }
    let crossed =
        |value: &RBig, other: &RBig| value.numerator().clone().into_parts().1 * other.denominator();
    let above = crossed(left, right).gcd(crossed(right, left));
    RBig::from_parts(above.into(), left.denominator() * right.denominator())
}

/// Returns whether `value` is 1 or -1.
fn is_unit(value: &IBig) -> bool {
    value.as_sign_words().1 == [1]
}
