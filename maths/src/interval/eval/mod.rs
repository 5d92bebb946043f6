//! The value of an expression at a point.

mod circular;
mod discrete;
mod function;
mod power;

use dashu::base::BitTest;
use dashu::rational::RBig;

use super::Stop;
use super::bounds::Interval;
use super::kernel::Kernel;
use super::value::{ComplexParts, NumericValue, size};
use crate::expr::{Binder, Bound, Constant, Expr, Name, Node, Workspace};

/// Domain of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interval) enum Field {
    /// Square roots and logarithms of negative numbers have no value.
    Real,
    /// They have their principal values.
    Complex,
}

/// Values of free variables.
#[derive(Debug, Clone, Default)]
pub(in crate::interval) struct SamplePoint {
    /// The last entry of a name counts.
    pub(in crate::interval) symbols: Vec<(Name, NumericValue)>,
    /// Values of unknown functions, by their whole applications.
    pub(in crate::interval) applications: Vec<(Expr, NumericValue)>,
}

/// Most terms of a sum or factors of a product that are added up one by one.
const MAX_TERMS: u64 = 10_000;

/// Evaluates expressions of one workspace at one point and one precision.
#[derive(Debug)]
pub(in crate::interval) struct Evaluator<'w, 'f, 'k> {
    ws: &'w Workspace<'f>,
    kernel: &'k mut Kernel,
    point: SamplePoint,
    field: Field,
    /// Fuel that may be spent.
    budget: u64,
    /// Fuel spent so far. The caller charges it: the workspace is only read here.
    spent: u64,
}

impl<'w, 'f, 'k> Evaluator<'w, 'f, 'k> {
    pub(in crate::interval) fn new(
        ws: &'w Workspace<'f>,
        point: SamplePoint,
        field: Field,
        kernel: &'k mut Kernel,
    ) -> Self {
        Self { ws, kernel, point, field, budget: ws.fuel.left(), spent: 0 }
    }

    pub(in crate::interval) fn spent(&self) -> u64 {
        self.spent
    }

    fn bits(&self) -> u32 {
        self.kernel.bits()
    }

    fn spend(&mut self, units: u64) -> Result<(), Stop> {
        self.spent = self.spent.saturating_add(units);
        if self.spent > self.budget {
            self.spent = self.budget.saturating_add(1);
            return Err(Stop::Exhausted);
        }
        Ok(())
    }

    /// Pays for one operation of arithmetic.
    fn spend_step(&mut self) -> Result<(), Stop> {
        let words = u64::from(self.bits() / 64);
        self.spend(2 + words)
    }

    /// Pays for one elementary function.
    pub(super) fn spend_function(&mut self) -> Result<(), Stop> {
        let words = u64::from(self.bits() / 64) + 1;
        self.spend(40 + 12 * words + 3 * words * words)
    }

    /// Pays for one root.
    fn spend_root(&mut self, index: u32) -> Result<(), Stop> {
        let words = u64::from(self.bits() / 64) + 1;
        self.spend(10 + 2 * words)?;
        if index > 2 {
            self.spend(30 + 8 * words * words)?;
        }
        Ok(())
    }

    /// Returns the value of `expr`.
    pub(in crate::interval) fn value(&mut self, expr: Expr) -> Result<NumericValue, Stop> {
        self.spend(1)?;
        let ws = self.ws;
        match ws.node(expr) {
            Node::Number(value) => self.number(value),
            Node::Symbol(name) => self.symbol(*name),
            Node::Constant(constant) => self.constant(*constant),
            Node::Sum(terms) => self.sum(terms),
            Node::Product(factors) => self.product(factors),
            Node::Power(base, exponent) => self.power(*base, *exponent),
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::Apply(..) => self.application(expr),
            Node::Bound(bound) => self.bound(bound),
        }
    }

    fn number(&mut self, value: &RBig) -> Result<NumericValue, Stop> {
        let words = u64::try_from(size(value) / 64).unwrap_or(u64::MAX);
        self.spend(words / 8)?;
        NumericValue::rational(value.clone(), self.bits())
    }

    fn symbol(&self, name: Name) -> Result<NumericValue, Stop> {
        let mut symbols = self.point.symbols.iter().rev();
        let entry = symbols.find(|(known, _)| *known == name);
        entry.map(|(_, value)| value.clone()).ok_or(Stop::NoRule)
    }

    fn application(&self, expr: Expr) -> Result<NumericValue, Stop> {
        let mut applications = self.point.applications.iter();
        let entry = applications.find(|(known, _)| *known == expr);
        entry.map(|(_, value)| value.clone()).ok_or(Stop::NoRule)
    }

    fn constant(&mut self, constant: Constant) -> Result<NumericValue, Stop> {
        match constant {
            Constant::Pi => {
                if self.kernel.has_pi() {
                    self.spend_step()?;
                } else {
                    self.spend_function()?;
                }
                Ok(NumericValue::Real(self.kernel.pi()?))
            }
            Constant::E => {
                self.spend_function()?;
                Ok(NumericValue::Real(self.kernel.exp(&Interval::integer(1))?))
            }
            Constant::I => Ok(NumericValue::Complex(Interval::integer(0), Interval::integer(1))),
            Constant::Infinity | Constant::Undefined => Err(Stop::NoValue),
        }
    }

    fn sum(&mut self, terms: &[Expr]) -> Result<NumericValue, Stop> {
        let mut sum = NumericValue::integer(0);
        for term in terms {
            let term = self.value(*term)?;
            sum = self.add(&sum, &term)?;
        }
        Ok(sum)
    }

    fn product(&mut self, factors: &[Expr]) -> Result<NumericValue, Stop> {
        let mut product = NumericValue::integer(1);
        for factor in factors {
            let factor = self.value(*factor)?;
            product = self.mul(&product, &factor)?;
        }
        Ok(product)
    }

    fn add(&mut self, left: &NumericValue, right: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_step()?;
        let bits = self.bits();
        match (left, right) {
            (NumericValue::Exact(left), NumericValue::Exact(right)) => {
                self.spend_exact(left, right)?;
                NumericValue::rational(left + right, bits)
            }
            (NumericValue::Complex(..), _) | (_, NumericValue::Complex(..)) => {
                let sum = left.parts(bits)?.add(&right.parts(bits)?, bits)?;
                Ok(NumericValue::from_parts(sum))
            }
            (NumericValue::Exact(zero), other) | (other, NumericValue::Exact(zero))
                if zero.is_zero() =>
            {
                Ok(other.clone())
            }
            (
                NumericValue::Exact(_) | NumericValue::Real(_),
                NumericValue::Exact(_) | NumericValue::Real(_),
            ) => {
                let sum = left.real(bits)?.add(&right.real(bits)?, bits)?;
                Ok(NumericValue::from_interval(sum))
            }
        }
    }

    fn mul(&mut self, left: &NumericValue, right: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_step()?;
        let bits = self.bits();
        match (left, right) {
            (NumericValue::Exact(left), NumericValue::Exact(right)) => {
                self.spend_exact(left, right)?;
                NumericValue::rational(left * right, bits)
            }
            (NumericValue::Complex(..), _) | (_, NumericValue::Complex(..)) => {
                let product = left.parts(bits)?.mul(&right.parts(bits)?, bits)?;
                Ok(NumericValue::from_parts(product))
            }
            (NumericValue::Exact(one), other) | (other, NumericValue::Exact(one))
                if one.is_one() =>
            {
                Ok(other.clone())
            }
            (
                NumericValue::Exact(_) | NumericValue::Real(_),
                NumericValue::Exact(_) | NumericValue::Real(_),
            ) => {
                let product = left.real(bits)?.mul(&right.real(bits)?, bits)?;
                Ok(NumericValue::from_interval(product))
            }
        }
    }

    /// Pays for exact arithmetic, which reduces fractions.
    fn spend_exact(&mut self, left: &RBig, right: &RBig) -> Result<(), Stop> {
        let words = u64::try_from((size(left) + size(right)) / 64).unwrap_or(u64::MAX);
        self.spend(words + words * words / 8)
    }

    fn recip(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.spend_step()?;
        let bits = self.bits();
        match value {
            NumericValue::Exact(value) if value.is_zero() => Err(Stop::NoValue),
            NumericValue::Exact(value) => Ok(NumericValue::Exact(RBig::ONE / value)),
            NumericValue::Real(interval) => Ok(NumericValue::Real(interval.recip(bits)?)),
            NumericValue::Complex(..) => {
                Ok(NumericValue::from_parts(value.parts(bits)?.recip(bits)?))
            }
        }
    }

    fn div(&mut self, left: &NumericValue, right: &NumericValue) -> Result<NumericValue, Stop> {
        let inverse = self.recip(right)?;
        self.mul(left, &inverse)
    }

    fn negated(&mut self, value: &NumericValue) -> Result<NumericValue, Stop> {
        self.mul(&NumericValue::integer(-1), value)
    }

    fn sub(&mut self, left: &NumericValue, right: &NumericValue) -> Result<NumericValue, Stop> {
        let right = self.negated(right)?;
        self.add(left, &right)
    }

    fn parts(&self, value: &NumericValue) -> Result<ComplexParts, Stop> {
        value.parts(self.bits())
    }

    /// Adds or multiplies over the integers of a range, one by one.
    fn bound(&mut self, bound: &Bound) -> Result<NumericValue, Stop> {
        let is_sum = match bound.binder {
            Binder::Sum => true,
            Binder::Product => false,
            Binder::Integral | Binder::Limit(_) | Binder::Derivative(_) => {
                return Err(Stop::NoRule);
            }
        };
        let (Some(from), Some(to)) = (bound.from, bound.to) else {
            return Err(Stop::NoRule);
        };
        let (from, to) = (self.value(from)?, self.value(to)?);
        let (from, to) = (from.exact_integer()?.clone(), to.exact_integer()?.clone());
        let count = &to - &from;
        if count.bit_len() > 32 {
            return Err(Stop::NoRule);
        }
        let count = i64::try_from(count).map_err(|_| Stop::NoRule)? + 1;
        let count = u64::try_from(count).unwrap_or(0);
        if count > MAX_TERMS {
            return Err(Stop::NoRule);
        }
        let mut total = NumericValue::integer(i32::from(!is_sum));
        for step in 0..count {
            let index = RBig::from(&from + dashu::integer::IBig::from(step));
            self.point.symbols.push((bound.variable, NumericValue::Exact(index)));
            let term = self.value(bound.body);
            self.point.symbols.pop();
            let term = term?;
            total = if is_sum { self.add(&total, &term)? } else { self.mul(&total, &term)? };
        }
        Ok(total)
    }
}
