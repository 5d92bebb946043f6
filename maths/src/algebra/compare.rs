//! Compares two expressions by the steps of the parent module, in their order.

use dashu::rational::RBig;

use super::exact::ExactEvaluator;
use super::modular::{self, FieldPoint};
use super::poly::Poly;
use super::ring::{KernelKind, Ring};
use super::shape;
use super::stop::{Share, Stop};
use super::values;
use super::zero::Truth;
use crate::calculus;
use crate::expr::{Constant, Expr, Node, Workspace};
use crate::fuel::Exhausted;
use crate::interval::{self, Separation};
use crate::proof::{Assumptions, Doubt, Proof, Rule, Witness};

/// The longest exact value that a witness shows.
const MAX_SHOWN: usize = 24;

/// Decides whether `left` and `right` have the same value for all values of their variables.
///
/// # Errors
/// [`Exhausted`] when the fuel of the verdict is gone.
pub fn compare(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Proof, Exhausted> {
    let traits = match at_once(left, right, ws)? {
        Early::Found(finding) => return Ok(finding),
        Early::Open(traits) => traits,
    };
    if !traits.has_bounds {
        return by_ladder(left, right, traits, assumptions, ws);
    }
    let closed = (
        calculus::with_closed_forms(left, is_zero, ws)?,
        calculus::with_closed_forms(right, is_zero, ws)?,
    );
    let finding = if closed == (left, right) {
        by_ladder(left, right, traits, assumptions, ws)?
    } else {
        under_calculus(match at_once(closed.0, closed.1, ws)? {
            Early::Found(finding) => finding,
            Early::Open(traits) => by_ladder(closed.0, closed.1, traits, assumptions, ws)?,
        })
    };
    if matches!(finding, Proof::Undecided(_)) && differ_by_enclosure(closed.0, closed.1, ws)? {
        return Ok(Proof::Different(Rule::Enclosure, None));
    }
    Ok(finding)
}

/// Decides whether two numbers with infinite sums in them certainly differ, by enclosures of these
/// sums.
fn differ_by_enclosure(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<bool, Exhausted> {
    if !ws.is_closed(left)? || !ws.is_closed(right)? {
        return Ok(false);
    }
    let mut ranges = Vec::new();
    let mut enclosed = |ws: &mut Workspace<'_>, expr: Expr| {
        ws.replaced(expr, &mut |ws, node| {
            let Node::Bound(bound) = node else {
                return Ok(None);
            };
            let Some((lower, upper)) = calculus::enclosure(bound, ws)? else {
                return Ok(None);
            };
            // No reader gives this name to a variable.
            let name = ws.name(&format!("sum {}", ranges.len()));
            ranges.push((name, lower, upper));
            ws.intern(Node::Symbol(name)).map(Some)
        })
    };
    let (left, right) = (enclosed(ws, left)?, enclosed(ws, right)?);
    if ranges.is_empty() {
        return Ok(false);
    }
    interval::differ_within(left, right, &ranges, ws)
}

/// The result of a first look at two expressions.
enum Early {
    Found(Proof),
    Open(Traits),
}

/// Decides what takes no rung: rational numbers, expressions that are one, and no value at all.
fn at_once(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Early, Exhausted> {
    if let Some(finding) = by_rationals(left, right, ws)? {
        return Ok(Early::Found(finding));
    }
    let traits = Traits::of(left, ws)?.and(Traits::of(right, ws)?);
    Ok(if traits.is_undefined {
        Early::Found(Proof::Undecided(Doubt::NoValue))
    } else if left == right {
        Early::Found(Proof::Equal(Rule::Identical))
    } else {
        Early::Open(traits)
    })
}

/// Decides whether `expr` is 0; `None` if neither is proven.
pub(crate) fn is_zero(expr: Expr, ws: &mut Workspace<'_>) -> Result<Option<bool>, Exhausted> {
    let zero = ws.integer(0)?;
    Ok(match compare(expr, zero, Assumptions::default(), ws)? {
        Proof::Equal(_) => Some(true),
        Proof::Different(..) => Some(false),
        Proof::Undecided(_) => None,
    })
}

/// Compares two expressions by intervals at a few points, with closed forms in place of sums,
/// products, limits, integrals and derivatives.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(crate) fn separate(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Separation, Exhausted> {
    let left = resolved(left, ws)?;
    let right = resolved(right, ws)?;
    interval::separate(left, right, assumptions, ws)
}

fn resolved(expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    if ws.any(expr, &mut |node| matches!(node, Node::Bound(_)))? {
        calculus::with_closed_forms(expr, is_zero, ws)
    } else {
        Ok(expr)
    }
}

/// Reports a proof that used closed forms as one of calculus.
fn under_calculus(finding: Proof) -> Proof {
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
        Proof::Equal(rule) => Proof::Equal(of(rule)),
        Proof::Different(rule, witness) => Proof::Different(of(rule), witness),
        Proof::Undecided(doubt) => Proof::Undecided(doubt),
    }
}

/// Compares by the rungs above rational numbers.
fn by_ladder(
    left: Expr,
    right: Expr,
    traits: Traits,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Proof, Exhausted> {
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
    Ok(match separate(left, right, assumptions, ws)? {
        Separation::Apart(witness) => Proof::Different(Rule::Enclosure, Some(witness)),
        Separation::Together { .. } => Proof::Undecided(Doubt::LikelyEqual),
        Separation::NoValue => Proof::Undecided(Doubt::NoValue),
        Separation::NoRule => Proof::Undecided(doubt),
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

/// Compares two rational numbers, or a number and something without a value.
fn by_rationals(
    left: Expr,
    right: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Proof>, Exhausted> {
    if let (Node::Number(_), Node::Number(_)) = (ws.node(left), ws.node(right)) {
        // Equal numbers are one node.
        return Ok(Some(if left == right {
            Proof::Equal(Rule::Identical)
        } else {
            Proof::Different(Rule::Rational, None)
        }));
    }
    let mut share = Share::new(ws.fuel.left() / 3);
    let mut value = |expr| ExactEvaluator { ws: &mut *ws, share: &mut share }.value(expr);
    let (a, b) = (value(left), value(right));
    Ok(match (a, b) {
        (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => return Err(Exhausted),
        (Err(Stop::Undefined), Err(Stop::Undefined)) => Some(Proof::Undecided(Doubt::NoValue)),
        (Err(Stop::Undefined), Ok(Some(_))) | (Ok(Some(_)), Err(Stop::Undefined)) => {
            Some(Proof::Different(Rule::Definedness, None))
        }
        (Ok(Some(a)), Ok(Some(b))) => Some(match (a == b, left == right) {
            (true, true) => Proof::Equal(Rule::Identical),
            (true, false) => Proof::Equal(Rule::Rational),
            (false, _) => Proof::Different(Rule::Rational, constants(&a, &b)),
        }),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => None,
    })
}

/// Returns the witness of two numbers: there is nothing to choose.
fn constants(left: &RBig, right: &RBig) -> Option<Witness> {
    Some(Witness { at: Vec::new(), values: Some((exact_text(left)?, exact_text(right)?)) })
}

fn exact_text(value: &RBig) -> Option<String> {
    // A digit has more than three bits.
    let is_short = super::exact::bits(value) <= 3 * u64::try_from(MAX_SHOWN).unwrap_or(0);
    is_short.then(|| value.to_string())
}

/// Whether an expression is infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extended {
    Finite,
    Infinite { is_negative: bool },
    Unknown,
}

fn by_infinity(left: Expr, right: Expr, ws: &mut Workspace<'_>) -> Result<Proof, Exhausted> {
    let pair = (extended(left, ws)?, extended(right, ws)?);
    Ok(match pair {
        (Extended::Unknown, _) | (_, Extended::Unknown) => Proof::Undecided(Doubt::NoRule),
        (a, b) if a == b && a != Extended::Finite => Proof::Equal(Rule::Identical),
        (Extended::Finite, Extended::Finite) => Proof::Undecided(Doubt::NoRule),
        _ => Proof::Different(Rule::Definedness, None),
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
                    Extended::Finite => match values::rational(*factor, is_zero, ws)? {
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

/// Proves rational functions different at a point of a finite field.
fn by_residues(
    left: Expr,
    right: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Option<Proof>, Exhausted> {
    let mut share = Share::new(ws.fuel.left() / 8);
    for number in 0..2 {
        let mut value =
            |expr| modular::value_at(expr, FieldPoint::new(number), &mut *ws, &mut share);
        match (value(left), value(right)) {
            (Err(Stop::Exhausted), _) | (_, Err(Stop::Exhausted)) => return Err(Exhausted),
            (Ok(Some(a)), Ok(Some(b))) if a != b => {
                let witness = rational_witness(left, right, ws)?;
                return Ok(Some(Proof::Different(Rule::RationalFunction, witness)));
            }
            (Ok(Some(_)), Ok(Some(_))) => {}
            (Ok(_) | Err(_), _) => break,
        }
    }
    Ok(None)
}

/// Returns a small point at which rational functions that are known to differ do so.
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
        let mut value = |expr| ExactEvaluator { ws: &mut *ws, share: &mut share }.value(expr);
        if let (Ok(Some(a)), Ok(Some(b))) = (value(sides[0]), value(sides[1]))
            && a != b
        {
            let values = exact_text(&a).zip(exact_text(&b));
            return Ok(Some(Witness { at, values }));
        }
    }
    Ok(None)
}

/// Compares by the normal form of the difference.
fn by_normal_form(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Option<Proof>, Stop> {
    let share = Share::new(ws.fuel.left() / 2);
    let mut ring = Ring::new(ws, assumptions, share, is_zero);
    let (a, b) = match (ring.build(left), ring.build(right)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(Stop::Undefined), Ok(_)) | (Ok(_), Err(Stop::Undefined)) => {
            return Ok(Some(Proof::Different(Rule::Definedness, None)));
        }
        (Err(stop), _) | (_, Err(stop)) => return Err(stop),
    };
    let rule = rule(&ring, &a, &b);
    let difference = ring.subtract(&a, &b)?;
    Ok(match ring.vanishes(&difference)? {
        Truth::Zero => Some(Proof::Equal(rule)),
        Truth::NonZero => Some(Proof::Different(rule, None)),
        Truth::Unknown => None,
    })
}

/// Returns the rule that a comparison of normal forms is reported under.
fn rule(ring: &Ring<'_, '_>, left: &Poly, right: &Poly) -> Rule {
    let mut rule = Rule::Rational;
    for term in left.0.iter().chain(&right.0) {
        for (kernel, exponent) in &term.monomial.0 {
            let other = match ring.kind(*kernel) {
                KernelKind::Symbol(_) | KernelKind::Group(_) if exponent.is_integer() => {
                    Rule::RationalFunction
                }
                KernelKind::Turn
                | KernelKind::Prime(_)
                | KernelKind::Symbol(_)
                | KernelKind::Group(_) => Rule::Algebraic,
                KernelKind::Pi
                | KernelKind::Exp(_)
                | KernelKind::Abs(..)
                | KernelKind::Call(..)
                | KernelKind::Apply(..)
                | KernelKind::Opaque(_) => Rule::Elementary,
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
