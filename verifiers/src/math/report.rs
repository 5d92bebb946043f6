//! How the verifier's findings become verdicts, errors and sentences.

use super::ReadGold;
use super::answer::{self, Answer, Comparison, Units};
use super::cursor::Obstacle;
use super::reader::MAX_BYTES;
use crate::{Reason, Verdict, VerifyError};

/// Texts and values in a sentence have at most this many characters.
const MAX_SHOWN: usize = 60;

/// The verdict on a candidate that was not read, or that cost too much.
pub(super) fn refused(obstacle: Obstacle, text: &str, explain: bool) -> Verdict {
    let (label, code) = match obstacle {
        Obstacle::Unread => ("unread", "candidate_unread"),
        Obstacle::TooCostly => ("too_costly", "fuel_spent"),
        Obstacle::TooLong => ("too_costly", "candidate_too_long"),
    };
    let detail = || format!("`{}` {}", shown(text), because(obstacle));
    Verdict::presumed_wrong(label, Reason::explained(code, explain, detail))
}

/// The error for a gold answer that was not read; `entry` is its place in a list.
pub(super) fn bad_reference(obstacle: Obstacle, text: &str, entry: Option<usize>) -> VerifyError {
    let entry = entry.map_or_else(String::new, |entry| format!("entry {entry}: "));
    let detail = format!("{entry}`{}` {}", shown(text), because(obstacle));
    VerifyError::BadReference(Reason::with("reference_unread", detail))
}

fn because(obstacle: Obstacle) -> String {
    match obstacle {
        Obstacle::Unread => "is not a single number".to_owned(),
        Obstacle::TooCostly => "costs more fuel than it may".to_owned(),
        Obstacle::TooLong => format!("has more than {MAX_BYTES} bytes"),
    }
}

/// The verdict that a comparison gives.
pub(super) fn compared(
    comparison: Comparison,
    explain: bool,
    detail: impl FnOnce() -> String,
) -> Verdict {
    let reason = |code| Reason::explained(code, explain, detail);
    match comparison {
        Comparison::Equal { exactly, units } => {
            let code = match (exactly, units) {
                (false, _) => "within_tolerance",
                (true, Units::Same) => "rational_equal",
                (true, Units::Dropped) => "unit_dropped",
                (true, Units::Added) => "unit_added",
            };
            Verdict::proven(true, "equal", reason(code))
        }
        Comparison::OtherValue => Verdict::proven(false, "different", reason("rational_different")),
        Comparison::OtherVariable => {
            Verdict::proven(false, "different", reason("variable_different"))
        }
        Comparison::OtherUnit => Verdict::presumed_wrong("different", reason("units_different")),
        Comparison::Unread => Verdict::presumed_wrong("unread", reason("candidate_unread")),
    }
}

/// Both sides of a comparison: the candidate's value, and the gold answer as written.
pub(super) fn detail(
    comparison: Comparison,
    gold: &ReadGold<'_>,
    candidate: &Answer,
    text: &str,
) -> String {
    let Answer::Number(number) = candidate;
    let value = if answer::digits(&number.value) <= MAX_SHOWN {
        number.value.to_string()
    } else {
        shown(text)
    };
    let unit = |answer: &Answer| {
        let Answer::Number(number) = answer;
        number
            .unit
            .as_ref()
            .map_or_else(String::new, |unit| unit.name().to_owned())
    };
    let gold_text = shown(gold.text);
    match comparison {
        Comparison::Equal { exactly, units } => {
            let sign = if exactly { "=" } else { "≈" };
            let units = match units {
                Units::Same => String::new(),
                Units::Dropped => {
                    format!("; only the gold answer has a unit, {}", unit(&gold.answer))
                }
                Units::Added => format!("; only the candidate has a unit, {}", unit(candidate)),
            };
            format!("{value} {sign} {gold_text}{units}")
        }
        Comparison::OtherValue => format!("{value} ≠ {gold_text}"),
        Comparison::OtherVariable => {
            format!(
                "`{}` and `{gold_text}` are about two variables",
                shown(text)
            )
        }
        Comparison::OtherUnit => {
            let (candidate, gold) = (unit(candidate), unit(&gold.answer));
            format!("units are not converted: {candidate}, not {gold}")
        }
        Comparison::Unread => format!("`{}` may be an expression", shown(text)),
    }
}

/// `text` without white space at its ends, cut to a length that fits a sentence.
fn shown(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
