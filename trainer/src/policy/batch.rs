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

/// How a batch is cut into micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Tokens of a micro-batch at most.
    pub tokens: usize,
    /// So many sequences that follow each other are never parted: 2 for pairs.
    pub together: usize,
}

impl Packing {
    /// Every sequence by itself.
    pub fn of(tokens: usize) -> Packing {
        Packing {
            tokens,
            together: 1,
        }
    }
}

/// Micro-batches of so many tokens at most, or of one unit of sequences where it has more.
///
/// The order is that of the sequences' content (adapter, length, tokens), so that sums over a batch
/// are the same however it was shuffled. Units of which nothing is read are left out.
///
/// # Errors
/// A read that is past its sequence.
pub fn micro_batches(sequences: &[Sequence], packing: Packing) -> Result<Vec<Micro>> {
    for (at, sequence) in sequences.iter().enumerate() {
        if sequence.needed() > sequence.token_ids.len() {
            return Err(TrainError::Invalid(format!(
                "sequence {at} has {} tokens, and one past them is read",
                sequence.token_ids.len()
            )));
        }
    }
    let unit = |at: usize| at..sequences.len().min(at + packing.together);
    let needed = |at: usize| unit(at).map(|at| sequences[at].needed()).sum::<usize>();
    let mut order: Vec<usize> = (0..sequences.len())
        .step_by(packing.together.max(1))
        .filter(|at| needed(*at) > 0)
        .collect();
    order.sort_by(|a, b| by_content(&sequences[*a], &sequences[*b]));
    let limit = evenly(packing.tokens, order.iter().map(|at| needed(*at)));
    let mut batches = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut tokens = 0;
    for at in order {
        if !open.is_empty() && tokens + needed(at) > limit {
            batches.push(micro(sequences, std::mem::take(&mut open))?);
            tokens = 0;
        }
        tokens += needed(at);
        open.extend(unit(at).filter(|at| sequences[*at].needed() > 0));
    }
    if !open.is_empty() {
        batches.push(micro(sequences, open)?);
    }
    Ok(batches)
}

/// A limit that cuts these units into as many parts as `most` does, of about the same size.
fn evenly(most: usize, units: impl Iterator<Item = usize> + Clone) -> usize {
    let total: usize = units.clone().sum();
    let parts = total.div_ceil(most.max(1)).max(1);
    most.min(total.div_ceil(parts) + units.max().unwrap_or(0))
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
