//! Comparing two expressions at points fixed by their variables.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::bounds::Interval;
use super::eval::{Field, SamplePoint};
use super::kernel::Kernel;
use super::value::NumericValue;
use super::{Separation, Stop, decimal, evaluate};
use crate::expr::{Constant, Expr, Name, Node, Workspace, children};
use crate::fuel::Exhausted;
use crate::proof::{Assumptions, Witness};

/// Precisions at which constants are tried, in bits.
pub(super) const PRECISIONS: [u32; 3] = [64, 256, 1024];

/// Precisions at which expressions with variables are tried.
const POINT_PRECISIONS: [u32; 2] = [64, 256];

/// Bits to which both sides agree before they count as together.
const AGREEMENT: u32 = 200;

/// Points at which both sides have to agree before they count as together.
const MIN_POINTS: u32 = 3;

/// Points at which they are compared at most.
const MAX_POINTS: u32 = 4;

/// Digits of a witness.
const DIGITS: u32 = 8;

/// Free variables and unknown functions of an expression.
#[derive(Debug, Default)]
struct Unknowns {
    symbols: Vec<Name>,
    /// Applications of unknown functions, inner ones before outer ones.
    applications: Vec<Expr>,
    has_imaginary_unit: bool,
}

impl Unknowns {
    fn collect(
        &mut self,
        expr: Expr,
        bound: &mut Vec<Name>,
        ws: &mut Workspace<'_>,
    ) -> Result<(), Exhausted> {
        ws.fuel.spend(1)?;
        let node = ws.node(expr).clone();
        match &node {
            Node::Number(_) => Ok(()),
            Node::Symbol(name) => {
                if !bound.contains(name) && !self.symbols.contains(name) {
                    ws.fuel.spend(1 + self.symbols.len() as u64 / 8)?;
                    self.symbols.push(*name);
                }
                Ok(())
            }
            Node::Constant(constant) => {
                self.has_imaginary_unit |= *constant == Constant::I;
                Ok(())
            }
            Node::Bound(inner) => {
                for end in [inner.from, inner.to].into_iter().flatten() {
                    self.collect(end, bound, ws)?;
                }
                bound.push(inner.variable);
                let collected = self.collect(inner.body, bound, ws);
                bound.pop();
                collected
            }
            Node::Sum(_) | Node::Product(_) | Node::Power(..) | Node::Call(..) => {
                self.collect_children(&node, bound, ws)
            }
            Node::Apply(..) => {
                self.collect_children(&node, bound, ws)?;
                if !self.applications.contains(&expr) {
                    self.applications.push(expr);
                }
                Ok(())
            }
        }
    }

    fn collect_children(
        &mut self,
        node: &Node,
        bound: &mut Vec<Name>,
        ws: &mut Workspace<'_>,
    ) -> Result<(), Exhausted> {
        for child in children(node) {
            self.collect(child, bound, ws)?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.symbols.is_empty() && self.applications.is_empty()
    }

    /// Sorts names by their spelling, so that points depend on the text alone.
    fn sort(&mut self, ws: &Workspace<'_>) {
        self.symbols.sort_by(|left, right| ws.spelling(*left).cmp(ws.spelling(*right)));
    }
}

/// A way to choose values: that of the `k`-th variable, counted from 0.
type Choice = fn(u64) -> RBig;

fn fraction(numerator: u64, denominator: u64) -> RBig {
    RBig::from_parts(IBig::from(numerator), UBig::from(denominator))
}

/// Returns 7/10, 101/130, … : below 1 for the first few variables.
fn below_one(k: u64) -> RBig {
    fraction(7, 10) + fraction(k, 13)
}

/// Returns 23/7, 149/35, … : above 1.
fn above_one(k: u64) -> RBig {
    fraction(23, 7) + fraction(k * 34, 35)
}

/// Returns numbers near 0, then above 1.
fn spread(k: u64) -> RBig {
    fraction(3, 11) + fraction(k * 19, 17)
}

/// Signs in turn, the first negative.
fn signed(k: u64) -> RBig {
    let size = fraction(9, 8) + fraction(k, 9);
    if k.is_multiple_of(2) { -size } else { size }
}

/// Integers in decreasing order: 7, 6, … and then 20, 21, …
fn integers(k: u64) -> RBig {
    RBig::from(if k < 5 { 7 - k } else { 15 + k })
}

/// Integers in increasing order.
fn rising_integers(k: u64) -> RBig {
    RBig::from(4 + 3 * k)
}

/// Returns even and odd integers.
fn more_integers(k: u64) -> RBig {
    RBig::from(10 + k)
}

/// Points in the order tried. If integers are required, only the last three have a value.
const CHOICES: [Choice; 7] =
    [below_one, above_one, signed, spread, integers, rising_integers, more_integers];

/// The outcome at one point.
enum AtPoint {
    Apart(Witness),
    Together(u32),
    NoValue,
    NoRule,
}

/// Compares two expressions at a few points that depend on nothing but their variables.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(crate) fn separate(
    left: Expr,
    right: Expr,
    assumptions: Assumptions,
    ws: &mut Workspace<'_>,
) -> Result<Separation, Exhausted> {
    let mut unknowns = Unknowns::default();
    unknowns.collect(left, &mut Vec::new(), ws)?;
    unknowns.collect(right, &mut Vec::new(), ws)?;
    unknowns.sort(ws);
    let sides = Sides {
        left,
        right,
        field: if unknowns.is_empty() || unknowns.has_imaginary_unit {
            Field::Complex
        } else {
            Field::Real
        },
    };
    if unknowns.is_empty() {
        return Ok(match sides.compare(&[], &unknowns, &mut PRECISIONS.map(Kernel::new), ws)? {
            AtPoint::Apart(witness) => Separation::Apart(witness),
            AtPoint::Together(bits) => Separation::Together { points: 1, bits },
            AtPoint::NoValue => Separation::NoValue,
            AtPoint::NoRule => Separation::NoRule,
        });
    }
    sides.sample(&unknowns, assumptions, ws)
}

/// Decides whether two expressions certainly differ, whatever values within their ranges the given
/// names have. They have no other variables.
///
/// # Errors
/// [`Exhausted`] when the fuel is gone.
pub(crate) fn differ_within(
    left: Expr,
    right: Expr,
    ranges: &[(Name, RBig, RBig)],
    ws: &mut Workspace<'_>,
) -> Result<bool, Exhausted> {
    let mut kernel = Kernel::new(PRECISIONS[1]);
    let bits = kernel.bits();
    let mut point = SamplePoint::default();
    for (name, lower, upper) in ranges {
        let ends = (Interval::from_rational(lower, bits), Interval::from_rational(upper, bits));
        let (Ok(lower), Ok(upper)) = ends else {
            return Ok(false);
        };
        point.symbols.push((*name, NumericValue::Real(lower.hull(&upper))));
    }
    let left = evaluate(left, &point, Field::Complex, &mut kernel, ws)?;
    let right = evaluate(right, &point, Field::Complex, &mut kernel, ws)?;
    let (Ok(left), Ok(right)) = (left, right) else {
        return Ok(false);
    };
    Ok(matches!(compared(&left, &right, bits), Ok(None)))
}

/// Two expressions to compare.
#[derive(Debug, Clone, Copy)]
struct Sides {
    left: Expr,
    right: Expr,
    field: Field,
}

impl Sides {
    /// Compares at points with values for all unknowns.
    fn sample(
        self,
        unknowns: &Unknowns,
        assumptions: Assumptions,
        ws: &mut Workspace<'_>,
    ) -> Result<Separation, Exhausted> {
        let mut kernels = POINT_PRECISIONS.map(Kernel::new);
        let mut points = 0;
        let mut bits = u32::MAX;
        for choice in CHOICES {
            let values: Vec<RBig> = (0..).take(unknowns.symbols.len()).map(choice).collect();
            if assumptions.positive && values.iter().any(|value| *value < RBig::ZERO) {
                continue;
            }
            match self.compare(&values, unknowns, &mut kernels, ws)? {
                AtPoint::Apart(witness) => return Ok(Separation::Apart(witness)),
                AtPoint::Together(agreed) => {
                    points += 1;
                    bits = bits.min(agreed);
                }
                AtPoint::NoValue => {}
                AtPoint::NoRule => return Ok(Separation::NoRule),
            }
            if points == MAX_POINTS {
                break;
            }
        }
        Ok(if points >= MIN_POINTS {
            Separation::Together { points, bits }
        } else {
            Separation::NoValue
        })
    }

    /// Compares at one point with rising precision.
    fn compare(
        self,
        values: &[RBig],
        unknowns: &Unknowns,
        kernels: &mut [Kernel],
        ws: &mut Workspace<'_>,
    ) -> Result<AtPoint, Exhausted> {
        let mut agreed = 0;
        for kernel in kernels {
            let bits = kernel.bits();
            let point = match self.point(values, unknowns, kernel, ws)? {
                Ok(point) => point,
                Err(Stop::Imprecise) => continue,
                Err(stop) => return Ok(stopped(stop)),
            };
            let left = evaluate(self.left, &point, self.field, kernel, ws)?;
            let right = evaluate(self.right, &point, self.field, kernel, ws)?;
            let (left, right) = match (left, right) {
                (Ok(left), Ok(right)) => (left, right),
                (Err(Stop::NoRule), _) | (_, Err(Stop::NoRule)) => return Ok(AtPoint::NoRule),
                (Err(Stop::Imprecise), Ok(_) | Err(Stop::Imprecise))
                | (Ok(_), Err(Stop::Imprecise)) => continue,
                (Err(Stop::NoValue | Stop::Exhausted), _)
                | (_, Err(Stop::NoValue | Stop::Exhausted)) => return Ok(AtPoint::NoValue),
            };
            match compared(&left, &right, bits) {
                Ok(Some(u32::MAX)) => return Ok(AtPoint::Together(u32::MAX)),
                Ok(Some(bits)) => agreed = agreed.max(bits),
                Err(_) => {}
                Ok(None) => {
                    let values =
                        Some((decimal::of_value(&left, DIGITS), decimal::of_value(&right, DIGITS)));
                    let at = witness_point(&point, ws)?;
                    return Ok(AtPoint::Apart(Witness { at, values }));
                }
            }
        }
        Ok(if agreed >= AGREEMENT { AtPoint::Together(agreed) } else { AtPoint::NoValue })
    }

    /// Returns the point with the given values of symbols, and values of its own for applications.
    ///
    /// Two applications of one function are independent only where their arguments certainly
    /// differ: else there is no rule.
    fn point(
        self,
        values: &[RBig],
        unknowns: &Unknowns,
        kernel: &mut Kernel,
        ws: &mut Workspace<'_>,
    ) -> Result<Result<SamplePoint, Stop>, Exhausted> {
        let symbols = unknowns.symbols.iter().copied();
        let values = values.iter().cloned().map(NumericValue::Exact);
        let mut point =
            SamplePoint { symbols: symbols.zip(values).collect(), applications: Vec::new() };
        let mut seen: Vec<(Name, Vec<NumericValue>)> = Vec::new();
        for (k, application) in (1..).zip(&unknowns.applications) {
            let Node::Apply(name, arguments) = ws.node(*application).clone() else {
                continue;
            };
            let mut evaluated = Vec::with_capacity(arguments.len());
            for argument in &arguments {
                match evaluate(*argument, &point, self.field, kernel, ws)? {
                    Ok(value) => evaluated.push(value),
                    // Bound variables have no value here, for one.
                    Err(stop) => return Ok(Err(stop)),
                }
            }
            for (other, others) in &seen {
                ws.fuel.spend(4)?;
                if *other == name && !differ(others, &evaluated, kernel.bits()) {
                    return Ok(Err(Stop::NoRule));
                }
            }
            seen.push((name, evaluated));
            let value = NumericValue::Exact(fraction(5 * k + 13, 7 * k + 11));
            point.applications.push((*application, value));
        }
        Ok(Ok(point))
    }
}

/// Returns the outcome for a point without a value.
fn stopped(stop: Stop) -> AtPoint {
    match stop {
        Stop::NoRule => AtPoint::NoRule,
        Stop::Imprecise | Stop::NoValue | Stop::Exhausted => AtPoint::NoValue,
    }
}

/// Returns whether two lists of arguments certainly differ.
fn differ(left: &[NumericValue], right: &[NumericValue], bits: u32) -> bool {
    left.len() != right.len()
        || left
            .iter()
            .zip(right)
            .any(|(left, right)| matches!(compared(left, right, bits), Ok(None)))
}

/// Returns the bits to which two values agree; `None` if they certainly differ.
fn compared(left: &NumericValue, right: &NumericValue, bits: u32) -> Result<Option<u32>, Stop> {
    if let (NumericValue::Exact(left), NumericValue::Exact(right)) = (left, right) {
        return Ok((left == right).then_some(u32::MAX));
    }
    let (left, right) = (left.parts(bits)?, right.parts(bits)?);
    if left.re.is_disjoint(&right.re) || left.im.is_disjoint(&right.im) {
        return Ok(None);
    }
    let agreed = |left: &Interval, right: &Interval| left.hull(right).agreement();
    let agreed = agreed(&left.re, &right.re).min(agreed(&left.im, &right.im));
    Ok(Some(u32::try_from(agreed.max(0)).unwrap_or(u32::MAX)))
}

/// Returns the values of symbols at `point`, for people.
fn witness_point(
    point: &SamplePoint,
    ws: &mut Workspace<'_>,
) -> Result<Vec<(Expr, RBig)>, Exhausted> {
    let mut at = Vec::with_capacity(point.symbols.len() + point.applications.len());
    for (name, value) in &point.symbols {
        let symbol = ws.intern(Node::Symbol(*name))?;
        if let NumericValue::Exact(value) = value {
            at.push((symbol, value.clone()));
        }
    }
    for (application, value) in &point.applications {
        if let NumericValue::Exact(value) = value {
            at.push((*application, value.clone()));
        }
    }
    Ok(at)
}
