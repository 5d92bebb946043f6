//! Prepares completion requests, whose prompts are continued as they are.

use sha2::{Digest as _, Sha256};

use super::constraint;
use super::prepared::{PreparedRequest, PromptTokens, Prompts};
use super::prompt_logprobs::{self, PromptLogprobs};
use super::settings::{self, RouteDefaults, Settings};
use super::types::{CompletionRequest, MAX_PROMPTS, Prompt};
use crate::caller::Caller;
use crate::compat::shared::invalid;
use crate::encoding::{ClientWaits, check_text};
use crate::error::ApiError;
use crate::hosts::Served;

/// Default of `max_tokens`, as OpenAI has it.
const MAX_TOKENS: usize = 16;

/// A completion request with its prompts as tokens.
#[derive(Debug)]
pub(crate) struct PreparedCompletion {
    pub(crate) prepared: PreparedRequest,
    pub(super) echo: bool,
    /// Number of most probable tokens to list per prompt token.
    pub(super) prompt_logprobs: Option<usize>,
}

/// Encodes the prompts and checks all other fields.
///
/// # Errors
/// 422 at the first invalid value.
pub(crate) fn completion(
    mut params: CompletionRequest,
    served: Served,
    caller: Caller,
    waits: &ClientWaits,
) -> Result<PreparedCompletion, ApiError> {
    let generation = params.take_generation();
    let top = |given| settings::top("logprobs", given);
    let own = RouteDefaults {
        max_tokens: MAX_TOKENS,
        logprobs: params.logprobs.map(top).transpose()?,
        grammar: constraint::grammar(&generation)?,
    };
    let settings = Settings::new(&generation, own, &served.host)?;
    let echo = params.echo.unwrap_or(false);
    let prompt_logprobs = prompt_logprobs::wanted(params.prompt_logprobs)?;
    let stream = generation.stream.unwrap_or(false);
    prompt_logprobs::refuse_in_stream(prompt_logprobs.is_some(), stream)?;
    let reading = Reading {
        served: &served,
        waits,
        vocab_size: served.host.engine.limits().vocab_size,
        add_special: params.add_special_tokens.unwrap_or(true),
        echo: echo.then_some(settings.skip_special),
    };
    let prompts = Prompts { all: reading.prompts(params.prompt)?, param: "prompt" };
    let prepared =
        PreparedRequest::new((params.model, served), prompts, &generation, settings, caller)?;
    Ok(PreparedCompletion { prepared, echo, prompt_logprobs })
}

impl PreparedCompletion {
    /// Computes the log-probabilities of the prompts' tokens; `None` unless requested.
    ///
    /// # Errors
    /// Those of a generation.
    pub(crate) async fn places(&self) -> Result<Option<Vec<PromptLogprobs>>, ApiError> {
        let echoed = self.prepared.settings.logprobs.filter(|_| self.echo);
        match self.prompt_logprobs.max(echoed) {
            None => Ok(None),
            Some(n_top) => prompt_logprobs::read_prompts(&self.prepared, n_top).await.map(Some),
        }
    }
}

/// Options of encoding prompts.
struct Reading<'r> {
    served: &'r Served,
    waits: &'r ClientWaits,
    vocab_size: usize,
    add_special: bool,
    /// Whether prompts are echoed, and if so whether without special tokens.
    echo: Option<bool>,
}

impl Reading<'_> {
    fn prompts(&self, prompt: Prompt) -> Result<Vec<PromptTokens>, ApiError> {
        let list = |at: usize| format!("prompt[{at}]");
        let n_prompts = match &prompt {
            Prompt::Text(_) | Prompt::Tokens(_) => 1,
            Prompt::Texts(texts) => texts.len(),
            Prompt::TokenLists(lists) => lists.len(),
        };
        if !(1..=MAX_PROMPTS).contains(&n_prompts) {
            let message = format!("{n_prompts} prompts; a request takes 1 to {MAX_PROMPTS}");
            return Err(invalid("prompt", message));
        }
        match prompt {
            Prompt::Text(text) => Ok(vec![self.text("prompt", text)?]),
            Prompt::Tokens(ids) => Ok(vec![self.tokens("prompt", ids)?]),
            Prompt::Texts(texts) => {
                let texts = texts.into_iter().enumerate();
                texts.map(|(at, text)| self.text(&list(at), text)).collect()
            }
            Prompt::TokenLists(lists) => {
                let lists = lists.into_iter().enumerate();
                lists.map(|(at, ids)| self.tokens(&list(at), ids)).collect()
            }
        }
    }

    /// Encodes a text of a request, in which special tokens are plain text.
    fn text(&self, path: &str, text: String) -> Result<PromptTokens, ApiError> {
        self.waits.check()?;
        check_text(self.served, path, text.len())?;
        let tokenizer = &self.served.host.tokenizer;
        let encoded = tokenizer.encode_untrusted(&text, self.add_special);
        let token_ids = encoded.map_err(|error| invalid(path, error))?;
        if token_ids.is_empty() {
            return Err(invalid(path, "it has no tokens"));
        }
        Ok(PromptTokens {
            token_ids: token_ids.into(),
            digest: base::digest::hex(&Sha256::digest(&text)),
            echo: self.echo.map(|_| text),
        })
    }

    fn tokens(&self, path: &str, ids: Vec<u32>) -> Result<PromptTokens, ApiError> {
        if ids.is_empty() {
            return Err(invalid(path, "it has no tokens"));
        }
        if let Some(at) = ids.iter().position(|id| *id as usize >= self.vocab_size) {
            let message = format!("the vocabulary has {} tokens", self.vocab_size);
            return Err(invalid(format!("{path}[{at}]"), message));
        }
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let echo = self.echo.map(|skip| self.served.host.tokenizer.decode(&ids, skip));
        Ok(PromptTokens {
            digest: base::digest::hex(&Sha256::digest(&bytes)),
            echo: echo.transpose().map_err(|error| invalid(path, error))?,
            token_ids: ids.into(),
        })
    }
}
