//! The simplex method in exact rationals, by Bland's rule, so that it ends and depends on nothing
//! but the model.

use dashu::rational::RBig;

use super::model::{Bounds, Model, Terms, bits};
use crate::{Exhausted, Fuel};

/// Units of fuel for a product and a difference of rationals of up to 64 bits.
const UNITS_PER_STEP: u64 = 4;
/// Units for a variable of the model, whatever rows there are: its bounds are copied for each branch,
/// compared and added to its value.
const UNITS_PER_VARIABLE: usize = 2;
/// Numbers that a unit compares with 0, or writes.
const NUMBERS_PER_UNIT: u64 = 32;

/// The optimum of a program without integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Relaxed {
    /// The best value, and a point that has it.
    Optimal(RBig, Vec<RBig>),
    Infeasible,
    Unbounded,
}

/// How a variable of the model is made of those of the tableau, which are at least 0.
enum Made {
    /// `low + y`
    From(RBig, usize),
    /// `high - y`
    Below(RBig, usize),
    /// `y - z`
    Difference(usize, usize),
}

/// Rows `terms + basic variable = right`; the right sides are at least 0.
struct Tableau {
    rows: Vec<Vec<RBig>>,
    right: Vec<RBig>,
    basis: Vec<usize>,
    /// Columns; a basic variable from this number on is artificial and has none.
    columns: usize,
}

/// The optimum of `model` with these bounds of its variables; integers may have fractions.
pub(super) fn solve(
    model: &Model,
    bounds: &[Bounds],
    fuel: &mut Fuel,
) -> Result<Relaxed, Exhausted> {
    let size: usize = model.rows.iter().map(|row| 1 + row.terms.len()).sum();
    fuel.spend(1 + (UNITS_PER_VARIABLE * bounds.len() + size) as u64)?;
    let crossed =
        |bounds: &Bounds| matches!((&bounds.low, &bounds.high), (Some(l), Some(h)) if l > h);
    if bounds.iter().any(crossed) || model.rows.iter().any(|row| crossed(&row.bounds)) {
        return Ok(Relaxed::Infeasible);
    }
    let (made, mut tableau) = tableau(model, bounds, fuel)?;
    let mut costs = vec![RBig::ZERO; tableau.columns];
    for (row, basic) in tableau.rows.iter().zip(&tableau.basis) {
        if *basic >= tableau.columns {
            subtract(&mut costs, row, &RBig::ONE, fuel)?;
        }
    }
    // The sum of the artificial variables is bounded by 0.
    tableau.minimise(costs, fuel)?;
    let is_infeasible = tableau
        .basis
        .iter()
        .zip(&tableau.right)
        .any(|(basic, right)| *basic >= tableau.columns && *right != RBig::ZERO);
    if is_infeasible {
        return Ok(Relaxed::Infeasible);
    }
    tableau.drop_artificial(fuel)?;
    let mut costs = vec![RBig::ZERO; tableau.columns];
    for (variable, factor) in &model.objective {
        let factor = if model.maximise { -factor.clone() } else { factor.clone() };
        match &made[*variable] {
            Made::From(_, y) => costs[*y] += factor,
            Made::Below(_, y) => costs[*y] -= factor,
            Made::Difference(y, z) => {
                costs[*y] += factor.clone();
                costs[*z] -= factor;
            }
        }
    }
    for (row, basic) in tableau.rows.iter().zip(&tableau.basis) {
        let factor = costs[*basic].clone();
        if factor != RBig::ZERO {
            subtract(&mut costs, row, &factor, fuel)?;
        }
    }
    if !tableau.minimise(costs, fuel)? {
        return Ok(Relaxed::Unbounded);
    }
    let mut values = vec![RBig::ZERO; tableau.columns];
    for (basic, right) in tableau.basis.iter().zip(&tableau.right) {
        values[*basic].clone_from(right);
    }
    let point: Vec<RBig> = made
        .iter()
        .map(|made| match made {
            Made::From(low, y) => low + &values[*y],
            Made::Below(high, y) => high - &values[*y],
            Made::Difference(y, z) => &values[*y] - &values[*z],
        })
        .collect();
    Ok(Relaxed::Optimal(model.value(&point, fuel)?, point))
}

fn tableau(
    model: &Model,
    bounds: &[Bounds],
    fuel: &mut Fuel,
) -> Result<(Vec<Made>, Tableau), Exhausted> {
    let mut columns = 0;
    let mut column = || {
        columns += 1;
        columns - 1
    };
    let made: Vec<Made> = bounds
        .iter()
        .map(|bounds| match (&bounds.low, &bounds.high) {
            (Some(low), _) => Made::From(low.clone(), column()),
            (None, Some(high)) => Made::Below(high.clone(), column()),
            (None, None) => Made::Difference(column(), column()),
        })
        .collect();
    // Each row as a sum over columns that is at most, or is, a number.
    let mut drafts: Vec<(Terms, RBig, bool)> = Vec::new();
    for row in &model.rows {
        let mut terms = Vec::new();
        let mut offset = RBig::ZERO;
        for (variable, factor) in &row.terms {
            match &made[*variable] {
                Made::From(low, y) => {
                    offset += factor * low;
                    terms.push((*y, factor.clone()));
                }
                Made::Below(high, y) => {
                    offset += factor * high;
                    terms.push((*y, -factor.clone()));
                }
                Made::Difference(y, z) => {
                    terms.push((*y, factor.clone()));
                    terms.push((*z, -factor.clone()));
                }
            }
        }
        match (&row.bounds.low, &row.bounds.high) {
            (Some(low), Some(high)) if low == high => drafts.push((terms, low - &offset, true)),
            (low, high) => {
                if let Some(low) = low {
                    let negated = terms.iter().map(|(y, factor)| (*y, -factor.clone())).collect();
                    drafts.push((negated, &offset - low, false));
                }
                if let Some(high) = high {
                    drafts.push((terms, high - &offset, false));
                }
            }
        }
    }
    for (made, bounds) in made.iter().zip(bounds) {
        if let (Made::From(low, y), Some(high)) = (made, &bounds.high) {
            drafts.push((vec![(*y, RBig::ONE)], high - low, false));
        }
    }
    let slacks = drafts.iter().filter(|(.., is_equal)| !is_equal).count();
    let all = columns + slacks;
    fuel.spend(1 + (drafts.len() * all) as u64 / 8)?;
    let mut tableau = Tableau { rows: vec![], right: vec![], basis: vec![], columns: all };
    let mut slack = columns;
    for (terms, right, is_equal) in drafts {
        let mut row = vec![RBig::ZERO; all];
        let is_negative = right < RBig::ZERO;
        let signed = |value: RBig| if is_negative { -value } else { value };
        for (y, factor) in terms {
            row[y] += signed(factor);
        }
        let artificial = all + tableau.rows.len();
        if is_equal {
            tableau.basis.push(artificial);
        } else {
            row[slack] = signed(RBig::ONE);
            tableau.basis.push(if is_negative { artificial } else { slack });
            slack += 1;
        }
        tableau.right.push(signed(right));
        tableau.rows.push(row);
    }
    Ok((made, tableau))
}

impl Tableau {
    /// Lowers the cost, whose factors are given for the variables that are not basic, as far as it
    /// goes; `false` if it has no bound.
    fn minimise(&mut self, mut costs: Vec<RBig>, fuel: &mut Fuel) -> Result<bool, Exhausted> {
        loop {
            fuel.spend(1 + (self.rows.len() + costs.len()) as u64 / NUMBERS_PER_UNIT)?;
            let Some(enters) = costs.iter().position(|cost| *cost < RBig::ZERO) else {
                return Ok(true);
            };
            let mut leaves: Option<(usize, RBig)> = None;
            for (row, cells) in self.rows.iter().enumerate() {
                if cells[enters] <= RBig::ZERO {
                    continue;
                }
                let ratio = &self.right[row] / &cells[enters];
                let is_less = leaves.as_ref().is_none_or(|(best, least)| {
                    ratio < *least || (ratio == *least && self.basis[row] < self.basis[*best])
                });
                if is_less {
                    leaves = Some((row, ratio));
                }
            }
            let Some((row, _)) = leaves else { return Ok(false) };
            self.pivot(row, enters, fuel)?;
            let factor = costs[enters].clone();
            subtract(&mut costs, &self.rows[row], &factor, fuel)?;
        }
    }

    /// Makes the variable of a column basic in a row.
    fn pivot(&mut self, row: usize, column: usize, fuel: &mut Fuel) -> Result<(), Exhausted> {
        let pivot = self.rows[row][column].clone();
        for cell in self.rows[row].iter_mut().filter(|cell| **cell != RBig::ZERO) {
            *cell /= &pivot;
        }
        self.right[row] /= &pivot;
        self.basis[row] = column;
        let cells = std::mem::take(&mut self.rows[row]);
        for other in (0..self.rows.len()).filter(|other| *other != row) {
            let factor = self.rows[other][column].clone();
            if factor != RBig::ZERO {
                subtract(&mut self.rows[other], &cells, &factor, fuel)?;
                let change = &factor * &self.right[row];
                self.right[other] -= change;
            }
        }
        self.rows[row] = cells;
        Ok(())
    }

    /// Takes artificial variables, all 0, out of the basis; a row that has nothing else is dropped.
    fn drop_artificial(&mut self, fuel: &mut Fuel) -> Result<(), Exhausted> {
        let mut row = 0;
        while row < self.rows.len() {
            if self.basis[row] >= self.columns {
                let Some(column) = self.rows[row].iter().position(|cell| *cell != RBig::ZERO)
                else {
                    self.rows.remove(row);
                    self.right.remove(row);
                    self.basis.remove(row);
                    continue;
                };
                self.pivot(row, column, fuel)?;
            }
            row += 1;
        }
        Ok(())
    }
}

/// `row - factor * other`.
fn subtract(
    row: &mut [RBig],
    other: &[RBig],
    factor: &RBig,
    fuel: &mut Fuel,
) -> Result<(), Exhausted> {
    let (mut steps, mut bits) = (1, bits(factor));
    for (cell, by) in row.iter_mut().zip(other).filter(|(_, by)| **by != RBig::ZERO) {
        *cell -= factor * by;
        steps += 1;
        bits = bits.max(self::bits(by));
    }
    fuel.spend(steps * UNITS_PER_STEP * (1 + bits / 64))
}
