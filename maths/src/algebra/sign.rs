//! Known properties of kernels and sums: conjugates, reality, positivity.

use dashu::base::Signed;

use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, Ring};
use super::stop::Stop;
use crate::expr::Function;

impl Ring<'_, '_> {
    /// Returns the complex conjugate, where every part of it is known.
    pub(super) fn conjugate(&mut self, poly: &Poly) -> Result<Option<Poly>, Stop> {
        let mut terms = Vec::with_capacity(poly.0.len());
        for term in &poly.0 {
            match self.conjugate_term(term)? {
                Some(term) => terms.push(term),
                None => return Ok(None),
            }
        }
        Ok(Some(Poly::collect(terms)))
    }

    fn conjugate_term(&mut self, term: &Term) -> Result<Option<Term>, Stop> {
        self.spend(1)?;
        let is_plain = term.monomial.0.iter().all(|(kernel, exponent)| {
            exponent.is_integer() && self.is_plainly_real(*kernel) || self.is_positive(*kernel)
        });
        if is_plain {
            return Ok(Some(term.clone()));
        }
        let mut product = Poly::constant(term.coefficient.clone());
        for (kernel, exponent) in term.monomial.0.clone() {
            let factor = match self.kind(kernel) {
                KernelKind::Turn => self.factor(kernel, exponent.negated()?)?,
                KernelKind::Exp(inner) => {
                    let inner = Poly::term(exponent.to_rational(), inner.clone());
                    let Some(inner) = self.conjugate(&inner)? else {
                        return Ok(None);
                    };
                    self.exponential(&inner)?
                }
                KernelKind::Group(inner) if exponent.is_integer() => {
                    let inner = inner.clone();
                    let Some(conjugate) = self.conjugate(&inner)? else {
                        return Ok(None);
                    };
                    if conjugate == inner {
                        self.factor(kernel, exponent)?
                    } else {
                        self.integer_power(&conjugate, exponent.above())?
                    }
                }
                KernelKind::Pi
                | KernelKind::Prime(_)
                | KernelKind::Symbol(_)
                | KernelKind::Group(_)
                | KernelKind::Abs(..)
                | KernelKind::Call(..)
                | KernelKind::Apply(..)
                | KernelKind::Opaque(_) => {
                    let is_real = exponent.is_integer() && self.is_real_kernel(kernel)?;
                    if !is_real && !self.is_positive(kernel) {
                        return Ok(None);
                    }
                    self.factor(kernel, exponent)?
                }
            };
            product = self.multiply(&product, &factor)?;
        }
        Ok(product.single().cloned())
    }

    /// Decides whether all values are real, as far as the rules know.
    pub(super) fn is_real(&mut self, poly: &Poly) -> Result<bool, Stop> {
        let conjugate = self.conjugate(poly)?;
        Ok(conjugate.is_some_and(|conjugate| conjugate == *poly))
    }

    fn is_plainly_real(&self, kernel: Kernel) -> bool {
        matches!(
            self.kind(kernel),
            KernelKind::Pi | KernelKind::Prime(_) | KernelKind::Symbol(_) | KernelKind::Abs(..)
        )
    }

    fn is_real_kernel(&mut self, kernel: Kernel) -> Result<bool, Stop> {
        match self.kind(kernel) {
            KernelKind::Pi | KernelKind::Prime(_) | KernelKind::Symbol(_) | KernelKind::Abs(..) => {
                Ok(true)
            }
            KernelKind::Turn | KernelKind::Apply(..) | KernelKind::Opaque(_) => Ok(false),
            KernelKind::Exp(inner) => {
                let inner = Poly::term(dashu::rational::RBig::ONE, inner.clone());
                self.is_real(&inner)
            }
            KernelKind::Group(inner) => {
                let inner = inner.clone();
                self.is_real(&inner)
            }
            KernelKind::Call(function, arguments) => {
                let (function, arguments) = (*function, arguments.clone());
                self.is_real_call(function, &arguments)
            }
        }
    }

    fn is_real_call(&mut self, function: Function, arguments: &[Poly]) -> Result<bool, Stop> {
        if function == Function::Ln {
            return Ok(self.is_positive_sum(&arguments[0]));
        }
        if matches!(function, Function::Re | Function::Im | Function::Arg) {
            return Ok(true);
        }
        let keeps_real = matches!(
            function,
            Function::Atan
                | Function::Floor
                | Function::Ceiling
                | Function::Sign
                | Function::Factorial
                | Function::Max
                | Function::Min
                | Function::Gcd
                | Function::Lcm
        );
        if !keeps_real {
            return Ok(false);
        }
        for argument in arguments {
            if !self.is_real(argument)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a kernel has only positive values, as far as the rules know, or zero at
    /// single points.
    pub(super) fn is_positive(&self, kernel: Kernel) -> bool {
        match self.kind(kernel) {
            KernelKind::Pi | KernelKind::Prime(_) | KernelKind::Abs(..) => true,
            KernelKind::Symbol(_) => self.assumptions.positive,
            KernelKind::Exp(inner) => self.is_real_monomial(inner),
            KernelKind::Group(inner) => self.is_positive_sum(inner),
            KernelKind::Call(Function::Factorial, arguments) => {
                self.assumptions.positive && arguments.iter().all(|a| self.is_positive_sum(a))
            }
            KernelKind::Turn
            | KernelKind::Call(..)
            | KernelKind::Apply(..)
            | KernelKind::Opaque(_) => false,
        }
    }

    fn is_real_monomial(&self, monomial: &Monomial) -> bool {
        monomial.0.iter().all(|(kernel, exponent)| {
            let is_real = self.is_plainly_real(*kernel) || self.is_real_logarithm(*kernel);
            self.is_positive(*kernel) || exponent.is_integer() && is_real
        })
    }

    fn is_real_logarithm(&self, kernel: Kernel) -> bool {
        match self.kind(kernel).call() {
            Some((Function::Ln, [argument])) => self.is_positive_sum(argument),
            Some(_) | None => false,
        }
    }

    /// Returns whether all of its terms are positive.
    pub(super) fn is_positive_sum(&self, poly: &Poly) -> bool {
        !poly.is_empty()
            && poly.0.iter().all(|term| {
                term.coefficient.is_positive()
                    && term.monomial.0.iter().all(|(kernel, exponent)| {
                        self.is_positive(*kernel)
                            || exponent.is_integer()
                                && exponent.above() % 2 == 0
                                && self.is_plainly_real(*kernel)
                    })
            })
    }
}
