//! One forward over parts of several sequences.

use std::ops::Range;

use models::batch::RaggedBatch;
use models::{BlockCopy, TokenDraw};

use crate::cache::SequenceId;

/// A batch, and the rows of each of its sequences.
#[derive(Debug)]
pub struct Step {
    /// The batch to run.
    pub batch: RaggedBatch,
    /// For each of [`RaggedBatch::rows`] the token to draw in place of its logits; empty if none is
    /// drawn.
    pub draws: Vec<Option<TokenDraw>>,
    pub(super) members: Vec<Member>,
}

impl Step {
    /// The sequences of the step, each with the range of its tokens that run.
    pub fn spans(&self) -> impl Iterator<Item = (SequenceId, Range<usize>)> {
        let starts = self.batch.cu_seqlens_q.iter();
        starts.zip(&self.members).map(|(row, member)| {
            let start = self.batch.positions[*row as usize] as usize;
            (member.id, start..start + member.n_tokens)
        })
    }
}

/// A sequence's part of a step.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: SequenceId,
    pub(super) n_tokens: usize,
    pub(super) n_rows: usize,
}

/// A step while it is being planned.
#[derive(Debug)]
pub(super) struct StepPlan {
    /// Tokens that still fit.
    pub(super) budget: usize,
    /// The largest prefill chunk while other sequences wait.
    pub(super) max_chunk: usize,
    /// Whether a sequence was preempted. Then none is admitted in this step, since it would take
    /// the blocks again.
    pub(super) preempted: bool,
    /// Block copies that are due before the step.
    pub(super) copies: Vec<BlockCopy>,
    /// The sequences that run, each with a number of tokens.
    pub(super) scheduled: Vec<(SequenceId, usize)>,
}

impl StepPlan {
    /// An empty plan for at most `budget` tokens.
    pub(super) fn new(budget: usize) -> StepPlan {
        StepPlan {
            budget,
            max_chunk: 0,
            preempted: false,
            copies: Vec::new(),
            scheduled: Vec::new(),
        }
    }

    /// Adds `n_tokens` of a sequence.
    pub(super) fn schedule(&mut self, id: SequenceId, n_tokens: usize) {
        self.budget -= n_tokens;
        self.scheduled.push((id, n_tokens));
    }
}
