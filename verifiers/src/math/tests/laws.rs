use proptest::prelude::*;

use super::{check, check_equal, judge};
use crate::math::{Math, Tolerance};
use crate::{Candidate, Claim, Fuel, Gold, Verifier, VerifyError};

/// Returns `numerator / 10^decimals`, as a decimal.
fn decimal(numerator: i128, decimals: usize) -> String {
    let sign = if numerator < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", numerator.abs(), width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    let point = if decimals == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{part}")
}

/// Returns `text`, a plain decimal, with `separator` between its thousands.
fn grouped(text: &str, separator: &str) -> String {
    let (whole, part) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, whole) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push_str(separator);
        }
        out.push(digit);
    }
    format!("{sign}{out}{part}")
}

/// Ways to write `numerator / 10^decimals`.
fn renderings(numerator: i64, decimals: usize) -> Vec<String> {
    let numerator = i128::from(numerator);
    let power = format!("1{}", "0".repeat(decimals));
    let plain = decimal(numerator, decimals);
    let hundredfold = decimal(numerator * 100, decimals);
    let mut texts = vec![
        format!("${plain}$"),
        format!("{plain}."),
        format!("**{plain}**"),
        format!("x = {plain}"),
        format!("\\boxed{{{plain}}}"),
        format!("\\text{{{plain}}}"),
        plain.replace('-', "−"),
        format!("{plain}e0"),
        format!("{numerator}/{power}"),
        format!("{}/{power}0", numerator * 10),
        format!("\\frac{{{numerator}}}{{{power}}}"),
        format!("-\\dfrac{{{}}}{{{power}}}", -numerator),
        format!("{numerator}e-{decimals}"),
        format!("{numerator} \\times 10^{{-{decimals}}}"),
        format!("{hundredfold}%"),
        format!("{hundredfold} percent"),
        grouped(&plain, ","),
        grouped(&plain, "{,}"),
        grouped(&plain, "\\,"),
        grouped(&plain, " "),
        grouped(&plain, "\u{202F}"),
    ];
    if let Some((whole, part)) = plain.split_once('.')
        && part.bytes().any(|digit| digit != b'0')
        && whole.trim_start_matches('-') != "0"
    {
        texts.push(format!("{whole} {part}/{power}"));
        texts.push(format!("{whole}\\frac{{{part}}}{{{power}}}"));
    }
    texts.push(plain);
    texts
}

proptest! {
    #[test]
    fn renderings_of_one_number_are_equal(
        numerator in prop_oneof![-2000i64..2000, -100_000_000_000i64..100_000_000_000],
        decimals in 0usize..7,
    ) {
        let texts = renderings(numerator, decimals);
        for gold in &texts {
            for candidate in &texts {
                check_equal(gold, candidate);
            }
        }
    }

    #[test]
    fn one_digit_makes_numbers_different(
        numerator in -100_000_000_000i64..100_000_000_000,
        decimals in 0usize..7,
        place in 0u32..11,
        step in 1i64..10,
    ) {
        let digit = numerator.abs() / 10i64.pow(place) % 10;
        let other = numerator + ((digit + step) % 10 - digit) * 10i64.pow(place);
        for gold in &renderings(numerator, decimals) {
            for candidate in &renderings(other, decimals) {
                check(gold, candidate, "different", "rational_different");
            }
        }
    }

    #[test]
    fn readable_text_equals_itself(
        text in prop_oneof![
            any::<String>(),
            "[-+]?[$€]?[0-9 ,.]{1,8}[/^e%]?[0-9]{0,3} ?(cm|eggs|m/s)?",
            "(\\\\frac|\\\\text|[{}$0-9 .%=x^]){1,10}",
        ],
    ) {
        match judge(Tolerance::Exact, Gold::Text(&text), &text) {
            Ok(verdict) => prop_assert_eq!(verdict.label, "equal", "{}", text),
            Err(VerifyError::BadReference(_)) => {}
            Err(VerifyError::Undecided(reason)) => panic!("{text}: {reason:?}"),
        }
    }

    #[test]
    fn verdict_depends_on_fuel_alone(text in "[0-9e^/ ]{1,12}", fuel in 0u64..40) {
        let claim = Claim {
            gold: Gold::Text("4"),
            candidate: Candidate::Text(&text),
            response: None,
            question: None, explain: false,
        };
        let run = || {
            let mut tank = Fuel::new(fuel);
            let verdict = Math::default().verify(&claim, &mut tank);
            (verdict, tank.used())
        };
        let first = run();
        prop_assert!(first.1 <= fuel);
        prop_assert_eq!(first, run());
    }
}
