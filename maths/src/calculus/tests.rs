use dashu::rational::RBig;

use super::closed;
use super::derivative::derivative;
use crate::algebra;
use crate::expr::{Binder, Bound, Direction, Expr, Workspace};
use crate::fuel::Fuel;
use crate::interval::{Separation, separate};
use crate::proof::Assumptions;
use crate::testing::read_expr;

const BOTH: Binder = Binder::Limit(Direction::Both);

/// Whether `closed` gives something that is `expected`, numerically; "-" for nothing.
fn check(binder: Binder, body: &str, from: &str, to: &str, expected: &str) {
    let mut fuel = Fuel::new(2_000_000);
    let ws = &mut Workspace::new(&mut fuel);
    let variable = ws.name("x");
    let body = read_expr(body, ws);
    let mut end = |text: &str| (!text.is_empty()).then(|| read_expr(text, ws));
    let (from, to) = (end(from), end(to));
    let bound = Bound { binder, variable, from, to, body };
    let value = closed(&bound, algebra::zero_test, ws).expect("there is fuel");
    if expected == "-" {
        assert_eq!(value, None, "{bound:?}");
        return;
    }
    let expected = read_expr(expected, ws);
    let value = value.unwrap_or_else(|| panic!("no closed form of {bound:?}"));
    if value == expected {
        return;
    }
    let found = separate(value, expected, Assumptions { positive: true }, ws);
    let is_equal = matches!(found, Ok(Separation::Together { .. }));
    assert!(is_equal, "{bound:?}: {found:?}");
}

#[test]
fn sums_and_products_have_values() {
    let sum = |body, from, to, expected| check(Binder::Sum, body, from, to, expected);
    sum("x", "1", "100", "5050");
    sum("x", "1", "1000000000000", "500000000000500000000000");
    sum("x", "1", "n", "(* 1/2 n (+ n 1))");
    sum("(^ x 3)", "1", "n", "(* 1/4 (^ n 2) (^ (+ n 1) 2))");
    sum("(^ (+ (* 2 x) -1) 2)", "1", "n", "(* 1/3 n (+ (* 4 (^ n 2)) -1))");
    sum("(^ x 2)", "3", "5", "50");
    sum("x", "5", "3", "0");
    sum("(^ 2 x)", "0", "n", "(+ (^ 2 (+ n 1)) -1)");
    sum("(* x (^ 2 x))", "1", "3", "34");
    sum("(* x (^ 2 x))", "1", "n", "(+ 2 (* (+ n -1) (^ 2 (+ n 1))))");
    sum("(^ 1/2 x)", "0", "oo", "2");
    sum("(^ 2 (* -1 x))", "1", "oo", "1");
    sum("(^ 2 x)", "0", "oo", "-");
    sum("(* x (^ 1/3 x))", "1", "oo", "3/4");
    sum("(^ x -2)", "1", "oo", "(* 1/6 (^ pi 2))");
    sum("(^ x -2)", "2", "oo", "(+ -1 (* 1/6 (^ pi 2)))");
    sum("(^ x -1)", "1", "oo", "-");
    sum("(^ x -1)", "1", "4", "25/12");
    sum("(* (^ -1 (+ x 1)) (^ x -1))", "1", "oo", "(ln 2)");
    sum("(^ (* x (+ x 1)) -1)", "1", "3", "3/4");
    sum("(sin (* x pi))", "1", "1000000000", "-");
    let product = |body, from, to, expected| check(Binder::Product, body, from, to, expected);
    product("x", "1", "10", "3628800");
    product("(+ 1 (^ x -1))", "1", "9", "10");
    product("(* 2 x)", "1", "n", "(* (^ 2 n) (factorial n))");
    product("x", "4", "3", "1");
}

#[test]
fn series_have_closed_forms() {
    let sum = |body, from, expected| check(Binder::Sum, body, from, "oo", expected);
    // Telescoping, and partial fractions with other steps.
    sum("(^ (* x (+ x 1)) -1)", "1", "1");
    sum("(+ (^ x -1) (* -1 (^ (+ x 1) -1)))", "1", "1");
    sum("(^ (* x (+ x 2)) -1)", "1", "3/4");
    sum("(^ (* x (+ x 1) (+ x 2)) -1)", "1", "1/4");
    sum("(^ (+ (* 4 (^ x 2)) -1) -1)", "1", "1/2");
    sum("(* (+ (* 2 x) 1) (^ x -2) (^ (+ x 1) -2))", "1", "1");
    sum("(^ (* (^ x 2) (+ x 1)) -1)", "1", "(+ (* 1/6 (^ pi 2)) -1)");
    sum("(^ (* x (+ (* 2 x) -1)) -1)", "1", "(* 2 (ln 2))");
    sum("(^ (* (+ (* 3 x) 1) (+ (* 3 x) 2)) -1)", "0", "(* 1/9 pi (^ 3 1/2))");
    sum("(^ (+ (* 2 x) -1) -2)", "1", "(* 1/8 (^ pi 2))");
    sum("(^ x -4)", "3", "(+ -17/16 (* 1/90 (^ pi 4)))");
    sum("(+ (^ (+ (* 4 x) 1) -1) (* -1 (^ (+ (* 4 x) 3) -1)))", "0", "(* 1/4 pi)");
    // Signs in turn.
    sum("(* (^ -1 x) (^ (+ (* 2 x) 1) -1))", "0", "(* 1/4 pi)");
    sum("(* (^ -1 x) (^ (+ (* 2 x) 1) -3))", "0", "(* 1/32 (^ pi 3))");
    sum("(* (^ -1 (+ x 1)) (^ x -2))", "1", "(* 1/12 (^ pi 2))");
    sum("(* (^ -1 x) (^ (+ x 1) -1))", "0", "(ln 2)");
    sum("(* (^ -1 x) (^ (+ (* 3 x) 1) -1))", "0", "(+ (* 1/9 pi (^ 3 1/2)) (* 1/3 (ln 2)))");
    sum("(* (^ -1 (+ x 1)) (^ (* x (+ x 1)) -1))", "1", "(+ (* 2 (ln 2)) -1)");
    // Powers.
    sum("(* (^ x 3) (^ 1/2 x))", "1", "26");
    sum("(* (+ (* 2 x) 1) (^ 1/3 x))", "2", "1");
    sum("(* (^ 1/2 x) (^ (* x (+ x 1)) -1))", "1", "(+ 1 (* -1 (ln 2)))");
    sum("(* (^ -1/3 x) (^ (+ (* 2 x) 1) -1))", "0", "(* 1/6 pi (^ 3 1/2))");
    sum("(* (^ 1/4 x) (^ (+ (* 2 x) 1) -1))", "0", "(ln 3)");
    // Factorials.
    sum("(^ (factorial x) -1)", "0", "e");
    sum("(^ (factorial x) -1)", "2", "(+ e -2)");
    sum("(* (^ y x) (^ (factorial x) -1))", "0", "(^ e y)");
    sum("(* (^ x 2) (^ (factorial x) -1))", "0", "(* 2 e)");
    sum("(* x (^ (factorial (+ x 1)) -1))", "1", "1");
    sum("(^ (* (+ x 2) (factorial x)) -1)", "0", "1");
    sum("(* (^ -1 x) (^ (factorial (* 2 x)) -1))", "0", "(cos 1)");
    sum("(* (^ -1 x) (^ y (+ (* 2 x) 1)) (^ (factorial (+ (* 2 x) 1)) -1))", "0", "(sin y)");
    sum("(* (factorial x) (^ (factorial (+ x 2)) -1))", "0", "1");
    // Inverse tangents and logarithms.
    sum("(atan (^ (+ (^ x 2) x 1) -1))", "1", "(* 1/4 pi)");
    sum("(atan (* 2 (^ x -2)))", "1", "(* 3/4 pi)");
    sum("(atan (* 1/2 (^ x -2)))", "1", "(* 1/4 pi)");
    sum("(ln (+ 1 (* -1 (^ x -2))))", "2", "(* -1 (ln 2))");
    // Without a closed form of ours, without a value, and with a term that has none.
    sum("(^ x -3)", "1", "-");
    sum("(* (^ -1 x) (^ (+ (* 2 x) 1) -2))", "0", "-");
    sum("(^ (+ (^ x 2) 1) -1)", "1", "-");
    sum("(^ x -1)", "2", "-");
    sum("(* x (^ (+ x 1) -1))", "1", "-");
    sum("(* (^ -1 x) x (^ (+ x 1) -1))", "1", "-");
    sum("(^ (* x (+ x 1)) -1)", "0", "-");
    sum("(^ (* (+ x -3) (+ x -2)) -1)", "1", "-");
    sum("(atan (^ (+ (^ x 2) x 2) -1))", "1", "-");
}

#[test]
fn sums_up_to_a_symbol_cancel() {
    let sum = |body, from, expected| check(Binder::Sum, body, from, "n", expected);
    sum("(^ (* x (+ x 1)) -1)", "1", "(+ 1 (* -1 (^ (+ n 1) -1)))");
    sum("(^ (+ (* 4 (^ x 2)) -1) -1)", "1", "(* n (^ (+ (* 2 n) 1) -1))");
    sum("(* x (factorial x))", "1", "(+ (factorial (+ n 1)) -1)");
    sum("(* x (^ (factorial (+ x 1)) -1))", "1", "(+ 1 (* -1 (^ (factorial (+ n 1)) -1)))");
    sum("(+ (^ (+ x 1) 1/2) (* -1 (^ x 1/2)))", "1", "(+ (^ (+ n 1) 1/2) -1)");
    sum("(ln (+ 1 (^ x -1)))", "1", "(ln (+ n 1))");
    sum("(atan (^ (+ (^ x 2) x 1) -1))", "1", "(+ (atan (+ n 1)) (* -1/4 pi))");
    sum("(binomial n x)", "0", "(^ 2 n)");
    sum("(binomial n x)", "1", "(+ (^ 2 n) -1)");
    sum("(* x (binomial n x))", "0", "(* n (^ 2 (+ n -1)))");
    sum("(* (^ x 2) (binomial n x))", "0", "(* n (+ n 1) (^ 2 (+ n -2)))");
    sum("(* (^ 2 x) (binomial n x))", "0", "(^ 3 n)");
    sum("(^ (binomial n x) 2)", "0", "(binomial (* 2 n) n)");
    sum("(^ x -1)", "1", "-");
    sum("(* (^ -1 x) (binomial n x))", "0", "-");
    let product = |body, from, to, expected| check(Binder::Product, body, from, to, expected);
    product("(+ 1 (* -1 (^ x -2)))", "2", "oo", "1/2");
    product("(+ 1 (* -1 (^ x -2)))", "2", "n", "(* 1/2 (+ n 1) (^ n -1))");
    product("(+ 1 (^ x -1))", "1", "n", "(+ n 1)");
    product("(+ 1 (^ x -1))", "1", "oo", "-");
    product("(+ 1 (* -1 (^ x -1)))", "1", "oo", "-");
    product("(* 2 (+ x 1) (^ x -1))", "1", "n", "(* (^ 2 n) (+ n 1))");
}

#[test]
fn series_lie_in_their_enclosures() {
    // The sum lies between `known` and the next number of ten decimals.
    let check = |body: &str, from: &str, known: i64, width: &str| {
        let mut fuel = Fuel::new(2_000_000);
        let ws = &mut Workspace::new(&mut fuel);
        let variable = ws.name("x");
        let (body, to) = (read_expr(body, ws), read_expr("oo", ws));
        let from = read_expr(from, ws);
        let bound = Bound { binder: Binder::Sum, variable, from: Some(from), to: Some(to), body };
        let (lower, upper) =
            super::enclosure(&bound, ws).expect("there is fuel").expect("it has an enclosure");
        let number = |text: &str| RBig::from_str_radix(text, 10).expect("a number");
        let unit = number("1/10000000000");
        let known = RBig::from(known) * &unit;
        assert!(lower < &known + unit && known < upper, "{bound:?}: {lower} to {upper}");
        assert!(&upper - &lower < number(width), "{bound:?}: {lower} to {upper}");
    };
    check("(^ x -3)", "1", 12_020_569_031, "1/100000");
    check("(^ (+ (^ x 2) 1) -1)", "1", 10_766_740_474, "1/100");
    check("(* (^ -1 x) (^ (+ (* 2 x) 1) -2))", "0", 9_159_655_941, "1/1000");
    check("(* (^ 1/2 x) (^ x -2))", "1", 5_822_405_264, "1/1000000");
    check("(^ (* (+ x 1) (factorial x)) -1)", "0", 17_182_818_284, "1/1000000");
}

#[test]
fn integrals_have_values_only_where_they_exist() {
    let check = |body, from, to, expected| check(Binder::Integral, body, from, to, expected);
    check("(^ x 2)", "0", "1", "1/3");
    check("(^ x -1)", "1", "2", "(ln 2)");
    check("(^ x -1)", "-2", "-1", "(* -1 (ln 2))");
    check("(^ x -1)", "-1", "1", "-");
    check("(^ x -2)", "-1", "1", "-");
    check("(^ x -2)", "1", "oo", "1");
    check("(^ x -1/2)", "0", "1", "2");
    check("(^ x 1/2)", "0", "4", "16/3");
    check("(sin x)", "0", "pi", "2");
    check("(* x (sin x))", "0", "pi", "pi");
    check("(^ e (* -2 x))", "0", "oo", "1/2");
    check("(* (^ x 2) (^ e (* -1 x)))", "0", "oo", "2");
    check("(^ e x)", "0", "oo", "-");
    check("(* x (^ e x))", "0", "1", "1");
    check("(^ (+ 1 (^ x 2)) -1)", "0", "1", "(* 1/4 pi)");
    check("(^ (+ 1 (^ x 2)) -1)", "(* -1 oo)", "oo", "pi");
    check("(ln x)", "1", "e", "1");
    check("(^ (+ (* 2 x) 1) 1/2)", "0", "4", "26/3");
    check("(^ (+ (* 2 x) -1) -1)", "0", "1", "-");
    check("(* 3 (^ x 2))", "0", "t", "(^ t 3)");
    check("(* x (^ (+ x 1) 2))", "0", "1", "17/12");
    check("(* 2 x)", "", "", "(^ x 2)");
    check("(cos (* 3 x))", "", "", "(* 1/3 (sin (* 3 x)))");
    check("(tan x)", "0", "1", "-");
}

#[test]
fn limits_have_values_where_a_series_gives_one() {
    let check = |body, at, expected| check(BOTH, body, at, "", expected);
    check("(* (sin x) (^ x -1))", "0", "1");
    check("(* (+ 1 (* -1 (cos x))) (^ x -2))", "0", "1/2");
    check("(^ (+ 1 (^ x -1)) x)", "oo", "e");
    check("(^ (+ 1 (* 3 (^ x -1))) x)", "oo", "(^ e 3)");
    check("(* (+ (^ x 2) -1) (^ (+ x -1) -1))", "1", "2");
    check("(* (+ (* 3 (^ x 2)) 1) (^ (+ (^ x 2) x) -1))", "oo", "3");
    check("(* (+ (^ e x) -1) (^ x -1))", "0", "1");
    check("(* (ln (+ 1 x)) (^ x -1))", "0", "1");
    check("(^ x -1)", "oo", "0");
    check("(^ x -2)", "0", "oo");
    check("(^ x -1)", "0", "-");
    check("(* (Abs x) (^ x -1))", "0", "-");
    check("(+ x 1)", "2", "3");
    check("(floor x)", "1", "-");
    check("(* (+ (^ (+ x 4) 1/2) -2) (^ x -1))", "0", "1/4");
    check("(* (+ (sin x) (* -1 x)) (^ x -3))", "0", "-1/6");
    check("(sin x)", "oo", "-");
    check("(^ x 3)", "(* -1 oo)", "(* -1 oo)");
    check("(* (+ (^ (+ y x) 2) (* -1 (^ y 2))) (^ x -1))", "0", "(* 2 y)");
    check("(* (+ (sin (+ y x)) (* -1 (sin y))) (^ x -1))", "0", "(cos y)");
}

#[test]
fn derivatives_follow_the_rules() {
    let check = |body: &str, expected: &str| {
        let mut fuel = Fuel::new(2_000_000);
        let ws = &mut Workspace::new(&mut fuel);
        let variable = ws.name("x");
        let (body, expected): (Expr, Expr) = (read_expr(body, ws), read_expr(expected, ws));
        let slope =
            derivative(body, variable, ws).expect("there is fuel").expect("it has a derivative");
        let found = separate(slope, expected, Assumptions { positive: true }, ws);
        let is_equal = slope == expected || matches!(found, Ok(Separation::Together { .. }));
        assert!(is_equal, "{found:?}");
    };
    check("(^ x 3)", "(* 3 (^ x 2))");
    check("(* x (sin x))", "(+ (sin x) (* x (cos x)))");
    check("(^ e (* 2 x))", "(* 2 (^ e (* 2 x)))");
    check("(^ x x)", "(* (^ x x) (+ 1 (ln x)))");
    check("(ln (cos x))", "(* -1 (tan x))");
    check("(root x 3)", "(* 1/3 (^ x -2/3))");
    check("(atan x)", "(^ (+ 1 (^ x 2)) -1)");
    check("(+ y 1)", "0");
}
