//! From normal form back to expressions.

use dashu::rational::RBig;

use super::poly::{Kernel, Poly, Term};
use super::ring::{KernelKind, Ring};
use super::stop::Stop;
use crate::expr::{Constant, Expr, Function, Node};

impl Ring<'_, '_> {
    /// Returns an expression with the value of `poly`.
    pub(super) fn render(&mut self, poly: &Poly) -> Result<Expr, Stop> {
        let terms: Result<Vec<Expr>, Stop> =
            poly.0.iter().map(|term| self.render_term(term)).collect();
        Ok(self.ws.sum(terms?)?)
    }

    fn render_term(&mut self, term: &Term) -> Result<Expr, Stop> {
        let mut factors = Vec::with_capacity(1 + term.monomial.0.len());
        if !term.coefficient.is_one() || term.monomial.is_one() {
            factors.push(self.ws.number(term.coefficient.clone())?);
        }
        for (kernel, exponent) in &term.monomial.0 {
            factors.push(self.render_power(*kernel, &exponent.to_rational())?);
        }
        Ok(self.ws.product(factors)?)
    }

    fn render_power(&mut self, kernel: Kernel, exponent: &RBig) -> Result<Expr, Stop> {
        if let KernelKind::Exp(inner) = self.kind(kernel) {
            let inner = Poly::term(exponent.clone(), inner.clone());
            let power = self.render(&inner)?;
            let base = self.ws.constant(Constant::E)?;
            return Ok(self.ws.power(base, power)?);
        }
        if *exponent == RBig::from_parts(1.into(), 2u8.into())
            && matches!(self.kind(kernel), KernelKind::Turn)
        {
            return Ok(self.ws.constant(Constant::I)?);
        }
        let base = self.render_kernel(kernel)?;
        if exponent.is_one() {
            return Ok(base);
        }
        let exponent = self.ws.number(exponent.clone())?;
        Ok(self.ws.power(base, exponent)?)
    }

    fn render_kernel(&mut self, kernel: Kernel) -> Result<Expr, Stop> {
        self.spend(1)?;
        match self.kind(kernel).clone() {
            KernelKind::Turn => Ok(self.ws.integer(-1)?),
            KernelKind::Pi => Ok(self.ws.constant(Constant::Pi)?),
            KernelKind::Prime(prime) => Ok(self.ws.number(prime)?),
            KernelKind::Symbol(name) => Ok(self.ws.intern(Node::Symbol(name))?),
            KernelKind::Exp(inner) => {
                let power = self.render(&Poly::term(RBig::ONE, inner))?;
                let base = self.ws.constant(Constant::E)?;
                Ok(self.ws.power(base, power)?)
            }
            KernelKind::Group(inner) => self.render(&inner),
            KernelKind::Abs(inner, _) => {
                let inner = self.render_kernel(inner)?;
                Ok(self.ws.call(Function::Abs, vec![inner])?)
            }
            KernelKind::Call(function, arguments) => {
                let arguments = self.render_all(&arguments)?;
                Ok(self.ws.call(function, arguments)?)
            }
            KernelKind::Apply(name, arguments) => {
                let arguments = self.render_all(&arguments)?;
                Ok(self.ws.intern(Node::Apply(name, arguments.into()))?)
            }
            KernelKind::Opaque(expr) => Ok(expr),
        }
    }

    fn render_all(&mut self, polys: &[Poly]) -> Result<Vec<Expr>, Stop> {
        polys.iter().map(|poly| self.render(poly)).collect()
    }
}
