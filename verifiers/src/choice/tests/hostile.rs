//! Candidates made to be costly, and laws.

use serde_json::json;

use super::*;
use crate::testing::outcome_within;

#[test]
fn hostile_candidates_only_cost_fuel() {
    let verifier = ChoiceVerifier::new(ChoiceConfig { multiple: true });
    let gold = json!({"answer": "AC", "choices": ["x", "y", "z"]});
    let mut wide = String::new();
    for index in 0..100_000u32 {
        wide.push(char::from(b'A' + u8::try_from(index % 26).expect("below 26")));
        wide.push(' ');
    }
    for text in [
        "A".repeat(100_000),
        wide,
        "(".repeat(100_000),
        "\\text{".repeat(20_000),
        "answer ".repeat(20_000),
        "A, ".repeat(40_000),
        "or ".repeat(40_000),
        "A) x;".repeat(20_000),
        "\u{0}".repeat(1000),
        "\u{202e}\u{2066}".repeat(1000),
        "\u{fdfa}".repeat(1000),
        "A\u{301}".repeat(1000),
    ] {
        let (score, code) = outcome_within(&verifier, &gold, Some(&text), u64::MAX / 2);
        assert!(score.abs() < f64::EPSILON, "{code} {text:.20}");
    }
    let large = "A".repeat(10_000_000);
    assert_eq!(outcome(&verifier, &gold, Some(&large)), (0.0, "fuel_spent"));
    assert_eq!(outcome_within(&verifier, &gold, Some("A"), 1), (-1.0, "reference_too_costly"));
}

proptest::proptest! {
    #[test]
    fn prose_about_a_label_is_never_right(text in "\\PC{0,40}", multiple: bool) {
        let verifier = ChoiceVerifier::new(ChoiceConfig { multiple });
        let gold = json!({"answer": "B", "choices": ["x", "y"]});
        let (score, _) = outcome(&verifier, &gold, Some(&text));
        proptest::prop_assert!(score >= 0.0);
        // Prose goes on with a word; `A - lot` is the label A and its text.
        let goes_on = text.trim_start().starts_with(char::is_alphanumeric);
        let prose = format!("A {text} lot");
        proptest::prop_assert!(outcome(&verifier, &json!("A"), Some(&prose)).0 < 1.0 || !goes_on);
    }

    #[test]
    fn reading_never_panics(text in "[AaBb12().,:;/|{}\\[\\]\"'orn \n*$\\\\-]{0,24}", multiple: bool) {
        let verifier = ChoiceVerifier::new(ChoiceConfig { multiple });
        for gold in ["A", "1"] {
            proptest::prop_assert!(outcome(&verifier, &json!(gold), Some(&text)).0 >= 0.0);
        }
        outcome(&verifier, &json!(text), Some("A"));
    }
}
