//! Values of Hurwitz's zeta function at rational arguments: what sums of partial fractions are made of.

use dashu::integer::IBig;
use dashu::rational::RBig;

use crate::calculus::build::{add, call, mul, small_power};
use crate::expr::{Constant, Expr, Function, Workspace};
use crate::fuel::Exhausted;

/// Most terms by which an argument is moved.
const MAX_STEPS: i64 = 200;

/// A sum of `weight * zeta(order, at)` and of a number, where `zeta(order, at)` is the sum of
/// `1 / (k + at)^order` over all k from 0 on. Values of order 1 are finite only where their weights
/// cancel.
#[derive(Debug, Clone, Default)]
pub(super) struct ZetaSum {
    exact: RBig,
    values: Vec<ZetaValue>,
}

/// `weight * zeta(order, at)`, with an argument above 0 and up to 1.
#[derive(Debug, Clone)]
struct ZetaValue {
    order: usize,
    at: RBig,
    weight: RBig,
}

/// What values of one order come to: multiples of constants.
#[derive(Debug, Default)]
struct Multiples {
    /// Of Riemann's zeta function, or of what diverges for order 1.
    zeta: RBig,
    ln_two: RBig,
    ln_three: RBig,
    /// Of the alternating sum of `1 / k^order` over k = 1, 3, 5, 7, ….
    fourth: RBig,
    /// Of the alternating sum over k = 1, 2, 4, 5, 7, 8, ….
    third: RBig,
}

impl ZetaSum {
    /// Adds `weight * zeta(order, at)`. Returns false, where a term of it has no value or the
    /// argument is far from 1.
    pub(super) fn add(
        &mut self,
        weight: &RBig,
        order: usize,
        at: &RBig,
        ws: &mut Workspace<'_>,
    ) -> Result<bool, Exhausted> {
        let steps = i64::try_from(at.ceil() - IBig::ONE).unwrap_or(i64::MAX);
        if !(-MAX_STEPS..=MAX_STEPS).contains(&steps) {
            return Ok(false);
        }
        let base = at - RBig::from(steps);
        if steps < 0 && base.is_one() {
            return Ok(false);
        }
        let exponent = -isize::try_from(order).unwrap_or(isize::MAX);
        for step in steps.min(0)..steps.max(0) {
            ws.fuel.spend(8)?;
            let term = weight * (&base + RBig::from(step)).pow(exponent);
            if steps > 0 {
                self.exact -= term;
            } else {
                self.exact += term;
            }
        }
        match self.values.iter_mut().find(|value| value.order == order && value.at == base) {
            Some(value) => value.weight += weight,
            None => self.values.push(ZetaValue { order, at: base, weight: weight.clone() }),
        }
        Ok(true)
    }

    /// Returns the sum in elementary numbers; `None` if it diverges or none are known.
    pub(super) fn closed(mut self, ws: &mut Workspace<'_>) -> Result<Option<Expr>, Exhausted> {
        self.values.retain(|value| !value.weight.is_zero());
        let mut total = ws.number(self.exact)?;
        while let Some(order) = self.values.first().map(|value| value.order) {
            let (own, others): (Vec<_>, Vec<_>) =
                self.values.into_iter().partition(|value| value.order == order);
            self.values = others;
            let Some(multiples) = Multiples::of(&own) else {
                return Ok(None);
            };
            let Some(parts) = multiples.parts(order, ws)? else {
                return Ok(None);
            };
            for (factor, constant) in parts {
                let factor = ws.number(factor)?;
                let part = mul(factor, constant, ws)?;
                total = add(total, part, ws)?;
            }
        }
        Ok(Some(total))
    }
}

impl Multiples {
    /// Returns the multiples that values of one order come to; `None` if an argument has another
    /// denominator than 1, 2, 3, 4 and 6.
    fn of(values: &[ZetaValue]) -> Option<Self> {
        let mut multiples = Self::default();
        for ZetaValue { order, at, weight } in values {
            let power = |base: u32| RBig::from(base).pow(isize::try_from(*order).unwrap_or(0));
            let (two, three) = (power(2), power(3));
            let half = weight / RBig::from(2);
            // Arguments p/q and 1 - p/q have one half of their sum and of their difference each.
            let is_first = at < &(RBig::ONE / RBig::from(2));
            let signed = if is_first { half.clone() } else { -half.clone() };
            match u32::try_from(at.denominator()).ok()? {
                1 => multiples.zeta += weight,
                2 => {
                    multiples.zeta += weight * (two - RBig::ONE);
                    multiples.ln_two += weight * RBig::from(2);
                }
                3 => {
                    multiples.zeta += half * (&three - RBig::ONE);
                    multiples.ln_three += weight * RBig::from(3) / RBig::from(2);
                    multiples.third += signed * three;
                }
                4 => {
                    multiples.zeta += half * (power(4) - two);
                    multiples.ln_two += weight * RBig::from(3);
                    multiples.fourth += signed * power(4);
                }
                6 => {
                    multiples.zeta += half * (two - RBig::ONE) * (&three - RBig::ONE);
                    multiples.ln_two += weight * RBig::from(2);
                    multiples.ln_three += weight * RBig::from(3) / RBig::from(2);
                    multiples.third += signed * (power(6) + three);
                }
                _ => return None,
            }
        }
        if values.first().is_some_and(|value| value.order == 1) {
            let zero = RBig::ZERO;
            multiples.zeta = values.iter().fold(zero, |sum, value| sum + &value.weight);
        }
        Some(multiples)
    }

    /// Returns numbers with the constants they multiply.
    fn parts(
        self,
        order: usize,
        ws: &mut Workspace<'_>,
    ) -> Result<Option<Vec<(RBig, Expr)>>, Exhausted> {
        let mut parts = Vec::new();
        let pi = ws.constant(Constant::Pi)?;
        let raised = small_power(pi, i64::try_from(order).unwrap_or(0), ws)?;
        let multiples =
            [(self.zeta, riemann(order)), (self.fourth, beta(order)), (self.third, third(order))];
        for (place, (multiple, value)) in multiples.into_iter().enumerate() {
            if multiple.is_zero() {
                continue;
            }
            let Some(value) = value else {
                return Ok(None);
            };
            let mut constant = raised;
            if place == 2 {
                let (three, half) = (ws.integer(3)?, ws.number(RBig::ONE / RBig::from(2))?);
                let root = ws.power(three, half)?;
                constant = mul(root, raised, ws)?;
            }
            parts.push((multiple * value, constant));
        }
        if order == 1 {
            for (multiple, base) in [(self.ln_two, 2), (self.ln_three, 3)] {
                if !multiple.is_zero() {
                    let base = ws.integer(base)?;
                    parts.push((multiple, call(Function::Ln, base, ws)?));
                }
            }
        }
        Ok(Some(parts))
    }
}

fn fraction(above: u32, below: u32) -> RBig {
    RBig::from(above) / RBig::from(below)
}

/// Returns `zeta(order) / pi^order`, where that is rational and known.
fn riemann(order: usize) -> Option<RBig> {
    match order {
        2 => Some(fraction(1, 6)),
        4 => Some(fraction(1, 90)),
        6 => Some(fraction(1, 945)),
        8 => Some(fraction(1, 9450)),
        _ => None,
    }
}

/// Returns `(1 - 1/3^order + 1/5^order - …) / pi^order`, where that is rational and known.
fn beta(order: usize) -> Option<RBig> {
    match order {
        1 => Some(fraction(1, 4)),
        3 => Some(fraction(1, 32)),
        5 => Some(fraction(5, 1536)),
        7 => Some(fraction(61, 184_320)),
        _ => None,
    }
}

/// Returns `(1 - 1/2^order + 1/4^order - 1/5^order + …) / (sqrt(3) pi^order)`, where that is
/// rational and known.
fn third(order: usize) -> Option<RBig> {
    match order {
        1 => Some(fraction(1, 9)),
        3 => Some(fraction(4, 243)),
        _ => None,
    }
}
