//! Sums of powers of consecutive integers.

use dashu::integer::IBig;
use dashu::rational::RBig;

use crate::calculus::build::{add, is_zero, mul, small_power};
use crate::expr::{Expr, Workspace};
use crate::fuel::Exhausted;

/// Returns `1^degree + … + n^degree` as a polynomial in `n`, by Bernoulli's numbers.
pub(super) fn power_sum(degree: usize, n: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
    ws.fuel.spend(4 * (degree as u64 + 1) * (degree as u64 + 1))?;
    let numbers = bernoulli(degree);
    let rows = binomials(degree + 1);
    let scale = RBig::ONE / RBig::from(degree + 1);
    let mut sum = ws.integer(0)?;
    for (j, bernoulli) in numbers.iter().enumerate() {
        let coefficient = &scale * RBig::from(rows[j].clone()) * bernoulli;
        let coefficient = ws.number(coefficient)?;
        let exponent = i64::try_from(degree + 1 - j).expect("degrees are small");
        let raised = if is_zero(n, ws) { n } else { small_power(n, exponent, ws)? };
        let term = mul(coefficient, raised, ws)?;
        sum = add(sum, term, ws)?;
    }
    Ok(sum)
}

/// Returns row `n` of Pascal's triangle.
fn binomials(n: usize) -> Vec<IBig> {
    let mut row = vec![IBig::ONE];
    for k in 0..n {
        let next = &row[k] * IBig::from(n - k) / IBig::from(k + 1);
        row.push(next);
    }
    row
}

/// Returns Bernoulli's numbers up to the given one, the first of them with the sign that makes it
/// 1/2.
fn bernoulli(last: usize) -> Vec<RBig> {
    let mut numbers = vec![RBig::ONE];
    for n in 1..=last {
        let row = binomials(n + 1);
        let mut sum = RBig::ZERO;
        for (number, binomial) in numbers.iter().zip(&row) {
            sum += number * RBig::from(binomial.clone());
        }
        numbers.push(-sum / RBig::from(n + 1));
    }
    if let Some(first) = numbers.get_mut(1) {
        *first = -first.clone();
    }
    numbers
}
