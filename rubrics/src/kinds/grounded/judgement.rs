//! The three lines that a judge writes of a sentence.

use engine::Grammar;

use crate::kinds::prompting::{after_thinking, unreadable};
use crate::outcome::Failure;

const FAITHFUL: &str = "Faithful: ";
const REASONING: &str = "Reasoning: ";
const CORRECT: &str = "Correct: ";

/// The judgement of a sentence, each value in [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judgement {
    pub(super) faithful: f64,
    pub(super) correct: f64,
    pub(super) reasoning: Option<String>,
}

/// The three lines, after the model's reasoning if `reasoning` is on.
pub(super) fn grammar(reasoning: bool) -> Grammar {
    let before = if reasoning { r"([^\n]*\n)*" } else { "" };
    Grammar::Regex(format!(
        r"{before}{FAITHFUL}(yes|no)\n{REASONING}[^\n]{{1,600}}\n{CORRECT}(yes|no)"
    ))
}

impl Judgement {
    /// Parses the three lines; nothing else may be beside them but thinking.
    ///
    /// # Errors
    /// A missing, extra or malformed line.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let lines: Vec<&str> = after_thinking(text).trim().lines().collect();
        let [faithful, reasoning, correct] = lines[..] else {
            let detail = format!("{} lines; three were asked for", lines.len());
            return Err(unreadable("judgement_malformed", detail));
        };
        let reasoning = value(reasoning, REASONING)?.trim();
        if reasoning.is_empty() {
            return Err(unreadable("judgement_malformed", "no reasoning"));
        }
        Ok(Self {
            faithful: word(value(faithful, FAITHFUL)?)?,
            correct: word(value(correct, CORRECT)?)?,
            reasoning: Some(reasoning.to_owned()),
        })
    }
}

fn value<'t>(line: &'t str, name: &str) -> Result<&'t str, Failure> {
    line.strip_prefix(name).ok_or_else(|| {
        let detail = format!("a line does not begin with {name:?}");
        unreadable("judgement_malformed", detail)
    })
}

fn word(value: &str) -> Result<f64, Failure> {
    match value {
        "yes" => Ok(1.0),
        "no" => Ok(0.0),
        _ => Err(unreadable("judgement_malformed", "neither yes nor no")),
    }
}
