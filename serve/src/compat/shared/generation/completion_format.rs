//! Replies and stream chunks of completions.

use std::sync::Arc;

use engine::{FinishReason, SampledToken, Tokenizer};

use super::completion::PreparedCompletion;
use super::continuation::{TextDelta, reason};
use super::logprobs::{ListedToken, Lists};
use super::prompt_logprobs::{PromptLogprobs, table};
use super::run::{Generated, ReplyFormat};
use super::types::{
    CompletionChoice, CompletionLogprobs, CompletionResponse, GenerationExtension, GenerationUsage,
};
use crate::clock::unix_seconds;

/// Builds replies and stream chunks of a completion.
pub(crate) struct CompletionFormat {
    id: String,
    created: u64,
    model: String,
    fingerprint: String,
    tokenizer: Arc<Tokenizer>,
    skip_special: bool,
    wants_logprobs: bool,
    /// Number of most probable tokens to list per prompt token, as in vLLM.
    prompt_logprobs: Option<usize>,
    /// Choices by sequence.
    choices: Vec<ChoiceState>,
}

/// A choice in progress.
struct ChoiceState {
    /// The prompt to echo; `None` without echo or once it is sent.
    echo: Option<PromptEcho>,
    prompt: Arc<Prompt>,
    lists: Lists,
}

/// A prompt to echo.
struct PromptEcho {
    text: String,
}

/// A prompt with its log-probabilities.
struct Prompt {
    first: u32,
    places: Option<PromptLogprobs>,
}

impl CompletionFormat {
    /// Creates the format of a request's replies, with the log-probabilities of the prompts.
    pub(crate) fn new(
        completion: &PreparedCompletion,
        places: Option<Vec<PromptLogprobs>>,
        request: &str,
    ) -> CompletionFormat {
        let prepared = &completion.prepared;
        let mut places = places.into_iter().flatten();
        let mut choices = Vec::new();
        for prompt in &prepared.prompts {
            let known = Arc::new(Prompt { first: prompt.token_ids[0], places: places.next() });
            choices.extend((0..prepared.n).map(|_| ChoiceState {
                echo: prompt.echo.clone().map(|text| PromptEcho { text }),
                prompt: known.clone(),
                lists: Lists::default(),
            }));
        }
        CompletionFormat {
            id: format!("cmpl-{request}"),
            created: unix_seconds(),
            model: prepared.model.clone(),
            fingerprint: prepared.fingerprint(),
            tokenizer: prepared.served.host.tokenizer.clone(),
            skip_special: prepared.settings.skip_special,
            wants_logprobs: prepared.settings.logprobs.is_some(),
            prompt_logprobs: completion.prompt_logprobs,
            choices,
        }
    }

    /// Builds the complete reply.
    pub(crate) fn whole(mut self, generated: Generated) -> CompletionResponse {
        let mut choices = Vec::new();
        let mut read = 0;
        let mut seen: Vec<*const Prompt> = Vec::new();
        for (at, done) in generated.sequences.into_iter().enumerate() {
            let finish = done.finish.expect("all sequences are done");
            let piece = TextDelta { text: done.text, tokens: done.tokens };
            let mut choice = self.choice(at, &piece, Some(&finish));
            let prompt = &self.choices[at].prompt;
            if let Some(places) = &prompt.places {
                if let Some(n_top) = self.prompt_logprobs {
                    choice.prompt_logprobs = Some(table(&self.tokenizer, &places.places, n_top));
                }
                if !seen.contains(&Arc::as_ptr(prompt)) {
                    seen.push(Arc::as_ptr(prompt));
                    read += places.computed_tokens;
                }
            }
            choices.push(choice);
        }
        let mut extension = generated.extension;
        extension.computed_tokens += read;
        CompletionResponse {
            usage: Some(generated.usage),
            tribunal: Some(extension),
            ..self.reply(choices)
        }
    }

    fn reply(&self, choices: Vec<CompletionChoice>) -> CompletionResponse {
        CompletionResponse {
            id: self.id.clone(),
            object: "text_completion".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices,
            system_fingerprint: self.fingerprint.clone(),
            usage: None,
            tribunal: None,
        }
    }

    /// Builds the increment of a choice, preceded by the prompt if it is still to be echoed.
    fn choice(
        &mut self,
        at: usize,
        piece: &TextDelta,
        finish: Option<&FinishReason>,
    ) -> CompletionChoice {
        let echo = self.choices[at].echo.take();
        let logprobs = self.wants_logprobs.then(|| self.lists(at, echo.is_some(), &piece.tokens));
        CompletionChoice {
            index: at as u64,
            text: echo.map_or_else(String::new, |echo| echo.text) + &piece.text,
            logprobs,
            finish_reason: finish.map(|finish| reason(finish).to_owned()),
            prompt_logprobs: None,
        }
    }

    fn lists(&mut self, at: usize, echoed: bool, tokens: &[SampledToken]) -> CompletionLogprobs {
        let begun = &mut self.choices[at];
        let prompt = begun.prompt.clone();
        let places = prompt.places.iter().filter(|_| echoed);
        let first =
            places.clone().map(|_| ListedToken { token_id: prompt.first, logprob: None, top: &[] });
        let others = places.flat_map(|places| &places.places).map(|place| ListedToken {
            token_id: place.token_id,
            logprob: Some(place.logprob),
            top: &place.top,
        });
        let entries = first.chain(others).chain(tokens.iter().map(ListedToken::from));
        begun.lists.of(&self.tokenizer, self.skip_special, entries)
    }
}

impl ReplyFormat for CompletionFormat {
    type Chunk = CompletionResponse;

    fn opening(&mut self) -> Vec<CompletionResponse> {
        let echoed = |at: &usize| self.choices[*at].echo.is_some();
        let echoed: Vec<usize> = (0..self.choices.len()).filter(echoed).collect();
        let open = |at: usize| {
            let choice = self.choice(at, &TextDelta::default(), None);
            self.reply(vec![choice])
        };
        echoed.into_iter().map(open).collect()
    }

    fn piece(&mut self, sequence: usize, piece: TextDelta) -> Vec<CompletionResponse> {
        let choice = self.choice(sequence, &piece, None);
        vec![self.reply(vec![choice])]
    }

    fn end(
        &mut self,
        sequence: usize,
        piece: TextDelta,
        finish: &FinishReason,
    ) -> Vec<CompletionResponse> {
        let choice = self.choice(sequence, &piece, Some(finish));
        vec![self.reply(vec![choice])]
    }

    fn usage(
        &mut self,
        usage: GenerationUsage,
        extension: GenerationExtension,
    ) -> CompletionResponse {
        CompletionResponse {
            usage: Some(usage),
            tribunal: Some(extension),
            ..self.reply(Vec::new())
        }
    }
}
