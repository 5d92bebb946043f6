//! Comparisons with their proofs.

use proptest::prelude::*;

use super::{compare, linear, polynomial, proportional, rational, substitute, variables};
use crate::Fuel;
use crate::expr::{Expr, Workspace};
use crate::proof::{Assumptions, Doubt, Proof, Rule};
use crate::read::{self, Dialect};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Equal,
    Different,
    Neither,
}

fn outcome(proof: &Proof) -> Decision {
    match proof {
        Proof::Equal(_) => Decision::Equal,
        Proof::Different(..) => Decision::Different,
        Proof::Undecided(_) => Decision::Neither,
    }
}

fn read_plain(text: &str, ws: &mut Workspace<'_>) -> Expr {
    let read = read::read_expression(text, Dialect::Plain, ws);
    read.unwrap_or_else(|unread| panic!("{text}: {unread:?}"))
}

fn prove(left: &str, right: &str, positive: bool) -> Proof {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let left = read_plain(left, &mut ws);
    let right = read_plain(right, &mut ws);
    compare(left, right, Assumptions { positive }, &mut ws).expect("no more than its share")
}

/// Checks all pairs, both ways round, and names every one that fails.
fn check_all(expected: Decision, positive: bool, pairs: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (left, right) in pairs {
        for (left, right) in [(left, right), (right, left)] {
            let proof = prove(left, right, positive);
            if outcome(&proof) != expected {
                failures.push(format!("{left}  |  {right}: {proof:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "not {expected:?}:\n{}", failures.join("\n"));
}

#[test]
fn rational_numbers_are_decided() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("3/4", "0.75"),
            ("1/3", "0.(3)"),
            ("2^100", "1267650600228229401496703205376"),
            ("10^(-20)", "1/10^20"),
            ("5!", "120"),
            ("0!", "1"),
            ("7!!", "105"),
            ("binomial(10, 3)", "120"),
            ("binomial(1000000000, 2)", "499999999500000000"),
            ("gcd(3.6, 2.4)", "6/5"),
            ("lcm(4, 6)", "12"),
            ("Max(1, 5/2, 2)", "2.5"),
            ("floor(-7/2)", "-4"),
            ("ceiling(7/2)", "4"),
            ("Mod(-7, 3)", "2"),
            ("Abs(-3)", "3"),
            ("2004!/2003!", "2004"),
            ("(2^2005+1)/(3*2^2006)-1/(3*2^2006)", "1/6"),
        ],
    );
    check_all(
        Decision::Different,
        false,
        &[
            ("1/2004!", "1/2006!"),
            ("1/2^99", "1/2^98"),
            ("(2^2005+1)/(3*2^2006)", "1/(3*2^2006)"),
            ("0.0000001", "0.0000004"),
            ("9007199254740993", "9007199254740992"),
            ("2^100", "2^101"),
            ("1/0", "1"),
            ("0/0", "0"),
            ("oo", "-oo"),
            ("oo", "5"),
        ],
    );
    check_all(Decision::Equal, false, &[("oo", "oo"), ("-oo", "-oo"), ("2*oo", "oo")]);
    check_all(Decision::Neither, false, &[("1/0", "2/0"), ("0/0", "0/0")]);
}

#[test]
fn costly_expressions_end_within_their_share() {
    for (left, right) in [
        ("3^1500000000", "3^1500000001"),
        ("(5^(5^(5^(5^5))-4)-5)/16", "7"),
        ("10^(10^(10^10))", "10^(10^(10^10))+1"),
        ("10000000!", "10000001!"),
        ("binomial(10^9, 5*10^8)", "1"),
        ("(x+y+z+w+v)^1000000", "(x+y+z+w+v)^1000001"),
        ("(x+y+z)^400*(x-y)^400", "(x-y+z)^400*(x+y)^400+1"),
        ("2^(2^(2^(2^(2^(2^x)))))", "2^(2^(2^(2^(2^(3^x)))))"),
    ] {
        let mut fuel = Fuel::default();
        let mut ws = Workspace::new(&mut fuel);
        let left_expr = read_plain(left, &mut ws);
        let right_expr = read_plain(right, &mut ws);
        let found = compare(left_expr, right_expr, Assumptions::default(), &mut ws);
        let is_equal = matches!(found, Ok(Proof::Equal(_)));
        assert!(!is_equal, "{left} | {right}: {found:?}");
        let same = compare(left_expr, left_expr, Assumptions::default(), &mut ws);
        assert!(matches!(same, Ok(Proof::Equal(Rule::Identical)) | Err(_)), "{left}: {same:?}");
    }
}

#[test]
fn rational_functions_are_decided() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("(x+1)^2", "x^2+2x+1"),
            ("(x^2-1)/(x-1)", "x+1"),
            ("1/(x+1)+1/(x-1)", "2x/(x^2-1)"),
            ("(a-b)*(a+b)", "a^2-b^2"),
            ("1/(1/x+1/y)", "x*y/(x+y)"),
            ("(x+1)^50/(x+1)^49", "x+1"),
            ("x/(2y)*4", "2x/y"),
            ("(x-y)^3/(y-x)", "-(x-y)^2"),
        ],
    );
    check_all(
        Decision::Different,
        false,
        &[
            ("x", "y"),
            ("R", "r"),
            ("x^2", "x^3"),
            ("(x+1)^100", "(x+2)^100"),
            ("pi*R^2", "pi*r^2"),
            ("x+1/2", "x+0.51"),
            ("1/(x+1)", "1/(x-1)"),
        ],
    );
}

#[test]
fn quotient_of_many_terms_is_decided() {
    let powers: Vec<String> = (0..800).map(|power| format!("x^{power}")).collect();
    let sum = powers.join("+");
    let equal = prove("(x^800-1)/(x-1)", &sum, false);
    assert_eq!(outcome(&equal), Decision::Equal, "{equal:?}");
    let zero = prove(&format!("(x^800-1)/(x-1)-({sum})"), "0", false);
    assert_eq!(outcome(&zero), Decision::Equal, "{zero:?}");
    let other = prove("(x^800-1)/(x-1)", &format!("{sum}+1"), false);
    assert_eq!(outcome(&other), Decision::Different, "{other:?}");
}

#[test]
fn algebraic_numbers_are_decided() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("sqrt(8)", "2*sqrt(2)"),
            ("2*sqrt(3)", "sqrt(12)"),
            ("sqrt(1/3)", "sqrt(3)/3"),
            ("root(54, 3)", "3*root(2, 3)"),
            ("1/sqrt(2)", "sqrt(2)/2"),
            ("1/(1+sqrt(2))", "sqrt(2)-1"),
            ("1/(1+root(2,3))", "(1-root(2,3)+root(4,3))/3"),
            ("sqrt(3+2*sqrt(2))", "1+sqrt(2)"),
            ("root(2+sqrt(5), 3)+root(2-sqrt(5), 3)", "1"),
            ("sqrt(2+sqrt(3))", "(sqrt(6)+sqrt(2))/2"),
            ("sqrt(5-2*sqrt(6))", "sqrt(3)-sqrt(2)"),
            ("sqrt(2)*sqrt(3)", "sqrt(6)"),
            ("sqrt(2)*sqrt(2)", "2"),
            ("root(-8, 3)", "-2"),
            ("I^2", "-1"),
            ("(1+I)/(1-I)", "I"),
            ("exp(I*pi)", "-1"),
            ("(3+4I)*(1-2I)", "11-2I"),
            ("sqrt(-4)", "2I"),
            ("sqrt(3+4I)", "2+I"),
            ("Abs(3+4I)", "5"),
            ("sqrt(4+sqrt(7))", "(sqrt(14)+sqrt(2))/2"),
            ("sqrt(2+sqrt(2+sqrt(2)))", "2*cos(pi/16)"),
            ("sqrt(1+sqrt(5))*sqrt(1+sqrt(5))", "1+sqrt(5)"),
            ("4^(1/3)", "2^(2/3)"),
            ("8^(2/3)", "4"),
            ("(sqrt(2)+sqrt(3))^2", "5+2*sqrt(6)"),
            ("root(7+5*sqrt(2), 3)", "1+sqrt(2)"),
            ("sqrt(10+2*sqrt(5))/4", "cos(pi/10)"),
            ("(-1)^(1/3)", "1/2+sqrt(3)/2*I"),
        ],
    );
    check_all(
        Decision::Different,
        false,
        &[
            ("4", "4*sqrt(2)"),
            ("sqrt(2)", "1.41421356237309504880168872420969807856967"),
            ("sqrt(2)+sqrt(3)", "sqrt(5)"),
            ("sqrt(3+2*sqrt(2))", "1+sqrt(3)"),
            ("root(2+sqrt(5), 3)+root(2-sqrt(5), 3)", "1.0000000000001"),
            ("1+I", "1-I"),
            ("sqrt(17)", "4.12310562561766"),
            ("(-8)^(1/3)", "-2"),
            ("sqrt(5-2*sqrt(6))", "sqrt(2)-sqrt(3)"),
        ],
    );
}

#[test]
fn trigonometric_identities_are_equal() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("sin(pi/6)", "1/2"),
            ("cos(pi/5)", "(1+sqrt(5))/4"),
            ("sin(pi/8)", "sqrt(2-sqrt(2))/2"),
            ("cos(pi/12)", "(sqrt(6)+sqrt(2))/4"),
            ("tan(pi/3)", "sqrt(3)"),
            ("cos(2*pi/7)+cos(4*pi/7)+cos(6*pi/7)", "-1/2"),
            ("sin(x)^2+cos(x)^2", "1"),
            ("sin(2x)", "2*sin(x)*cos(x)"),
            ("cos(2x)", "1-2*sin(x)^2"),
            ("tan(x)", "sin(x)/cos(x)"),
            ("sin(a+b)", "sin(a)*cos(b)+cos(a)*sin(b)"),
            ("2*sin(b)*cos(a)", "sin(a+b)-sin(a-b)"),
            ("1+tan(x)^2", "sec(x)^2"),
            ("sin(-x)", "-sin(x)"),
            ("sin(x+2*pi)", "sin(x)"),
            ("sin(pi/2-x)", "cos(x)"),
            ("tan(x/2)", "sin(x)/(1+cos(x))"),
            ("sin(3x)", "3*sin(x)-4*sin(x)^3"),
            ("asin(1/2)", "pi/6"),
            ("acos(-1/2)", "2*pi/3"),
            ("atan(1)", "pi/4"),
            ("atan(sqrt(3))", "pi/3"),
            ("acos(x)", "pi/2-asin(x)"),
            ("sin(asin(x))", "x"),
            ("cos(atan(x))", "1/sqrt(1+x^2)"),
        ],
    );
}

#[test]
fn elementary_identities_are_equal() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("exp(a)*exp(b)", "exp(a+b)"),
            ("exp(2*ln(3))", "9"),
            ("ln(8)", "3*ln(2)"),
            ("ln(1/2)", "-ln(2)"),
            ("log(8, 2)", "3"),
            ("log(9, 27)", "2/3"),
            ("ln(12)", "2*ln(2)+ln(3)"),
            ("ln(exp(3))", "3"),
            ("ln(sqrt(2))", "ln(2)/2"),
            ("ln(sqrt(2)-1)", "-ln(sqrt(2)+1)"),
            ("asinh(1)", "ln(1+sqrt(2))"),
            ("cosh(x)^2-sinh(x)^2", "1"),
            ("4^x", "2^(2x)"),
            ("2^(x+1)", "2*2^x"),
            ("x^(1/2)*x^(1/3)", "x^(5/6)"),
            ("sqrt(x^2)", "Abs(x)"),
            ("sqrt(x^2+2x+1)", "Abs(x+1)"),
            ("Abs(-2x)", "2*Abs(x)"),
            ("Abs(x)^2", "x^2"),
            ("root(x, 3)", "x^(1/3)"),
            ("exp(x/(x+1))", "exp(1-1/(x+1))"),
            ("exp(I*x)", "cos(x)+I*sin(x)"),
            ("(n+1)!", "(n+1)*n!"),
            ("binomial(n, 2)", "n*(n-1)/2"),
            ("binomial(n, k)", "n!/(k!*(n-k)!)"),
            ("floor(x+1)", "floor(x)+1"),
            ("floor(pi)", "3"),
            ("floor(sqrt(10))", "3"),
            ("Max(a, b)", "Max(b, a)"),
            ("f(x+1)", "f(1+x)"),
            ("f((x^2-1)/(x-1))", "f(x+1)"),
            ("re(3+4I)", "3"),
            ("pi/4", "0.25*pi"),
            ("E^2", "exp(2)"),
            ("ln(x^2)", "2*ln(Abs(x))"),
            ("arg(-1)", "pi"),
            ("Abs(sqrt(2)-2)", "2-sqrt(2)"),
            ("atan(1/2)+atan(1/3)", "pi/4"),
            ("2*atan(1/3)+atan(1/7)", "pi/4"),
            ("atan(2)", "pi/2-atan(1/2)"),
            ("acos(1/3)", "asin(2*sqrt(2)/3)"),
            ("ln(3+2*sqrt(2))", "2*ln(1+sqrt(2))"),
            ("x*ln(3+2*sqrt(2))+pi*x", "2*x*ln(1+sqrt(2))+x*pi"),
            ("-ln(cos(x))", "ln(sec(x))"),
            ("ln(1/(x^2+x))", "-ln(x^2+x)"),
            ("sin(10^30*pi)", "0"),
            ("root(sin(x), 3)", "sin(x)^(1/3)"),
            ("Max(x, y, z)", "Max(z, y, x)"),
            ("Min(x, y, z)", "-Max(-z, -y, -x)"),
            ("gcd(a, b)", "gcd(b, a)"),
            ("Sum(k^2, (k, 1, n))", "Sum(j*j, (j, 1, n))"),
            ("1/2*ln(2)+pi/4", "(pi+ln(4))/4"),
            ("conjugate(2-3I)", "2+3I"),
            ("ln(I)", "I*pi/2"),
            ("I^I", "exp(-pi/2)"),
            ("n!/(n-2)!", "n*(n-1)"),
            ("Mod(x+3, 3)", "Mod(x, 3)"),
            ("cos(2*atan(x))", "(1-x^2)/(1+x^2)"),
            ("sin(pi/5)", "sqrt(10-2*sqrt(5))/4"),
            ("tan(pi/5)", "sqrt(5-2*sqrt(5))"),
        ],
    );
}

#[test]
fn elementary_functions_that_differ_are_different() {
    check_all(
        Decision::Different,
        false,
        &[
            ("1-exp(-1)", "1+exp(-1)"),
            ("sin(x)", "cos(x)"),
            ("pi", "3.14159265358979323846"),
            ("pi", "22/7"),
            ("ln(2)", "0.693147"),
            ("exp(x)", "exp(2x)"),
            ("sin(1)", "cos(1)"),
            ("7*sin(pi*x/5)+1", "7*sin(pi*x/5)-1"),
            ("2*pi", "3*pi"),
            ("x*exp(x)", "exp(x)"),
        ],
    );
    let unproven = [("sqrt(1/n)", "1/sqrt(n)"), ("(-1)^n", "cos(n*pi)"), ("f(x)-f(x)+oo-oo", "0")];
    check_all(Decision::Neither, false, &unproven);
}

#[test]
fn closed_forms_are_equal_by_calculus() {
    check_all(
        Decision::Equal,
        false,
        &[
            ("Sum(k, (k, 1, n))", "n*(n+1)/2"),
            ("Sum(k, (k, 1, 10))", "55"),
            ("Integral(x^2, (x, 0, 1))", "1/3"),
            ("Limit(1/x, x, oo)", "0"),
            ("Sum(f(k), (k, 1, n))", "Sum(f(j), (j, 1, n))"),
        ],
    );
    let different = [("Sum(k, (k, 1, n))", "n*(n-1)/2"), ("Sum(k, (k, 1, 10))", "54")];
    check_all(Decision::Different, false, &different);
    assert_eq!(prove("Sum(k, (k, 1, 10))", "55", false), Proof::Equal(Rule::Calculus));
}

#[test]
fn positive_variables_simplify_roots() {
    check_all(
        Decision::Equal,
        true,
        &[
            ("sqrt(1/n)", "1/sqrt(n)"),
            ("sqrt(x^2)", "x"),
            ("sqrt(x*y)", "sqrt(x)*sqrt(y)"),
            ("ln(x*y)", "ln(x)+ln(y)"),
            ("ln(x/(x+1))", "ln(x)-ln(x+1)"),
            ("(x^a)^b", "x^(a*b)"),
            ("sqrt(x^3)", "x*sqrt(x)"),
        ],
    );
}

#[test]
fn proof_names_its_rule() {
    let rule = |left: &str, right: &str| match prove(left, right, false) {
        Proof::Equal(rule) | Proof::Different(rule, _) => Some(rule),
        Proof::Undecided(_) => None,
    };
    for (left, right, expected) in [
        ("3/4", "0.75", Rule::Rational),
        ("(x+1)^2", "x^2+2x+1", Rule::RationalFunction),
        ("x", "y", Rule::RationalFunction),
        ("sqrt(8)", "2*sqrt(2)", Rule::Algebraic),
        ("sin(x)^2", "1-cos(x)^2", Rule::Elementary),
        ("f(x)", "f(x)", Rule::Identical),
        ("1/0", "1", Rule::Definedness),
    ] {
        assert_eq!(rule(left, right), Some(expected), "{left} | {right}");
    }
}

#[test]
fn witness_is_a_point_of_difference() {
    let Proof::Different(_, Some(witness)) = prove("x^2", "x^3", false) else {
        panic!("a witness is easy to find");
    };
    assert_eq!(witness.at.len(), 1);
    let (left, right) = witness.values.expect("short values");
    assert_ne!(left, right);
}

#[test]
fn proportional_ignores_constant_factors() {
    let found = |left: &str, right: &str| {
        let mut fuel = Fuel::default();
        let mut ws = Workspace::new(&mut fuel);
        let left = read_plain(left, &mut ws);
        let right = read_plain(right, &mut ws);
        let found = proportional(left, right, Assumptions::default(), &mut ws);
        outcome(&found.expect("no more than its share"))
    };
    for (left, right, expected) in [
        ("x+y-1", "2x+2y-2", Decision::Equal),
        ("x+y-1", "1-x-y", Decision::Equal),
        ("sqrt(2)*x+2", "x+sqrt(2)", Decision::Equal),
        ("x/2+1/x", "x^2*1/x+2/x", Decision::Equal),
        ("sin(x)*2", "3*sin(x)", Decision::Equal),
        ("3x-y+13", "3x+4y+14", Decision::Different),
        ("x", "x^2", Decision::Different),
        ("x", "0", Decision::Different),
        ("x-1", "x+1", Decision::Different),
    ] {
        assert_eq!(found(left, right), expected, "{left} | {right}");
        assert_eq!(found(right, left), expected, "{right} | {left}");
    }
}

#[test]
fn polynomials_have_their_coefficients() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let x = ws.name("x");
    let expr = read_plain("a*(x+1)^2-b/2", &mut ws);
    let parts = polynomial(expr, x, &mut ws).expect("cheap").expect("a polynomial");
    for (part, expected) in parts.iter().zip(["a-b/2", "2a", "a"]) {
        let expected = read_plain(expected, &mut ws);
        let found = compare(*part, expected, Assumptions::default(), &mut ws);
        assert_eq!(outcome(&found.expect("cheap")), Decision::Equal);
    }
    assert_eq!(parts.len(), 3);
    for text in ["1/x", "sin(x)", "sqrt(x)", "1/(x+1)"] {
        let expr = read_plain(text, &mut ws);
        assert_eq!(polynomial(expr, x, &mut ws), Ok(None), "{text}");
    }
    let line = read_plain("3x+pi-x/2", &mut ws);
    let (slope, constant) = linear(line, x, &mut ws).expect("cheap").expect("a line");
    assert_eq!(rational(slope, &mut ws), Ok(Some("5/2".parse().expect("a fraction"))));
    assert_eq!(rational(constant, &mut ws), Ok(None));
    let square = read_plain("x^2", &mut ws);
    assert_eq!(linear(square, x, &mut ws), Ok(None));
}

#[test]
fn substitution_captures_nothing() {
    let mut fuel = Fuel::default();
    let mut ws = Workspace::new(&mut fuel);
    let x = ws.name("x");
    let k = ws.name("k");
    let sum = read_plain("Sum(k*x, (k, 1, n))", &mut ws);
    let names: Vec<&str> = variables(sum, &ws).into_iter().map(|name| ws.spelling(name)).collect();
    assert_eq!(names.len(), 2);
    let by = read_plain("k+1", &mut ws);
    let result = substitute(sum, x, by, &mut ws).expect("cheap");
    assert!(variables(result, &ws).contains(&k));
    assert_eq!(substitute(sum, k, by, &mut ws), Ok(sum));
}

#[test]
fn undecided_names_its_doubt() {
    assert_eq!(prove("1/0", "2/0", false), Proof::Undecided(Doubt::NoValue));
}

/// Returns a polynomial in two variables as text, and the same one written otherwise.
fn renderings() -> impl Strategy<Value = (String, String, i32)> {
    let terms = proptest::collection::vec((-9i32..10, 0u32..4, 0u32..3), 1..5);
    (terms, 1i32..7, any::<bool>()).prop_map(|(terms, scale, is_reversed)| {
        let write = |terms: &[(i32, u32, u32)], factor: i32| {
            let terms: Vec<String> = terms
                .iter()
                .map(|(c, x, y)| format!("({})*x^{x}*sqrt(2)^{y}*cos(y)^{y}", c * factor))
                .collect();
            terms.join("+")
        };
        let left = write(&terms, 1);
        let mut other = terms;
        if is_reversed {
            other.reverse();
        }
        let right = format!("({})*(x+1)/({scale}*(1+x))", write(&other, scale));
        (left, right, scale)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rendering_stays_equal((left, right, scale) in renderings()) {
        prop_assert_eq!(outcome(&prove(&left, &right, false)), Decision::Equal);
        prop_assert_eq!(outcome(&prove(&right, &left, false)), Decision::Equal);
        let other = format!("{right}+1/{scale}");
        prop_assert_eq!(outcome(&prove(&left, &other, false)), Decision::Different);
        let other = format!("{right}+cos(y)");
        prop_assert_ne!(outcome(&prove(&left, &other, false)), Decision::Equal);
    }
}
