use std::cmp::Ordering;

use dashu::integer::IBig;
use dashu::rational::RBig;
use proptest::prelude::*;

use super::{Separation, constant, decimal, enclose, separate, sign};
use crate::expr::Workspace;
use crate::fuel::Fuel;
use crate::proof::Assumptions;
use crate::testing::read_expr;

fn with_workspace<T>(run: impl FnOnce(&mut Workspace<'_>) -> T) -> T {
    let mut fuel = Fuel::new(2_000_000);
    run(&mut Workspace::new(&mut fuel))
}

/// Returns what `separate` finds, in a letter: `A`part, `T`ogether, `V`: no value, `R`: no rule.
fn separated(left: &str, right: &str, positive: bool) -> char {
    with_workspace(|ws| {
        let (left, right) = (read_expr(left, ws), read_expr(right, ws));
        match separate(left, right, Assumptions { positive }, ws) {
            Ok(Separation::Apart(_)) => 'A',
            Ok(Separation::Together { .. }) => 'T',
            Ok(Separation::NoValue) => 'V',
            Ok(Separation::NoRule) => 'R',
            Err(_) => 'X',
        }
    })
}

#[test]
fn identities_stay_together_and_near_misses_come_apart() {
    let check = |left, right, expected| {
        assert_eq!(separated(left, right, false), expected, "{left} {right}");
    };
    for (left, right) in [
        ("(sin (* 1/6 pi))", "1/2"),
        ("(+ (^ (sin x) 2) (^ (cos x) 2))", "1"),
        ("(^ e (* i pi))", "-1"),
        ("(* 4 (atan 1))", "pi"),
        ("(asin 1)", "(* 1/2 pi)"),
        ("(acos 1/2)", "(* 1/3 pi)"),
        ("(asin -1/2)", "(* -1/6 pi)"),
        ("(ln (* 2 3))", "(+ (ln 2) (ln 3))"),
        ("(log 8 2)", "3"),
        ("(^ 2 1/2)", "(root 2 2)"),
        ("(* (^ 2 1/2) (^ 3 1/2))", "(^ 6 1/2)"),
        ("(^ -4 1/2)", "(* 2 i)"),
        ("(^ i i)", "(^ e (* -1/2 pi))"),
        ("(root -8 3)", "-2"),
        ("(ln -1)", "(* i pi)"),
        ("(cosh x)", "(* 1/2 (+ (^ e x) (^ e (* -1 x))))"),
        ("(tanh 1/2)", "(* (+ e -1) (^ (+ e 1) -1))"),
        ("(asinh (sinh x))", "x"),
        ("(acosh (cosh 3))", "3"),
        ("(atanh (tanh x))", "x"),
        ("(sin (+ x pi))", "(* -1 (sin x))"),
        ("(tan x)", "(* (sin x) (^ (cos x) -1))"),
        ("(atan 100)", "(+ (* 1/2 pi) (* -1 (atan 1/100)))"),
        ("(floor pi)", "3"),
        ("(factorial n)", "(* n (factorial (+ n -1)))"),
        ("(binomial n 2)", "(* 1/2 n (+ n -1))"),
        ("(cos (* pi n))", "(^ -1 n)"),
        ("(^ (^ x 2) 1/2)", "(Abs x)"),
        ("(* 2 (ln (Abs x)))", "(ln (^ x 2))"),
        ("(sin 1000000000000000000000)", "(sin (+ 1000000000000000000000 (* 2 pi)))"),
        ("(* (factorial 4000) (^ (factorial 3999) -1))", "4000"),
        ("(^ 1/2 5000000)", "(^ 2 -5000000)"),
    ] {
        let expected = if right.contains("5000000") { 'V' } else { 'T' };
        check(left, right, expected);
    }
    for (left, right) in [
        ("(sin x)", "x"),
        ("(^ (^ x 2) 1/2)", "x"),
        ("(^ e pi)", "(^ pi e)"),
        ("(* 4 (atan 1))", "3.14159265358979323846"),
        ("(+ 1 e)", "(+ 1 (* -1 e))"),
        ("(^ x 2)", "(^ X 2)"),
        ("(factorial 2004)", "(factorial 2006)"),
        ("(ln x)", "(log x 10)"),
        ("(+ 3 (* 4 i))", "(+ 4 (* 3 i))"),
        ("(+ (apply x) 1)", "(+ (apply x) 2)"),
        ("(apply x)", "(apply y)"),
        ("(^ 10 -20)", "(* 2 (^ 10 -20))"),
        ("(^ (+ (^ 10 200) 1) 1/2)", "(^ 10 100)"),
        ("(sin (^ 10 30))", "(sin (+ 1 (^ 10 30)))"),
        ("(* n (^ 2 1/2))", "(* n (^ 3 1/2))"),
        ("(Max x y)", "(Max x z)"),
        ("(^ e (^ 10 5))", "(^ e (+ 1 (^ 10 5)))"),
    ] {
        let right =
            &right.replace("3.14159265358979323846", "314159265358979323846/100000000000000000000");
        assert_eq!(separated(left, right, false), 'A', "{left} {right}");
    }
}

#[test]
fn undefined_values_prove_nothing() {
    let check = |left, right, positive, expected| {
        assert_eq!(separated(left, right, positive), expected, "{left} {right}");
    };
    check("(^ (^ x 2) 1/2)", "x", true, 'T');
    check("(^ -8 1/3)", "-2", false, 'V');
    check("(^ 0 0)", "1", false, 'V');
    check("(ln 0)", "1", false, 'V');
    check("(ln (* -1 (^ x 2)))", "1", false, 'V');
    check("(asin 2)", "1", false, 'V');
    check("(* 0 oo)", "1", false, 'V');
    check("(^ (sin pi) -1)", "1", false, 'V');
    check("(+ (apply x) (apply (* 1/2 (+ x x))))", "1", false, 'R');
    check("(factorial 1/2)", "1", false, 'V');
    check("(^ 1/2 0)", "1", false, 'T');
}

#[test]
fn huge_values_are_refused_cheaply() {
    let check = |text: &str| {
        let mut fuel = Fuel::new(100_000);
        let mut ws = Workspace::new(&mut fuel);
        let expr = read_expr(text, &mut ws);
        let one = ws.integer(1).expect("there is fuel");
        let found = separate(expr, one, Assumptions::default(), &mut ws);
        assert_eq!(found, Ok(Separation::NoValue), "{text}");
        assert!(ws.fuel.used() < 20_000, "{text} cost {}", ws.fuel.used());
    };
    check("(^ 2 (^ 2 (^ 2 (^ 2 (^ 2 (^ 2 2))))))");
    check("(^ 10 (^ 10 10))");
    check("(^ 3 1500000000)");
    check("(^ 2 (^ 2 1000000))");
    check("(factorial 10000000)");
    check("(factorial (factorial 100))");
    check("(binomial (^ 10 20) (^ 10 19))");
    check("(sin (^ e 100000))");
    check("(^ e (^ e (^ e 10)))");
    check("(cos (^ 10 (^ 10 6)))");
    check("(floor (^ pi 100000))");
    check("(ln (^ e (^ 10 9)))");
    check("(* (^ 1/3 (^ 10 9)) x)");
}

#[test]
fn signs_are_proven_or_none() {
    let check = |text: &str, expected| {
        with_workspace(|ws| {
            let expr = read_expr(text, ws);
            assert_eq!(sign(expr, ws), Ok(expected), "{text}");
        });
    };
    check("(+ pi -3)", Some(Ordering::Greater));
    check("(+ (^ 2 1/2) (^ 3 1/2) (* -1 (^ 10 1/2)))", Some(Ordering::Less));
    check("0", Some(Ordering::Equal));
    check("(+ (* (^ 2 1/2) (^ 2 1/2)) -2)", None);
    check("i", None);
    check("x", None);
    check("(^ i 2)", Some(Ordering::Less));
    check("oo", None);
}

#[test]
fn values_are_shown_in_decimal() {
    let check = |text: &str, digits, expected: &str| {
        with_workspace(|ws| {
            let expr = read_expr(text, ws);
            let value = constant(expr, digits * 4 + 64, ws).expect("there is fuel");
            let value = value.expect("it has a value");
            assert_eq!(decimal::of_value(&value, digits), expected, "{text}");
        });
    };
    check("pi", 10, "3.141592654");
    check("(* 1000000 pi)", 5, "3.1416e6");
    check("(^ e -20)", 4, "2.061e-9");
    check("1/2", 8, "0.5");
    check("-100", 4, "-100");
    check("123456789", 4, "123500000");
    check("(+ 1 (* -2 i))", 3, "1 - 2i");
    check("1/300", 3, "0.00333");
    check("9999999/1000000", 3, "10");
    check("(^ 10 30)", 3, "1e30");
}

#[test]
fn intervals_contain_their_constants_and_are_narrow() {
    let check = |text: &str, numerator: &str, decimals: usize| {
        with_workspace(|ws| {
            let expr = read_expr(text, ws);
            let scale = RBig::from(IBig::from(10).pow(decimals));
            let below = RBig::from(numerator.parse::<IBig>().expect("digits")) / &scale;
            let above = &below + RBig::ONE / scale;
            for bits in [64, 200, 1000] {
                let found =
                    enclose(expr, bits, ws).expect("there is fuel").expect("it has a value");
                assert!(found.lower() <= above && found.upper() >= below, "{text} {bits}");
                let widest = RBig::ONE
                    / RBig::from(IBig::ONE << (usize::try_from(bits).expect("fits") - 12));
                assert!(
                    found.upper() - found.lower() <= widest * (&below + RBig::ONE),
                    "{text} {bits}"
                );
            }
        });
    };
    check("pi", "31415926535897932384626433832795028841971", 40);
    check("e", "27182818284590452353602874713526624977572", 40);
    check("(ln 2)", "6931471805599453094172321214581765680755", 40);
    check("(ln 10)", "23025850929940456840179914546843642076011", 40);
    check("(sin 1)", "8414709848078965066525023216302989996225", 40);
    check("(cos 1)", "5403023058681397174009366074429766037323", 40);
    check("(atan 1/2)", "4636476090008061162142562314612144020285", 40);
    check("(atan 2)", "11071487177940905030170654601785370400700", 40);
    check("(^ 2 1/2)", "14142135623730950488016887242096980785696", 40);
    check("(^ e 1/3)", "13956124250860895286281253196025868375979", 40);
    check("(asin 1/3)", "339836909454121937096392513391", 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Enclosures of one number at two precisions overlap, and the finer one is narrow.
    #[test]
    fn precisions_agree(
        function in prop::sample::select(vec![
            "sin", "cos", "tan", "atan", "sinh", "tanh", "asinh", "ln", "asin", "acos", "atanh",
        ]),
        numerator in 1i64..1_000_000,
        shift in 0usize..60,
        negative: bool,
    ) {
        let is_small = matches!(function, "asin" | "acos" | "atanh");
        let power = if is_small { 20 + shift } else { shift };
        let sign = if negative && function != "ln" { "-" } else { "" };
        let text = format!("({function} {sign}{numerator}/{})", 1u128 << power);
        with_workspace(|ws| {
            let expr = read_expr(&text, ws);
            let coarse = enclose(expr, 64, ws).expect("there is fuel");
            let fine = enclose(expr, 512, ws).expect("there is fuel");
            // The hyperbolic sine of a million is out of bounds.
            if let (Some(coarse), Some(fine)) = (coarse, fine) {
                assert!(!coarse.is_disjoint(&fine), "{text}");
                assert!(fine.agreement() > 380, "{text} {}", fine.agreement());
            }
        });
    }

    /// The exponential undoes the logarithm, and squares of sine and cosine add up to 1.
    #[test]
    fn identities_hold(numerator in 1i64..1_000_000_000, denominator in 1i64..1_000_000) {
        with_workspace(|ws| {
            let text = format!("(^ e (ln {numerator}/{denominator}))");
            let (expr, value) = (read_expr(&text, ws), read_expr(&format!("{numerator}/{denominator}"), ws));
            let found = separate(expr, value, Assumptions::default(), ws);
            assert!(matches!(found, Ok(Separation::Together { .. })), "{text}");
            let text = format!("(+ (^ (sin {numerator}) 2) (^ (cos {numerator}) 2))");
            let (expr, value) = (read_expr(&text, ws), read_expr("1", ws));
            let found = separate(expr, value, Assumptions::default(), ws);
            assert!(matches!(found, Ok(Separation::Together { .. })), "{text}");
        });
    }
}
