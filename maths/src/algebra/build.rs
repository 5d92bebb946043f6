//! From expressions to normal form.

use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Monomial, Poly};
use super::ring::{KernelKind, PI, Ring};
use super::shape::substitute;
use super::stop::Stop;
use crate::calculus;
use crate::expr::{Bound, Constant, Expr, Node};

/// Products of sums with more pairs of terms than this are not multiplied out at once.
const MAX_PAIRS: u64 = 1024;

impl Ring<'_, '_> {
    /// Returns the normal form of `expr`.
    ///
    /// # Errors
    /// [`Stop::Undefined`] where it has no value, [`Stop::Costly`] where the share does not pay.
    pub(super) fn build(&mut self, expr: Expr) -> Result<Poly, Stop> {
        self.spend(1)?;
        match self.ws.node(expr) {
            Node::Number(value) => Ok(Poly::constant(value.clone())),
            Node::Symbol(name) => {
                let name = *name;
                self.element(KernelKind::Symbol(name))
            }
            Node::Constant(constant) => {
                let constant = *constant;
                self.named(constant)
            }
            Node::Sum(terms) => {
                let terms = terms.clone();
                self.sum(&terms)
            }
            Node::Product(factors) => {
                let factors = factors.clone();
                self.product(&factors)
            }
            Node::Power(base, exponent) => {
                let (base, exponent) = (*base, *exponent);
                self.power(base, exponent)
            }
            Node::Call(function, arguments) => {
                let (function, arguments) = (*function, arguments.clone());
                let arguments = self.all(&arguments)?;
                self.call(function, arguments)
            }
            Node::Apply(name, arguments) => {
                let (name, arguments) = (*name, arguments.clone());
                let arguments = self.all(&arguments)?;
                self.unknown(name, arguments)
            }
            Node::Bound(bound) => {
                let bound = bound.clone();
                self.bound(&bound)
            }
        }
    }

    fn named(&mut self, constant: Constant) -> Result<Poly, Stop> {
        match constant {
            Constant::Pi => Ok(Poly::term(RBig::ONE, Monomial::of(PI, Exponent::ONE))),
            Constant::E => self.element(KernelKind::Exp(Monomial::default())),
            Constant::I => Ok(self.imaginary()),
            Constant::Infinity => Err(Stop::NoRule),
            Constant::Undefined => Err(Stop::Undefined),
        }
    }

    fn all(&mut self, exprs: &[Expr]) -> Result<Vec<Poly>, Stop> {
        exprs.iter().map(|expr| self.build(*expr)).collect()
    }

    fn sum(&mut self, terms: &[Expr]) -> Result<Poly, Stop> {
        let mut all = Vec::with_capacity(terms.len());
        for term in terms {
            all.append(&mut self.build(*term)?.0);
        }
        self.spend(u64::try_from(all.len() / 2).unwrap_or(u64::MAX))?;
        self.collected(all)
    }

    fn product(&mut self, factors: &[Expr]) -> Result<Poly, Stop> {
        let mut product = Poly::one();
        for factor in factors {
            let factor = self.build(*factor)?;
            product = self.times(&product, &factor)?;
        }
        Ok(product)
    }

    /// Returns the product, multiplied out only where that is short.
    pub(super) fn times(&mut self, left: &Poly, right: &Poly) -> Result<Poly, Stop> {
        if left.len().saturating_mul(right.len()) <= MAX_PAIRS
            || left.single().is_some()
            || right.single().is_some()
        {
            return self.multiply(left, right);
        }
        let left = self.grouped_power(left, 1)?;
        let right = self.grouped_power(right, 1)?;
        self.multiply(&left, &right)
    }

    fn power(&mut self, base: Expr, exponent: Expr) -> Result<Poly, Stop> {
        let value = self.exact().value(exponent)?;
        let exponent = match value {
            Some(value) => Poly::constant(value),
            None => self.build(exponent)?,
        };
        let Some(exponent) = exponent.rational() else {
            let base = self.build(base)?;
            return self.general_power(&base, &exponent);
        };
        if let Node::Number(base) = self.ws.node(base) {
            let base = base.clone();
            return self.rational_power(&base, &exponent);
        }
        if let (true, Node::Product(factors)) = (exponent.is_int(), self.ws.node(base)) {
            let factors = factors.clone();
            let mut product = Poly::one();
            for factor in &factors {
                let factor = self.build(*factor)?;
                let power = self.raised(&factor, &exponent)?;
                product = self.times(&product, &power)?;
            }
            return Ok(product);
        }
        let base = self.build(base)?;
        self.raised(&base, &exponent)
    }

    /// Returns `base^exponent`, the principal value.
    pub(super) fn raised(&mut self, base: &Poly, exponent: &RBig) -> Result<Poly, Stop> {
        if let Some(base) = base.rational() {
            return self.rational_power(&base, exponent);
        }
        if exponent.is_int() {
            let times = i64::try_from(exponent.numerator()).map_err(|_| Stop::Costly)?;
            return self.integer_power(base, times);
        }
        self.principal_root(base, Exponent::from_rational(exponent)?)
    }

    fn rational_power(&mut self, base: &RBig, exponent: &RBig) -> Result<Poly, Stop> {
        if let Some(value) = self.exact().power(base, exponent)? {
            return Ok(Poly::constant(value));
        }
        let exponent = Exponent::from_rational(exponent)?;
        self.number_root(base, exponent)
    }

    /// Returns `base^exponent` with an exponent that is no rational number:
    /// `exp(exponent ln(base))`.
    fn general_power(&mut self, base: &Poly, exponent: &Poly) -> Result<Poly, Stop> {
        if let Some(base) = base.rational() {
            if base.is_one() {
                return Ok(Poly::one());
            }
            if base.is_zero() {
                return Err(Stop::NoRule);
            }
        }
        let logarithm = self.logarithm(base)?;
        let product = self.multiply(exponent, &logarithm)?;
        self.exponential(&product)
    }

    /// Returns a sum, product, integral or limit: its closed form, else itself with its parts in
    /// normal form and its variable renamed by how many others it stands in.
    fn bound(&mut self, bound: &Bound) -> Result<Poly, Stop> {
        if let Some(closed) = calculus::closed(bound, self.is_zero, self.ws)? {
            return self.deeper(|ring| ring.build(closed));
        }
        let mut renamed = bound.clone();
        if bound.from.is_some() {
            // No reader gives this name to a variable.
            renamed.variable = self.ws.name(&format!("bound {}", self.scope));
            let symbol = self.ws.intern(Node::Symbol(renamed.variable))?;
            renamed.body = substitute(bound.body, bound.variable, symbol, self.ws)?;
        }
        self.scope += 1;
        let body = self.build(renamed.body);
        self.scope -= 1;
        renamed.body = self.render(&body?)?;
        for expr in [&mut renamed.from, &mut renamed.to].into_iter().flatten() {
            match self.build(*expr) {
                Ok(poly) => *expr = self.render(&poly)?,
                // It may be infinite.
                Err(Stop::NoRule) => {}
                Err(stop) => return Err(stop),
            }
        }
        let expr = self.ws.intern(Node::Bound(Box::new(renamed)))?;
        self.element(KernelKind::Opaque(expr))
    }
}
