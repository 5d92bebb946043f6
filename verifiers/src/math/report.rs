//! How findings become verdicts, errors and sentences.

use std::fmt::Write as _;

use super::compare::{Ground, Outcome};
use super::expr::Workspace;
use super::finding::Doubt;
use super::form::{Answer, Form, MAX_BYTES, Note, Unread};
use super::policy::Undecided;
use super::shown::{Shown, Style, shortened};
use crate::{Reason, Verdict, VerifyError};

/// Why writing into a [`String`] may be taken for granted.
const WRITES: &str = "writing to a string cannot fail";

/// The verdict on a candidate that was not read.
pub(super) fn unread(unread: Unread, text: &str, explain: bool) -> Verdict {
    let (label, code) = match unread {
        Unread::NotMaths => ("unread", "candidate_unread"),
        Unread::TooCostly => ("too_costly", "fuel_spent"),
        Unread::TooLong => ("too_costly", "candidate_too_long"),
    };
    let detail = || format!("`{}` {}", quoted(text), because(unread));
    Verdict::presumed_wrong(label, Reason::explained(code, explain, detail))
}

/// The verdict where comparing took all the fuel.
pub(super) fn too_costly(explain: bool) -> Verdict {
    let detail = || "comparing it with the gold answer takes more fuel than it may".to_owned();
    Verdict::presumed_wrong("too_costly", Reason::explained("fuel_spent", explain, detail))
}

/// The error for a gold answer that was not read; `entry` is its place in a list.
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

/// Both sides of a comparison, for its sentences.
pub(super) struct Sides<'s, 'f> {
    pub(super) ws: &'s Workspace<'f>,
    pub(super) gold: &'s Answer,
    pub(super) candidate: &'s Answer,
}

/// The verdict that an outcome gives, or the error that it stays undecided.
pub(super) fn verdict(
    outcome: Outcome,
    undecided: Undecided,
    explain: bool,
    sides: &Sides<'_, '_>,
) -> Result<Verdict, VerifyError> {
    let reason = |ground: Ground, sign: &str| {
        Reason::explained(ground.code, explain, || sides.sentence(sign, Some(&ground)))
    };
    match outcome {
        Outcome::Equal(ground) => {
            let sign = if ground.code == "within_tolerance" { "≈" } else { "=" };
            Ok(Verdict::proven(true, "equal", reason(ground, sign)))
        }
        Outcome::Different(ground) => Ok(Verdict::proven(false, "different", reason(ground, "≠"))),
        Outcome::Unlike(ground) => {
            Ok(Verdict::presumed_wrong("different", reason(ground, "is not compared with")))
        }
        Outcome::Undecided(doubt) => {
            let code = doubt_code(doubt);
            let reason = Reason::explained(code, explain, || sides.sentence("=?", None));
            match undecided {
                Undecided::Abstain => Err(VerifyError::Undecided(reason)),
                Undecided::Wrong => Ok(Verdict::presumed_wrong("undecided", reason)),
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

impl Sides<'_, '_> {
    /// `candidate sign gold`, with types, LaTeX, what was noticed and what shows a difference.
    fn sentence(&self, sign: &str, ground: Option<&Ground>) -> String {
        let show = |style, answer| Shown { ws: self.ws, style }.answer(answer);
        let [plain_candidate, plain_gold] =
            [self.candidate, self.gold].map(|answer| show(Style::Plain, answer));
        let [latex_candidate, latex_gold] =
            [self.candidate, self.gold].map(|answer| show(Style::Latex, answer));
        let mut out = format!("{plain_candidate} {sign} {plain_gold}");
        if (&latex_candidate, &latex_gold) != (&plain_candidate, &plain_gold) {
            write!(out, "; in LaTeX: {latex_candidate} and {latex_gold}").expect(WRITES);
        }
        let types = [self.candidate, self.gold].map(|answer| answer.form.type_name());
        if types[0] == types[1] {
            write!(out, "; both read as {}", types[0]).expect(WRITES);
        } else {
            write!(out, "; read as {} and {}", types[0], types[1]).expect(WRITES);
        }
        if let Some(ground) = ground {
            self.evidence(ground, &mut out);
        }
        for (side, answer) in [("candidate", self.candidate), ("gold answer", self.gold)] {
            let notes: Vec<&str> = answer.notes.iter().map(|note| Note::code(*note)).collect();
            if !notes.is_empty() {
                write!(out, "; in the {side}: {}", notes.join(", ")).expect(WRITES);
            }
        }
        out
    }

    /// Writes what shows a difference: a member, a point.
    fn evidence(&self, ground: &Ground, out: &mut String) {
        if let Some(member) = ground.member {
            write!(out, "; decided by member {member}").expect(WRITES);
        }
        let unit = |answer: &Answer| {
            let Form::Value(value) = &answer.form else {
                return None;
            };
            value.unit.as_ref().map(|unit| unit.name.clone())
        };
        match (ground.code, unit(self.gold), unit(self.candidate)) {
            ("unit_dropped", Some(unit), _) => {
                write!(out, "; only the gold answer has a unit, {unit}").expect(WRITES);
            }
            ("unit_added", _, Some(unit)) => {
                write!(out, "; only the candidate has a unit, {unit}").expect(WRITES);
            }
            _ => {}
        }
        let Some(witness) = &ground.witness else {
            return;
        };
        let shown = Shown { ws: self.ws, style: Style::Plain };
        let at: Vec<String> = witness
            .at
            .iter()
            .map(|(variable, value)| format!("{} = {value}", shown.expr(*variable)))
            .collect();
        if !at.is_empty() {
            write!(out, "; they differ at {}", at.join(", ")).expect(WRITES);
        }
        if let Some((gold, candidate)) = &witness.values {
            write!(out, "; candidate {candidate}, gold answer {gold}").expect(WRITES);
        }
    }
}

/// `text` without white space at its ends, cut to a length that fits a sentence.
fn quoted(text: &str) -> String {
    shortened(text.trim().to_owned())
}
