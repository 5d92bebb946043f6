//! Questions and the inputs that they are about.

use super::error::{DecideError, FieldPath};

/// Most alternatives of a question: the two-letter labels.
const MAX_ALTERNATIVES: usize = 26 * 26;

/// Input of all questions of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionInput {
    /// The pieces in order.
    pub parts: Vec<InputPart>,
}

impl DecisionInput {
    /// An input that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        let part = InputPart { source: MessageSource::Document, text: text.into() };
        Self { parts: vec![part] }
    }

    /// Bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.text.len()).sum()
    }
}

/// A piece of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPart {
    /// Its source.
    pub source: MessageSource,
    /// The text, as it was given.
    pub text: String,
}

/// Source of a part of the input. The set is closed because source names are outside the quoted
/// text of the prompt, where a name from a request could inject instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSource {
    /// A text without a role.
    Document,
    /// The system message of a conversation.
    System,
    /// The developer's message.
    Developer,
    /// The user's turn.
    User,
    /// The assistant's turn.
    Assistant,
    /// A call that the assistant made.
    ToolCall,
    /// The result of a tool call.
    ToolOutput,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub instructions: String,
    /// Its kind of answer.
    pub kind: QuestionKind,
}

/// A kind of answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// Yes or no.
    Predicate {
        /// Meaning of yes.
        yes: Option<String>,
        /// Meaning of no.
        no: Option<String>,
    },
    /// One of several options without an order.
    Choice {
        /// The options, two or more.
        options: Vec<Alternative>,
    },
    /// One of several levels, from the lowest to the highest; a level's value is its place,
    /// from 0.
    Score {
        /// The levels, two or more.
        levels: Vec<Alternative>,
    },
}

/// An option or a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// Its name.
    pub text: String,
    /// Its meaning, if the name is not enough.
    pub description: Option<String>,
}

impl Alternative {
    /// One without a description.
    pub fn named(text: impl Into<String>) -> Self {
        Self { text: text.into(), description: None }
    }
}

impl Question {
    /// The options or levels; none for a predicate.
    pub(super) fn alternatives(&self) -> &[Alternative] {
        match &self.kind {
            QuestionKind::Predicate { .. } => &[],
            QuestionKind::Choice { options } => options,
            QuestionKind::Score { levels } => levels,
        }
    }

    /// The labels that answers are read from, in the order of the alternatives: `Yes` and `No`;
    /// digits for up to ten levels; else letters, in pairs where one does not suffice.
    pub(super) fn labels(&self) -> Vec<String> {
        let letter = |at: usize| char::from(b'A' + u8::try_from(at % 26).expect("below 26"));
        let n = self.alternatives().len();
        match &self.kind {
            QuestionKind::Predicate { .. } => vec!["Yes".to_owned(), "No".to_owned()],
            QuestionKind::Score { .. } if n <= 10 => (0..n).map(|at| at.to_string()).collect(),
            QuestionKind::Choice { .. } | QuestionKind::Score { .. } if n <= 26 => {
                (0..n).map(|at| letter(at).to_string()).collect()
            }
            QuestionKind::Choice { .. } | QuestionKind::Score { .. } => {
                (0..n).map(|at| [letter(at / 26), letter(at)].iter().collect()).collect()
            }
        }
    }

    /// Refuses invalid questions. `tokens` encodes a text, so that two spellings of the same tokens
    /// count as equal.
    pub(super) fn check(
        &self,
        index: usize,
        tokens: impl Fn(&str) -> Result<Vec<u32>, DecideError>,
    ) -> Result<(), DecideError> {
        let fault = |place, what: String| DecideError::Question { question: index, place, what };
        if self.instructions.trim().is_empty() {
            let what = "nothing is asked: the text is blank";
            return Err(fault(FieldPath::Instructions, what.to_owned()));
        }
        let alternatives = match &self.kind {
            QuestionKind::Predicate { .. } => return Ok(()),
            QuestionKind::Choice { options: all } | QuestionKind::Score { levels: all } => all,
        };
        let n = alternatives.len();
        if !(2..=MAX_ALTERNATIVES).contains(&n) {
            let what = format!("{n} alternatives; a question has 2 to {MAX_ALTERNATIVES}");
            return Err(fault(FieldPath::Alternatives, what));
        }
        let mut seen = std::collections::HashMap::with_capacity(n);
        for (at, alternative) in alternatives.iter().enumerate() {
            let text = alternative.text.trim();
            if text.is_empty() {
                let what = "an alternative has no text".to_owned();
                return Err(fault(FieldPath::Alternative(at), what));
            }
            if let Some(before) = seen.insert(tokens(text)?, at) {
                let what = format!(
                    "the model reads it as it reads alternative {before}; they must differ"
                );
                return Err(fault(FieldPath::Alternative(at), what));
            }
        }
        Ok(())
    }
}
