use proptest::prelude::*;
use serde_json::Value;

use super::{Metric, TextCheck, TooLong, porter, similarity};
use crate::Fuel;

const METRICS: [(&str, Metric); 10] = [
    ("fuzzy", Metric::Fuzzy),
    ("bleu", Metric::Bleu),
    ("gleu", Metric::Gleu),
    ("meteor", Metric::Meteor),
    ("rouge1", Metric::RougeN(1)),
    ("rouge2", Metric::RougeN(2)),
    ("rouge3", Metric::RougeN(3)),
    ("rouge4", Metric::RougeN(4)),
    ("rouge5", Metric::RougeN(5)),
    ("rougeL", Metric::RougeL),
];

fn goldens() -> Value {
    let text = include_str!("../../tests/fixtures/similarity.json");
    serde_json::from_str(text).expect("JSON")
}

fn measured(metric: Metric, input: &str, reference: &str) -> f64 {
    let mut fuel = Fuel::default();
    let score = similarity(metric, input, reference, &mut fuel);
    score.expect("short texts").get()
}

#[test]
fn numbers_are_those_of_published_packages() {
    let goldens = goldens();
    for row in goldens["pairs"].as_array().expect("a list") {
        let text = |name: &str| row[name].as_str().expect("a text");
        let (input, reference) = (text("input"), text("reference"));
        // The package knows English letters alone.
        let metrics =
            METRICS.iter().filter(|(name, _)| input.is_ascii() || !name.starts_with("rouge"));
        for (name, metric) in metrics {
            let found = measured(*metric, input, reference);
            let expected = row[name].as_f64().expect("a number");
            assert!(
                (found - expected).abs() < 1e-9,
                "{name}: {found} is not {expected}\n{input}\n{reference}"
            );
        }
    }
}

#[test]
fn stems_are_those_of_the_algorithm() {
    let goldens = goldens();
    for (word, stem) in goldens["stems"].as_object().expect("an object") {
        assert_eq!(porter::stem(word), *stem, "{word}");
    }
}

#[test]
fn words_of_other_scripts_are_words() {
    let alike = measured(Metric::RougeN(1), "ответ сорок два", "Ответ: сорок три");
    assert!((alike - 2.0 / 3.0).abs() < 1e-12);
    assert!(measured(Metric::RougeL, "四十二", "四十二") > 0.999);
}

#[test]
fn too_long_texts_are_an_error() {
    let long = "word ".repeat(400_000);
    let check = |input: &str, reference: &str, expected: TooLong| {
        for (name, metric) in METRICS {
            let found = similarity(metric, input, reference, &mut Fuel::default());
            assert_eq!(found, Err(expected), "{name}");
        }
    };
    check("word", &long, TooLong::Reference);
    check(&long, "word", TooLong::Input);
    check(&long, &long, TooLong::Reference);
    let half = &long[..700_000];
    let mut fuel = Fuel::default();
    let found = similarity(Metric::Fuzzy, half, half, &mut fuel);
    assert_eq!(found, Err(TooLong::Input));
}

#[test]
fn text_checks_compare_characters() {
    let check = |check: TextCheck, input: &str, reference: &str, expected: bool| {
        let found = check.passes(input, reference);
        assert_eq!(found, expected, "{check:?} {input:?} {reference:?}");
    };
    check(TextCheck::Equal, "a", "a", true);
    check(TextCheck::Equal, "a ", "a", false);
    check(TextCheck::Equal, "", "", true);
    check(TextCheck::Differs, "a", "A", true);
    check(TextCheck::Differs, "a", "a", false);
    check(TextCheck::Contains, "the answer", "answer", true);
    check(TextCheck::Contains, "answer", "the answer", false);
    check(TextCheck::Contains, "the Answer", "answer", false);
    check(TextCheck::Contains, "anything", "", true);
    check(TextCheck::ContainsFolded, "the ANSWER", "Answer", true);
    check(TextCheck::ContainsFolded, "STRASSE", "straße", true);
    check(TextCheck::ContainsFolded, "wrong", "answer", false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn scores_lie_in_the_unit_interval(
        input in "[a-c .,1-]{0,80}|\\PC{0,20}",
        reference in "[a-c .,1-]{0,80}|\\PC{0,20}",
    ) {
        for (name, metric) in METRICS {
            let share = measured(metric, &input, &reference);
            prop_assert!((0.0..=1.0).contains(&share), "{name}: {share}");
        }
    }

    #[test]
    fn text_compared_with_itself_scores_one(text in "[a-c ]{0,80}") {
        let same = measured(Metric::Fuzzy, &text, &text);
        prop_assert!((same - 1.0).abs() < 1e-12);
        let words = text.split_whitespace().count();
        for (n, name) in [1, 2, 3, 4, 5].into_iter().zip(["1", "2", "3", "4", "5"]) {
            let expected = if words >= n { 1.0 } else { 0.0 };
            let same = measured(Metric::RougeN(n), &text, &text);
            prop_assert!((same - expected).abs() < 1e-12, "{name}: {same}");
        }
    }

    /// The bit-parallel length is that of the table that textbooks fill.
    #[test]
    fn common_subsequences_are_the_longest(
        input in "[a-d]{0,90}",
        reference in "[a-d]{0,150}",
    ) {
        let (one, other): (Vec<char>, Vec<char>) = (input.chars().collect(), reference.chars().collect());
        let mut row = vec![0; other.len() + 1];
        for a in &one {
            let mut before = 0;
            for (at, b) in other.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b { before + 1 } else { above.max(row[at]) };
                before = above;
            }
        }
        let both = f64::from(row[other.len()]);
        let lengths = u32::try_from(one.len() + other.len()).expect("short");
        let expected = if lengths == 0 { 1.0 } else { 2.0 * both / f64::from(lengths) };
        let found = measured(Metric::Fuzzy, &input, &reference);
        prop_assert!((found - expected).abs() < 1e-12);
    }
}
