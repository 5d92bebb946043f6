//! Sentences that explain a comparison to people.

use std::fmt::Write as _;

use crate::answer::{Answer, AnswerForm};
use crate::compare::Evidence;
use crate::display::{Display, Style, shortened};
use crate::expr::Workspace;

/// Message of the infallible write into a [`String`].
const WRITES: &str = "writing to a string cannot fail";

/// Both sides of a comparison, for its sentences.
pub struct Sides<'s, 'f> {
    /// The workspace of both answers.
    pub ws: &'s Workspace<'f>,
    /// The gold answer.
    pub gold: &'s Answer,
    /// The candidate.
    pub candidate: &'s Answer,
}

impl Sides<'_, '_> {
    /// Writes `candidate sign gold` with the types, the LaTeX forms, notes of the readers and the
    /// evidence for a difference.
    pub fn sentence(&self, sign: &str, evidence: Option<&Evidence>) -> String {
        let show = |style, answer| Display { ws: self.ws, style }.answer(answer);
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
        if let Some(evidence) = evidence {
            self.evidence(evidence, &mut out);
        }
        for (side, answer) in [("candidate", self.candidate), ("gold answer", self.gold)] {
            let notes: Vec<&str> = answer.notes.iter().map(|note| note.words()).collect();
            if !notes.is_empty() {
                write!(out, "; in the {side}: {}", notes.join(", ")).expect(WRITES);
            }
        }
        out
    }

    /// Appends what shows a difference: a member, a missing unit, a point.
    fn evidence(&self, evidence: &Evidence, out: &mut String) {
        if let Some(member) = evidence.member {
            write!(out, "; decided by member {member}").expect(WRITES);
        }
        let unit = |answer: &Answer| {
            let AnswerForm::Value(value) = &answer.form else {
                return None;
            };
            value.unit.as_ref().map(|unit| unit.name.clone())
        };
        match (evidence.code, unit(self.gold), unit(self.candidate)) {
            ("unit_dropped", Some(unit), _) => {
                write!(out, "; only the gold answer has a unit, {unit}").expect(WRITES);
            }
            ("unit_added", _, Some(unit)) => {
                write!(out, "; only the candidate has a unit, {unit}").expect(WRITES);
            }
            _ => {}
        }
        let Some(witness) = &evidence.witness else {
            return;
        };
        let display = Display { ws: self.ws, style: Style::Plain };
        let at: Vec<String> = witness
            .at
            .iter()
            .map(|(variable, value)| format!("{} = {value}", display.expr(*variable)))
            .collect();
        if !at.is_empty() {
            write!(out, "; they differ at {}", at.join(", ")).expect(WRITES);
        }
        if let Some((gold, candidate)) = &witness.values {
            write!(out, "; candidate {candidate}, gold answer {gold}").expect(WRITES);
        }
    }
}

/// Quotes `text`: trimmed, and cut to a length that fits a sentence.
pub fn quoted(text: &str) -> String {
    shortened(text.trim().to_owned())
}
