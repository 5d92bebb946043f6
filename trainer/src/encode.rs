//! Encodes conversations and completions as the server does.

use std::sync::Arc;

use engine::{Conversation, LocalTime, Tokenizer};
use rubrics::Message;
use serde_json::{Value, json};

use crate::error::{Result, TrainError};

/// The date in chat templates, fixed so that a run can be repeated.
const TODAY: LocalTime = LocalTime { year: 2026, month: 1, day: 1, hour: 0, minute: 0, second: 0 };

/// Renders conversations and encodes them.
#[derive(Clone, Debug)]
pub struct Encoder {
    tokenizer: Arc<Tokenizer>,
    end: u32,
    thinking: bool,
}

impl Encoder {
    /// Wraps a model's tokenizer; `thinking` is what chat templates with a switch for it get.
    ///
    /// # Errors
    /// A tokenizer without an end-of-text token, which leaves the model no way to stop.
    pub fn new(tokenizer: Arc<Tokenizer>, thinking: bool) -> Result<Encoder> {
        let end = tokenizer.eos_ids().first().copied().ok_or_else(|| {
            TrainError::Invalid("the tokenizer has no token that ends a text (eos)".to_owned())
        })?;
        Ok(Encoder { tokenizer, end, thinking })
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        &self.tokenizer
    }

    /// Token ids that end an answer.
    pub fn stops(&self) -> &[u32] {
        self.tokenizer.eos_ids()
    }

    /// Encodes a conversation up to the beginning of the model's turn.
    ///
    /// # Errors
    /// A conversation that the template refuses.
    pub fn prompt(&self, turns: &[Message]) -> Result<Vec<u32>> {
        self.render(turns, None, true)
    }

    /// As [`Encoder::prompt`], with the JSON schemas of tools.
    ///
    /// # Errors
    /// A conversation that the template refuses.
    pub fn prompt_with_tools(
        &self,
        turns: &[Message],
        tools: Option<&[Value]>,
    ) -> Result<Vec<u32>> {
        self.render(turns, tools, true)
    }

    /// Encodes a complete conversation, for heads that read it.
    ///
    /// # Errors
    /// A conversation that the template refuses.
    pub fn conversation(&self, turns: &[Message]) -> Result<Vec<u32>> {
        self.render(turns, None, false)
    }

    fn render(&self, turns: &[Message], tools: Option<&[Value]>, open: bool) -> Result<Vec<u32>> {
        let message = |turn: &Message| json!({ "role": turn.role, "content": turn.content });
        let mut kwargs = serde_json::Map::new();
        for switch in rubrics::decide::REASONING_SWITCHES {
            kwargs.insert(switch.to_owned(), json!(self.thinking));
        }
        let conversation = Conversation {
            messages: turns.iter().map(message).collect(),
            tools: tools.map(<[Value]>::to_vec),
            add_generation_prompt: open,
            kwargs,
            now: Some(TODAY),
            ..Conversation::default()
        };
        let encoded = self.tokenizer.encode_chat(&conversation);
        Ok(encoded.map(|chat| chat.token_ids)?)
    }

    /// Whether the chat template renders a role: with its content, and not as it renders a user's.
    pub fn knows_role(&self, role: &str) -> bool {
        const PROBE: &str = "is brief";
        let render = |role: &str| {
            let turns = [
                Message::new("user", "a"),
                Message::new("assistant", "b"),
                Message::new(role, PROBE),
            ];
            self.prompt(&turns).ok()
        };
        let shows =
            |ids: &[u32]| self.tokenizer.decode(ids, true).is_ok_and(|text| text.contains(PROBE));
        render(role)
            .is_some_and(|own| shows(&own) && render("user").is_none_or(|other| other != own))
    }

    /// Encodes a conversation with its response, as a score head reads it.
    ///
    /// # Errors
    /// A conversation that the template refuses.
    pub fn with_response(&self, turns: &[Message], response: &str) -> Result<Vec<u32>> {
        let mut turns = turns.to_vec();
        turns.push(Message { role: "assistant".to_owned(), content: response.to_owned() });
        self.conversation(&turns)
    }

    /// Encodes a marker: a special token if the tokenizer has one of this name, otherwise its text.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn marker(&self, marker: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode(marker, false)?)
    }

    /// Encodes a completion, with the token that ends it.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn completion(&self, text: &str) -> Result<Vec<u32>> {
        let mut ids = self.text(text)?;
        ids.push(self.end);
        Ok(ids)
    }

    /// Encodes text in which nothing is a special token.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn text(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_untrusted(text, false)?)
    }
}
