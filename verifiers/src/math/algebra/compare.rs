//! The ladder.

use dashu::rational::RBig;

use super::super::calculus;
use super::super::enclosure::{self, Separation};
use super::super::expr::{Constant, Expr, Node, Workspace};
use super::super::finding::{Assumptions, Doubt, Finding, Rule, Witness};
use super::exact::Evaluator;
use super::modular::{self, Point};
use super::poly::Poly;
use super::ring::{Kind, Ring};
use super::shape;
use super::stop::{Share, Stop};
use super::zero::Truth;
use crate::fuel::Exhausted;

/// The longest exact value that a witness shows.
const MAX_SHOWN: usize = 24;

/// Whether `left` and `right` have the same value for all values of their variables.
///
/// # Errors
/// [`Exhausted`] when the fuel of the verdict is gone.
pub(in crate::math) fn compare(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Finding, Exhausted> {
    let traits = match at_once(left, right, ws)? {
        Early::Found(finding) => return Ok(finding),
        Early::Open(traits) => traits,
    };
    if !traits.has_bounds {
        return by_ladder(left, right, traits, assumptions, ws);
    }
    let closed = (with_closed_forms(left, ws)?, with_closed_forms(right, ws)?);
    if closed == (left, right) {
        return by_ladder(left, right, traits, assumptions, ws);
    }
    let finding = match at_once(closed.0, closed.1, ws)? {
        Early::Found(finding) => finding,
        Early::Open(traits) => by_ladder(closed.0, closed.1, traits, assumptions, ws)?,
    };
    Ok(under_calculus(finding))
}

/// What a first look at two expressions gives.
enum Early {
    Found(Finding),
    Open(Traits),
}

/// Decides what takes no rung: rational numbers, expressions that are one, and no value at all.
fn at_once(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Early, Exhausted> {
    if let Some(finding) = by_rationals(left, right, ws)? {
        return Ok(Early::Found(finding));
    }
    let traits = Traits::of(left, ws)?.and(Traits::of(right, ws)?);
    Ok(if traits.is_undefined {
        Early::Found(Finding::Undecided(Doubt::NoValue))
    } else if left == right {
        Early::Found(Finding::Equal(Rule::Identical))
    } else {
        Early::Open(traits)
    })
}

/// `expr` with closed forms where there are some.
fn with_closed_forms(expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    ws.replaced(expr, &mut |ws, node| match node {
        Node::Bound(bound) => calculus::closed(bound, ws),
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Sum(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..) => Ok(None),
    })
}

/// What exact rules found of closed forms is calculus.
fn under_calculus(finding: Finding) -> Finding {
    let of = |rule| match rule {
        Rule::Identical
        | Rule::Rational
        | Rule::RationalFunction
        | Rule::Algebraic
        | Rule::Elementary
        | Rule::Calculus => Rule::Calculus,
        Rule::Enclosure | Rule::Definedness => rule,
    };
    match finding {
        Finding::Equal(rule) => Finding::Equal(of(rule)),
        Finding::Different(rule, witness) => Finding::Different(of(rule), witness),
        Finding::Undecided(doubt) => Finding::Undecided(doubt),
    }
}

/// The rungs above rational numbers.
fn by_ladder(
    left: Expr,
    right: Expr,
    traits: Traits,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Finding, Exhausted> {
    if traits.is_infinite {
        return by_infinity(left, right, ws);
    }
    if traits.is_rational
        && let Some(finding) = by_residues(left, right, ws)?
    {
        return Ok(finding);
    }
    let mut doubt = Doubt::NoRule;
    match by_normal_form(left, right, assumptions, ws) {
        Ok(Some(finding)) => return Ok(finding),
        Ok(None) | Err(Stop::NoRule) => {}
        Err(Stop::Exhausted) => return Err(Exhausted),
        Err(Stop::Costly) => doubt = Doubt::Costly,
        Err(Stop::Undefined) => doubt = Doubt::NoValue,
    }
    Ok(match enclosure::separate(left, right, assumptions, ws)? {
        Separation::Apart(witness) => Finding::Different(Rule::Enclosure, Some(witness)),
        Separation::Together { .. } => Finding::Undecided(Doubt::LikelyEqual),
        Separation::NoValue => Finding::Undecided(Doubt::NoValue),
        Separation::NoRule => Finding::Undecided(doubt),
    })
}

/// Nodes that decide which rungs there are.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "they are found by one walk and independent")]
struct Traits {
    /// Numbers, variables, sums, products and powers alone.
    is_rational: bool,
    is_infinite: bool,
    is_undefined: bool,
    has_bounds: bool,
}

impl Traits {
    fn of(expr: Expr, ws: &mut Workspace<'_>) -> Result<Self, Exhausted> {
        let mut traits =
            Self { is_rational: true, is_infinite: false, is_undefined: false, has_bounds: false };
        let mut open = vec![expr];
        let mut seen = 0u64;
        while let Some(expr) = open.pop() {
            seen += 1;
            if u64::is_multiple_of(seen, 16) {
                ws.fuel.spend(1)?;
            }
            let node = ws.node(expr);
            match node {
                Node::Number(_)
                | Node::Symbol(_)
                | Node::Sum(_)
                | Node::Product(_)
                | Node::Power(..) => {}
                Node::Constant(Constant::Infinity) => traits.is_infinite = true,
                Node::Constant(Constant::Undefined) => traits.is_undefined = true,
                Node::Constant(Constant::Pi | Constant::E | Constant::I)
                | Node::Call(..)
                | Node::Apply(..) => traits.is_rational = false,
                // Bounds may be infinite without harm.
                Node::Bound(_) => {
                    traits.has_bounds = true;
                    traits.is_rational = false;
                    continue;
                }
            }
            open.extend(super::super::expr::children(node));
        }
        Ok(traits)
    }

    fn and(self, other: Self) -> Self {
        Self {
            is_rational: self.is_rational && other.is_rational,
            is_infinite: self.is_infinite || other.is_infinite,
            is_undefined: self.is_undefined || other.is_undefined,
            has_bounds: self.has_bounds || other.has_bounds,
        }
    }
}

/// Two rational numbers, or a number and something without a value.
fn by_rationals(
    left: Expr,
    right: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Finding>, Exhausted> {
    if let (Node::Number(_), Node::Number(_)) = (ws.node(left), ws.node(right)) {
        // Equal numbers are one node.
        return Ok(Some(if left == right {
            Finding::Equal(Rule::Identical)
        } else {
            Finding::Different(Rule::Rational, None)
        }));
    }
    let mut share = Share::new(ws.fuel.left() / 3);
    let mut value = |expr| Evaluator { ws: &mut *ws, share: &mut share }.value(expr);
    let (a, b) = (value(left), value(right));
    Ok(match (a, b) {
        (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => return Err(Exhausted),
        (Err(Stop::Undefined), Err(Stop::Undefined)) => Some(Finding::Undecided(Doubt::NoValue)),
        (Err(Stop::Undefined), Ok(Some(_))) | (Ok(Some(_)), Err(Stop::Undefined)) => {
            Some(Finding::Different(Rule::Definedness, None))
        }
        (Ok(Some(a)), Ok(Some(b))) => Some(match (a == b, left == right) {
            (true, true) => Finding::Equal(Rule::Identical),
            (true, false) => Finding::Equal(Rule::Rational),
            (false, _) => Finding::Different(Rule::Rational, constants(&a, &b)),
        }),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
    })
}

/// The witness of two numbers: there is nothing to choose.
fn constants(left: &RBig, right: &RBig) -> Option<Witness> {
    Some(Witness { at: Vec::new(), values: Some((shown(left)?, shown(right)?)) })
}

fn shown(value: &RBig) -> Option<String> {
    // A digit has more than three bits.
    let is_short = super::exact::bits(value) <= 3 * u64::try_from(MAX_SHOWN).unwrap_or(0);
    is_short.then(|| value.to_string())
}

/// What becomes infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extended {
    Finite,
    Infinite { is_negative: bool },
    Unknown,
}

fn by_infinity(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Finding, Exhausted> {
    let pair = (extended(left, ws)?, extended(right, ws)?);
    Ok(match pair {
        (Extended::Unknown, _) | (_, Extended::Unknown) => Finding::Undecided(Doubt::NoRule),
        (a, b) if a == b && a != Extended::Finite => Finding::Equal(Rule::Identical),
        (Extended::Finite, Extended::Finite) => Finding::Undecided(Doubt::NoRule),
        _ => Finding::Different(Rule::Definedness, None),
    })
}

fn extended(expr: Expr, ws: &mut Workspace<'_>) -> Result<Extended, Exhausted> {
    if !Traits::of(expr, ws)?.is_infinite {
        return Ok(Extended::Finite);
    }
    match ws.node(expr).clone() {
        Node::Constant(Constant::Infinity) => Ok(Extended::Infinite { is_negative: false }),
        Node::Sum(terms) => {
            let mut total = Extended::Finite;
            for term in &terms {
                total = match (total, extended(*term, ws)?) {
                    (Extended::Finite, other) | (other, Extended::Finite) => other,
                    (a, b) if a == b => a,
                    _ => return Ok(Extended::Unknown),
                };
            }
            Ok(total)
        }
        Node::Product(factors) => {
            let mut sign = false;
            for factor in &factors {
                match extended(*factor, ws)? {
                    Extended::Infinite { is_negative } => sign ^= is_negative,
                    Extended::Unknown => return Ok(Extended::Unknown),
                    Extended::Finite => match super::rational(*factor, ws)? {
                        Some(value) if !value.is_zero() => sign ^= value < RBig::ZERO,
                        Some(_) | None => return Ok(Extended::Unknown),
                    },
                }
            }
            Ok(Extended::Infinite { is_negative: sign })
        }
        Node::Number(_)
        | Node::Symbol(_)
        | Node::Constant(_)
        | Node::Power(..)
        | Node::Call(..)
        | Node::Apply(..)
        | Node::Bound(_) => Ok(Extended::Unknown),
    }
}

/// Rational functions that differ at a point of a finite field.
fn by_residues(
    left: Expr,
    right: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Finding>, Exhausted> {
    let mut share = Share::new(ws.fuel.left() / 8);
    for number in 0..2 {
        let mut value = |expr| modular::value(expr, Point::new(number), &mut *ws, &mut share);
        match (value(left), value(right)) {
            (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => return Err(Exhausted),
            (Ok(Some(a)), Ok(Some(b))) if a != b => {
                let witness = rational_witness(left, right, ws)?;
                return Ok(Some(Finding::Different(Rule::RationalFunction, witness)));
            }
            (Ok(Some(_)), Ok(Some(_))) => {}
            (Ok(_) | Err(_), _) => break,
        }
    }
    Ok(None)
}

/// A small point at which rational functions that are known to differ do so.
fn rational_witness(
    left: Expr,
    right: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Witness>, Exhausted> {
    let mut names = shape::variables(left, ws);
    names.append(&mut shape::variables(right, ws));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() || names.len() > 4 {
        return Ok(None);
    }
    for offset in [1i64, 2, -1, 3] {
        let mut sides = [left, right];
        let mut at = Vec::with_capacity(names.len());
        for (value, name) in (offset..).zip(&names) {
            let symbol = ws.intern(Node::Symbol(*name))?;
            let number = ws.integer(value)?;
            at.push((symbol, RBig::from(value)));
            for side in &mut sides {
                *side = shape::substitute(*side, *name, number, ws)?;
            }
        }
        let mut share = Share::new(ws.fuel.left() / 16);
        let mut value = |expr| Evaluator { ws: &mut *ws, share: &mut share }.value(expr);
        if let (Ok(Some(a)), Ok(Some(b))) = (value(sides[0]), value(sides[1]))
            && a != b
        {
            let values = shown(&a).zip(shown(&b));
            return Ok(Some(Witness { at, values }));
        }
    }
    Ok(None)
}

/// The difference in normal form.
fn by_normal_form(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Option<Finding>, Stop> {
    let share = Share::new(ws.fuel.left() / 2);
    let mut ring = Ring::new(ws, assumptions, share);
    let (a, b) = match (ring.build(left), ring.build(right)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(Stop::Undefined), Ok(_)) | (Ok(_), Err(Stop::Undefined)) => {
            return Ok(Some(Finding::Different(Rule::Definedness, None)));
        }
        (Err(stop), _) | (_, Err(stop)) => return Err(stop),
    };
    let rule = rule(&ring, &a, &b);
    let difference = ring.subtract(&a, &b)?;
    Ok(match ring.vanishes(&difference)? {
        Truth::Zero => Some(Finding::Equal(rule)),
        Truth::NonZero => Some(Finding::Different(rule, None)),
        Truth::Unknown => None,
    })
}

/// The rule that a comparison of normal forms is reported under.
fn rule(ring: &Ring<'_, '_>, left: &Poly, right: &Poly) -> Rule {
    let mut rule = Rule::Rational;
    for term in left.0.iter().chain(&right.0) {
        for (kernel, exponent) in &term.monomial.0 {
            let other = match ring.kind(*kernel) {
                Kind::Symbol(_) | Kind::Group(_) if exponent.is_integer() => Rule::RationalFunction,
                Kind::Turn | Kind::Prime(_) | Kind::Symbol(_) | Kind::Group(_) => Rule::Algebraic,
                Kind::Pi
                | Kind::Exp(_)
                | Kind::Abs(..)
                | Kind::Call(..)
                | Kind::Apply(..)
                | Kind::Opaque(_) => Rule::Elementary,
            };
            rule = stronger(rule, other);
        }
    }
    rule
}

fn stronger(left: Rule, right: Rule) -> Rule {
    let rank = |rule| match rule {
        Rule::Identical | Rule::Rational => 0,
        Rule::RationalFunction => 1,
        Rule::Algebraic => 2,
        Rule::Elementary => 3,
        Rule::Calculus => 4,
        Rule::Enclosure | Rule::Definedness => 5,
    };
    if rank(left) >= rank(right) { left } else { right }
}
