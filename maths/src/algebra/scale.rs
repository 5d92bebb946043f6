//! Expressions up to a constant factor, and as polynomials in one variable.

use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Kernel, Monomial, Poly, Term};
use super::ring::{KernelKind, Ring};
use super::shape;
use super::stop::{Share, Stop};
use super::zero::Truth;
use crate::calculus::ZeroTest;
use crate::expr::{Expr, Name, Node, Workspace};
use crate::fuel::Exhausted;
use crate::proof::{Assumptions, Doubt, Proof, Rule};

/// The highest degree of a polynomial whose coefficients are listed.
const MAX_DEGREE: i64 = 10_000;

/// Decides whether `left` is `right` times a constant that is not zero.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(super) fn proportional(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    is_zero: ZeroTest,
    ws: &mut Workspace<'_>,
) -> Result<Proof, Exhausted> {
    if left == right {
        return Ok(Proof::Equal(Rule::Identical));
    }
    let share = Share::new(ws.fuel.left() / 2);
    let mut ring = Ring::new(ws, assumptions, share, is_zero);
    match by_leading_terms(left, right, &mut ring) {
        Ok(finding) => Ok(finding),
        Err(Stop::Exhausted) => Err(Exhausted),
        Err(Stop::Costly) => Ok(Proof::Undecided(Doubt::Costly)),
        Err(Stop::Undefined) => Ok(Proof::Undecided(Doubt::NoValue)),
        Err(Stop::NoRule) => Ok(Proof::Undecided(Doubt::NoRule)),
    }
}

/// Cross-multiplies with the coefficients of one monomial on both sides.
fn by_leading_terms(left: Expr, right: Expr, ring: &mut Ring<'_, '_>) -> Result<Proof, Stop> {
    let (left, right) = (ring.build(left)?, ring.build(right)?);
    let (left, right) = cleared_alike(&left, &right, ring)?;
    let (parts_left, parts_right) = (ring.parts(&left)?, ring.parts(&right)?);
    let mut first = None;
    for (monomial, part) in &parts_left {
        if ring.number_vanishes(part)? != Truth::Zero {
            first = Some((monomial, part));
            break;
        }
    }
    let Some((monomial, a)) = first else {
        // Zero is a multiple of zero alone.
        return Ok(match ring.vanishes(&right)? {
            Truth::Zero => Proof::Equal(Rule::RationalFunction),
            Truth::NonZero => Proof::Different(Rule::RationalFunction, None),
            Truth::Unknown => Proof::Undecided(Doubt::NoRule),
        });
    };
    let b = parts_right
        .iter()
        .find(|(other, _)| other == monomial)
        .map_or_else(Poly::default, |(_, part)| part.clone());
    let crossed = ring.multiply(&left, &b)?;
    let other = ring.multiply(&right, a)?;
    let difference = ring.subtract(&crossed, &other)?;
    let truth = ring.vanishes(&difference)?;
    let is_zero = ring.number_vanishes(&b)? == Truth::Zero;
    Ok(match truth {
        Truth::Zero if !is_zero => Proof::Equal(Rule::RationalFunction),
        Truth::Zero | Truth::NonZero => Proof::Different(Rule::RationalFunction, None),
        Truth::Unknown => Proof::Undecided(Doubt::NoRule),
    })
}

/// Multiplies both with the same powers of their groups.
fn cleared_alike(left: &Poly, right: &Poly, ring: &mut Ring<'_, '_>) -> Result<(Poly, Poly), Stop> {
    let name = shape::fresh_name(ring.ws, "side", &[]);
    let symbol = ring_symbol(ring, name)?;
    let tag = ring.kernel(KernelKind::Opaque(symbol))?;
    let tagged = ring.multiply(right, &Poly::term(RBig::ONE, Monomial::of(tag, Exponent::ONE)))?;
    let sum = ring.add(left, &tagged)?;
    let cleared = ring.cleared(&sum)?;
    let mut sides = [Vec::new(), Vec::new()];
    for term in &cleared.0 {
        let (monomial, exponent) = term.monomial.without(tag);
        let side = usize::from(!exponent.is_zero());
        sides[side].push(Term { monomial, coefficient: term.coefficient.clone() });
    }
    let [left, right] = sides;
    Ok((Poly::collect(left), Poly::collect(right)))
}

fn ring_symbol(ring: &mut Ring<'_, '_>, name: Name) -> Result<Expr, Stop> {
    Ok(ring.ws.intern(Node::Symbol(name))?)
}

/// Returns the coefficients of `expr` as a polynomial in `name`.
pub(super) fn coefficients(
    expr: Expr,
    name: Name,
    ring: &mut Ring<'_, '_>,
) -> Result<Option<Vec<Expr>>, Stop> {
    let poly = ring.build(expr)?;
    let kernel = ring.kernel(KernelKind::Symbol(name))?;
    let Some(poly) = without_groups_of(poly, kernel, ring)? else {
        return Ok(None);
    };
    let mut degrees: Vec<Vec<Term>> = vec![Vec::new()];
    for term in &poly.0 {
        let (monomial, exponent) = term.monomial.without(kernel);
        let is_natural = exponent.is_integer() && (0..=MAX_DEGREE).contains(&exponent.above());
        if !is_natural || monomial.0.iter().any(|(other, _)| has_kernel(*other, kernel, ring)) {
            return Ok(None);
        }
        let degree = usize::try_from(exponent.above()).expect("the degree is bounded");
        if degrees.len() <= degree {
            ring.spend(exponent.above().unsigned_abs() / 8)?;
            degrees.resize_with(degree + 1, Vec::new);
        }
        degrees[degree].push(Term { monomial, coefficient: term.coefficient.clone() });
    }
    let mut coefficients = Vec::with_capacity(degrees.len());
    for terms in degrees {
        coefficients.push(ring.render(&Poly::collect(terms))?);
    }
    Ok(Some(coefficients))
}

/// Multiplies out the groups that have `kernel` in them; `None` if one of them is a divisor.
fn without_groups_of(
    poly: Poly,
    kernel: Kernel,
    ring: &mut Ring<'_, '_>,
) -> Result<Option<Poly>, Stop> {
    let mut poly = poly;
    loop {
        let mut groups = poly.kernels().into_iter().rev().filter(|group| {
            matches!(ring.kind(*group), KernelKind::Group(_)) && has_kernel(*group, kernel, ring)
        });
        let Some(group) = groups.next() else {
            return Ok(Some(poly));
        };
        let exponents = poly.0.iter().map(|term| term.monomial.exponent(group));
        if exponents.clone().any(|own| own.is_negative() || !own.is_integer()) {
            return Ok(None);
        }
        poly = ring.expanded_group(&poly, group)?;
    }
}

/// Returns whether `kernel` is `inner` or has it in its arguments.
fn has_kernel(kernel: Kernel, inner: Kernel, ring: &Ring<'_, '_>) -> bool {
    let any = |poly: &Poly| poly.kernels().iter().any(|part| has_kernel(*part, inner, ring));
    match ring.kind(kernel) {
        KernelKind::Turn | KernelKind::Pi | KernelKind::Prime(_) => false,
        KernelKind::Symbol(_) => kernel == inner,
        KernelKind::Exp(monomial) => {
            monomial.0.iter().any(|(part, _)| has_kernel(*part, inner, ring))
        }
        KernelKind::Group(poly) => any(poly),
        KernelKind::Abs(part, _) => has_kernel(*part, inner, ring),
        KernelKind::Call(_, arguments) | KernelKind::Apply(_, arguments) => {
            arguments.iter().any(any)
        }
        KernelKind::Opaque(expr) => {
            let KernelKind::Symbol(name) = ring.kind(inner) else {
                return true;
            };
            shape::variables(*expr, ring.ws).contains(name)
        }
    }
}
