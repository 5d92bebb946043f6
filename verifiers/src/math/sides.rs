//! What was read of a gold answer and of a response.

use std::borrow::Cow;

use maths::{Answer, Unread, Workspace};

use super::label;

/// A gold answer that was read.
pub(super) struct ReadGold<'a> {
    pub(super) text: &'a str,
    pub(super) answer: Answer,
    /// The label of a choice, which stands before the answer or is all of it.
    pub(super) label: Option<char>,
    /// Whether there is more than the label.
    pub(super) has_content: bool,
    /// What its reading cost; `None` where the request gave it another type.
    pub(super) cost: Option<u64>,
}

/// An answer of a response that was read, or could not be.
pub(super) struct ReadCandidate<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) answer: Result<Answer, Unread>,
    /// As in [`ReadGold`].
    pub(super) label: Option<char>,
    pub(super) has_content: bool,
}

/// Types of amounts that a text shows: angles in degrees, and multiples of pi.
const TYPES: [fn(&str) -> bool; 2] = [
    |text| text.contains('°') || text.contains("\\circ"),
    |text| text.contains('π') || text.contains("\\pi"),
];

impl ReadGold<'_> {
    /// Returns whether the first reading of its kind need not be the one of its type.
    pub(super) fn looks_further(&self) -> bool {
        let is_plain = self.text.is_ascii() && !self.text.contains('\\');
        self.answer.names_members()
            || !is_plain && TYPES.iter().any(|is_such| is_such(self.text))
            || maths::is_percent_change(self.text)
    }

    /// Returns whether it is nothing but the letter of a choice.
    pub(super) fn is_letter(&self) -> bool {
        self.label.is_some() && !self.has_content
    }

    /// Returns whether it is nothing but the letters of several choices.
    pub(super) fn is_letters(&self) -> bool {
        label::several(self.text).is_some()
    }
}

impl ReadCandidate<'_> {
    /// What was read of several spans that are one answer.
    pub(super) fn several(text: String, answer: Result<Answer, Unread>) -> Self {
        Self { text: Cow::Owned(text), answer, label: None, has_content: true }
    }

    /// Returns whether it is of the gold answer's type.
    pub(super) fn is_alike(&self, gold: &ReadGold<'_>, ws: &Workspace<'_>) -> bool {
        self.answer.as_ref().is_ok_and(|answer| maths::are_alike(&gold.answer, answer, ws))
    }

    /// Returns whether it is words and the gold answer is none.
    pub(super) fn is_other_text(&self, gold: &ReadGold<'_>, ws: &Workspace<'_>) -> bool {
        self.answer.as_ref().is_ok_and(Answer::is_text) && !self.is_alike(gold, ws)
    }
}

/// What was read of a response.
pub(super) struct Candidates<'a> {
    /// At least one, in order of preference.
    pub(super) readings: Vec<ReadCandidate<'a>>,
    /// How many of them the last statement has.
    pub(super) own: usize,
    /// Several marked answers, for gold answers that are lists.
    pub(super) list: Option<ReadCandidate<'a>>,
}

impl<'a> Candidates<'a> {
    /// Returns the first reading of the gold answer's type, or the first one. The gold answer's
    /// value has no say in it.
    pub(super) fn chosen(&self, gold: &ReadGold<'_>, ws: &Workspace<'_>) -> &ReadCandidate<'a> {
        let is_list = |list: &&ReadCandidate<'_>| {
            gold.answer.is_list() || gold.answer.is_enclosed() && list.is_alike(gold, ws)
        };
        if let Some(list) = self.list.as_ref().filter(is_list) {
            return list;
        }
        if self.readings.len() == 1 {
            return &self.readings[0];
        }
        let (own, earlier) = self.readings.split_at(self.own.min(self.readings.len()));
        // The letter of a choice is looked for where the gold answer is one.
        if gold.is_letter()
            && let Some(candidate) = own.iter().find(|candidate| candidate.label.is_some())
        {
            return candidate;
        }
        // "is **T**" in a table of truth values
        if gold.answer.is_truth()
            && let Some(letter) = own.iter().find(|own| truth_letter(&own.text).is_some())
        {
            return letter;
        }
        if gold.is_letters()
            && let Some(letters) = own.iter().find(|own| label::several(&own.text).is_some())
        {
            return letters;
        }
        let is_alike = |candidate: &&ReadCandidate<'_>| candidate.is_alike(gold, ws);
        let is_named = |candidate: &&ReadCandidate<'_>| {
            let answer = candidate.answer.as_ref();
            answer.is_ok_and(|answer| maths::have_one_name(&gold.answer, answer, ws))
        };
        let named = |readings: &'_ [ReadCandidate<'a>]| {
            readings.iter().position(|candidate| is_alike(&candidate) && is_named(&candidate))
        };
        if let Some(at) = named(own) {
            return &own[at];
        }
        // What a formula in variables is the value of, says its name.
        if let Some(at) = named(earlier).filter(|_| gold.answer.is_open(ws)) {
            return &earlier[at];
        }
        // Where the gold answer gives its members names, so does the reading of it.
        let names = |candidate: &&ReadCandidate<'_>| {
            candidate.answer.as_ref().is_ok_and(Answer::names_members)
        };
        if gold.answer.names_members()
            && let Some(candidate) = own.iter().find(names)
        {
            return candidate;
        }
        // An angle in degrees is looked for where the gold answer is one,
        // and one in radians, a multiple of pi.
        for is_such in TYPES {
            if is_such(gold.text)
                && let Some(candidate) =
                    own.iter().find(|candidate| is_alike(candidate) && is_such(&candidate.text))
            {
                return candidate;
            }
        }
        // A change by a percentage has its direction with it.
        if maths::is_percent_change(gold.text)
            && let Some(candidate) = own.iter().find(|c| maths::is_percent_change(&c.text))
        {
            return candidate;
        }
        if let Some(at) = own.iter().position(|candidate| is_alike(&candidate)) {
            return amount_of_kind((own, earlier), at, gold);
        }
        // A number of an earlier sentence is no answer to what the last one says otherwise.
        let at = named(earlier).or_else(|| {
            // "It converges for $|x| < 4$" says no other number.
            let are_conditions = own
                .iter()
                .all(|candidate| candidate.answer.as_ref().is_ok_and(Answer::is_condition));
            let is_other = !gold.answer.is_value() || gold.answer.is_open(ws) || are_conditions;
            earlier.iter().position(|candidate| is_other && is_alike(&candidate))
        });
        // What a statement says in words may affirm what was asked, or deny it.
        let words = || {
            let is_text = |candidate: &&ReadCandidate<'_>| {
                candidate.answer.as_ref().is_ok_and(Answer::is_text)
            };
            own.iter().find(is_text).filter(|_| gold.answer.is_truth())
        };
        match at {
            Some(at) => &earlier[at],
            None => words().unwrap_or(&self.readings[0]),
        }
    }
}

/// Returns the reading at `at` with the unit behind it, where the gold answer is an amount of a physical kind; where
/// that unit is of another kind, the first reading that is an amount of this kind: of "3 seconds" and "30 m/s" the
/// first is a time. The gold answer's value has no say in it.
fn amount_of_kind<'r, 'a>(
    (own, earlier): (&'r [ReadCandidate<'a>], &'r [ReadCandidate<'a>]),
    at: usize,
    gold: &ReadGold<'_>,
) -> &'r ReadCandidate<'a> {
    let is_of_kind = |candidate: &ReadCandidate<'_>| {
        let answer = candidate.answer.as_ref().ok()?;
        maths::have_one_dimension(&gold.answer, answer)
    };
    let has_unit =
        |candidate: &ReadCandidate<'_>| candidate.answer.as_ref().is_ok_and(Answer::has_unit);
    if is_of_kind(&own[at]).is_none() {
        return &own[at];
    }
    let is_longer = |next: &&ReadCandidate<'_>| {
        let text = next.text.trim_start_matches(['$', '*', '\\', '(']);
        has_unit(next) && text.len() > own[at].text.len() && text.starts_with(own[at].text.as_ref())
    };
    let chosen = own.get(at + 1).filter(is_longer).unwrap_or(&own[at]);
    let are_amounts = chosen.answer.as_ref().is_ok_and(Answer::are_amounts);
    if !has_unit(chosen) && !are_amounts || is_of_kind(chosen) == Some(true) {
        return chosen;
    }
    own.iter().chain(earlier).find(|other| is_of_kind(other) == Some(true)).unwrap_or(chosen)
}

/// Returns the truth value that a text is the letter of.
pub(super) fn truth_letter(text: &str) -> Option<bool> {
    match text.trim_matches(['*', '$', ' ']) {
        "T" | "\\text{T}" | "\\mathrm{T}" => Some(true),
        "F" | "\\text{F}" | "\\mathrm{F}" => Some(false),
        _ => None,
    }
}
