//! `choice`: the right option of a multiple-choice question.
//!
//! A label must be written as one: alone, in brackets, with a mark after it, or after a lead-in
//! such as `Option`. The article in `A cat sat` is no answer. Where the texts of the choices are
//! known, a text counts as its label, and a label with a text must agree with it.

mod clean;
mod key;
mod labels;
mod read;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::accepted::{Accepted, candidate, charge_gold, quoted};
use crate::text::fold_cost;
use crate::{Candidate, Claim, Fuel, Gold, Reason, Verdict, Verifier, VerifierId, VerifyError};
use clean::clean;
use key::AnswerKey;
use labels::{ChoiceLabel, LabelSet};

/// Passes over a text: cleaning it, reading it, comparing it.
const PASSES: u64 = 3;

/// Number of right choices.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceConfig {
    /// Whether the answer is a set of labels, all of which must be named and no other. Off by
    /// default: naming two labels is then a hedge, and wrong.
    pub multiple: bool,
}

/// Right when the candidate names the choice, or exactly the choices, of the gold answer.
#[derive(Debug, Clone)]
pub struct ChoiceVerifier {
    config: ChoiceConfig,
}

/// The answers of a candidate.
#[derive(Debug, Clone, Copy)]
struct GivenAnswers<'a> {
    /// All of them: one, but where a sentence has several boxes.
    all: &'a [&'a str],
    /// The last one, for messages.
    last: &'a str,
    /// Whether an "or" stands between two of them.
    either: bool,
}

/// The reading of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// These labels.
    Labels(LabelSet),
    /// The text of a choice; more labels than one only where their texts are the same.
    Content(LabelSet),
    /// A label, and a text that is not the text of its choice.
    Conflict(ChoiceLabel),
    /// Several answers to choose from.
    Hedged,
    /// Nothing that can be read as a choice.
    Unread,
}

impl ChoiceVerifier {
    /// Creates a verifier with this configuration.
    pub fn new(config: ChoiceConfig) -> Self {
        Self { config }
    }

    fn judge(
        &self,
        key: Result<AnswerKey, Reason>,
        given: &Result<GivenAnswers<'_>, Verdict>,
        explain: bool,
    ) -> Result<Verdict, Reason> {
        let key = key?;
        let given = match given {
            Ok(given) => given,
            Err(verdict) => return Ok(verdict.clone()),
        };
        let said = said_by_all(given, &key, self.config.multiple);
        Ok(self.verdict(&key, said, given.last, explain))
    }

    fn verdict(&self, key: &AnswerKey, said: Said, text: &str, explain: bool) -> Verdict {
        let wrong = |code, detail: &dyn Fn() -> String| {
            Verdict::proven(false, "wrong", Reason::explained(code, explain, detail))
        };
        match said {
            Said::Labels(labels) if labels == key.answer => right("label_equal"),
            Said::Content(labels) if self.is_right_content(key, labels) => right("content_equal"),
            Said::Labels(labels) | Said::Content(labels) => {
                wrong("label_differs", &|| format!("{labels} is not {}", key.answer))
            }
            Said::Conflict(label) => wrong("label_content_conflict", &|| {
                format!("{} is not the text of choice {label}", quoted(text))
            }),
            Said::Hedged => {
                wrong("hedged", &|| format!("{} names more than one choice", quoted(text)))
            }
            Said::Unread => Verdict::presumed_wrong(
                "unread",
                Reason::explained("candidate_unread", explain, || {
                    format!("{} is not read as a choice", quoted(text))
                }),
            ),
        }
    }

    /// Returns whether choices with the same text, and the labels `labels`, are the answer.
    fn is_right_content(&self, key: &AnswerKey, labels: LabelSet) -> bool {
        if self.config.multiple { labels == key.answer } else { labels.meets(key.answer) }
    }
}

impl Verifier for ChoiceVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "choice", revision: 2 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let multiple = self.config.multiple;
        let one = claim.candidate.text();
        let (all, either) = match claim.candidate {
            Candidate::Several { all, either, .. } => (all, either),
            Candidate::Missing | Candidate::Text(_) | Candidate::Statement { .. } => {
                (one.as_slice(), false)
            }
        };
        let cost: u64 = all.iter().map(|text| reading_cost(text)).sum();
        let given = |fuel: &mut Fuel, cost: u64| {
            let last = candidate(claim.candidate, fuel, |_| cost);
            last.map(|last| GivenAnswers { all, last, either })
        };
        if let Gold::Object(fields) = claim.gold {
            charge_gold(fuel, object_cost(fields))?;
            let given = given(fuel, cost);
            return self
                .judge(AnswerKey::from_object(fields, multiple), &given, claim.explain)
                .map_err(VerifyError::BadReference);
        }
        let accepted = Accepted::of(claim.gold)?;
        let mut entries = 0;
        for text in accepted.texts() {
            entries += 1;
            charge_gold(fuel, reading_cost(text))?;
        }
        let given = given(fuel, entries * cost);
        accepted
            .judge(|text| self.judge(AnswerKey::from_text(text, multiple), &given, claim.explain))
    }
}

fn right(code: &'static str) -> Verdict {
    Verdict::proven(true, "right", Reason::code(code))
}

fn reading_cost(text: &str) -> u64 {
    PASSES * fold_cost(text)
}

/// Returns the fuel units of reading every text of a gold object.
fn object_cost(fields: &serde_json::Map<String, serde_json::Value>) -> u64 {
    let mut units = 0;
    let mut open: Vec<&serde_json::Value> = fields.values().collect();
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) => units += reading_cost(text),
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Object(fields) => {
                units += fields.keys().map(|key| reading_cost(key)).sum::<u64>();
                open.extend(fields.values());
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                units += 1;
            }
        }
    }
    units
}

/// Reads all answers of a candidate. Those that are no choice, such as a value that a choice is found
/// by, say nothing.
fn said_by_all(given: &GivenAnswers<'_>, key: &AnswerKey, multiple: bool) -> Said {
    let (mut named, mut last) = (LabelSet::default(), Said::Unread);
    for text in given.all {
        let own = said(text, key, multiple);
        match own {
            Said::Labels(labels) | Said::Content(labels) => {
                named.extend(labels);
                last = own;
            }
            Said::Unread => {}
            Said::Conflict(_) | Said::Hedged => return own,
        }
    }
    match last {
        Said::Labels(labels) | Said::Content(labels) if labels == named => last,
        Said::Labels(_) | Said::Content(_) if multiple && !given.either => Said::Labels(named),
        Said::Labels(_) | Said::Content(_) => Said::Hedged,
        Said::Conflict(_) | Said::Hedged | Said::Unread => last,
    }
}

/// Reads an answer. The order matters: the label of a choice is a label even where it is also the
/// text of another, and the text of a choice is that choice even where it looks like a list.
fn said(raw: &str, key: &AnswerKey, multiple: bool) -> Said {
    let cleaned = clean(raw);
    let core = read::core(&cleaned);
    let list = read::list(core, key.alphabet);
    let lone = list.and_then(|list| list.labels.only());
    if let Some(label) = lone
        && key.knows(label)
    {
        return Said::Labels(LabelSet::one(label));
    }
    let found = key.by_content(raw, core);
    if !found.is_empty() {
        return Said::Content(found);
    }
    if let Some(label) = lone {
        return Said::Labels(LabelSet::one(label));
    }
    // `A) B` is choice A where its text is `B`, and two labels otherwise.
    if let Some(label) = agreeing(core, key) {
        return Said::Labels(LabelSet::one(label));
    }
    match (list, read::concatenated(core)) {
        (Some(list), _) if list.either || !multiple => Said::Hedged,
        (Some(list), _) => Said::Labels(list.labels),
        (None, Some(labels)) if multiple => Said::Labels(labels),
        (None, _) => {
            let said = said_with_content(core, key, multiple);
            let is_open = matches!(said, Said::Unread | Said::Conflict(_)) && !key.has_reasons();
            let asserted = is_open.then(|| read::asserted(core, key.alphabet)).flatten();
            asserted.map_or(said, |label| Said::Labels(LabelSet::one(label)))
        }
    }
}

/// Reads labels with the texts of their choices.
fn said_with_content(core: &str, key: &AnswerKey, multiple: bool) -> Said {
    let whole = labelled(core, key);
    if multiple && !matches!(whole, Said::Labels(_)) {
        for separator in ['\n', ';', ','] {
            if let Some(labels) = segments(core, separator, key) {
                return Said::Labels(labels);
            }
        }
    }
    whole
}

/// Returns the labels of the parts of `core`, where every part names exactly one.
fn segments(core: &str, separator: char, key: &AnswerKey) -> Option<LabelSet> {
    let mut labels = LabelSet::default();
    for part in core.split(separator).map(read::outer) {
        if !part.is_empty() {
            labels.extend(LabelSet::one(segment(part, key)?));
        }
    }
    (labels.len() > 1).then_some(labels)
}

fn segment(part: &str, key: &AnswerKey) -> Option<ChoiceLabel> {
    if let Some(list) = read::list(part, key.alphabet) {
        return list.labels.only();
    }
    if let Some(label) = key.by_content(part, part).only() {
        return Some(label);
    }
    match labelled(part, key) {
        Said::Labels(labels) => labels.only(),
        Said::Content(_) | Said::Conflict(_) | Said::Hedged | Said::Unread => None,
    }
}

/// Returns the label of `B) Paris` where the text of B is known to be `Paris`.
fn agreeing(text: &str, key: &AnswerKey) -> Option<ChoiceLabel> {
    let (label, content) = read::labelled(text, key.alphabet)?;
    (key.agrees(label, content) == Some(true)).then_some(label)
}

/// Reads `B) Paris`.
fn labelled(text: &str, key: &AnswerKey) -> Said {
    let Some((label, content)) = read::labelled(text, key.alphabet) else {
        return Said::Unread;
    };
    match key.agrees(label, content) {
        Some(false) => Said::Conflict(label),
        // The text cannot be checked, so at least it must not name other labels.
        None if read::names_another(content, label) => Said::Hedged,
        Some(true) | None => Said::Labels(LabelSet::one(label)),
    }
}
