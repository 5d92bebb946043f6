use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{outcome, outcome_within};

const MATCH: (f64, &str) = (1.0, "pattern_matched");
const NONE: (f64, &str) = (0.0, "pattern_not_matched");

fn verifier(config: Value) -> PatternVerifier {
    let config = serde_json::from_value(config).expect("a configuration");
    PatternVerifier::new(config).expect("a pattern that compiles")
}

fn check(pattern: &str, candidate: &str, full: (f64, &str), search: (f64, &str)) {
    for (mode, expected) in [("full", full), ("search", search)] {
        let fixed = verifier(json!({"pattern": pattern, "mode": mode}));
        assert_eq!(outcome(&fixed, &json!(null), Some(candidate)), expected, "{pattern} {mode}");
        let gold = verifier(json!({"mode": mode}));
        assert_eq!(outcome(&gold, &json!(pattern), Some(candidate)), expected, "{pattern} {mode}");
    }
}

#[test]
fn match_mode_is_full_or_search() {
    check(r"\d+", "42", MATCH, MATCH);
    check(r"\d+", "it is 42", NONE, MATCH);
    check(r"\d+", " 42\n", MATCH, MATCH);
    check(r"\d+", "", NONE, NONE);
    check("a|ab", "ab", MATCH, MATCH);
    check("a|b", "ab", NONE, MATCH);
    check("(?i)paris", "PARIS", MATCH, MATCH);
    check("(?x) a b # a comment", "ab", MATCH, MATCH);
    check("(?x) a b # a comment", "ab\nc", NONE, MATCH);
    check("^a$", "a", MATCH, MATCH);
    check("(?m)^b$", "a\nb", NONE, MATCH);
    check("a.c", "a\nc", NONE, NONE);
    check("(?s)a.c", "a\nc", MATCH, MATCH);
    check("a\u{0}b", "a\u{0}b", MATCH, MATCH);
    check("(?u)\\w+", "é", MATCH, MATCH);
    check("a*", "", MATCH, MATCH);
}

#[test]
fn white_space_counts_unless_trimmed() {
    let untrimmed = verifier(json!({"pattern": r"\d+", "trim": false}));
    assert_eq!(outcome(&untrimmed, &json!(null), Some("42\n")), NONE);
    assert_eq!(outcome(&untrimmed, &json!(null), Some("42")), MATCH);
}

#[test]
fn unusable_pattern_is_a_bad_reference() {
    for pattern in [
        "",
        "(",
        "a)|(b",
        "[z-a]",
        r"\1",
        "(?=a)",
        "(?<!a)b",
        "a{2,1}",
        "(a{1000}){1000}",
        "\\",
        "*",
        r"\p{Nonsense}",
        &"(".repeat(1000),
        &"a".repeat(17_000),
    ] {
        for mode in [MatchMode::Full, MatchMode::Search] {
            let config = PatternConfig { pattern: Some(pattern.to_owned()), mode, trim: true };
            let refused = PatternVerifier::new(config).err();
            assert!(matches!(refused, Some(ConfigError::Pattern { .. })), "{pattern:.40}");
        }
        let (score, code) = outcome(&verifier(json!({})), &json!(pattern), Some("b"));
        let expected = if pattern.is_empty() { "reference_empty" } else { "reference_pattern" };
        assert_eq!((score, code), (-1.0, expected), "{pattern:.40}");
    }
    let gold = verifier(json!({}));
    assert_eq!(outcome(&gold, &json!(null), Some("b")), (-1.0, "reference_missing"));
    assert_eq!(outcome(&gold, &json!({}), Some("b")), (-1.0, "reference_type"));
    assert_eq!(outcome(&gold, &json!("("), None), (-1.0, "reference_pattern"));
    assert_eq!(outcome(&gold, &json!("a"), None), (0.0, "no_answer"));
}

#[test]
fn lists_of_patterns_accept_any_member() {
    let gold = verifier(json!({}));
    assert_eq!(outcome(&gold, &json!(["a", "b"]), Some("b")), MATCH);
    assert_eq!(outcome(&gold, &json!(["(", "b"]), Some("b")), MATCH);
    assert_eq!(outcome(&gold, &json!(["a", "("]), Some("b")), (-1.0, "reference_pattern"));
    assert_eq!(outcome(&gold, &json!(["a", "c"]), Some("b")), NONE);
}

#[test]
fn slow_patterns_and_long_texts_cost_fuel() {
    let letters = "a".repeat(10_000_000);
    let simple = verifier(json!({"pattern": "a+", "mode": "search"}));
    assert_eq!(outcome(&simple, &json!(null), Some(&letters)), (0.0, "fuel_spent"));
    assert_eq!(outcome(&simple, &json!(null), Some(&letters[..1_000_000])), MATCH);
    let slow = verifier(json!({"pattern": "[ab]*a[ab]{3000}", "mode": "search"}));
    assert_eq!(outcome(&slow, &json!(null), Some(&letters[..50_000])), (0.0, "fuel_spent"));
    assert_eq!(outcome(&slow, &json!(null), Some(&letters[..3_001])), MATCH);
    let gold = verifier(json!({}));
    let costly = json!(r"\w{1,90}");
    assert_eq!(outcome(&gold, &costly, Some("a")), (-1.0, "reference_too_costly"));
    assert_eq!(outcome_within(&gold, &json!("a"), Some("a"), 150), MATCH);
    assert_eq!(outcome_within(&gold, &json!("a"), Some(&letters), 150), (0.0, "fuel_spent"));
    assert_eq!(outcome_within(&gold, &json!("a"), Some("a"), 10), (-1.0, "reference_too_costly"));
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in "\\PC{0,24}", text in "\\PC{0,24}") {
        for mode in ["full", "search"] {
            outcome(&verifier(json!({"mode": mode})), &json!(pattern), Some(&text));
        }
    }

    #[test]
    fn no_syntax_panics(pattern in "[ab()|*+?{}0-9,.\\[\\]^$\\\\dwb:=!<-]{0,24}", text in "[ab 1]{0,12}") {
        for mode in ["full", "search"] {
            outcome(&verifier(json!({"mode": mode})), &json!(pattern), Some(&text));
        }
    }

    #[test]
    fn escaped_text_matches_only_itself(text in "\\PC{1,20}", other in "\\PC{0,20}") {
        let pattern = json!(regex::escape(&text));
        let exact = verifier(json!({"trim": false}));
        prop_assert_eq!(outcome(&exact, &pattern, Some(&text)), MATCH);
        let expected = if other == text { MATCH } else { NONE };
        prop_assert_eq!(outcome(&exact, &pattern, Some(&other)), expected);
    }
}
