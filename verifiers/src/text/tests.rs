use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::exact::{ExactConfig, ExactVerifier};
use crate::testing::{outcome, outcome_within};

const SAME: (f64, &str) = (1.0, "text_equal");
const DIFFERS: (f64, &str) = (0.0, "text_differs");

fn check(gold: &Value, candidate: &str, expected: (f64, &str)) {
    let verifier = TextVerifier::new(TextConfig::default());
    assert_eq!(outcome(&verifier, gold, Some(candidate)), expected, "{gold} {candidate:?}");
}

#[test]
fn texts_are_normalised() {
    check(&json!("Paris"), "paris", SAME);
    check(&json!("New  York"), " new\n\tyork ", SAME);
    check(&json!("Straße"), "STRASSE", SAME);
    check(&json!("ΣΊΣΥΦΟΣ"), "σίσυφος", SAME);
    check(&json!("caf\u{e9}"), "cafe\u{301}", SAME);
    check(&json!("ﬁne"), "FINE", SAME);
    check(&json!("H₂O"), "h2o", SAME);
    check(&json!("１２"), "12", SAME);
    check(&json!("\u{1f80}"), "\u{1f88}", SAME);
    check(&json!("a\u{a0}b"), "a b", SAME);
    check(&json!("Paris"), "Paris.", DIFFERS);
    check(&json!("Paris"), "The Paris", DIFFERS);
    check(&json!("Paris"), "Paris\u{200e}", DIFFERS);
    check(&json!("Paris"), "Paris\u{0}", DIFFERS);
    check(&json!("Paris"), "Paris, London, Rome", DIFFERS);
    check(&json!("Paris"), "", DIFFERS);
    check(&json!("I"), "İ", DIFFERS);
    check(&json!("resume"), "résumé", DIFFERS);
    check(&json!("12"), "twelve", DIFFERS);
    check(&json!(["Paris", "Lutetia"]), "lutetia", SAME);
    check(&json!(["Paris", " "]), "paris", SAME);
    check(&json!(["Paris", " "]), "London", (-1.0, "reference_empty"));
    check(&json!(""), "", (-1.0, "reference_empty"));
    check(&json!(null), "Paris", (-1.0, "reference_missing"));
    check(&json!({"answer": "Paris"}), "Paris", (-1.0, "reference_type"));
}

#[test]
fn options_ignore_differences() {
    for (punctuation, articles, gold, candidate, expected) in [
        (true, false, "Paris", "\"Paris!\"", SAME),
        (true, false, "well-known", "wellknown", SAME),
        (true, false, "C#", "C", SAME),
        (true, false, "C++", "C", DIFFERS),
        (true, false, "U.S.", "us", SAME),
        (true, false, "Dr. No", "Dr . No", SAME),
        (false, true, "the Louvre", "Louvre", SAME),
        (false, true, "A tale of the two", "tale of two", SAME),
        (false, true, "The The", "the the", SAME),
        (false, true, "A", "a", SAME),
        (false, true, "A", "the", DIFFERS),
        (false, true, "theatre", "atre", DIFFERS),
        (true, true, "The Louvre.", "louvre", SAME),
        (true, false, "...", "...", (-1.0, "reference_empty")),
    ] {
        let verifier = TextVerifier::new(TextConfig {
            strip_punctuation: punctuation,
            strip_articles: articles,
        });
        assert_eq!(
            outcome(&verifier, &json!(gold), Some(candidate)),
            expected,
            "{gold} {candidate}"
        );
    }
}

#[test]
fn exact_compares_bytes() {
    for (trim, gold, candidate, expected) in [
        (true, "Paris", "Paris", (1.0, "bytes_equal")),
        (true, "Paris", " Paris\n", (1.0, "bytes_equal")),
        (true, " Paris", "Paris", (1.0, "bytes_equal")),
        (true, "Paris", "paris", (0.0, "bytes_differ")),
        (true, "caf\u{e9}", "cafe\u{301}", (0.0, "bytes_differ")),
        (true, "a\u{0}b", "a\u{0}b", (1.0, "bytes_equal")),
        (true, " ", " ", (-1.0, "reference_empty")),
        (true, "Paris", "", (0.0, "bytes_differ")),
        (false, "Paris", "Paris\n", (0.0, "bytes_differ")),
        (false, " ", " ", (1.0, "bytes_equal")),
        (false, "", "", (-1.0, "reference_empty")),
    ] {
        let verifier = ExactVerifier::new(ExactConfig { trim });
        assert_eq!(outcome(&verifier, &json!(gold), Some(candidate)), expected, "{gold:?}");
    }
    let verifier = ExactVerifier::new(ExactConfig::default());
    assert_eq!(outcome(&verifier, &json!(["a", "b"]), Some("b")), (1.0, "bytes_equal"));
    assert_eq!(outcome(&verifier, &json!(["a", ""]), Some("b")), (-1.0, "reference_empty"));
    assert_eq!(outcome(&verifier, &json!("a"), None), (0.0, "no_answer"));
    assert_eq!(outcome(&verifier, &json!(""), None), (-1.0, "reference_empty"));
}

#[test]
fn hostile_texts_only_cost_fuel() {
    let text = TextVerifier::new(TextConfig { strip_punctuation: true, strip_articles: true });
    let exact = ExactVerifier::new(ExactConfig::default());
    for (candidate, code) in [
        ("a".repeat(10_000_000), "fuel_spent"),
        ("\u{fdfa}".repeat(1_000_000), "fuel_spent"),
        ("a\u{301}\u{316}".repeat(10_000), "text_differs"),
        ("\u{301}\u{316}".repeat(10_000), "text_differs"),
        ("\u{202e}\u{2066}".repeat(10_000), "text_differs"),
        ("\u{0}".repeat(10_000), "text_differs"),
        ("the ".repeat(10_000), "text_differs"),
        (".".repeat(100_000), "text_differs"),
    ] {
        assert_eq!(outcome(&text, &json!("x"), Some(&candidate)), (0.0, code), "{candidate:.9}");
        assert!(outcome(&exact, &json!("x"), Some(&candidate)).0 < 1.0);
    }
    assert_eq!(outcome_within(&text, &json!("xy"), Some("xy"), 0), (-1.0, "reference_too_costly"));
    assert_eq!(outcome_within(&text, &json!("xy"), Some("xy"), 1), (0.0, "fuel_spent"));
    assert_eq!(outcome_within(&exact, &json!("xy"), Some("xy"), 1), (0.0, "fuel_spent"));
    assert_eq!(outcome_within(&exact, &json!("xy"), Some("xy"), 2), (1.0, "bytes_equal"));
}

proptest! {
    #[test]
    fn text_equals_itself(text in "\\PC{1,30}", punctuation: bool, articles: bool, trim: bool) {
        let verifier = TextVerifier::new(TextConfig {
            strip_punctuation: punctuation,
            strip_articles: articles,
        });
        let expected = if verifier.normalised(&text).is_empty() { (-1.0, "reference_empty") } else { SAME };
        prop_assert_eq!(outcome(&verifier, &json!(text), Some(&text)), expected);
        let exact = ExactVerifier::new(ExactConfig { trim });
        let expected = if exact_is_empty(&text, trim) { (-1.0, "reference_empty") } else { (1.0, "bytes_equal") };
        prop_assert_eq!(outcome(&exact, &json!(text), Some(&text)), expected);
    }

    #[test]
    fn ascii_fast_path_equals_the_general_path(text in "[ -~\t\n\u{0}]{0,40}") {
        prop_assert_eq!(fold(&text), fold_unicode(&text));
    }

    #[test]
    fn folding_twice_changes_nothing(text in "\\PC{0,30}") {
        let once = fold(&text);
        prop_assert_eq!(fold(&once), once);
    }
}

fn exact_is_empty(text: &str, trim: bool) -> bool {
    if trim { text.trim().is_empty() } else { text.is_empty() }
}
