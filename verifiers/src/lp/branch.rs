//! Integers by branch and bound over the simplex method.

use dashu::rational::RBig;

use super::model::{Bounds, Model};
use super::simplex::{self, Relaxed};
use crate::{Exhausted, Fuel};

/// What a program has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Optimum {
    /// A best value.
    Value(RBig),
    Infeasible,
    Unbounded,
}

pub(super) fn solve(model: &Model, fuel: &mut Fuel) -> Result<Optimum, Exhausted> {
    let bounds: Vec<Bounds> =
        model.variables.iter().map(|variable| variable.bounds.clone()).collect();
    match search(model, bounds.clone(), fuel)? {
        // A program of rational data with an unbounded relaxation is unbounded if it has a point.
        Optimum::Unbounded if model.variables.iter().any(|variable| variable.is_integer) => {
            let mut any = model.clone();
            any.objective.clear();
            let has_point = matches!(search(&any, bounds, fuel)?, Optimum::Value(_));
            Ok(if has_point { Optimum::Unbounded } else { Optimum::Infeasible })
        }
        optimum @ (Optimum::Value(_) | Optimum::Infeasible | Optimum::Unbounded) => Ok(optimum),
    }
}

/// Depth first, the side of the floor before the other.
fn search(model: &Model, bounds: Vec<Bounds>, fuel: &mut Fuel) -> Result<Optimum, Exhausted> {
    let mut open = vec![bounds];
    let mut best: Option<RBig> = None;
    while let Some(bounds) = open.pop() {
        let (value, point) = match simplex::solve(model, &bounds, fuel)? {
            Relaxed::Infeasible => continue,
            Relaxed::Unbounded => return Ok(Optimum::Unbounded),
            Relaxed::Optimal(value, point) => (value, point),
        };
        let is_better = |best: &RBig| if model.maximise { value > *best } else { value < *best };
        if !best.as_ref().is_none_or(is_better) {
            continue;
        }
        let fraction = model
            .variables
            .iter()
            .zip(&point)
            .position(|(variable, value)| variable.is_integer && !value.is_int());
        let Some(variable) = fraction else {
            best = Some(value);
            continue;
        };
        let floor = RBig::from(point[variable].floor());
        let half = |low, high| {
            let mut bounds = bounds.clone();
            bounds[variable].tighten(Bounds { low, high });
            bounds
        };
        open.push(half(Some(&floor + RBig::ONE), None));
        open.push(half(None, Some(floor)));
    }
    Ok(best.map_or(Optimum::Infeasible, Optimum::Value))
}
