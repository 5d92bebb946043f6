//! The kinds of scorers that ask models: one file or folder each, with its options, its check
//! against the loaded model and its judgement.

mod asked;
pub(crate) mod critic;
pub(crate) mod grounded;
pub(crate) mod judge;
pub(crate) mod native;
pub(crate) mod options;
pub(crate) mod principles;
pub(crate) mod process;
pub(crate) mod reward;
pub(crate) mod rubric;
pub(crate) mod tool;
pub(crate) mod validate;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;

use crate::models::Models;
use crate::outcome::{Failure, Outcome};
use crate::session::Session;
use crate::{Input, Passage, Scorer, Turn, group};

/// A judgement on its way.
pub(crate) type Judging<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// How a scorer of one kind judges with models. Immutable once it is read.
pub(crate) trait Kind: Send + Sync {
    /// What configurations call it.
    fn word(&self) -> &'static str;

    /// What it does, in a sentence without its full stop.
    fn description(&self) -> &'static str;

    /// Rises with every change that may change a verdict.
    fn revision(&self) -> u32 {
        1
    }

    /// Everything that may change a verdict: options with their defaults, digests of wordings.
    fn options(&self) -> Value;

    /// The models and adapters that it asks, by name.
    fn models(&self) -> Vec<&str>;

    /// The scorers that it asks.
    fn scorers(&self) -> Vec<&Arc<Scorer>> {
        Vec::new()
    }

    /// Which optional fields of an input it has a use for.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// Whether it compares the responses of a group, and has nothing to say of one alone.
    fn compares(&self) -> bool {
        false
    }

    /// Whether the raw value of its verdicts is a logit or a difference of log-probabilities, which
    /// a calibration may turn into the score.
    fn calibrates(&self) -> bool {
        false
    }

    /// The least score that it gives, where there is one: what a response with nothing in it gets.
    fn floor(&self) -> Option<f64> {
        None
    }

    /// Whether the loaded models can do what is asked of them: heads, labels, roles.
    ///
    /// # Errors
    /// What is missing, for the person who starts the server.
    fn check(&self, models: &dyn Models) -> Result<(), String>;

    /// Judges one response.
    fn judge<'a>(&'a self, case: Case<'a>, session: &'a Session<'a>) -> Judging<'a>;

    /// Judges the responses of a group: each by itself unless the kind compares them. There is at
    /// least one.
    fn judge_group<'a>(&'a self, cases: Vec<Case<'a>>, session: &'a Session<'a>) -> Judging<'a> {
        Box::pin(async move {
            let judged = cases.into_iter().map(|case| self.judge(case, session));
            self.gather(join_all(judged).await)
        })
    }

    /// One outcome for the responses of a group that were judged each by itself: their mean, unless
    /// the kind has more to say of them.
    fn gather(&self, outcomes: Vec<Outcome>) -> Outcome {
        group::mean(outcomes)
    }
}

/// Optional fields of an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of an input, independent of the others"
)]
pub(crate) struct Reads {
    /// `steps`.
    pub(crate) steps: bool,
    /// `principles`.
    pub(crate) principles: bool,
    /// `rubric`.
    pub(crate) rubric: bool,
    /// `context`.
    pub(crate) context: bool,
}

impl Reads {
    /// What either reads.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps || other.steps,
            principles: self.principles || other.principles,
            rubric: self.rubric || other.rubric,
            context: self.context || other.context,
        }
    }
}

/// One response with what it answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// The whole input.
    pub(crate) input: &'a Arc<Input>,
    /// The response as it was given.
    pub(crate) passage: &'a Passage,
    /// The text of it that answers.
    pub(crate) response: &'a str,
}

impl<'a> Case<'a> {
    /// A response of an input.
    ///
    /// # Errors
    /// A refusal where the assistant does not have the last word.
    pub(crate) fn new(input: &'a Arc<Input>, passage: &'a Passage) -> Result<Self, Failure> {
        let response = passage.answer_text().ok_or_else(Failure::response_not_assistant)?;
        Ok(Self { input, passage, response })
    }

    /// What was asked, as messages; none where the input has no prompt.
    pub(crate) fn prompt(&self) -> Vec<Turn> {
        match &self.input.prompt {
            None => Vec::new(),
            Some(Passage::Text(text)) => vec![turn("user", text)],
            Some(Passage::Turns(turns)) => turns.clone(),
        }
    }

    /// What was asked and what was answered, as messages.
    pub(crate) fn conversation(&self) -> Vec<Turn> {
        let mut turns = self.prompt();
        match self.passage {
            Passage::Text(text) => turns.push(turn("assistant", text)),
            Passage::Turns(own) => turns.extend(own.iter().cloned()),
        }
        turns
    }
}

/// What a failure says, for the person who starts a server.
pub(crate) fn told(failure: Failure) -> String {
    let code = failure.reason.code;
    failure.reason.detail.map_or_else(|| code.to_owned(), String::from)
}

/// A message.
pub(crate) fn turn(role: &str, content: &str) -> Turn {
    Turn { role: role.to_owned(), content: content.to_owned() }
}
