//! Comparisons of expressions that are built by hand.

use super::super::expr::{Expr, Workspace};
use super::super::finding::{Assumptions, Finding};
use super::compare;
use crate::Fuel;

type Build = fn(&mut Workspace<'_>) -> Expr;

fn finding(left: Build, right: Build) -> Finding {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let left = left(&mut ws);
    let right = right(&mut ws);
    compare(left, right, Assumptions::default(), &mut ws).expect("the fuel is enough")
}

fn fraction(ws: &mut Workspace<'_>, above: i64, below: i64) -> Expr {
    let above = ws.integer(above).unwrap();
    let below = ws.integer(below).unwrap();
    ws.quotient(above, below).unwrap()
}

#[test]
fn rationals() {
    let three_quarters: Build = |ws| fraction(ws, 3, 4);
    let six_eighths: Build = |ws| fraction(ws, 6, 8);
    let five_eighths: Build = |ws| fraction(ws, 5, 8);
    assert!(matches!(
        finding(three_quarters, six_eighths),
        Finding::Equal(_)
    ));
    assert!(matches!(
        finding(three_quarters, five_eighths),
        Finding::Different(..)
    ));
}
