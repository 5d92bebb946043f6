//! One sequence on its way: what is computed of it, what is still to be read or generated.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use models::batch::{AdapterSlot, Output, Read};

use crate::cache::{BlockTable, CacheNamespace, SequenceId};
use crate::error::RequestError;
use crate::sampling::{FinishReason, SampleError, SampledToken, Sampler};
use crate::work::{Priority, TaskOutput, Usage};

/// What the scheduler is given.
#[derive(Debug)]
pub struct Sequence {
    /// Its name, larger for later arrivals.
    pub id: SequenceId,
    /// Its tokens.
    pub token_ids: Vec<u32>,
    /// With whom it may share prefixes.
    pub namespace: CacheNamespace,
    /// Where the forward finds its adapter.
    pub slot: Option<AdapterSlot>,
    /// Which queue it waits in.
    pub priority: Priority,
    /// Whose it is.
    pub client: u64,
    /// What is wanted.
    pub task: TaskState,
}

/// What is wanted of a sequence.
#[derive(Debug)]
pub enum TaskState {
    /// Rows to read.
    Rows(RowsState),
    /// Tokens to generate.
    Generation(Box<GenerationState>),
}

/// Rows that are read as their tokens are computed.
#[derive(Debug)]
pub struct RowsState {
    /// Token, what to read, and its place among the outputs; in order of the tokens.
    reads: Vec<(usize, Read, usize)>,
    outputs: Vec<Option<Output>>,
    n_read: usize,
}

/// A generation and what it has given so far.
#[derive(Debug)]
pub struct GenerationState {
    sampler: Sampler,
    tokens: Vec<SampledToken>,
    finish: Option<FinishReason>,
}

impl TaskState {
    /// Outputs at tokens, in the order in which they are wanted.
    pub fn rows(reads: Vec<(usize, Read)>) -> TaskState {
        let outputs = vec![None; reads.len()];
        let places = reads.into_iter().enumerate();
        let mut reads: Vec<_> = places.map(|(place, (at, read))| (at, read, place)).collect();
        reads.sort_by_key(|(at, _, _)| *at);
        TaskState::Rows(RowsState { reads, outputs, n_read: 0 })
    }

    /// What is wanted, where there is nothing to do for it: of a generation that was resumed at its
    /// end.
    pub(crate) fn done(&self) -> Option<TaskOutput> {
        match self {
            TaskState::Rows(_) => None,
            TaskState::Generation(generation) => Some(TaskOutput::Tokens {
                tokens: Vec::new(),
                finish: generation.sampler.ended()?.clone(),
            }),
        }
    }

    /// A continuation.
    pub fn generation(sampler: Sampler) -> TaskState {
        TaskState::Generation(Box::new(GenerationState {
            sampler,
            tokens: Vec::new(),
            finish: None,
        }))
    }
}

/// Where a sequence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceStatus {
    /// In its caller's line.
    Queued,
    /// Admitted once, and to be opened as soon as there is room.
    Ready,
    /// Until another sequence has computed what both begin with.
    Waiting(SequenceId),
    /// It holds blocks.
    Running,
}

/// A sequence and its progress.
#[derive(Debug)]
pub(super) struct SequenceState {
    pub(super) sequence: Sequence,
    pub(super) status: SequenceStatus,
    pub(super) table: Option<BlockTable>,
    /// Tokens whose keys and values are in the table.
    pub(super) computed: usize,
    /// The priority of the most urgent sequence that waits for it, where that is more urgent.
    pub(super) urgency: Priority,
    pub(super) usage: Usage,
    /// Nothing may come from cache: with shared blocks it did not fit even alone.
    pub(super) unshared: bool,
}

/// What a sequence has to say after a step.
#[derive(Debug, PartialEq)]
pub(super) enum Progress {
    /// Nothing yet.
    InProgress,
    /// A token, and there will be more.
    Token(SampledToken),
    /// It is done.
    Done(Option<SampledToken>),
}

impl SequenceState {
    pub(super) fn new(mut sequence: Sequence) -> SequenceState {
        let usage = Usage { input_tokens: sequence.token_ids.len(), ..Usage::default() };
        if let TaskState::Rows(rows) = &sequence.task {
            // Nobody asks what follows the last row.
            let last = rows.reads.last().map_or(0, |(at, _, _)| *at);
            sequence.token_ids.truncate(last + 1);
        }
        SequenceState {
            status: SequenceStatus::Queued,
            table: None,
            computed: 0,
            urgency: sequence.priority,
            usage,
            unshared: false,
            sequence,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sequence.token_ids.len()
    }

    pub(super) fn remaining(&self) -> usize {
        self.len() - self.computed
    }

    /// Whether one more token of a generation is all that it waits for.
    pub(super) fn is_decoding(&self) -> bool {
        self.remaining() == 1 && self.usage.output_tokens > 0
    }

    /// Tokens that may come from cache: those before the first that is still to be read.
    pub(super) fn max_cached(&self) -> usize {
        if self.unshared {
            return 0;
        }
        match &self.sequence.task {
            TaskState::Rows(rows) => {
                rows.reads.get(rows.n_read).map_or(self.len() - 1, |(at, _, _)| *at)
            }
            TaskState::Generation(_) => self.len() - 1,
        }
    }

    /// What is read when the tokens of `span` are computed, as indices into the span.
    pub(super) fn specs_in(&self, span: &Range<usize>) -> Vec<(usize, Read)> {
        match &self.sequence.task {
            TaskState::Rows(rows) => rows.reads[rows.n_read..]
                .iter()
                .take_while(|(at, _, _)| *at < span.end)
                .map(|(at, read, _)| (at - span.start, read.clone()))
                .collect(),
            TaskState::Generation(_) if span.end == self.len() => {
                vec![(span.len() - 1, Read::Vocab)]
            }
            TaskState::Generation(_) => Vec::new(),
        }
    }

    /// Takes what a step under the weights of `revision` read.
    pub(super) fn accept(
        &mut self,
        outputs: Vec<Output>,
        end: usize,
        revision: u64,
    ) -> Result<Progress, RequestError> {
        let whole = end == self.len();
        match &mut self.sequence.task {
            TaskState::Rows(rows) => {
                rows.take(outputs)?;
                Ok(if whole { Progress::Done(None) } else { Progress::InProgress })
            }
            TaskState::Generation(generation) => {
                let Some(output) = outputs.into_iter().next() else {
                    return Ok(Progress::InProgress);
                };
                let (sampled, last) = generation.take(output, end, revision)?;
                self.sequence.token_ids.push(sampled.token_id);
                self.usage.output_tokens += 1;
                Ok(if last { Progress::Done(Some(sampled)) } else { Progress::Token(sampled) })
            }
        }
    }

    /// Forgets what was read: it will be read anew.
    pub(super) fn reset_rows(&mut self) {
        if let TaskState::Rows(rows) = &mut self.sequence.task {
            rows.n_read = 0;
        }
    }

    /// What was wanted, of a sequence that is done.
    pub(super) fn into_output(self) -> (TaskOutput, Usage) {
        let produced = match self.sequence.task {
            TaskState::Rows(rows) => {
                let outputs = rows.outputs.into_iter();
                TaskOutput::Rows(
                    outputs
                        .map(|output| output.expect("it is done when every row is read"))
                        .collect(),
                )
            }
            TaskState::Generation(generation) => TaskOutput::Tokens {
                tokens: generation.tokens,
                finish: generation.finish.expect("it is done when it has finished"),
            },
        };
        (produced, self.usage)
    }
}

impl RowsState {
    fn take(&mut self, outputs: Vec<Output>) -> Result<(), RequestError> {
        for output in outputs {
            let (at, _, place) = self.reads[self.n_read];
            check_finite(&output, at)?;
            self.outputs[place] = Some(output);
            self.n_read += 1;
        }
        Ok(())
    }
}

impl GenerationState {
    fn take(
        &mut self,
        output: Output,
        position: usize,
        revision: u64,
    ) -> Result<(SampledToken, bool), RequestError> {
        let Output::Vocab(mut logits) = output else {
            return Err(RequestError::Model(
                "the forward gave no logits for a row whose logits were asked for".to_owned(),
            ));
        };
        // A constraint runs code of others over text of strangers: a panic there is this
        // sequence's alone.
        let sampler = &mut self.sampler;
        let next = catch_unwind(AssertUnwindSafe(|| sampler.next(&mut logits)))
            .map_err(|_| RequestError::Constraint("choosing a token panicked".to_owned()))?;
        let next = next.map_err(|error| match error {
            SampleError::NotFinite(value) => RequestError::NotFinite {
                value,
                place: format!("in the logits at position {}", position - 1),
            },
            SampleError::Constraint(what) => RequestError::Constraint(what),
        })?;
        let sampled = SampledToken { revision, ..next.sampled };
        self.tokens.push(sampled.clone());
        self.finish = next.finish;
        Ok((sampled, self.finish.is_some()))
    }
}

/// A number that is not finite is a failure and never a score.
fn check_finite(output: &Output, at: usize) -> Result<(), RequestError> {
    let first = |numbers: &[f32]| numbers.iter().copied().find(|x| !x.is_finite());
    let (found, what) = match output {
        Output::Head(scores) => (first(scores), "score"),
        Output::Vocab(logits) => (first(logits), "logits"),
        Output::Labels { logits, log_normalizer } => {
            let mass = log_normalizer.filter(|x| !x.is_finite());
            (first(logits).or(mass), "label logits")
        }
        Output::Logprob { logprob, entropy } => (first(&[*logprob, *entropy]), "log-probability"),
        Output::Hidden(state) => (first(state), "hidden state"),
    };
    match found {
        None => Ok(()),
        Some(value) => {
            Err(RequestError::NotFinite { value, place: format!("in the {what} at position {at}") })
        }
    }
}
