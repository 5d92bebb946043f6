//! Runs a generation from submission to end: engine events become text.

use std::sync::Arc;
use std::time::Instant;

use engine::sampling::Constraint;
use engine::{
    FinishReason, Request, RequestEvent, RequestOutput, Revisions, SampledToken, Task, Ticket,
};
use openapi::ErrorBody;
use serde::Serialize;
use serde_json::{Value, json};

use super::continuation::{Continuation, TextDelta};
use super::prepared::PreparedRequest;
use super::types::{GenerationExtension, GenerationUsage, PromptTokensDetails};
use crate::blocking::blocking;
use crate::compat::shared::invalid;
use crate::convert;
use crate::engine_errors::engine_failure;
use crate::error::ApiError;
use crate::grammars::Grammars;
use crate::request_trace::RequestTrace;
use crate::scorer_queues::QueueShare;

/// Most sequences of a request.
const MAX_SEQUENCES: u64 = 2_048;

/// The replies and stream chunks of an interface.
pub(crate) trait ReplyFormat {
    /// A chunk of a stream.
    type Chunk: Serialize;

    /// The event after the last chunk; empty without one.
    const LAST_EVENT: &'static [u8] = b"data: [DONE]\n\n";

    /// Returns the name of a chunk's event; `None` for events without a name.
    fn event_name(_chunk: &Self::Chunk) -> Option<&str> {
        None
    }

    /// Returns the first chunks of a stream.
    fn opening(&mut self) -> Vec<Self::Chunk>;

    /// Returns the chunks of further text of a sequence; none while the text may be part of a tool
    /// call.
    fn piece(&mut self, sequence: usize, piece: TextDelta) -> Vec<Self::Chunk>;

    /// Returns the chunks of a sequence's last text and its finish reason.
    fn end(&mut self, sequence: usize, piece: TextDelta, finish: &FinishReason)
    -> Vec<Self::Chunk>;

    /// Returns the chunk of the usage.
    fn usage(&mut self, usage: GenerationUsage, extension: GenerationExtension) -> Self::Chunk;

    /// Returns the data of an `error` event, which ends a stream that has begun.
    fn failure(&mut self, error: ErrorBody) -> Value {
        json!(error)
    }
}

/// A finished sequence.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) text: String,
    pub(super) tokens: Vec<SampledToken>,
    pub(super) finish: Option<FinishReason>,
}

/// The finished sequences of a request.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(super) sequences: Vec<Done>,
    pub(super) usage: GenerationUsage,
    pub(super) extension: GenerationExtension,
}

impl Generated {
    /// Returns the text of the first sequence, and the tokens of all.
    pub(crate) fn into_text(self) -> (String, u64) {
        let first = self.sequences.into_iter().next().unwrap_or_default();
        (first.text, self.usage.total_tokens)
    }
}

/// Waits for all sequences. Dropping the future cancels those in progress.
///
/// # Errors
/// The first sequence that fails; the others are discarded, since a partial reply is no reply.
pub(crate) async fn answer(
    prepared: &PreparedRequest,
    mut running: RunningGeneration,
) -> Result<Generated, ApiError> {
    let mut sequences: Vec<Done> = Vec::new();
    sequences.resize_with(running.choices.len(), Done::default);
    while let Some(event) = running.next(prepared).await? {
        let (at, piece) = match event {
            GenerationEvent::TextDelta(at, piece) => (at, piece),
            GenerationEvent::End(at, piece, finish) => {
                sequences[at].finish = Some(finish);
                (at, piece)
            }
        };
        sequences[at].text += &piece.text;
        sequences[at].tokens.extend(piece.tokens);
    }
    let (usage, extension) = running.totals(prepared);
    Ok(Generated { sequences, usage, extension })
}

/// Progress of a sequence.
#[derive(Debug)]
pub(super) enum GenerationEvent {
    /// Further text.
    TextDelta(usize, TextDelta),
    /// The last text and the finish reason.
    End(usize, TextDelta, FinishReason),
}

/// A running generation.
#[derive(Debug)]
pub(crate) struct RunningGeneration {
    ticket: Ticket,
    choices: Vec<Continuation>,
    tally: UsageCount,
    since: Instant,
    /// When the first token of any sequence came.
    first_token: Option<Instant>,
    /// The trace of the request, if it is recorded.
    trace: Option<Arc<RequestTrace>>,
    /// Tokens in hand on arrival, its own included.
    in_hand: usize,
    /// Its place in the queue of the model, if it holds one.
    _share: Option<QueueShare>,
}

impl RunningGeneration {
    /// Compiles the constraint and submits the prompts to the engine. Sequences are ordered by
    /// prompt, then by choice.
    ///
    /// # Errors
    /// Errors of submission, and constraints that cannot be compiled.
    pub(crate) async fn submit(
        prepared: &Arc<PreparedRequest>,
        grammars: &Grammars,
    ) -> Result<RunningGeneration, ApiError> {
        let n_sequences = prepared.n_sequences();
        if n_sequences > MAX_SEQUENCES {
            let message = format!("{n_sequences} sequences; a request takes {MAX_SEQUENCES}");
            return Err(invalid("n", message));
        }
        let constraint = prepared.settings.constraint(&prepared.served, grammars).await?;
        let submitting = Arc::clone(prepared);
        let submitted = blocking(move || Self::enqueue(&submitting, constraint.as_deref()));
        submitted.await.map_err(ApiError::internal)?
    }

    fn enqueue(
        prepared: &PreparedRequest,
        constraint: Option<&dyn Constraint>,
    ) -> Result<RunningGeneration, ApiError> {
        let host = &prepared.served.host;
        let (mut requests, mut choices) = (Vec::new(), Vec::new());
        for prompt in &prepared.prompts {
            for choice in 0..prepared.n {
                let own = constraint.map(Constraint::fork);
                let sampling = prepared.settings.sampling(host, own, choice)?;
                let skip_special = prepared.settings.skip_special;
                choices.push(Continuation::new(&sampling, &host.tokenizer, skip_special));
                requests.push(Request {
                    token_ids: prompt.token_ids.clone(),
                    adapter: prepared.served.adapter.clone(),
                    task: Task::Generate(Box::new(sampling)),
                });
            }
        }
        Ok(RunningGeneration {
            ticket: prepared.enqueue(requests)?,
            choices,
            tally: UsageCount::default(),
            since: Instant::now(),
            first_token: None,
            trace: None,
            in_hand: host.engine.queued_tokens(),
            _share: None,
        })
    }

    /// Holds a place in a queue until it ends.
    pub(crate) fn holding(self, share: QueueShare) -> RunningGeneration {
        RunningGeneration { _share: Some(share), ..self }
    }

    /// Records the generation in a trace.
    pub(crate) fn traced(self, trace: Option<Arc<RequestTrace>>) -> RunningGeneration {
        RunningGeneration { trace, ..self }
    }

    /// Records the finished generation: until its first token the engine's queue and the prompt, then
    /// the other tokens.
    fn trace(&self, trace: &RequestTrace, prepared: &PreparedRequest) {
        let (since, now) = (self.since, Instant::now());
        let input: usize = prepared.prompts.iter().map(|prompt| prompt.token_ids.len()).sum();
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let attributes = vec![
            ("gen_ai.request.model", (&*prepared.served.host.name).into()),
            ("gen_ai.usage.input_tokens", input.into()),
            ("gen_ai.usage.output_tokens", count(self.tally.output_tokens).into()),
            ("tribunal.tokens.cached", count(self.tally.cached_tokens).into()),
            ("tribunal.sequences", self.choices.len().into()),
        ];
        let parent = trace.stage("generate", [since, now], attributes);
        let first = self.first_token.unwrap_or(now);
        trace.stage_of(parent, "prefill", [since, first], vec![]);
        trace.stage_of(parent, "decode", [first, now], vec![]);
    }

    /// Waits for the next event; `None` once all sequences are finished.
    pub(super) async fn next(
        &mut self,
        prepared: &PreparedRequest,
    ) -> Result<Option<GenerationEvent>, ApiError> {
        loop {
            let Some(update) = self.ticket.next().await else {
                if self.tally.n_done < self.choices.len() {
                    return Err(engine_failure(&engine::RequestError::ShuttingDown));
                }
                let pace = &prepared.served.pace;
                pace.learn(self.in_hand, self.since.elapsed());
                if let Some(trace) = self.trace.take() {
                    self.trace(&trace, prepared);
                }
                return Ok(None);
            };
            match update {
                RequestEvent::Tokens { request: work, tokens } => {
                    self.first_token.get_or_insert_with(Instant::now);
                    if let Some(piece) = self.choices[work].push(tokens)? {
                        return Ok(Some(GenerationEvent::TextDelta(work, piece)));
                    }
                }
                RequestEvent::Done { request: work, result } => {
                    let answer = result.map_err(|failure| engine_failure(&failure))?;
                    let (piece, finish) = self.choices[work].finish(&answer)?;
                    self.tally.add(work, prepared, &answer);
                    return Ok(Some(GenerationEvent::End(work, piece, finish)));
                }
            }
        }
    }

    /// Returns usage and extension fields of all sequences.
    pub(super) fn totals(
        &self,
        prepared: &PreparedRequest,
    ) -> (GenerationUsage, GenerationExtension) {
        let prompt_tokens = prepared.prompts.iter().map(|p| p.token_ids.len() as u64).sum();
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
            ..prepared.extension(self.tally.adapter.as_deref())
        };
        let revisions = self.tally.revisions.map(convert::revisions);
        extension.digests.revisions = revisions.filter(|_| prepared.served.host.is_live());
        (usage, extension)
    }
}

/// Counts of the finished sequences.
#[derive(Debug, Default)]
struct UsageCount {
    n_done: usize,
    output_tokens: u64,
    computed_tokens: u64,
    cached_tokens: u64,
    /// Per prompt, the cached tokens of the sequence with the fewest: those that no sequence of
    /// this request computed for another.
    cached_before: Vec<Option<u64>>,
    adapter: Option<Arc<str>>,
    revisions: Option<Revisions>,
}

impl UsageCount {
    fn add(&mut self, sequence: usize, prepared: &PreparedRequest, answer: &RequestOutput) {
        let usage = &answer.usage;
        self.n_done += 1;
        self.output_tokens += usage.output_tokens as u64;
        self.computed_tokens += usage.computed_tokens as u64;
        self.cached_tokens += usage.cached_tokens as u64;
        self.adapter.clone_from(&answer.adapter);
        let all = self.revisions.into_iter().chain([answer.revisions()]);
        self.revisions = Revisions::of_all(all);
        let cached = usage.cached_tokens as u64;
        self.cached_before.resize(prepared.prompts.len(), None);
        let before = &mut self.cached_before[prepared.prompt_index(sequence)];
        *before = Some(before.map_or(cached, |least| least.min(cached)));
    }
}
