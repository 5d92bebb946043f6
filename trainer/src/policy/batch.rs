//! Sequences of a training batch, and the micro-batches that they are computed in.

use std::cmp::Ordering;

use models::{PackItem, RaggedBatch, Read, pack};

use crate::error::{Result, TrainError};

/// A sequence, and what a loss reads of it.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its tokens, prompt and answer.
    pub token_ids: Vec<u32>,
    /// At which tokens to read what, ascending. A token's log-probability is read at the token
    /// before it.
    pub reads: Vec<(usize, Read)>,
    /// The adapter it runs under, by its index in the policy.
    pub adapter: Option<usize>,
}

impl Sequence {
    /// A prompt and a continuation, every token of which is read.
    pub fn continued(prompt: &[u32], continuation: &[u32]) -> Sequence {
        let reads = continuation.iter().enumerate();
        Sequence {
            reads: reads
                .map(|(at, token)| (prompt.len() + at - 1, Read::Logprob(*token)))
                .collect(),
            token_ids: [prompt, continuation].concat(),
            adapter: None,
        }
    }

    /// Tokens that have to be computed: nobody asks what follows the last read.
    fn needed(&self) -> usize {
        self.reads.last().map_or(0, |(at, _)| at + 1)
    }
}

/// Sequences that are computed together.
#[derive(Clone, Debug)]
pub struct Micro {
    /// Their indices in the batch.
    pub sequences: Vec<usize>,
    pub(super) spans: Vec<(usize, Option<usize>)>,
    pub(super) batch: RaggedBatch,
}

impl Micro {
    /// Tokens and adapter of each sequence.
    pub(super) fn spans(&self) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        self.spans.iter().copied()
    }
}

/// Micro-batches of at most `budget` tokens, or of one sequence where it is longer.
///
/// The order is that of the sequences' content (adapter, length, tokens), so that sums over a batch
/// are the same however it was shuffled. Sequences of which nothing is read are left out.
///
/// # Errors
/// A read that is past its sequence.
pub fn micro_batches(sequences: &[Sequence], budget: usize) -> Result<Vec<Micro>> {
    let mut order: Vec<usize> = (0..sequences.len())
        .filter(|at| !sequences[*at].reads.is_empty())
        .collect();
    order.sort_by(|a, b| by_content(&sequences[*a], &sequences[*b]));
    let mut batches = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut tokens = 0;
    for at in order {
        let sequence = &sequences[at];
        if sequence.needed() > sequence.token_ids.len() {
            return Err(TrainError::Invalid(format!(
                "sequence {at} has {} tokens, and one past them is read",
                sequence.token_ids.len()
            )));
        }
        if !open.is_empty() && tokens + sequence.needed() > budget {
            batches.push(micro(sequences, std::mem::take(&mut open))?);
            tokens = 0;
        }
        tokens += sequence.needed();
        open.push(at);
    }
    if !open.is_empty() {
        batches.push(micro(sequences, open)?);
    }
    Ok(batches)
}

fn by_content(a: &Sequence, b: &Sequence) -> Ordering {
    let key = |s: &Sequence| (s.adapter, s.needed());
    key(a)
        .cmp(&key(b))
        .then_with(|| a.token_ids.cmp(&b.token_ids))
        .then_with(|| a.reads.len().cmp(&b.reads.len()))
}

fn micro(sequences: &[Sequence], members: Vec<usize>) -> Result<Micro> {
    let item = |at: &usize| PackItem {
        token_ids: sequences[*at].token_ids[..sequences[*at].needed()].to_vec(),
        start: 0,
        adapter: None,
        reads: sequences[*at].reads.clone(),
        blocks: Vec::new(),
    };
    let items: Vec<PackItem> = members.iter().map(item).collect();
    Ok(Micro {
        spans: members
            .iter()
            .map(|at| (sequences[*at].needed(), sequences[*at].adapter))
            .collect(),
        batch: pack(&items)?,
        sequences: members,
    })
}
