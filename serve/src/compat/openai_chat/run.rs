//! From a submission to its end: what the engine says, turned into pieces of text.

use std::sync::Arc;
use std::time::Instant;

use engine::{FinishReason, RequestEvent, RequestOutput, Revisions, SampledToken, Ticket};
use serde::Serialize;

use super::choice::{Choice, Piece};
use super::order::Order;
use super::types::{GenerationExtension, GenerationUsage, PromptTokensDetails};
use crate::convert;
use crate::engine_errors::engine_failure;
use crate::error::ApiError;

/// How a stream of one of the interfaces looks.
pub(crate) trait Wire {
    /// A chunk of a stream.
    type Chunk: Serialize;

    /// What a stream begins with.
    fn opening(&mut self) -> Vec<Self::Chunk>;

    /// More text of a sequence; nothing where it may still turn out to be something else.
    fn piece(&mut self, sequence: usize, piece: Piece) -> Option<Self::Chunk>;

    /// The last text of a sequence, and why it ended.
    fn end(&mut self, sequence: usize, piece: Piece, finish: &FinishReason) -> Self::Chunk;

    /// What a stream ends with, where the usage was asked for.
    fn usage(&self, usage: GenerationUsage, extension: GenerationExtension) -> Self::Chunk;
}

/// A sequence that is done.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) text: String,
    pub(super) tokens: Vec<SampledToken>,
    pub(super) finish: Option<FinishReason>,
}

/// All sequences of an order, done.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(super) sequences: Vec<Done>,
    pub(super) usage: GenerationUsage,
    pub(super) extension: GenerationExtension,
}

impl Answered {
    /// The text of the first sequence, and all tokens that it took.
    pub(crate) fn into_text(self) -> (String, u64) {
        let first = self.sequences.into_iter().next().unwrap_or_default();
        (first.text, self.usage.total_tokens)
    }
}

/// Waits for all sequences. Dropping this cancels what is not done.
///
/// # Errors
/// The first sequence that fails takes the others with it: half a reply is no reply.
pub(crate) async fn answer(order: &Order, mut progress: Progress) -> Result<Answered, ApiError> {
    let mut sequences: Vec<Done> = Vec::new();
    sequences.resize_with(progress.choices.len(), Done::default);
    while let Some(event) = progress.next(order).await? {
        let (at, piece) = match event {
            Event::Piece(at, piece) => (at, piece),
            Event::End(at, piece, finish) => {
                sequences[at].finish = Some(finish);
                (at, piece)
            }
        };
        sequences[at].text += &piece.text;
        sequences[at].tokens.extend(piece.tokens);
    }
    let (usage, extension) = progress.totals(order);
    Ok(Answered { sequences, usage, extension })
}

/// Something new about a sequence.
#[derive(Debug)]
pub(super) enum Event {
    /// More text.
    Piece(usize, Piece),
    /// The last text, and why it ended.
    End(usize, Piece, FinishReason),
}

/// A submission on its way.
#[derive(Debug)]
pub(crate) struct Progress {
    ticket: Ticket,
    choices: Vec<Choice>,
    tally: Tally,
    since: Instant,
    /// Tokens that were in hand when it came, its own included.
    in_hand: usize,
}

impl Progress {
    /// Of a submission that was just taken.
    pub(super) fn new(order: &Order, ticket: Ticket, choices: Vec<Choice>) -> Progress {
        Progress {
            ticket,
            choices,
            tally: Tally::default(),
            since: Instant::now(),
            in_hand: order.served.host.engine.queued_tokens(),
        }
    }

    /// What happens next, or nothing when all sequences are done.
    pub(super) async fn next(&mut self, order: &Order) -> Result<Option<Event>, ApiError> {
        loop {
            let Some(update) = self.ticket.next().await else {
                if self.tally.n_done < self.choices.len() {
                    return Err(engine_failure(&engine::RequestError::ShuttingDown));
                }
                let pace = &order.served.pace;
                pace.learn(self.in_hand, self.since.elapsed());
                return Ok(None);
            };
            match update {
                RequestEvent::Tokens { request: work, tokens } => {
                    if let Some(piece) = self.choices[work].push(tokens)? {
                        return Ok(Some(Event::Piece(work, piece)));
                    }
                }
                RequestEvent::Done { request: work, result } => {
                    let answer = result.map_err(|failure| engine_failure(&failure))?;
                    let (piece, finish) = self.choices[work].finish(&answer)?;
                    self.tally.add(work, order, &answer);
                    return Ok(Some(Event::End(work, piece, finish)));
                }
            }
        }
    }

    /// What all sequences took.
    pub(super) fn totals(&self, order: &Order) -> (GenerationUsage, GenerationExtension) {
        let prompt_tokens = order.prompts.iter().map(|p| p.token_ids.len() as u64).sum();
        let completion_tokens = self.tally.output_tokens;
        let usage = GenerationUsage {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens + completion_tokens,
            prompt_tokens_details: PromptTokensDetails {
                cached_tokens: self.tally.cached_before.iter().flatten().sum(),
            },
        };
        let mut extension = GenerationExtension {
            computed_tokens: self.tally.computed_tokens,
            cached_tokens: self.tally.cached_tokens,
            ..order.extension(self.tally.adapter.as_deref())
        };
        let revisions = self.tally.revisions.map(convert::revisions);
        extension.digests.revisions = revisions.filter(|_| order.served.host.is_live());
        (usage, extension)
    }
}

/// What the sequences that are done took.
#[derive(Debug, Default)]
struct Tally {
    n_done: usize,
    output_tokens: u64,
    computed_tokens: u64,
    cached_tokens: u64,
    /// For each prompt, the tokens that were cached for the sequence that had the fewest: those
    /// that no sequence of this request computed for another.
    cached_before: Vec<Option<u64>>,
    adapter: Option<Arc<str>>,
    revisions: Option<Revisions>,
}

impl Tally {
    fn add(&mut self, sequence: usize, order: &Order, answer: &RequestOutput) {
        let usage = &answer.usage;
        self.n_done += 1;
        self.output_tokens += usage.output_tokens as u64;
        self.computed_tokens += usage.computed_tokens as u64;
        self.cached_tokens += usage.cached_tokens as u64;
        self.adapter.clone_from(&answer.adapter);
        let all = self.revisions.into_iter().chain([answer.revisions()]);
        self.revisions = Revisions::of_all(all);
        let cached = usage.cached_tokens as u64;
        self.cached_before.resize(order.prompts.len(), None);
        let before = &mut self.cached_before[order.prompt_index(sequence)];
        *before = Some(before.map_or(cached, |least| least.min(cached)));
    }
}
