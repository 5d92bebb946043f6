//! Converts texts, token ids and conversations to sequences for a head.

use super::Tokens;
use super::types::Pooled;
use crate::call::Call;
use crate::compat::shared::generation::types::Prompt;
use crate::compat::shared::generation::{Rendering, render_aside};
use crate::compat::shared::{check_count, invalid};
use crate::error::ApiError;
use crate::hosts::Served;

/// Most texts of a request.
const MOST_TEXTS: usize = openapi::MAX_INPUTS;

/// Encodes the `input` or `messages` of a request.
///
/// # Errors
/// Neither or both of them, a text without tokens, ids outside the vocabulary.
pub(crate) async fn sequences(
    call: &mut Call<'_>,
    served: &Served,
    request: Pooled,
) -> Result<Vec<Tokens>, ApiError> {
    check_truncation(request.truncate_prompt_tokens)?;
    match (request.input, request.messages) {
        (Some(input), None) => {
            let special = request.add_special_tokens.unwrap_or(true);
            texts(call, served, "input", input, special).await
        }
        (None, Some(messages)) => {
            let rendering = Rendering {
                opened: request.add_generation_prompt.unwrap_or(false),
                continued: request.continue_final_message.unwrap_or(false),
                kwargs: request.chat_template_kwargs.unwrap_or_default(),
                tools: None,
            };
            let prompt = render_aside(call, served, messages, rendering).await?;
            Ok(vec![Tokens::new("messages".to_owned(), prompt.token_ids.to_vec())])
        }
        (Some(_), Some(_)) => Err(invalid("messages", "give either `input` or `messages`")),
        (None, None) => Err(invalid("input", "it is missing, and so is `messages`")),
    }
}

/// Encodes texts with their special tokens, or checks token ids.
///
/// # Errors
/// None or too many texts, a text without tokens, ids outside the vocabulary.
pub(crate) async fn texts(
    call: &mut Call<'_>,
    served: &Served,
    path: &str,
    input: Prompt,
    special: bool,
) -> Result<Vec<Tokens>, ApiError> {
    let at = |index: usize| format!("{path}[{index}]");
    let texts = match input {
        Prompt::Text(text) => vec![(path.to_owned(), text)],
        Prompt::Texts(texts) => {
            check_count(path, texts.len(), 1..=MOST_TEXTS)?;
            let texts = texts.into_iter().enumerate();
            texts.map(|(index, text)| (at(index), text)).collect()
        }
        Prompt::Tokens(ids) => return Ok(vec![super::given(served, path.to_owned(), ids)?]),
        Prompt::TokenLists(lists) => {
            check_count(path, lists.len(), 1..=MOST_TEXTS)?;
            let lists = lists.into_iter().enumerate();
            let all = lists.map(|(index, ids)| super::given(served, at(index), ids));
            return all.collect();
        }
    };
    let encode = if special { super::as_written } else { super::bare };
    super::encode(call, served, texts, encode).await
}

/// Returns whether logits are activated to probabilities.
///
/// # Errors
/// Two fields that disagree.
pub(crate) fn activates(new: Option<bool>, old: Option<bool>) -> Result<bool, ApiError> {
    match (new, old) {
        (Some(new), Some(old)) if new != old => {
            Err(invalid("activation", "use_activation says otherwise"))
        }
        (new, old) => Ok(new.or(old).unwrap_or(true)),
    }
}

/// Refuses truncation: a text that is too long is an error with its length.
///
/// # Errors
/// A number of tokens to keep.
pub(crate) fn check_truncation(request: Option<i64>) -> Result<(), ApiError> {
    match request {
        None | Some(-1) => Ok(()),
        Some(_) => Err(invalid(
            "truncate_prompt_tokens",
            "texts are not truncated: input that is too long is refused",
        )),
    }
}
