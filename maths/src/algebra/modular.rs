//! Values of rational functions in a finite field: where they differ, the functions do.

use dashu::base::Signed;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use super::exact::ExactEvaluator;
use super::stop::{Share, Stop, big};
use crate::expr::{Expr, Name, Node, Workspace};

/// The field has as many elements as this prime.
const PRIME: u64 = (1 << 61) - 1;

/// A point of the field, fixed by the spellings of the variables and a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldPoint(u64);

impl FieldPoint {
    pub(super) fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the coordinate of `name`: a hash, so that no text foresees a zero without effort,
    /// and not a random number, so that the same texts give the same verdict.
    fn coordinate(self, name: Name, ws: &Workspace<'_>) -> u64 {
        let start = 0xcbf2_9ce4_8422_2325 ^ self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = ws
            .spelling(name)
            .bytes()
            .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mixed = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        2 + (mixed ^ mixed >> 32) % (PRIME - 2)
    }
}

/// Returns the value of `expr` at `point`; `None` if it is no rational function, or has none there.
pub(super) fn value_at(
    expr: Expr,
    point: FieldPoint,
    ws: &mut Workspace<'_>,
    share: &mut Share,
) -> Result<Option<u64>, Stop> {
    share.spend(ws.fuel, 1)?;
    match ws.node(expr) {
        Node::Number(value) => {
            let value = value.clone();
            share.spend(ws.fuel, big(super::exact::bits(&value)))?;
            Ok(residue(&value))
        }
        Node::Symbol(name) => Ok(Some(point.coordinate(*name, ws))),
        Node::Sum(terms) => {
            let terms = terms.clone();
            fold(&terms, 0, point, (ws, share), |a, b| (a + b) % PRIME)
        }
        Node::Product(factors) => {
            let factors = factors.clone();
            fold(&factors, 1, point, (ws, share), multiply)
        }
        Node::Power(base, exponent) => {
            let (base, exponent) = (*base, *exponent);
            let exponent = ExactEvaluator { ws, share }.value(exponent)?;
            let Some(exponent) = exponent.filter(RBig::is_int) else {
                return Ok(None);
            };
            let Some(base) = value_at(base, point, ws, share)? else {
                return Ok(None);
            };
            share.spend(ws.fuel, 2)?;
            Ok(power(base, exponent.numerator()))
        }
        Node::Constant(_) | Node::Call(..) | Node::Apply(..) | Node::Bound(_) => Ok(None),
    }
}

fn fold(
    exprs: &[Expr],
    start: u64,
    point: FieldPoint,
    (ws, share): (&mut Workspace<'_>, &mut Share),
    combine: impl Fn(u64, u64) -> u64,
) -> Result<Option<u64>, Stop> {
    let mut total = start;
    for expr in exprs {
        match value_at(*expr, point, ws, share)? {
            Some(value) => total = combine(total, value),
            None => return Ok(None),
        }
    }
    Ok(Some(total))
}

fn multiply(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    // 2^61 is 1 modulo the prime.
    let folded = (product >> 61) + (product & u128::from(PRIME));
    u64::try_from(folded).expect("two parts of 61 bits fit") % PRIME
}

fn residue(value: &RBig) -> Option<u64> {
    let above = value.numerator().clone().into_parts().1 % PRIME;
    let below = value.denominator() % PRIME;
    let quotient = multiply(above, inverse(below)?);
    Some(if value.is_negative() { (PRIME - quotient) % PRIME } else { quotient })
}

fn inverse(value: u64) -> Option<u64> {
    match value {
        0 => None,
        1 => Some(1),
        _ => Some(raised(value, PRIME - 2)),
    }
}

fn raised(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    result
}

fn power(base: u64, exponent: &IBig) -> Option<u64> {
    if base == 0 {
        return (!exponent.is_negative()).then(|| u64::from(exponent.is_zero()));
    }
    let magnitude: UBig = exponent.clone().into_parts().1;
    let raised = raised(base, magnitude % (PRIME - 1));
    if exponent.is_negative() { inverse(raised) } else { Some(raised) }
}
