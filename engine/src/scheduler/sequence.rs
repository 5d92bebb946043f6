//! One sequence in the scheduler and how much of it is computed.

use std::ops::Range;

use base::Priority;
use models::batch::{AdapterSlot, OutputSpec};
use models::{RowOutput, TokenDraw};

use crate::cache::{BlockTable, CacheNamespace, SequenceId};
use crate::error::RequestError;
use crate::request::{TaskOutput, Usage};
use crate::sampling::SampledToken;

use super::task::TaskState;

/// A sequence as it is added to the scheduler.
#[derive(Debug)]
pub struct Sequence {
    /// Larger for later arrivals.
    pub id: SequenceId,
    /// Its tokens; generated ones are appended.
    pub token_ids: Vec<u32>,
    /// The namespace in which it shares prefixes.
    pub namespace: CacheNamespace,
    /// The forward's slot of its adapter; `None` for the base model.
    pub slot: Option<AdapterSlot>,
    /// The priority of the queue in which it waits.
    pub priority: Priority,
    /// Its client, for fair queueing.
    pub client: u64,
    /// The task and its outputs so far.
    pub task: TaskState,
}

/// The list of the scheduler that a sequence is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceStatus {
    /// New, in its client's queue.
    Queued,
    /// Admitted before, and ahead of the queues.
    Ready,
    /// Waiting until this sequence has computed their common prefix.
    Waiting(SequenceId),
    /// Holding blocks.
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
    /// Its priority, or that of a more urgent sequence that waits for it.
    pub(super) urgency: Priority,
    pub(super) usage: Usage,
    /// Whether it may take nothing from cache: with shared blocks it did not fit even alone.
    pub(super) unshared: bool,
}

/// The result of a step for a sequence.
#[derive(Debug, PartialEq)]
pub(super) enum SequenceProgress {
    /// Nothing yet.
    Pending,
    /// A token, and more will follow.
    Token(SampledToken),
    /// It is done, with its last token if it is a generation.
    Done(Option<SampledToken>),
}

impl SequenceState {
    pub(super) fn new(mut sequence: Sequence) -> SequenceState {
        let usage = Usage { input_tokens: sequence.token_ids.len(), ..Usage::default() };
        if let TaskState::Rows(rows) = &sequence.task {
            // Nothing after the last row is needed.
            sequence.token_ids.truncate(rows.last_token() + 1);
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

    /// Whether it is a generation whose tokens are all computed but the newest.
    pub(super) fn is_decoding(&self) -> bool {
        self.remaining() == 1 && self.usage.output_tokens > 0
    }

    /// The most tokens that may come from cache: those before the first that is still to be read.
    pub(super) fn max_cached(&self) -> usize {
        if self.unshared {
            return 0;
        }
        match &self.sequence.task {
            TaskState::Rows(rows) => rows.next_token().unwrap_or(self.len() - 1),
            TaskState::Generation(_) => self.len() - 1,
        }
    }

    /// The outputs due when the tokens of `span` are computed, by index into the span.
    pub(super) fn specs_in(&self, span: &Range<usize>) -> Vec<(usize, OutputSpec)> {
        match &self.sequence.task {
            TaskState::Rows(rows) => rows.in_span(span),
            TaskState::Generation(_) if span.end == self.len() => {
                vec![(span.len() - 1, OutputSpec::Vocab)]
            }
            TaskState::Generation(_) => Vec::new(),
        }
    }

    /// How the forward draws the next token in place of this output; `None` where it is none, or
    /// its logits are needed.
    pub(super) fn draw(&mut self, spec: &OutputSpec) -> Option<TokenDraw> {
        match (&mut self.sequence.task, spec) {
            (TaskState::Generation(generation), OutputSpec::Vocab) => generation.draw(),
            (TaskState::Generation(_) | TaskState::Rows(_), _) => None,
        }
    }

    /// Takes the outputs of a step that computed the tokens up to `end` under the weights of
    /// `revision`.
    pub(super) fn accept(
        &mut self,
        outputs: Vec<RowOutput>,
        end: usize,
        revision: u64,
    ) -> Result<SequenceProgress, RequestError> {
        let is_complete = end == self.len();
        match &mut self.sequence.task {
            TaskState::Rows(rows) => {
                rows.accept(outputs)?;
                Ok(if is_complete {
                    SequenceProgress::Done(None)
                } else {
                    SequenceProgress::Pending
                })
            }
            TaskState::Generation(generation) => {
                let Some(output) = outputs.into_iter().next() else {
                    return Ok(SequenceProgress::Pending);
                };
                let (sampled, is_last) = generation.accept(output, end, revision)?;
                self.sequence.token_ids.push(sampled.token_id);
                self.usage.output_tokens += 1;
                Ok(if is_last {
                    SequenceProgress::Done(Some(sampled))
                } else {
                    SequenceProgress::Token(sampled)
                })
            }
        }
    }

    /// Marks every row as unread, so that it is read again under the new weights.
    pub(super) fn reset_rows(&mut self) {
        if let TaskState::Rows(rows) = &mut self.sequence.task {
            rows.reset();
        }
    }

    /// Output and token counts of a finished sequence.
    pub(super) fn into_output(self) -> (TaskOutput, Usage) {
        (self.sequence.task.into_output(), self.usage)
    }
}
