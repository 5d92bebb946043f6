//! Shared parts of the text verifiers: accepted answers, and the fuel of candidate and gold.

use crate::{Candidate, Fuel, Gold, Reason, UnitScore, Verdict, VerifyError};

/// The answers that a gold given as text accepts; never none.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Accepted<'a> {
    /// Exactly this one.
    One(&'a str),
    /// Any of these.
    AnyOf(&'a [String]),
}

impl<'a> Accepted<'a> {
    /// Returns the texts of `gold`.
    ///
    /// # Errors
    /// `BadReference` when there is no text: nothing given, an empty list, or an object.
    pub(crate) fn of(gold: Gold<'a>) -> Result<Self, VerifyError> {
        match gold {
            Gold::Missing => Err(VerifyError::missing_reference()),
            Gold::Text(text) => Ok(Self::One(text)),
            Gold::AnyOf([]) => {
                Err(bad_reference("reference_empty", "the list of accepted answers is empty"))
            }
            Gold::AnyOf(texts) => Ok(Self::AnyOf(texts)),
            Gold::Object(_) => Err(bad_reference(
                "reference_type",
                "this verifier needs a text or a list of texts, not an object",
            )),
        }
    }

    /// Returns the texts, in order.
    pub(crate) fn texts(self) -> impl Iterator<Item = &'a str> {
        let (one, many) = match self {
            Self::One(text) => (Some(text), [].as_slice()),
            Self::AnyOf(texts) => (None, texts),
        };
        one.into_iter().chain(many.iter().map(String::as_str))
    }

    /// Judges the texts in order until one is right.
    ///
    /// `judge` gives the verdict for one text, or the reason why that text cannot be used. Any
    /// right verdict wins. Where none is right, an unusable text is an error: it might have been
    /// the one that the candidate matches. Otherwise a presumed verdict wins over a proven one,
    /// because nothing was proven for the complete list.
    pub(crate) fn judge(
        self,
        mut judge: impl FnMut(&'a str) -> Result<Verdict, Reason>,
    ) -> Result<Verdict, VerifyError> {
        let mut unusable = None;
        let mut wrong: Option<Verdict> = None;
        for (index, text) in self.texts().enumerate() {
            match judge(text) {
                Ok(verdict) if verdict.score == UnitScore::ONE => return Ok(verdict),
                Ok(verdict) => wrong = Some(less_certain(wrong, verdict)),
                Err(reason) => {
                    unusable.get_or_insert_with(|| self.located(index, reason));
                }
            }
        }
        match unusable {
            Some(reason) => Err(VerifyError::BadReference(reason)),
            None => Ok(wrong.expect("accepted answers are never none")),
        }
    }

    /// Returns `reason` with the index of the text, where there is more than one.
    fn located(self, index: usize, reason: Reason) -> Reason {
        match self {
            Self::One(_) => reason,
            Self::AnyOf(_) => {
                let detail = reason.detail.unwrap_or_default();
                Reason::with(reason.code, format!("reference[{index}]: {detail}"))
            }
        }
    }
}

/// Returns the verdict that claims less.
fn less_certain(first: Option<Verdict>, second: Verdict) -> Verdict {
    match first {
        Some(first) if second.certainty == crate::Certainty::Proven => first,
        Some(_) | None => second,
    }
}

/// Returns the candidate to judge, or its verdict without comparison.
///
/// Takes `cost` of its length in bytes from `fuel`.
pub(crate) fn candidate<'a>(
    candidate: Candidate<'a>,
    fuel: &mut Fuel,
    cost: impl FnOnce(&'a str) -> u64,
) -> Result<&'a str, Verdict> {
    match candidate.text() {
        None => Err(Verdict::no_answer()),
        Some(text) => match fuel.spend(cost(text)) {
            Ok(()) => Ok(text),
            Err(_) => Err(too_costly()),
        },
    }
}

/// Charges the work of the gold answer alone.
///
/// # Errors
/// `BadReference`: the candidate has no part in this cost, so it cannot earn a 0 by it.
pub(crate) fn charge_gold(fuel: &mut Fuel, units: u64) -> Result<(), VerifyError> {
    fuel.spend(units).map_err(|_| {
        bad_reference(
            "reference_too_costly",
            "reading the reference alone takes more than the fuel of a verdict",
        )
    })
}

/// Creates a 0 for a candidate whose work exceeds the fuel.
pub(crate) fn too_costly() -> Verdict {
    Verdict::presumed_wrong("too_costly", Reason::code("fuel_spent"))
}

/// Returns an error that blames the gold answer.
pub(crate) fn bad_reference(code: &'static str, detail: &'static str) -> VerifyError {
    VerifyError::BadReference(Reason::with(code, detail))
}

/// Returns the fuel units of scanning `len` bytes at `bytes_per_unit`; never 0.
pub(crate) fn scan_cost(len: usize, bytes_per_unit: u64) -> u64 {
    1 + len as u64 / bytes_per_unit
}

/// Returns the start of `text` as one quoted line, for a detail.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut out = String::from("\"");
    let mut chars = text.chars();
    for c in chars.by_ref().take(MAX_CHARS) {
        out.extend(c.escape_debug());
    }
    out.push_str(if chars.next().is_some() { "\"..." } else { "\"" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[&str], expected: Result<&str, (&str, &str)>) {
        let owned: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let accepted = Accepted::of(Gold::AnyOf(&owned)).expect("the lists here are not empty");
        let judged = accepted.judge(|text| match text {
            "right" => Ok(Verdict::proven(true, "right", Reason::code("same"))),
            "wrong" => Ok(Verdict::proven(false, "wrong", Reason::code("differs"))),
            "unread" => Ok(Verdict::presumed_wrong("unread", Reason::code("unread"))),
            other => Err(Reason::with("unusable", other.to_owned())),
        });
        let found = match &judged {
            Ok(verdict) => Ok(verdict.label),
            Err(VerifyError::BadReference(reason)) => {
                Err((reason.code, reason.detail.as_deref().expect("errors carry a detail")))
            }
            Err(VerifyError::Undecided(_)) => panic!("nothing here is undecided"),
        };
        assert_eq!(found, expected, "{texts:?}");
    }

    #[test]
    fn unusable_answer_is_an_error_unless_another_matches() {
        check(&["right"], Ok("right"));
        check(&["wrong", "right"], Ok("right"));
        check(&["bad", "right"], Ok("right"));
        check(&["wrong"], Ok("wrong"));
        check(&["wrong", "unread", "wrong"], Ok("unread"));
        check(&["wrong", "bad"], Err(("unusable", "reference[1]: bad")));
        check(&["bad", "worse"], Err(("unusable", "reference[0]: bad")));
    }

    #[test]
    fn quotation_is_short_and_on_one_line() {
        assert_eq!(quoted("a\nb\u{202e}"), "\"a\\nb\\u{202e}\"");
        assert_eq!(quoted(&"x".repeat(81)), format!("\"{}\"...", "x".repeat(80)));
    }
}
