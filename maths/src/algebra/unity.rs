//! Roots of unity: sums of them with square roots of primes, as elements of one cyclotomic field.

use dashu::rational::RBig;

use super::exponent::Exponent;
use super::poly::{Monomial, Poly, Term};
use super::ring::{KernelKind, Ring, TURN};
use super::stop::Stop;
use super::zero::Truth;
use crate::expr::Function;
use crate::interval;

/// Greatest order of roots of unity.
const MAX_ORDER: i64 = 5040;

/// A number of the field: coefficients of powers of a primitive root of unity, not unique.
type CyclotomicNumber = Vec<(usize, RBig)>;

impl Ring<'_, '_> {
    /// Decides whether a sum with roots of unity other than `i` is zero.
    pub(super) fn roots_of_unity_vanish(&mut self, poly: &Poly) -> Result<Truth, Stop> {
        if poly.kernels().iter().any(|kernel| matches!(self.kind(*kernel), KernelKind::Group(_))) {
            return match self.without_turns(poly)? {
                Some(poly) => self.deeper(|ring| ring.number_vanishes(&poly)),
                None => Ok(Truth::Unknown),
            };
        }
        let Some(order) = order(poly)? else {
            return Ok(Truth::Unknown);
        };
        let mut classes: Vec<(Monomial, Vec<RBig>)> = Vec::new();
        for term in &poly.0 {
            let (monomial, sum) = self.in_field(term, order)?;
            let place =
                classes.iter().position(|(other, _)| *other == monomial).unwrap_or(classes.len());
            if place == classes.len() {
                self.spend(u64::try_from(order / 16).unwrap_or(0) + 1)?;
                classes.push((monomial, vec![RBig::ZERO; order]));
            }
            for (power, coefficient) in sum {
                classes[place].1[power] += coefficient;
            }
        }
        for (_, coefficients) in classes {
            if !self.is_cyclotomic_zero(coefficients)? {
                return Ok(Truth::NonZero);
            }
        }
        Ok(Truth::Zero)
    }

    /// Returns a term without its root of unity and without those square roots that lie in the
    /// field.
    fn in_field(
        &mut self,
        term: &Term,
        order: usize,
    ) -> Result<(Monomial, CyclotomicNumber), Stop> {
        let modulus = i64::try_from(order).map_err(|_| Stop::Costly)?;
        let mut sum: CyclotomicNumber = vec![(0, term.coefficient.clone())];
        let mut outside = Vec::new();
        for (kernel, exponent) in term.monomial.0.clone() {
            if kernel == TURN {
                let power = exponent.times(Exponent::new(i128::from(modulus), 2)?)?;
                let shift =
                    usize::try_from(power.above().rem_euclid(modulus)).map_err(|_| Stop::Costly)?;
                for (power, _) in &mut sum {
                    *power = (*power + shift) % order;
                }
                continue;
            }
            let KernelKind::Prime(prime) = self.kind(kernel) else {
                outside.push((kernel, exponent));
                continue;
            };
            let prime = usize::try_from(prime).unwrap_or(usize::MAX);
            let is_inside =
                if prime == 2 { order.is_multiple_of(8) } else { order.is_multiple_of(prime) };
            if !is_inside || exponent < Exponent::HALF {
                outside.push((kernel, exponent));
                continue;
            }
            let root = square_root(prime, order);
            self.spend(u64::try_from(root.len() * sum.len()).unwrap_or(u64::MAX))?;
            sum = product(&sum, &root, order);
            let rest = exponent.plus(Exponent::HALF.negated()?)?;
            if !rest.is_zero() {
                outside.push((kernel, rest));
            }
        }
        Ok((Monomial(outside), sum))
    }

    /// Decides whether a sum of powers of a primitive root of unity is zero: times `x^{n/p} - 1`
    /// for every prime `p` of the order `n`, it is then a multiple of `x^n - 1`, and only then.
    fn is_cyclotomic_zero(&mut self, mut coefficients: Vec<RBig>) -> Result<bool, Stop> {
        let order = coefficients.len();
        let mut rest = order;
        let mut prime = 2;
        while rest > 1 {
            if !rest.is_multiple_of(prime) {
                prime += 1;
                continue;
            }
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
            self.spend(u64::try_from(order).unwrap_or(u64::MAX))?;
            let shift = order / prime;
            let shifted = (0..order)
                .map(|power| &coefficients[(power + order - shift) % order] - &coefficients[power]);
            coefficients = shifted.collect();
        }
        Ok(coefficients.iter().all(RBig::is_zero))
    }

    /// Returns `poly` with roots in place of its roots of unity.
    fn without_turns(&mut self, poly: &Poly) -> Result<Option<Poly>, Stop> {
        let mut total = Poly::default();
        for term in &poly.0 {
            let (monomial, angle) = term.monomial.without(TURN);
            let mut part = Poly(vec![Term { monomial, coefficient: term.coefficient.clone() }]);
            if !angle.is_zero() {
                let Some(unit) = self.turn_by_roots(angle.below())? else {
                    return Ok(None);
                };
                let times = u32::try_from(angle.above()).map_err(|_| Stop::Costly)?;
                let unit = self.expanded_power(&unit, times)?;
                part = self.multiply(&part, &unit)?;
            }
            total = self.add(&total, &part)?;
        }
        Ok(Some(total))
    }

    /// Returns `e^{i pi / below}` by roots, where the rules for half angles lead to one that is
    /// known.
    fn turn_by_roots(&mut self, below: i64) -> Result<Option<Poly>, Stop> {
        let unit = self.imaginary();
        let half = RBig::from_parts(1.into(), 2u8.into());
        let cosine = match below {
            2 => return Ok(Some(unit)),
            3 => return self.turn(Exponent::new(1, 3)?).map(Some),
            5 => {
                let root = self.number_root(&RBig::from(5u8), Exponent::HALF)?;
                let sum = self.add(&Poly::one(), &root)?;
                self.scale(&sum, &RBig::from_parts(1.into(), 4u8.into()))?
            }
            _ if below % 2 == 0 && below <= 96 => {
                let Some(double) = self.turn_by_roots(below / 2)? else {
                    return Ok(None);
                };
                let (real, _) = parts(&double);
                let sum = self.add(&Poly::one(), &real)?;
                let halved = self.scale(&sum, &half)?;
                self.raised(&halved, &half)?
            }
            _ => return Ok(None),
        };
        let square = self.multiply(&cosine, &cosine)?;
        let rest = self.subtract(&Poly::one(), &square)?;
        let sine = self.raised(&rest, &half)?;
        let sine = self.multiply(&sine, &unit)?;
        self.add(&cosine, &sine).map(Some)
    }

    /// Returns the sign of a constant by enclosures.
    pub(super) fn transcendental_sign(
        &mut self,
        poly: &Poly,
    ) -> Result<Option<std::cmp::Ordering>, Stop> {
        let mut expr = self.render(poly)?;
        // Real sums of exponentials have an imaginary part that enclosures cannot tell from 0.
        if self.is_real(poly)? {
            expr = self.ws.call(Function::Re, vec![expr])?;
        }
        Ok(interval::sign(expr, self.ws)?)
    }

    /// Returns the greatest integer that is not greater than an irrational constant.
    pub(super) fn integer_part(&mut self, poly: &Poly) -> Result<Option<RBig>, Stop> {
        if self.is_algebraic(poly) && !poly.has(TURN) {
            return self.ball_floor(poly);
        }
        let expr = self.render(poly)?;
        for bits in [64, 256] {
            let Some(interval) = interval::enclose(expr, bits, self.ws)? else {
                return Ok(None);
            };
            let (low, high) = (interval.lower().floor(), interval.upper().floor());
            if low == high {
                return Ok(Some(RBig::from(low)));
            }
        }
        Ok(None)
    }
}

/// Returns the real and the imaginary part of a sum without roots of unity but `i`.
fn parts(poly: &Poly) -> (Poly, Poly) {
    let (mut real, mut imaginary) = (Vec::new(), Vec::new());
    for term in &poly.0 {
        let (monomial, angle) = term.monomial.without(TURN);
        let side = if angle.is_zero() { &mut real } else { &mut imaginary };
        side.push(Term { monomial, coefficient: term.coefficient.clone() });
    }
    (Poly::collect(real), Poly::collect(imaginary))
}

/// Returns the order of a root of unity of which all others are powers; a multiple of 4, so that it
/// has the square roots of all odd primes that divide it.
fn order(poly: &Poly) -> Result<Option<usize>, Stop> {
    let mut order = 4i64;
    for term in &poly.0 {
        let own = term.monomial.exponent(TURN).below().checked_mul(2).ok_or(Stop::Costly)?;
        let step = Exponent::new(i128::from(own), i128::from(order))?.above();
        order = order.checked_mul(step).ok_or(Stop::Costly)?;
        if order > MAX_ORDER {
            return Ok(None);
        }
    }
    Ok(usize::try_from(order).ok())
}

/// Returns the square root of a prime as a sum of roots of unity: a Gauss sum, times `-i` where the
/// prime is 3 modulo 4.
fn square_root(prime: usize, order: usize) -> CyclotomicNumber {
    let eighth = order / 8;
    if prime == 2 {
        return vec![(eighth, RBig::ONE), (order - eighth, RBig::ONE)];
    }
    let mut residues = vec![false; prime];
    for value in 1..prime {
        residues[value * value % prime] = true;
    }
    let turn = if prime % 4 == 3 { order - order / 4 } else { 0 };
    let terms = (1..prime).map(|value| {
        let power = (value * (order / prime) + turn) % order;
        (power, if residues[value] { RBig::ONE } else { -RBig::ONE })
    });
    terms.collect()
}

fn product(left: &CyclotomicNumber, right: &CyclotomicNumber, order: usize) -> CyclotomicNumber {
    let mut product = Vec::with_capacity(left.len() * right.len());
    for (a, x) in left {
        for (b, y) in right {
            product.push(((a + b) % order, x * y));
        }
    }
    product
}
