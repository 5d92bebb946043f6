use proptest::prelude::*;

use super::{Formula, MAX_FORMULA_BYTES, NoValue};

fn value(text: &str) -> Result<f64, NoValue> {
    let formula = Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    formula.value(&|name| match name {
        "a" => Some(0.5),
        "b_2" => Some(-3.0),
        "min" => Some(7.0),
        _ => None,
    })
}

#[test]
fn formulas_are_evaluated() {
    let check = |text: &str, expected: f64| {
        let found = value(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        assert!((found - expected).abs() < 1e-12, "{text}: {found}");
    };
    check("1", 1.0);
    check(" .5 + 1. ", 1.5);
    check("1e2 - 2E-1", 99.8);
    check("1 + 2 * 3", 7.0);
    check("(1 + 2) * 3", 9.0);
    check("8 / 4 / 2", 1.0);
    check("8 - 4 - 2", 2.0);
    check("2 ^ 3 ^ 2", 512.0);
    check("-2 ^ 2", -4.0);
    check("(-2) ^ 2", 4.0);
    check("2 ^ -1", 0.5);
    check("2 * -3", -6.0);
    check("--+3", 3.0);
    check("0.8 * a + 0.2 * b_2", -0.2);
    check("a*\n\ta", 0.25);
    check("min(a, b_2, 1)", -3.0);
    check("max(a)", 0.5);
    check("abs(b_2)", 3.0);
    check("floor(-1.5) + ceil(1.2)", 0.0);
    check("exp(0) + sqrt(16) + log(exp(2))", 7.0);
    check("min + 1", 8.0);
}

#[test]
fn undefined_values_are_errors() {
    let check = |text: &str, expected: NoValue| assert_eq!(value(text), Err(expected), "{text}");
    check("c", NoValue::Unknown("c".to_owned()));
    check("0 * c", NoValue::Unknown("c".to_owned()));
    check("1 / 0", NoValue::NotFinite);
    check("1 / (1 / 0)", NoValue::NotFinite);
    check("0 / 0", NoValue::NotFinite);
    check("min(1, 0 / 0)", NoValue::NotFinite);
    check("log(0)", NoValue::NotFinite);
    check("sqrt(-1)", NoValue::NotFinite);
    check("exp(1000)", NoValue::NotFinite);
    check("b_2 ^ 0.5", NoValue::NotFinite);
}

#[test]
fn syntax_errors_name_their_offset() {
    let check = |text: &str, at: usize, message: &str| {
        let error = Formula::parse(text).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.what.contains(message), "{text}: {error}");
    };
    check("", 0, "missing at the end");
    check("1 +", 3, "missing at the end");
    check("1 2", 2, "one too many");
    check("(1", 2, "parenthesis");
    check("1)", 1, "one too many");
    check("2 ** 3", 3, "begins no number");
    check("a = 1", 2, "one too many");
    check("1.2.3", 0, "no number");
    check("1e", 0, "no number");
    check("1e999", 0, "no number");
    check("min()", 4, "begins no number");
    check("min(1, )", 7, "begins no number");
    check("abs(1, 2)", 3, "one value");
    check("eval(1)", 0, "no function eval");
    check("__import__('os')", 0, "no function");
    check("a.b", 1, "one too many");
    check("é", 0, "begins no number");
    check(&"(".repeat(100), 64, "levels");
    check(&"-".repeat(4000), 64, "levels");
    check(&"2^".repeat(2000), 128, "levels");
    check(&"1+".repeat(3000), MAX_FORMULA_BYTES, "bytes");
}

#[test]
fn long_formula_is_parsed() {
    let text = format!("{}1", "1+".repeat(2000));
    assert_eq!(value(&text), Ok(2001.0));
}

#[test]
fn names_are_listed() {
    let formula = Formula::parse("b + max(a, b) ^ -c2 * 1e3").expect("it is one");
    assert_eq!(Vec::from_iter(formula.names()), ["a", "b", "c2"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn arbitrary_text_does_not_panic(text in "[0-9a-c().,+*/^ e-]{0,40}|\\PC{0,40}") {
        if let Ok(formula) = Formula::parse(&text)
            && let Ok(value) = formula.value(&|_| Some(1.5))
        {
            prop_assert!(value.is_finite());
        }
    }
}
