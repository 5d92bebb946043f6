//! Parses the text of a critic. The last line is the verdict; a line of the same form before it is
//! part of the critique.

use engine::Grammar;
use serde::Deserialize;

use crate::kinds::prompting::unreadable;
use crate::outcome::Failure;

/// Before the numbers of wrong steps.
pub(super) const WRONG: &str = "Wrong steps: ";
/// Before the numbers of steps that lead to a wrong answer.
pub(super) const MATCHING: &str = "Matching steps: ";
/// Before the words of all steps.
const JUDGEMENT: &str = "Judgement: ";

/// Whole lines before the last one.
const LINES: &str = r"([^\n]*\n)*";

/// The steps that a critique names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Their numbers from 1, as they were written; all of them exist.
    pub(super) numbers: Vec<usize>,
    /// Numbers that no step has.
    pub(super) foreign: usize,
}

/// A judgement of every step and of the solution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepJudgements {
    pub(super) steps: Vec<bool>,
    pub(super) overall: bool,
}

/// Any text whose last line lists numbers after `marker`.
pub(super) fn list_grammar(marker: &str) -> Grammar {
    let number = "[1-9][0-9]{0,4}";
    Grammar::Regex(format!(r"{LINES}{marker}\[({number}(, {number})*)?\]"))
}

/// Any text whose last line has a word for each of `n_steps` steps.
pub(super) fn judgement_grammar(n_steps: usize) -> Grammar {
    let word = r#""(right|wrong)""#;
    let more = n_steps - 1;
    Grammar::Regex(format!(
        r#"{LINES}{JUDGEMENT}\{{"steps": \[{word}(, {word}){{{more}}}\], "overall": {word}\}}"#
    ))
}

/// The numbers on the last line.
///
/// # Errors
/// The last line is not `marker` and a JSON list of whole numbers.
pub(super) fn listed(text: &str, marker: &str, n_steps: usize) -> Result<Listed, Failure> {
    let list = after_marker(text, marker)?;
    let numbers: Vec<i64> = serde_json::from_str(list)
        .map_err(|error| malformed(format!("no list of whole numbers: {error}")))?;
    let exists = |number: i64| {
        let number = usize::try_from(number).ok()?;
        (1..=n_steps).contains(&number).then_some(number)
    };
    let known: Vec<usize> = numbers.iter().copied().filter_map(exists).collect();
    Ok(Listed { foreign: numbers.len() - known.len(), numbers: known })
}

/// The words on the last line.
///
/// # Errors
/// The last line is not a judgement, or has not one word for each step.
pub(super) fn read_judgements(text: &str, n_steps: usize) -> Result<StepJudgements, Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wire {
        steps: Vec<StepWord>,
        overall: StepWord,
    }
    #[derive(Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum StepWord {
        Right,
        Wrong,
    }
    let json = after_marker(text, JUDGEMENT)?;
    let wire: Wire = serde_json::from_str(json)
        .map_err(|error| malformed(format!("no judgement of steps: {error}")))?;
    if wire.steps.len() != n_steps {
        let n_words = wire.steps.len();
        return Err(malformed(format!("{n_words} words for {n_steps} steps")));
    }
    Ok(StepJudgements {
        steps: wire.steps.iter().map(|word| *word == StepWord::Right).collect(),
        overall: wire.overall == StepWord::Right,
    })
}

/// Returns the critique's text about a step from its last line `Step k: …`.
pub(super) fn said_of(text: &str, step: usize) -> Option<String> {
    let start = format!("Step {step}:");
    let mut said = text.lines().filter_map(|line| line.strip_prefix(&start));
    let said = said.next_back().map(str::trim)?;
    (!said.is_empty()).then(|| said.to_owned())
}

fn after_marker<'t>(text: &'t str, marker: &str) -> Result<&'t str, Failure> {
    let text = text.trim_end();
    let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
    line.strip_prefix(marker).ok_or_else(|| {
        let detail = format!("the last line does not begin with {marker:?}");
        unreadable("verdict_missing", detail)
    })
}

fn malformed(detail: String) -> Failure {
    unreadable("verdict_malformed", detail)
}
