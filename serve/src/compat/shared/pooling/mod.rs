//! Token sequences that an engine reads with a head, for interfaces that send rendered text.
//!
//! Rendered text is encoded as its sender's template wrote it: special tokens in it are special
//! tokens, since the model would otherwise get other input than in training. Where an interface
//! separates prompt and response, special tokens in the response are plain text.

mod input;
pub(crate) mod types;

use std::sync::Arc;
use std::time::Instant;

use engine::{
    HeadConfig, Origin, Output, OutputSpec, Request, RequestOutput, RequestParams, Task,
    TaskOutput, Text, Tokenizer,
};

pub(crate) use self::input::{activates, check_truncation, sequences, texts};
use self::types::Classified;
use crate::call::{Call, deadline_passed};
use crate::caller::{Caller, digest_u64};
use crate::compat::shared::{chat_split, invalid};
use crate::encoding::{TOKEN_COST, check_text};
use crate::engine_errors::{engine_failure, submit_error};
use crate::error::{ApiError, Code};
use crate::hosts::Served;
use crate::names::not_found;

/// Tokens, and the JSON path that they come from.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) path: String,
    pub(crate) ids: Vec<u32>,
    /// Tokens beside `ids` that other sequences of the request have too.
    pub(crate) shared: SharedTokens,
}

/// Tokens that several sequences of a request have in common. They are joined with those of a
/// sequence when the engine takes it, so that the request holds them once.
#[derive(Debug, Clone, Default)]
pub(crate) enum SharedTokens {
    /// None.
    #[default]
    None,
    /// They come first.
    Before(Arc<[u32]>),
    /// They come last.
    After(Arc<[u32]>),
}

/// A sequence with the outputs to compute: token indexes and output specs.
#[derive(Debug)]
pub(crate) struct PooledSequence {
    pub(crate) tokens: Tokens,
    pub(crate) reads: Vec<(usize, OutputSpec)>,
}

impl Tokens {
    /// Tokens that share nothing.
    pub(crate) fn new(path: String, ids: Vec<u32>) -> Self {
        Self { path, ids, shared: SharedTokens::None }
    }

    /// Number of tokens, the shared ones included.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
            + match &self.shared {
                SharedTokens::None => 0,
                SharedTokens::Before(ids) | SharedTokens::After(ids) => ids.len(),
            }
    }

    /// All tokens in order.
    fn joined(self) -> Arc<[u32]> {
        match self.shared {
            SharedTokens::None => self.ids.into(),
            SharedTokens::Before(query) => [&query[..], &self.ids].concat().into(),
            SharedTokens::After(query) => [&self.ids[..], &query].concat().into(),
        }
    }

    /// Reads the head at the last token.
    pub(crate) fn last(self) -> PooledSequence {
        self.at_last(OutputSpec::Head)
    }

    /// Reads an output at the last token.
    pub(crate) fn at_last(self, read: OutputSpec) -> PooledSequence {
        PooledSequence { reads: vec![(self.len() - 1, read)], tokens: self }
    }

    /// Reads the head at every token.
    pub(crate) fn everywhere(self) -> PooledSequence {
        PooledSequence {
            reads: (0..self.len()).map(|at| (at, OutputSpec::Head)).collect(),
            tokens: self,
        }
    }
}

/// Joins a rendered prompt and its response. End tokens at the end of the response are special
/// tokens; others within it are plain text.
pub(crate) fn continued(prompt: &str, response: &str) -> Text {
    let said = chat_split::response(response);
    let mut text = Text::template(prompt);
    text.push_str(said, Origin::Reply);
    text.push_str(&response[said.len()..], Origin::Template);
    text
}

/// A text to encode.
pub(crate) trait TextLength {
    /// Its length in bytes.
    fn text_bytes(&self) -> usize;
}

impl TextLength for String {
    fn text_bytes(&self) -> usize {
        self.len()
    }
}

impl TextLength for Text {
    fn text_bytes(&self) -> usize {
        self.as_str().len()
    }
}

/// Encodes texts away from the event loop, each with the part of the request that it comes from.
///
/// # Errors
/// 422 for a text that is longer than the model's context can be, before any is encoded; 413 and
/// 503 where there is no room for the tokens; what `encode` fails at, and a text without tokens.
pub(crate) async fn encode<T: TextLength + Send + 'static>(
    call: &mut Call<'_>,
    served: &Served,
    texts: Vec<(String, T)>,
    encode: impl Fn(&Tokenizer, T) -> Result<Vec<u32>, String> + Send + 'static,
) -> Result<Vec<Tokens>, ApiError> {
    let (mut longest, mut all) = (0, 0_usize);
    for (path, text) in &texts {
        let bytes = text.text_bytes();
        check_text(served, path, bytes)?;
        longest = longest.max(bytes);
        all = all.saturating_add(bytes);
    }
    call.hold(all.saturating_mul(TOKEN_COST))?;
    let tokenizer = served.host.tokenizer.clone();
    let one = move |(path, text): (String, T)| {
        let ids = encode(&tokenizer, text).map_err(|what| invalid(path.as_str(), what))?;
        if ids.is_empty() {
            return Err(invalid(path, "it has no tokens"));
        }
        Ok(Tokens::new(path, ids))
    };
    call.encode(longest, move |waits| {
        texts.into_iter().map(|text| waits.check().and_then(|()| one(text))).collect()
    })
    .await
}

/// Encodes text of mixed provenance.
#[expect(clippy::needless_pass_by_value, reason = "what `encode` calls")]
pub(crate) fn by_origin(tokenizer: &Tokenizer, text: Text) -> Result<Vec<u32>, String> {
    tokenizer.encode_text(&text).map_err(|error| error.to_string())
}

/// Encodes text with special tokens, adding the tokenizer's own.
#[expect(clippy::needless_pass_by_value, reason = "what `encode` calls")]
pub(crate) fn as_written(tokenizer: &Tokenizer, text: String) -> Result<Vec<u32>, String> {
    tokenizer.encode(&text, true).map_err(|error| error.to_string())
}

/// Encodes text with special tokens, adding none.
#[expect(clippy::needless_pass_by_value, reason = "what `encode` calls")]
pub(crate) fn bare(tokenizer: &Tokenizer, text: String) -> Result<Vec<u32>, String> {
    tokenizer.encode(&text, false).map_err(|error| error.to_string())
}

/// Checks token ids of a request against the vocabulary.
///
/// # Errors
/// An id outside it, or an empty list.
pub(crate) fn given(served: &Served, path: String, ids: Vec<u32>) -> Result<Tokens, ApiError> {
    let size = served.host.engine.limits().vocab_size;
    if let Some(at) = ids.iter().position(|id| *id as usize >= size) {
        let what = format_args!("the vocabulary has {size} tokens");
        return Err(invalid(format!("{path}[{at}]"), what));
    }
    if ids.is_empty() {
        return Err(invalid(path, "it has no tokens"));
    }
    Ok(Tokens::new(path, ids))
}

/// Derives the cache salt of a request: equal words share prefixes, and 0 is for requests without
/// one.
pub(crate) fn salt(word: &str) -> u64 {
    digest_u64(word.as_bytes()) | 1
}

/// Creates the request parameters with an optional cache salt.
pub(crate) fn salted(word: Option<&str>) -> RequestParams {
    RequestParams { salt: word.map_or(0, salt), ..RequestParams::default() }
}

/// A request submits at most one part in this many of the engine's queue at a time, so that a large
/// one leaves room for others and is not refused for its own size.
const QUEUE_SHARE: usize = 4;

/// Runs sequences through an engine; one output for each, in order.
///
/// # Errors
/// 422 for a sequence longer than the model's context, before anything is computed; 503 at a limit
/// of a queue; 504 past the deadline; errors of the engine.
pub(crate) async fn read(
    call: &mut Call<'_>,
    served: &Served,
    sequences: Vec<PooledSequence>,
    params: RequestParams,
) -> Result<Vec<RequestOutput>, ApiError> {
    check_lengths(served, &sequences)?;
    let deadline = call.deadline();
    let patience = call.admit(sequences.len(), deadline)?;
    let caller = Caller::new(call.request, deadline);
    let params = RequestParams {
        client: caller.client,
        priority: caller.priority(params.priority),
        deadline: Some(deadline),
        ..params
    };
    let queues = &call.state.scorer_queues;
    let _share = queues.enter(served.name(), sequences.len(), params.priority, patience).await?;
    let reading = tokio::time::timeout_at(deadline.into(), in_waves(served, sequences, params));
    reading.await.map_err(|_| deadline_passed())?
}

async fn in_waves(
    served: &Served,
    sequences: Vec<PooledSequence>,
    params: RequestParams,
) -> Result<Vec<RequestOutput>, ApiError> {
    let engine = &served.host.engine;
    let share = (engine.limits().queue_tokens / QUEUE_SHARE).max(1);
    let mut answers = Vec::with_capacity(sequences.len());
    let mut rest = sequences.into_iter().peekable();
    while let Some(first) = rest.next() {
        let path = first.tokens.path.clone();
        let mut tokens = first.tokens.len();
        let mut wave = vec![request(served, first)];
        while let Some(next) = rest.next_if(|next| tokens + next.tokens.len() <= share) {
            tokens += next.tokens.len();
            wave.push(request(served, next));
        }
        let (begun, in_hand) = (Instant::now(), engine.queued_tokens() + tokens);
        // A request waits for queue space once its first part is done; before that it is refused.
        let ticket = if answers.is_empty() {
            engine.submit(wave, params)
        } else {
            engine.submit_batch(wave, params).await
        };
        let ticket = ticket.map_err(|error| submit_error(&error, &served.pace, &path))?;
        for answer in ticket.all().await {
            answers.push(answer.map_err(|failure| engine_failure(&failure))?);
        }
        served.pace.learn(in_hand, begun.elapsed());
    }
    Ok(answers)
}

fn request(served: &Served, sequence: PooledSequence) -> Request {
    Request {
        token_ids: sequence.tokens.joined(),
        adapter: served.adapter.clone(),
        task: Task::Rows(sequence.reads),
    }
}

fn check_lengths(served: &Served, sequences: &[PooledSequence]) -> Result<(), ApiError> {
    let most = served.host.engine.limits().context();
    let long = sequences.iter().find(|one| one.tokens.len() > most);
    long.map_or(Ok(()), |PooledSequence { tokens, .. }| {
        let path = &tokens.path;
        let message =
            format!("{path}: {} tokens; '{}' reads at most {most}", tokens.len(), served.name());
        Err(ApiError::new(Code::ContextLength, message).at(path.clone()))
    })
}

/// The kind of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// Read at the last token of a text.
    Whole {
        /// Number of outputs.
        n_labels: usize,
    },
    /// Read at any token, usually at steps.
    Tokens,
}

/// Returns the head of a model or adapter.
///
/// # Errors
/// 404 without a head.
pub(crate) fn head(served: &Served) -> Result<Head, ApiError> {
    let name = served.name();
    let known = rubrics::Served::of(&served.host, name);
    let known = known.ok_or_else(|| not_found(format!("'{name}' was taken out of service")))?;
    let Some(n_labels) = known.head_labels() else {
        return Err(not_found(format!("'{name}' has no score head to be read")));
    };
    let own = known.adapter.is_some_and(|adapter| adapter.head_labels.is_some());
    match served.host.config.head {
        HeadConfig::Token { .. } | HeadConfig::Process { .. } if !own => Ok(Head::Tokens),
        HeadConfig::Token { .. }
        | HeadConfig::Process { .. }
        | HeadConfig::Vocab
        | HeadConfig::Value
        | HeadConfig::Sequence { .. }
        | HeadConfig::Reward { .. } => Ok(Head::Whole { n_labels }),
    }
}

/// Refuses models without a head for the last token; returns its number of outputs.
///
/// # Errors
/// 404 with what the model lacks.
pub(crate) fn check_whole(served: &Served) -> Result<usize, ApiError> {
    match head(served)? {
        Head::Whole { n_labels } => Ok(n_labels),
        Head::Tokens => Err(not_found(format!(
            "the head of '{}' reads steps and no whole text; a [[scorer]] of kind process makes \
             one number of them",
            served.name()
        ))),
    }
}

/// Refuses models without a head of one output for the last token.
///
/// # Errors
/// 404 with what the model lacks.
pub(crate) fn check_scalar(served: &Served) -> Result<(), ApiError> {
    match check_whole(served)? {
        1 => Ok(()),
        n => Err(not_found(format!(
            "the head of '{}' has {n} outputs and no one score; a [[scorer]] of kind reward says \
             what counts",
            served.name()
        ))),
    }
}

/// Returns the outputs of each row.
///
/// # Errors
/// Output of another kind, which is an internal error.
pub(crate) fn rows(answer: &RequestOutput) -> Result<&[Output], ApiError> {
    match &answer.output {
        TaskOutput::Rows(rows) => Ok(rows),
        TaskOutput::Tokens { .. } => Err(ApiError::internal("rows were read and tokens came")),
    }
}

/// Returns the outputs of a head as numbers.
///
/// # Errors
/// Output of another kind, which is an internal error.
pub(crate) fn logits(output: &Output) -> Result<Vec<f64>, ApiError> {
    match output {
        Output::Head(logits) => Ok(logits.iter().copied().map(f64::from).collect()),
        Output::Vocab(_) | Output::Labels { .. } | Output::Logprob { .. } | Output::Hidden(_) => {
            Err(ApiError::internal("a head was read and something else came"))
        }
    }
}

/// Returns the outputs of a head that was read at one token.
///
/// # Errors
/// As [`rows`] and [`logits`].
pub(crate) fn lone(answer: &RequestOutput) -> Result<Vec<f64>, ApiError> {
    match rows(answer)? {
        [row] => logits(row),
        _ => Err(ApiError::internal("one row was read and others came")),
    }
}

/// Returns the single output of a head that was read at one token.
///
/// # Errors
/// As [`lone`].
pub(crate) fn scalar(answer: &RequestOutput) -> Result<f64, ApiError> {
    match lone(answer)?[..] {
        [logit] => Ok(logit),
        _ => Err(ApiError::internal("a scalar head gave several outputs")),
    }
}

/// Counts the tokens read.
pub(crate) fn tokens(answers: &[RequestOutput]) -> u64 {
    answers.iter().map(|answer| answer.usage.input_tokens as u64).sum()
}

/// Returns the outputs of a head at the last token, activated or as logits.
pub(crate) fn outputs(
    served: &Served,
    answer: &RequestOutput,
    activate: bool,
) -> Result<Vec<f64>, ApiError> {
    let logits = lone(answer)?;
    Ok(if activate { served.labels.activated(&logits) } else { logits })
}

/// Selects the most probable class, the first on ties.
pub(crate) fn classified(served: &Served, index: usize, probs: Vec<f64>) -> Classified {
    let mut best = 0;
    for (at, p) in probs.iter().enumerate() {
        if *p > probs[best] {
            best = at;
        }
    }
    Classified { index, label: Some(served.labels.name(best)), num_classes: probs.len(), probs }
}
