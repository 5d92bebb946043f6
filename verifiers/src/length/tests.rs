use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{outcome, outcome_within};

fn verifier(config: serde_json::Value) -> LengthVerifier {
    let config = serde_json::from_value(config).expect("a configuration");
    LengthVerifier::new(config).expect("bounds that mean something")
}

fn check(config: serde_json::Value, candidate: &str, expected: (f64, &str)) {
    let name = config.to_string();
    let found = outcome(&verifier(config), &json!(null), Some(candidate));
    assert_eq!(found, expected, "{name} {candidate:?}");
}

const WITHIN: (f64, &str) = (1.0, "length_within");
const BELOW: (f64, &str) = (0.0, "length_below");
const ABOVE: (f64, &str) = (0.0, "length_above");

#[test]
fn length_is_counted_in_its_unit() {
    check(json!({"min": 2, "max": 3}), "a", BELOW);
    check(json!({"min": 2, "max": 3}), "ab", WITHIN);
    check(json!({"min": 2, "max": 3}), "abc", WITHIN);
    check(json!({"min": 2, "max": 3}), "abcd", ABOVE);
    check(json!({"max": 0}), "", WITHIN);
    check(json!({"max": 0}), " ", ABOVE);
    check(json!({"min": 1}), "", BELOW);
    check(json!({"max": 2}), "é😀", WITHIN);
    check(json!({"max": 2}), "e\u{301}x", ABOVE);
    check(json!({"max": 6, "unit": "bytes"}), "é😀", WITHIN);
    check(json!({"max": 5, "unit": "bytes"}), "é😀", ABOVE);
    check(json!({"max": 2, "unit": "words"}), " two\u{a0}words\n", WITHIN);
    check(json!({"min": 1, "unit": "words"}), " \n\t", BELOW);
    check(json!({"max": 1, "unit": "words"}), "well-known", WITHIN);
    check(json!({"max": 2, "unit": "lines"}), "a\r\nb\n", WITHIN);
    check(json!({"max": 2, "unit": "lines"}), "a\n\nb", ABOVE);
    check(json!({"min": 1, "unit": "lines"}), "", BELOW);
}

#[test]
fn falloff_is_linear() {
    for (length, score) in
        [(2, 0.0), (3, 0.0), (4, 0.5), (5, 1.0), (10, 1.0), (11, 0.5), (12, 0.0), (99, 0.0)]
    {
        let found = outcome(
            &verifier(json!({"min": 5, "max": 10, "falloff": 2})),
            &json!(null),
            Some(&"x".repeat(length)),
        );
        assert!((found.0 - score).abs() < f64::EPSILON, "{length}: {found:?}");
    }
    assert!((declining(1, u64::MAX).get() - 1.0).abs() < 1e-12);
    assert_eq!(declining(u64::MAX, u64::MAX), UnitScore::ZERO);
}

#[test]
fn impossible_bounds_are_refused() {
    for (config, error) in [
        (json!({}), ConfigError::NoBounds),
        (json!({"falloff": 3}), ConfigError::NoBounds),
        (json!({"min": 3, "max": 2}), ConfigError::BoundsCrossed { min: 3, max: 2 }),
    ] {
        let config: LengthConfig = serde_json::from_value(config).expect("a configuration");
        assert_eq!(LengthVerifier::new(config).err(), Some(error));
    }
}

#[test]
fn gold_is_ignored_and_size_costs_fuel() {
    let short = verifier(json!({"max": 3}));
    for gold in [json!(null), json!("abcdef"), json!([]), json!({"a": 1})] {
        assert_eq!(outcome(&short, &gold, Some("abc")), WITHIN);
        assert_eq!(outcome(&short, &gold, None), (0.0, "no_answer"));
    }
    let letters = "a".repeat(10_000_000);
    assert_eq!(outcome(&short, &json!(null), Some(&letters)), ABOVE);
    assert_eq!(outcome_within(&short, &json!(null), Some(&letters), 1000), (0.0, "fuel_spent"));
}

proptest! {
    #[test]
    fn scores_fall_with_the_distance(length in 0usize..60, falloff in 0u64..20) {
        let verifier = verifier(json!({"min": 20, "max": 30, "falloff": falloff}));
        let score = |n: usize| outcome(&verifier, &json!(null), Some(&"x".repeat(n))).0;
        let (near, far) = if length < 20 { (length + 1, length) } else { (length, length + 1) };
        prop_assert!(score(near) >= score(far));
    }
}
