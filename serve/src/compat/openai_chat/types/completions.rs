//! `POST /v1/completions`: what a client asks and gets.

use std::collections::BTreeMap;
use std::fmt;

use openapi::object;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::generation::{generation_request, request_with, unused_by_both};
use super::{GenerationExtension, GenerationUsage};

/// Most prompts in a request.
pub(crate) const MAX_PROMPTS: usize = 2_048;

generation_request! {
    /// Prompts to continue as they are. Fields of OpenAI's, vLLM's and SGLang's interfaces that do
    /// not change the answer are accepted too; others are refused.
    pub(crate) struct CompletionRequest {
        /// Name of a model or an adapter, as listed by `GET /v1/models`.
        #[schema(example = "judge")]
        pub(crate) model: String,
        /// What is continued: a text, token ids, or a list of either.
        pub(crate) prompt: Prompt,
        /// Whether the text begins with the prompt.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) echo: Option<bool>,
        /// How many of the most likely tokens are listed at each position, at most 20; 0 for the
        /// tokens themselves.
        #[serde(default, deserialize_with = "openapi::whole::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) logprobs: Option<u64>,
        /// The same for the prompt's tokens, as vLLM lists them.
        #[serde(default, deserialize_with = "openapi::whole::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) prompt_logprobs: Option<u64>,
        /// Whether the tokenizer puts its own tokens around a text; so unless false.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) add_special_tokens: Option<bool>,
    }
}

object!(CompletionRequest, but unused_by_both![
    Unused("suffix", Empty),
    Unused("best_of", One),
    Unused("prompt_embeds", Null),
]);

/// What is continued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Prompt {
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// Tokens of one prompt.
    Tokens(Vec<u32>),
    /// Tokens of several prompts.
    TokenLists(Vec<Vec<u32>>),
}

impl<'de> Deserialize<'de> for Prompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PromptVisitor)
    }
}

struct PromptVisitor;

impl<'de> Visitor<'de> for PromptVisitor {
    type Value = Prompt;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list of texts, token ids, or a list of lists of token ids")
    }

    fn visit_str<E>(self, text: &str) -> Result<Prompt, E> {
        Ok(Prompt::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Prompt, E> {
        Ok(Prompt::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Prompt, A::Error> {
        let mut prompt = match seq.next_element::<Item>()? {
            None => return Ok(Prompt::Texts(Vec::new())),
            Some(Item::Text(text)) => Prompt::Texts(vec![text]),
            Some(Item::Token(id)) => Prompt::Tokens(vec![id]),
            Some(Item::Tokens(ids)) => Prompt::TokenLists(vec![ids]),
        };
        loop {
            let more = match &mut prompt {
                Prompt::Text(_) => false,
                Prompt::Texts(list) => push(&mut seq, list)?,
                Prompt::Tokens(list) => push(&mut seq, list)?,
                Prompt::TokenLists(list) => push(&mut seq, list)?,
            };
            if !more {
                return Ok(prompt);
            }
        }
    }
}

/// All elements are of the kind of the first; says whether there was one more.
fn push<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(
    seq: &mut A,
    list: &mut Vec<T>,
) -> Result<bool, A::Error> {
    let next = seq.next_element()?;
    let more = next.is_some();
    list.extend(next);
    Ok(more)
}

/// The first element of a list, which says what the others are.
enum Item {
    Text(String),
    Token(u32),
    Tokens(Vec<u32>),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a token id or a list of token ids")
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Item, E> {
        let id = u32::try_from(number).map_err(|_| E::custom("a token id has 32 bits"))?;
        Ok(Item::Token(id))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Item, A::Error> {
        let mut ids = Vec::new();
        while push(&mut seq, &mut ids)? {}
        Ok(Item::Tokens(ids))
    }
}

/// The continuations of prompts; also a piece of a stream, with what is new alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionResponse {
    /// Of this reply.
    pub(crate) id: String,
    /// Always `text_completion`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The model that was asked for.
    pub(crate) model: String,
    /// All choices of the first prompt, then those of the next.
    pub(crate) choices: Vec<CompletionChoice>,
    /// Follows from the digests of model and adapter, and from the revision of a model in training.
    pub(crate) system_fingerprint: String,
    /// Tokens; in a stream in the last chunk, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<GenerationUsage>,
    /// What this server adds, beside the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tribunal: Option<GenerationExtension>,
}

/// One continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionChoice {
    /// Position among the choices.
    pub(crate) index: u64,
    /// The text.
    pub(crate) text: String,
    /// Log-probabilities, where they were asked for.
    pub(crate) logprobs: Option<CompletionLogprobs>,
    /// `stop` or `length`; in a stream only in the choice's last chunk.
    pub(crate) finish_reason: Option<String>,
    /// Log-probabilities of the prompt's tokens, where they were asked for: null for the first
    /// token, then for each token an object by token id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Option<Object>>>)]
    pub(crate) prompt_logprobs: Option<Vec<Option<BTreeMap<String, PromptLogprob>>>>,
}

/// Log-probabilities of a text's tokens, in lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionLogprobs {
    /// Each token's text; bytes that are no text by themselves as `bytes:\xe2\x82`.
    pub(crate) tokens: Vec<String>,
    /// In nats; null for the first token of an echoed prompt.
    pub(crate) token_logprobs: Vec<Option<f32>>,
    /// The most likely tokens at each place and the token itself, by their texts.
    pub(crate) top_logprobs: Option<Vec<Option<BTreeMap<String, f32>>>>,
    /// Where each token's text begins, in code points of the choice's text.
    pub(crate) text_offset: Vec<u64>,
}

/// A token of a prompt, or one that might have stood at its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PromptLogprob {
    /// In nats.
    pub(crate) logprob: f32,
    /// 1 for the most likely.
    pub(crate) rank: u64,
    /// Its text.
    pub(crate) decoded_token: String,
}
