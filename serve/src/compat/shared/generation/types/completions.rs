//! Requests and replies of `POST /v1/completions`.

use std::collections::BTreeMap;
use std::fmt;

use openapi::object;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::generation::{generation_request, request_with, unused_by_both};
use super::{GenerationExtension, GenerationUsage};

/// Most prompts of a request.
pub(crate) const MAX_PROMPTS: usize = 2_048;

generation_request! {
    /// Prompts to continue. Fields of OpenAI's, vLLM's and SGLang's interfaces that do not change
    /// the answer are accepted too; others are refused.
    pub(crate) struct CompletionRequest {
        /// Name of a model or an adapter, as listed by `GET /v1/models`.
        #[schema(example = "judge")]
        pub(crate) model: String,
        /// Prompt: text, token ids, or a list of either.
        pub(crate) prompt: Prompt,
        /// Whether the text begins with the prompt.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) echo: Option<bool>,
        /// Number of most probable tokens to list per position, at most 20; 0 lists the sampled
        /// tokens only.
        #[serde(default, deserialize_with = "openapi::integer::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) logprobs: Option<u64>,
        /// Number of most probable tokens to list per prompt token, as in vLLM.
        #[serde(default, deserialize_with = "openapi::integer::read_option",
            skip_serializing_if = "Option::is_none")]
        #[schema(maximum = 20)]
        pub(crate) prompt_logprobs: Option<u64>,
        /// Whether the tokenizer adds its special tokens around a text; true by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) add_special_tokens: Option<bool>,
    }
}

object!(CompletionRequest, but unused_by_both![
    Unused("suffix", Empty),
    Unused("best_of", One),
    Unused("prompt_embeds", Null),
]);

/// One or several prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Prompt {
    /// One text.
    Text(String),
    /// Several texts.
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
        let mut prompt = match seq.next_element::<FirstElement>()? {
            None => return Ok(Prompt::Texts(Vec::new())),
            Some(FirstElement::Text(text)) => Prompt::Texts(vec![text]),
            Some(FirstElement::Token(id)) => Prompt::Tokens(vec![id]),
            Some(FirstElement::Tokens(ids)) => Prompt::TokenLists(vec![ids]),
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

/// Appends an element of the list's type; returns whether there was one.
fn push<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(
    seq: &mut A,
    list: &mut Vec<T>,
) -> Result<bool, A::Error> {
    let next = seq.next_element()?;
    let more = next.is_some();
    list.extend(next);
    Ok(more)
}

/// The first element of a list, which determines the type of the others.
enum FirstElement {
    Text(String),
    Token(u32),
    Tokens(Vec<u32>),
}

impl<'de> Deserialize<'de> for FirstElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = FirstElement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a token id or a list of token ids")
    }

    fn visit_str<E>(self, text: &str) -> Result<FirstElement, E> {
        Ok(FirstElement::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<FirstElement, E> {
        let id = u32::try_from(number).map_err(|_| E::custom("a token id has 32 bits"))?;
        Ok(FirstElement::Token(id))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FirstElement, A::Error> {
        let mut ids = Vec::new();
        while push(&mut seq, &mut ids)? {}
        Ok(FirstElement::Tokens(ids))
    }
}

/// Continuations of prompts; also a chunk of a stream, with the increment only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionResponse {
    /// Id of this reply.
    pub(crate) id: String,
    /// Always `text_completion`.
    pub(crate) object: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    /// The requested model.
    pub(crate) model: String,
    /// All choices of the first prompt, then those of the next.
    pub(crate) choices: Vec<CompletionChoice>,
    /// Derived from the digests of model and adapter, and from the weights revision of a model in
    /// training.
    pub(crate) system_fingerprint: String,
    /// Token usage; in a stream in the last chunk, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<GenerationUsage>,
    /// Extension fields of this server, together with the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tribunal: Option<GenerationExtension>,
}

/// A continuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionChoice {
    /// Index of the choice.
    pub(crate) index: u64,
    /// The text.
    pub(crate) text: String,
    /// Log-probabilities, if requested.
    pub(crate) logprobs: Option<CompletionLogprobs>,
    /// `stop` or `length`; in a stream only in the choice's last chunk.
    pub(crate) finish_reason: Option<String>,
    /// Log-probabilities of the prompt's tokens, if requested: null for the first token, then an
    /// object by token id per token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Option<Object>>>)]
    pub(crate) prompt_logprobs: Option<Vec<Option<BTreeMap<String, PromptLogprob>>>>,
}

/// Log-probabilities of a text's tokens, as lists of equal length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CompletionLogprobs {
    /// Text of each token; bytes that are not valid text by themselves as `bytes:\xe2\x82`.
    pub(crate) tokens: Vec<String>,
    /// In nats; null for the first token of an echoed prompt.
    pub(crate) token_logprobs: Vec<Option<f32>>,
    /// The most probable tokens per position and the token itself, by their texts.
    pub(crate) top_logprobs: Option<Vec<Option<BTreeMap<String, f32>>>>,
    /// Offset of each token's text, in code points of the choice's text.
    pub(crate) text_offset: Vec<u64>,
}

/// A token of a prompt, or an alternative at its position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PromptLogprob {
    /// Log-probability in nats.
    pub(crate) logprob: f32,
    /// Rank, 1 for the most probable.
    pub(crate) rank: u64,
    /// Text.
    pub(crate) decoded_token: String,
}
