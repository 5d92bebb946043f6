//! What the verifier promises: tables of pairs, claims that are out of order, laws.

mod claims;
mod laws;
mod pairs;

use super::{Bound, Math, MathConfig, Tolerance};
use crate::{Candidate, Claim, Gold, Verdict, Verifier, VerifyError};

/// The verdict with its detail, from a full tank.
fn judge(tolerance: Tolerance, gold: Gold<'_>, candidate: &str) -> Result<Verdict, VerifyError> {
    let math = Math::new(MathConfig { tolerance });
    let claim = Claim {
        gold,
        candidate: Candidate::Text(candidate),
        explain: true,
    };
    math.verify(&claim, &mut crate::Fuel::default())
}

/// Checks label and reason code, and that the score is the label's.
fn check(gold: &str, candidate: &str, label: &str, code: &str) {
    check_within(&Tolerance::Exact, gold, candidate, (label, code));
}

fn check_within(tolerance: &Tolerance, gold: &str, candidate: &str, expected: (&str, &str)) {
    let verdict = judge(tolerance.clone(), Gold::Text(gold), candidate)
        .unwrap_or_else(|error| panic!("{gold:?}: {error:?}"));
    let found = (verdict.label, verdict.reason.code);
    assert_eq!(found, expected, "gold {gold:?}, candidate {candidate:?}");
    let is_right = verdict.score.get() > 0.0;
    assert_eq!(is_right, expected.0 == "equal", "{gold:?}, {candidate:?}");
}

fn check_equal(gold: &str, candidate: &str) {
    check(gold, candidate, "equal", "rational_equal");
}

fn check_different(gold: &str, candidate: &str) {
    check(gold, candidate, "different", "rational_different");
    check(candidate, gold, "different", "rational_different");
}

/// Every pair of the texts, which ` ; ` separates, is equal.
fn check_all_equal(table: &str) {
    for gold in table.split(" ; ") {
        for candidate in table.split(" ; ") {
            check_equal(gold, candidate);
        }
    }
}

/// None of the texts, which ` ; ` separates, is read on either side.
fn check_unread(table: &str) {
    for text in table.split(" ; ") {
        check("4", text, "unread", "candidate_unread");
        check_bad_gold(text);
    }
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
