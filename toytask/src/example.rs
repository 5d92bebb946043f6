//! Rows as tokens: inputs and targets.

use chat::{Conversation, Origin, Text, Tokenizer};
use rubrics::Message;
use serde_json::json;

use super::mixture::{TaskRow, TrainingTarget};
use super::symbols::{END, STEP};
use crate::error::{Result, ToyTaskError};

/// The target token at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aim {
    /// The position before the target token.
    pub at: usize,
    /// The token.
    pub token: u32,
}

/// A row as tokens. The loss is on the aims only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Input tokens.
    pub token_ids: Vec<u32>,
    /// The targets, by ascending position.
    pub aims: Vec<Aim>,
}

/// Renders and encodes with a model's own template and tokenizer.
#[derive(Clone, Copy, Debug)]
pub struct Encoder<'t> {
    tokenizer: &'t Tokenizer,
    labels: [u32; 2],
}

impl<'t> Encoder<'t> {
    /// Encodes for the model with this tokenizer.
    ///
    /// # Errors
    /// [`ToyTaskError::Invalid`] if it is not that of [`super::symbols`].
    pub fn new(tokenizer: &'t Tokenizer) -> Result<Self> {
        let own = [(super::symbols::STEP_TEXT, STEP), ("+", u32::from(b'+'))];
        for (text, id) in own {
            if tokenizer.id(text) != Some(id) {
                let what = format!("the tokenizer has no `{text}` at {id}: it is another one");
                return Err(ToyTaskError::Invalid(what));
            }
        }
        Ok(Self { tokenizer, labels: [u32::from(b'-'), u32::from(b'+')] })
    }

    /// Encodes a row.
    ///
    /// # Errors
    /// A conversation that the template or the tokenizer refuses; steps that are not as many as
    /// their labels.
    pub fn encode(&self, row: &TaskRow) -> Result<Example> {
        match &row.target {
            TrainingTarget::Reply(reply) => self.reply(&row.turns, reply),
            TrainingTarget::Ending(word) => {
                let token_ids = self.tokenizer.encode_text(&self.render(&row.turns, false)?)?;
                let token = self.word(word)?;
                let at = token_ids.len() - 1;
                Ok(Example { token_ids, aims: vec![Aim { at, token }] })
            }
            TrainingTarget::Steps(labels) => self.steps(&row.turns, labels),
        }
    }

    /// Encodes a conversation up to the model's reply.
    ///
    /// # Errors
    /// A conversation that the template or the tokenizer refuses.
    pub fn prompt(&self, turns: &[Message]) -> Result<Vec<u32>> {
        Ok(self.tokenizer.encode_text(&self.render(turns, true)?)?)
    }

    fn reply(&self, turns: &[Message], reply: &str) -> Result<Example> {
        let mut token_ids = self.prompt(turns)?;
        let said = Text::new(reply, Origin::Reply);
        let mut said = self.tokenizer.encode_text(&said)?;
        said.push(END);
        let first = token_ids.len() - 1;
        let aims = (first..).zip(&said);
        let aims = aims.map(|(at, token)| Aim { at, token: *token }).collect();
        said.pop();
        token_ids.extend(said);
        Ok(Example { token_ids, aims })
    }

    fn steps(&self, turns: &[Message], labels: &[bool]) -> Result<Example> {
        let token_ids = self.tokenizer.encode_text(&self.render(turns, false)?)?;
        let places = token_ids.iter().enumerate();
        let places = places.filter(|(_, id)| **id == STEP).map(|(at, _)| at);
        let places: Vec<usize> = places.collect();
        if places.len() != labels.len() {
            let (n, m) = (places.len(), labels.len());
            let what = format!("{m} labels for {n} steps");
            return Err(ToyTaskError::Invalid(what));
        }
        let aims = places
            .into_iter()
            .zip(labels)
            .map(|(at, right)| Aim { at, token: self.labels[usize::from(*right)] });
        let aims = aims.collect();
        Ok(Example { token_ids, aims })
    }

    fn word(&self, word: &str) -> Result<u32> {
        let ids = self.tokenizer.encode_untrusted(word, false)?;
        match ids[..] {
            [id] => Ok(id),
            _ => Err(ToyTaskError::Invalid(format!("`{word}` is no single token"))),
        }
    }

    fn render(&self, turns: &[Message], open: bool) -> Result<Text> {
        let messages = turns.iter();
        let conversation = Conversation {
            messages: messages
                .map(|turn| json!({ "role": turn.role, "content": turn.content }))
                .collect(),
            add_generation_prompt: open,
            ..Conversation::default()
        };
        Ok(self.tokenizer.template().render(&conversation)?.text)
    }
}
