use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{outcome, outcome_within};

/// Programs and what they have: `None` for infeasible, an empty text for unbounded.
const PROGRAMS: &[(&str, Option<&str>)] = &[
    ("max 3 x + 5 y\nst\nx <= 4\n2 y <= 12\n3 x + 2 y <= 18", Some("36")),
    ("min x + y\nst\nx + 2 y >= 4\n3 x + y >= 6", Some("14/5")),
    ("maximize\nobj: x + y\nsubject to\nc1: x + y <= 1", Some("1")),
    ("max x + y\nst\nx + y <= 1\nx - y = 0\nend", Some("1")),
    ("min x\nst\nx >= -5\nbounds\nx free", Some("-5")),
    ("min x\nst\nx >= -5", Some("0")),
    ("max x\nst\nx - y <= 1", Some("")),
    ("min x\nst\nx + y <= 4\nbounds\nx >= -inf", Some("")),
    ("max x\nst\nx >= 3\nx <= 2", None),
    ("max x\nst\nx + y <= -1", None),
    ("min x\nst\nx = 1\nbounds\nx >= 2", None),
    ("min 0 x\nst\nx >= 1", Some("0")),
    ("min 2 x + 7\nst\nx >= 1", Some("9")),
    ("max x + 2 y + 3 z\nst\nx + y + z <= 10\ny + 2 z <= 8\nx <= 6", Some("18")),
    // Degenerate: many constraints at the optimum.
    (
        "max 10 a - 57 b - 9 c - 24 d\nst\n0.5 a - 5.5 b - 2.5 c + 9 d <= 0\n0.5 a - 1.5 b - 0.5 c + d <= 0\na <= 1",
        Some("1"),
    ),
    // A redundant equality.
    ("min x + y\nst\nx + y = 2\n2 x + 2 y = 4", Some("2")),
    ("min x + y\nst\nx + y = 2\n2 x + 2 y = 5", None),
    ("max 2 x + 3 y\nst\n1 <= x + y <= 4\nbounds\n0 <= x <= 3\ny <= 2", Some("10")),
    ("min x\nst\n-4 <= x <= 4\nbounds\nx free", Some("-4")),
    ("max x\nst\ny <= 3\nbounds\nx <= 1e3", Some("1000")),
    ("max 1e-3 x\nst\n3 x <= 1", Some("1/3000")),
    ("max x\nst\nx <= 7 - y\ny >= 2", Some("5")),
    ("max x + y\nst\n2 x + 2 y <= 7\ngeneral\nx y", Some("3")),
    ("max 8 a + 11 b + 6 c + 4 d\nst\n5 a + 7 b + 4 c + 3 d <= 14\nbinary\na b c d", Some("21")),
    ("max x\nst\n2 x = 3\nint\nx", None),
    ("min x\nst\n3 x >= 1\nint\nx", Some("1")),
    ("min y\nst\ny >= 0.5 - 2 x\nbounds\nx <= 10\nint\nx", Some("0")),
    ("max x + y\nst\nx <= 2.5\nint\nx", Some("")),
    ("max x\nst\n2 x - 2 y = 1\nx <= 4\nint\nx y", None),
    (
        "min 4 ab + 6 ac + 9 ba + 3 bc\nst\nab + ac = 20\nba + bc = 30\nab + ba >= 25\nac + bc >= 25",
        Some("200"),
    ),
    ("max x + x\nst\nx + x - y <= 3 - y + x", Some("6")),
    ("min 2x1 + 3*x2 \\ costs\nst\nx1 + x2 >= 10 \\ demand\nx1 <= 6", Some("24")),
    (
        "NAME T\nROWS\n N COST\n L LIM1\n G LIM2\n E MYEQN\nCOLUMNS\n X1 COST 1 LIM1 1\n X1 LIM2 1\n X2 COST 4 LIM1 1\n X2 MYEQN -1\n X3 COST 9 LIM2 1\n X3 MYEQN 1\nRHS\n RHS LIM1 4 LIM2 10\n RHS MYEQN 7\nBOUNDS\n UP BND X1 4\n LO BND X2 -1\n UP BND X2 1\nENDATA",
        Some("54"),
    ),
    (
        "NAME\nOBJSENSE\n MAX\nROWS\n N Z\n L A\nCOLUMNS\n M 'MARKER' 'INTORG'\n X Z 5 A 2\n M 'MARKER' 'INTEND'\n Y Z 4 A 3\nRHS\n R A 7\nENDATA",
        Some("49/3"),
    ),
    ("ROWS\n N Z\n G A\nCOLUMNS\n X Z 1 A 1\nRHS\n A 2 Z -3\nRANGES\n A 4\nENDATA", Some("5")),
];

fn optimum(text: &str) -> Optimum {
    let model = read_model(text).expect(text);
    branch::solve(&model, &mut Fuel::default()).expect(text)
}

#[test]
fn programs_have_their_optimum() {
    assert!(PROGRAMS.len() >= 30);
    for (text, expected) in PROGRAMS {
        let expected = match *expected {
            None => Optimum::Infeasible,
            Some("") => Optimum::Unbounded,
            Some(value) => Optimum::Value(number(value).expect("a number")),
        };
        assert_eq!(optimum(text), expected, "{text}");
    }
}

const PLAN: &str = "max x + y\nst\nc: x + y <= 4\nbounds\nx <= 3";
const WHOLE: &str = "max x\nst\n2 x <= 5\nint\nx";

#[test]
fn answers_are_judged_by_the_program() {
    for (config, gold, candidate, expected) in [
        (json!({}), json!(PLAN), "x = 1, y = 3", (1.0, "same_optimum")),
        (json!({}), json!(PLAN), "**x** = 3\ny: 1\nObjective: 4", (1.0, "same_optimum")),
        (
            json!({}),
            json!(PLAN),
            "```json\n{\"variables\": {\"x\": \"5/2\", \"y\": 1.5}}\n```",
            (1.0, "same_optimum"),
        ),
        (json!({}), json!(PLAN), "{\"x\": 1, \"y\": 2}", (0.0, "other_optimum")),
        (json!({}), json!(PLAN), "x = 4, y = 0", (0.0, "constraint_violated")),
        (json!({}), json!(PLAN), "x = 2, y = 2.001", (0.0, "constraint_violated")),
        (json!({}), json!(PLAN), "x = 2, y = 2.0000001", (1.0, "same_optimum")),
        (
            json!({"tolerance": "0"}),
            json!(PLAN),
            "x = 2, y = 2.0000001",
            (0.0, "constraint_violated"),
        ),
        (json!({}), json!(PLAN), "x = 4", (0.0, "variable_missing")),
        (json!({}), json!(PLAN), "x = 9, y = 9. So x = 1 and y = 3", (1.0, "same_optimum")),
        (json!({}), json!(PLAN), "I do not know.", (0.0, "answer_unread")),
        (json!({}), json!(PLAN), "It is infeasible.", (0.0, "other_optimum")),
        (json!({}), json!(WHOLE), "x = 2.5", (0.0, "constraint_violated")),
        (json!({}), json!(WHOLE), "x = 2", (1.0, "same_optimum")),
        (json!({}), json!("max x\nst\nx >= 1"), "The program is unbounded.", (1.0, "same_optimum")),
        (
            json!({}),
            json!("max x\nst\nx <= -1"),
            "{\"status\": \"Infeasible\"}",
            (1.0, "same_optimum"),
        ),
        (
            json!({"answer": "objective"}),
            json!(PLAN),
            "The optimal value is 4.",
            (1.0, "same_optimum"),
        ),
        (
            json!({"answer": "objective"}),
            json!({"objective": 27.5}),
            "z = 27.5",
            (1.0, "same_optimum"),
        ),
        (json!({"answer": "objective"}), json!("27.5"), "\\boxed{28}", (0.0, "other_optimum")),
        (
            json!({"answer": "model"}),
            json!({"objective": "4"}),
            "```lp\nmax a\nst\na <= 4\n```",
            (1.0, "same_optimum"),
        ),
        (json!({"answer": "model"}), json!(PLAN), "max a\nst\na <= 5", (0.0, "other_optimum")),
        (json!({"answer": "model"}), json!(PLAN), "maximise a * b", (0.0, "model_malformed")),
        (json!({}), json!("max"), "x = 1", (-1.0, "model_malformed")),
        (json!({}), json!(null), "x = 1", (-1.0, "reference_missing")),
        (json!({}), json!({"objective": 4}), "x = 1", (-1.0, "reference_type")),
        (json!({}), json!("{\"objective\": 4}"), "x = 1", (-1.0, "reference_type")),
        (json!({}), json!("{\"objective\": 4"), "x = 1", (-1.0, "reference_type")),
        (
            json!({"answer": "objective"}),
            json!("{\"objective\": \"27.5\"}"),
            "objective = 27.5",
            (1.0, "same_optimum"),
        ),
        (json!({}), json!({"model": PLAN, "objective": 5}), "x = 1", (-1.0, "reference_optimum")),
    ] {
        let config = serde_json::from_value(config).expect("a configuration");
        let verifier = LpVerifier::new(&config).expect("a tolerance");
        assert_eq!(outcome(&verifier, &gold, Some(candidate)), expected, "{gold} {candidate}");
    }
}

/// The best value is 11, at x = 3 and y = 1.
const MIX: &str = "max 3 x + 2 y\nst\nx + y <= 4\nx + 3 y <= 6\nx <= 3";

#[test]
fn values_are_told_from_the_expressions_beside_them() {
    let verifier = LpVerifier::new(&LpConfig::default()).expect("a tolerance");
    for candidate in [
        "x = 3, y = 1. Check: x + y = 4",
        "x = 3, y = 1\nObjective: 3 x + 2 y = 11",
        "x = 3 and y = 1, so 2x + y = 7 and x + y = 4",
        "x = 3\ny = 4 - 3 = 1",
        "x = 3\ny = 4-3 = 1",
        "x = 3\ny = 4 - x = 4 - 3 = 1",
        "x = 6/2 = 3, y = 3 \\cdot 1 - 2 = 1",
        "$x^* = 3$, $y^* = 1$",
        "x := 3; y := 1",
    ] {
        let found = outcome(&verifier, &json!(MIX), Some(candidate));
        assert_eq!(found, (1.0, "same_optimum"), "{candidate}");
    }
    for candidate in ["x + y = 4", "2 y = 4", "x y = 3", "x and y = 3", "x plus y = 4"] {
        let found = outcome(&verifier, &json!(MIX), Some(candidate));
        assert_eq!(found, (0.0, "answer_unread"), "{candidate}");
    }
    let impossible = "max x + y\nst\nx + y = 9\nx <= 3\ny <= 4";
    let candidate = "x + y = 9 cannot hold, so it is infeasible";
    let found = outcome(&verifier, &json!(impossible), Some(candidate));
    assert_eq!(found, (1.0, "same_optimum"));
}

#[test]
fn best_values_are_read_after_their_calculation() {
    let config = LpConfig { answer: LpAnswer::Objective, ..LpConfig::default() };
    let verifier = LpVerifier::new(&config).expect("a tolerance");
    let eleven = json!({"objective": 11});
    for gold in [&eleven, &json!(MIX)] {
        for candidate in [
            "z = 3(3) + 2(1) = 11",
            "z = 3 (3) + 2 (1) = 11",
            "z = 3x + 2y = 3(3) + 2(1) = 9 + 2 = 11",
            "z = 3 \\cdot 3 + 2 \\times 1 = 11",
            "Optimal value: 3*3 + 2*1 = 11",
            "We maximize z = 3x + 2y.\nThe best value is 11.",
            "Objective: 3 x + 2 y = 11",
        ] {
            let found = outcome(&verifier, gold, Some(candidate));
            assert_eq!(found, (1.0, "same_optimum"), "{gold} {candidate}");
        }
    }
    for (gold, candidate, expected) in [
        ("12500", "The maximum profit is $12,500.", (1.0, "same_optimum")),
        ("500", "The maximum profit is $12,500.", (0.0, "other_optimum")),
        ("12500", "\\boxed{12{,}500}", (1.0, "same_optimum")),
        ("1234567.5", "z = 1,234,567.5", (1.0, "same_optimum")),
        ("27.5", "z = 27.5; it would be unbounded without c1", (1.0, "same_optimum")),
    ] {
        let found = outcome(&verifier, &json!(gold), Some(candidate));
        assert_eq!(found, expected, "{gold} {candidate}");
    }
}

/// Numbers that a response writes to exhaust the reader of them are no numbers.
#[test]
fn hostile_numbers_are_unread() {
    for text in [
        format!("{}1", "1/".repeat(100_000)),
        "1/2/3".to_owned(),
        "1//2".to_owned(),
        "1/0".to_owned(),
        "1e-9223372036854775808".to_owned(),
        "1e9223372036854775807".to_owned(),
        "1e65".to_owned(),
        "1e-65".to_owned(),
        "9".repeat(65),
    ] {
        assert_eq!(number(&text), None, "{text:.40}");
        let verifier = LpVerifier::new(&LpConfig::default()).expect("a tolerance");
        let candidate = format!("x = {text}");
        let found = outcome(&verifier, &json!(PLAN), Some(&candidate));
        assert_eq!(found, (0.0, "answer_unread"), "{text:.40}");
        let model = format!("max {text} x\nst\nx <= 1");
        assert!(read_model(&model).is_err(), "{text:.40}");
    }
    assert_eq!(number(" 3 / 6 "), number("0.5"));
    assert_eq!(number("-1e-64/1e64").map(|value| value < RBig::ZERO), Some(true));
}

/// Fractions whose common denominator grows with each of them.
#[test]
fn fractions_without_a_common_denominator_cost_fuel() {
    let names =
        |sign: &str, n: usize| (0..n).map(|n| format!("x{n}")).collect::<Vec<_>>().join(sign);
    let gold = json!(format!("max {0}\nst\n{0} <= 400", names(" + ", 400)));
    // Neighbours have no common factor.
    let odd = |n: usize| format!("{}{}", "7".repeat(60), 1000 + n);
    let answer = |value: &dyn Fn(usize) -> String| {
        (0..400).map(|n| format!("x{n} = {}\n", value(n))).collect::<Vec<_>>().concat()
    };
    let verifier = LpVerifier::new(&LpConfig::default()).expect("a tolerance");
    let check = |value: &dyn Fn(usize) -> String, expected| {
        assert_eq!(outcome(&verifier, &gold, Some(&answer(value))), expected);
    };
    check(&|n| format!("{}/{}", odd(n), odd(n + 1)), (0.0, "fuel_spent"));
    check(&|_| "1.00000".to_owned(), (1.0, "same_optimum"));
    check(&|n| format!("{}/3", n % 3 + 2), (0.0, "other_optimum"));
}

#[test]
fn a_status_that_is_denied_is_no_answer() {
    use Optimum::{Infeasible, Unbounded};
    for (text, expected) in [
        ("The problem is infeasible.", Some(Infeasible)),
        ("**Unbounded**", Some(Unbounded)),
        ("Status: infeasible", Some(Infeasible)),
        ("The constraints cannot all hold, so the program is infeasible.", Some(Infeasible)),
        ("The constraints cannot all hold so the program is infeasible.", Some(Infeasible)),
        ("There is no optimum because it is unbounded", Some(Unbounded)),
        ("It is not infeasible, but unbounded", Some(Unbounded)),
        ("It is not infeasible but unbounded", Some(Unbounded)),
        ("It is unbounded, not infeasible", Some(Unbounded)),
        ("The problem is not infeasible", None),
        ("I could not show that it is infeasible", None),
        ("It isn't infeasible", None),
        ("It isn\u{2019}t unbounded", None),
        ("The program is never unbounded", None),
        ("It cannot be unbounded", None),
        ("NOT unbounded", None),
        ("It is neither infeasible nor unbounded", None),
        ("It is neither degenerate nor unbounded", None),
        ("It is infeasible or unbounded", None),
        ("I do not know.", None),
    ] {
        assert_eq!(answer::read(text, None).status, expected, "{text}");
    }
    let denied = answer::read("{\"status\": \"not infeasible\"}", None);
    assert_eq!(denied.status, None);
}

#[test]
fn malformed_models_are_refused_with_their_line() {
    for (text, line, message) in [
        ("", 1, "objective"),
        ("x + y", 1, "neither"),
        ("max x^2\nst\nx <= 1", 1, "linear"),
        ("max [ x ]", 1, "linear"),
        ("max x\nst\nx ? 1", 3, "sign"),
        ("max x\nst\nx <", 3, "missing"),
        ("max x\nst\nx <= 1\nbounds\nz <= 1", 5, "'z'"),
        ("max x\nst\nx <= 1 <= 2", 3, "range"),
        ("max x\nst\n1 <= x >= 2", 3, "range"),
        ("max 3 4 x", 1, "sign"),
        ("max 1e999 x", 1, "number"),
        ("NAME\nROWS\n Q A\nENDATA", 3, "kind"),
        ("NAME\nROWS\n N Z\nCOLUMNS\n X Z 1/3\nENDATA", 5, "'1/3' is no number"),
        ("NAME\nROWS\n N Z\nCOLUMNS\n X B 1\nENDATA", 5, "'B'"),
        ("NAME\nROWS\n N Z\nQUADOBJ\n", 4, "QUADOBJ"),
        ("NAME\nROWS\n N Z\n L A\nCOLUMNS\n X A 1\nBOUNDS\n UP B X -1\nENDATA", 8, "negative"),
    ] {
        let malformed = read_model(text).expect_err(text);
        assert_eq!(malformed.line, line, "{text}: {malformed:?}");
        assert!(malformed.message.contains(message), "{text}: {malformed:?}");
    }
}

/// A program whose integers have no bound that ends the search, and one of many variables.
#[test]
fn work_is_bounded_by_fuel() {
    let endless = "min x - y\nst\n2 x - 2 y >= 0.5\n2 x - 2 y <= 1.5\nint\nx y";
    let verifier = LpVerifier::new(&LpConfig::default()).expect("a tolerance");
    let found = outcome_within(&verifier, &json!(endless), Some("x = 0"), 2_000);
    assert_eq!(found, (-1.0, "reference_too_costly"));
    let model = LpConfig { answer: LpAnswer::Model, ..LpConfig::default() };
    let verifier = LpVerifier::new(&model).expect("a tolerance");
    let found = outcome_within(&verifier, &json!("1"), Some(endless), 2_000);
    assert_eq!(found, (0.0, "fuel_spent"));
    // Variables without a row are work too, for every branch.
    let names: Vec<String> = (0..200).map(|n| format!("x{n}")).collect();
    let bounds: Vec<String> = names.iter().map(|name| format!("{name} >= .5")).collect();
    let sum = names.join(" + ");
    let halves = format!("min {sum}\nst\nbounds\n{}\nint\n{}", bounds.join("\n"), names.join(" "));
    let found = outcome_within(&verifier, &json!("200"), Some(&halves), 20_000);
    assert_eq!(found, (0.0, "fuel_spent"));
    let found = outcome_within(&verifier, &json!("200"), Some(&halves), 1_000_000);
    assert_eq!(found, (1.0, "same_optimum"));
    let mut many = String::from("max ");
    for n in 0..5_000 {
        write!(many, "+ x{n} ").expect("memory takes it");
    }
    let malformed = read_model(&many).expect_err("too many");
    assert!(malformed.message.contains("4096"), "{malformed:?}");
}

/// The best corner of a polygon, by all intersections of two of its lines.
fn best_corner(lines: &[(i64, i64, i64)], objective: (i64, i64)) -> Option<RBig> {
    let ratio = |a: i64, b: i64| RBig::from(a) / RBig::from(b);
    let mut best: Option<RBig> = None;
    for (index, first) in lines.iter().enumerate() {
        for second in &lines[index + 1..] {
            let determinant = first.0 * second.1 - second.0 * first.1;
            if determinant == 0 {
                continue;
            }
            let x = ratio(first.2 * second.1 - second.2 * first.1, determinant);
            let y = ratio(first.0 * second.2 - second.0 * first.2, determinant);
            let holds = |line: &(i64, i64, i64)| {
                RBig::from(line.0) * &x + RBig::from(line.1) * &y <= RBig::from(line.2)
            };
            if lines.iter().all(holds) {
                let value = RBig::from(objective.0) * &x + RBig::from(objective.1) * &y;
                best = Some(best.map_or(value.clone(), |best| best.max(value)));
            }
        }
    }
    best
}

proptest! {
    #[test]
    fn optimum_is_the_best_corner(
        rows in proptest::collection::vec((-9i64..10, -9i64..10, -9i64..30), 0..6),
        objective in (-9i64..10, -9i64..10),
    ) {
        let mut lines = rows.clone();
        // A box makes every program bounded.
        lines.extend([(1, 0, 10), (0, 1, 10), (-1, 0, 10), (0, -1, 10)]);
        let mut text = format!("max {} x + {} y\nst\n", objective.0, objective.1);
        for (a, b, c) in &rows {
            writeln!(text, "{a} x + {b} y <= {c}").expect("memory takes it");
        }
        text += "bounds\n-10 <= x <= 10\n-10 <= y <= 10";
        let expected = best_corner(&lines, objective).map_or(Optimum::Infeasible, Optimum::Value);
        prop_assert_eq!(optimum(&text), expected, "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(max|NAME|ROWS|st|bounds|int|x|y|[-+<>=:0-9. ]|\n){0,40}") {
        let _ = read_model(&text);
        let _ = read_model(&format!("max x\nst\n{text}"));
    }
}
