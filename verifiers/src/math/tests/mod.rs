//! Tests of the verifier: tables of pairs, claims that are out of order, laws.

mod claims;
mod hostile;
mod laws;
mod pairs;
mod questions;
mod rerender;
mod statements;

use super::{Bound, Math, MathConfig, Tolerance};
use crate::{Candidate, Claim, Gold, Verdict, Verifier, VerifyError};

/// Returns the verdict with its detail, on the default fuel.
fn judge(tolerance: Tolerance, gold: Gold<'_>, candidate: &str) -> Result<Verdict, VerifyError> {
    let math = Math::new(MathConfig { tolerance, ..MathConfig::default() });
    let claim = Claim {
        gold,
        candidate: Candidate::Text(candidate),
        response: None,
        question: None,
        explain: true,
    };
    math.verify(&claim, &mut crate::Fuel::default())
}

/// Returns label and reason code under `tolerance`; for an error `bad_reference` or `undecided`.
fn found(tolerance: &Tolerance, gold: &str, candidate: &str) -> (&'static str, &'static str) {
    match judge(tolerance.clone(), Gold::Text(gold), candidate) {
        Ok(verdict) => {
            let is_right = verdict.score.get() > 0.0;
            assert_eq!(is_right, verdict.label == "equal", "{gold:?}, {candidate:?}");
            (verdict.label, verdict.reason.code)
        }
        Err(VerifyError::BadReference(reason)) => ("bad_reference", reason.code),
        Err(VerifyError::Undecided(reason)) => ("undecided", reason.code),
    }
}

/// Returns the label of a pair.
fn label_of(gold: &str, candidate: &str) -> &'static str {
    found(&Tolerance::Exact, gold, candidate).0
}

/// Checks label and reason code, and that the score is the label's.
fn check(gold: &str, candidate: &str, label: &str, code: &str) {
    check_within(&Tolerance::Exact, gold, candidate, (label, code));
}

fn check_within(tolerance: &Tolerance, gold: &str, candidate: &str, expected: (&str, &str)) {
    let found = found(tolerance, gold, candidate);
    assert_eq!(found, expected, "gold {gold:?}, candidate {candidate:?}");
}

fn check_equal(gold: &str, candidate: &str) {
    assert_eq!(label_of(gold, candidate), "equal", "gold {gold:?}, candidate {candidate:?}");
}

fn check_different(gold: &str, candidate: &str) {
    for (gold, candidate) in [(gold, candidate), (candidate, gold)] {
        let label = label_of(gold, candidate);
        let is_zero = matches!(label, "different" | "not_compared");
        assert!(is_zero, "gold {gold:?}, candidate {candidate:?}: {label}");
    }
}

/// Checks that every pair of the texts, which ` ; ` separates, is equal.
fn check_all_equal(table: &str) {
    for gold in table.split(" ; ") {
        for candidate in table.split(" ; ") {
            check_equal(gold, candidate);
        }
    }
}

/// Checks that none of the texts, which ` ; ` separates, is taken for a 4.
fn check_no_four(table: &str) {
    let is_four = |text: &&str| label_of("4", text) == "equal" || label_of(text, "4") == "equal";
    let fours: Vec<&str> = table.split(" ; ").filter(is_four).collect();
    assert!(fours.is_empty(), "{fours:?}");
}

fn check_bad_gold(text: &str) {
    let gold = judge(Tolerance::Exact, Gold::Text(text), "4");
    let Err(VerifyError::BadReference(reason)) = gold else {
        panic!("{text:?} as gold: {gold:?}");
    };
    assert_eq!(reason.code, "reference_unread", "{text:?}");
}

fn bound(text: &str) -> Bound {
    text.parse().expect("the test passes a bound")
}
