//! Verdicts, errors and sentences from findings.

use maths::{Comparison, Doubt, Evidence, MAX_BYTES, Sides, Undecided, Unread, quoted};

use crate::{Reason, Verdict, VerifyError};

/// Returns the verdict on a candidate that was not read.
pub(super) fn unread(unread: Unread, text: &str, explain: bool) -> Verdict {
    let (label, code) = match unread {
        Unread::NotMaths => ("unread", "candidate_unread"),
        Unread::TooCostly => ("too_costly", "fuel_spent"),
        Unread::TooLong => ("too_costly", "candidate_too_long"),
    };
    let detail = || format!("`{}` {}", quoted(text), because(unread));
    Verdict::presumed_wrong(label, Reason::explained(code, explain, detail))
}

/// Returns the verdict on a candidate that says yes or no to the question in its own words.
pub(super) fn affirmations(are_equal: bool) -> Verdict {
    if are_equal {
        Verdict::proven(true, "equal", Reason::code("answers_question"))
    } else {
        Verdict::presumed_wrong("different", Reason::code("answers_question"))
    }
}

/// Returns the verdict on digits in another order, where the question asks for a numeral.
pub(super) fn numerals() -> Verdict {
    Verdict::proven(false, "different", Reason::code("numeral_different"))
}

/// Returns the verdict on a vector of the gold answer's direction, where the question asks for no more.
pub(super) fn multiples() -> Verdict {
    Verdict::proven(true, "equal", Reason::code("multiples_equal"))
}

/// Returns the verdict on a candidate that repeats what the question gives.
pub(super) fn repeated(text: &str, explain: bool) -> Verdict {
    let detail = || format!("`{}` is what the question gives", quoted(text));
    Verdict::proven(false, "different", Reason::explained("question_repeated", explain, detail))
}

/// Returns the verdict where comparing took all the fuel.
pub(super) fn too_costly(explain: bool) -> Verdict {
    let detail = || "comparing it with the gold answer takes more fuel than it may".to_owned();
    Verdict::presumed_wrong("too_costly", Reason::explained("fuel_spent", explain, detail))
}

/// Returns the verdict on a candidate that names a choice by its label.
pub(super) fn labels(are_equal: bool) -> Verdict {
    if are_equal {
        Verdict::proven(true, "equal", Reason::code("label_equal"))
    } else {
        Verdict::proven(false, "different", Reason::code("label_different"))
    }
}

/// Returns the error for a gold answer that was not read; `entry` is its place in a list.
pub(super) fn bad_reference(unread: Unread, text: &str, entry: Option<usize>) -> VerifyError {
    let entry = entry.map_or_else(String::new, |entry| format!("entry {entry}: "));
    let detail = format!("{entry}`{}` {}", quoted(text), because(unread));
    VerifyError::BadReference(Reason::with("reference_unread", detail))
}

fn because(unread: Unread) -> String {
    match unread {
        Unread::NotMaths => "cannot be read as an answer, all of it".to_owned(),
        Unread::TooCostly => "costs more fuel than it may".to_owned(),
        Unread::TooLong => format!("has more than {MAX_BYTES} bytes"),
    }
}

/// Returns the verdict that an outcome gives, or the error that it stays undecided.
pub(super) fn verdict(
    outcome: Comparison,
    undecided: Undecided,
    explain: bool,
    sides: &Sides<'_, '_>,
) -> Result<Verdict, VerifyError> {
    let reason = |evidence: Evidence, sign: &str| {
        Reason::explained(evidence.code, explain, || sides.sentence(sign, Some(&evidence)))
    };
    match outcome {
        Comparison::Equal(evidence) => {
            let is_near = matches!(evidence.code, "within_tolerance" | "rounded");
            let sign = if is_near { "≈" } else { "=" };
            Ok(Verdict::proven(true, "equal", reason(evidence, sign)))
        }
        Comparison::Different(evidence) => {
            Ok(Verdict::proven(false, "different", reason(evidence, "≠")))
        }
        Comparison::Incomparable(evidence) => {
            Ok(Verdict::presumed_wrong("not_compared", reason(evidence, "is not compared with")))
        }
        Comparison::Undecided(doubt) => {
            let code = doubt_code(doubt);
            let question = || sides.sentence("=?", None);
            match undecided {
                // A failure says why, whether or not an explanation is wanted.
                Undecided::Abstain => Err(VerifyError::Undecided(Reason::with(code, question()))),
                Undecided::Wrong => {
                    let reason = Reason::explained(code, explain, question);
                    Ok(Verdict::presumed_wrong("undecided", reason))
                }
            }
        }
    }
}

fn doubt_code(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::LikelyEqual => "likely_equal",
        Doubt::NoRule => "no_rule",
        Doubt::NoValue => "no_value",
        Doubt::Costly => "comparison_too_costly",
    }
}
