//! One response with its input.

use std::sync::Arc;

use crate::outcome::Failure;
use crate::{Input, Message, Passage};

/// One response with its input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// The input, with all of its responses.
    pub(crate) input: &'a Arc<Input>,
    /// The response as it was given.
    pub(crate) passage: &'a Passage,
    /// Text of the response, or of its last message.
    pub(crate) response: &'a str,
}

impl<'a> Sample<'a> {
    /// A response of `input`.
    ///
    /// # Errors
    /// [`crate::FailureKind::Refused`] if the last message is not the assistant's.
    pub(crate) fn new(input: &'a Arc<Input>, passage: &'a Passage) -> Result<Self, Failure> {
        let response = passage.answer_text().ok_or_else(Failure::response_not_assistant)?;
        Ok(Self { input, passage, response })
    }

    /// The prompt as messages; empty without a prompt.
    pub(crate) fn prompt(&self) -> Vec<Message> {
        match self.input.prompt.as_deref() {
            None => Vec::new(),
            Some(Passage::Text(text)) => vec![Message::new("user", text)],
            Some(Passage::Messages(turns)) => turns.clone(),
        }
    }

    /// Prompt and response as messages.
    pub(crate) fn conversation(&self) -> Vec<Message> {
        let mut turns = self.prompt();
        match self.passage {
            Passage::Text(text) => turns.push(Message::new("assistant", text)),
            Passage::Messages(own) => turns.extend(own.iter().cloned()),
        }
        turns
    }
}
