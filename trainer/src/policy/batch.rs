//! Sequences of a training batch, and their micro-batches.

use std::cmp::Ordering;

use models::batch::AdapterSlot;
use models::{OutputSpec, PackItem, RaggedBatch, pack_shared};

use crate::error::{Result, TrainError};
use crate::item::Rollout;

/// A sequence, and the outputs that a loss reads of it.
#[derive(Clone, Debug)]
pub struct PolicySequence {
    /// Its tokens, prompt and answer.
    pub token_ids: Vec<u32>,
    /// Positions and the outputs to read there, ascending. A token's log-probability is read at the
    /// position before it.
    pub reads: Vec<(usize, OutputSpec)>,
    /// The adapter it runs under, by its index in the policy.
    pub adapter: Option<usize>,
    /// The factor on the logits of its log-probabilities and entropies, one over the temperature of
    /// sampling; `None` for 1.
    pub logit_scale: Option<f32>,
}

impl PolicySequence {
    /// A prompt and a continuation; reads the log-probability of every token of the continuation.
    pub fn continued(prompt: &[u32], continuation: &[u32]) -> PolicySequence {
        let reads = continuation.iter().enumerate();
        PolicySequence {
            reads: reads
                .map(|(at, token)| (prompt.len() + at - 1, OutputSpec::Logprob(*token)))
                .collect(),
            token_ids: [prompt, continuation].concat(),
            adapter: None,
            logit_scale: None,
        }
    }

    /// A prompt and a rollout; reads the log-probability of every sampled token, and of no observation,
    /// at the temperature of sampling.
    pub fn rollout(prompt: &[u32], rollout: &Rollout, logit_scale: Option<f32>) -> PolicySequence {
        let sampled = rollout.places().into_iter().zip(&rollout.tokens);
        PolicySequence {
            reads: sampled
                .map(|(place, token)| (prompt.len() + place - 1, OutputSpec::Logprob(token.id)))
                .collect(),
            token_ids: [prompt, &rollout.ids()].concat(),
            adapter: None,
            logit_scale,
        }
    }

    /// The tokens up to the last one read, which must be computed.
    fn needed(&self) -> &[u32] {
        let end = self.reads.last().map_or(0, |(at, _)| at + 1);
        &self.token_ids[..end]
    }

    /// Length of the prefix that a batch already computes for `before`.
    fn shared(&self, before: &PolicySequence) -> usize {
        if self.adapter != before.adapter {
            return 0;
        }
        let pairs = self.needed().iter().zip(before.needed());
        pairs.take_while(|(a, b)| a == b).count()
    }
}

/// A micro-batch: sequences that are computed together.
#[derive(Clone, Debug)]
pub struct Micro {
    /// Their indices in the batch.
    pub sequences: Vec<usize>,
    pub(super) spans: Vec<(usize, Option<usize>)>,
    /// [`PolicySequence::logit_scale`] of each.
    pub(super) logit_scales: Vec<Option<f32>>,
    pub(super) batch: RaggedBatch,
}

impl Micro {
    /// Rows of its own and adapter of each sequence.
    pub(super) fn spans(&self) -> impl Iterator<Item = (usize, Option<usize>)> + '_ {
        self.spans.iter().copied()
    }
}

/// The packing of a batch into micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Maximum tokens of a micro-batch.
    pub tokens: usize,
    /// Number of consecutive sequences that are never separated: 2 for pairs.
    pub together: usize,
}

impl Packing {
    /// Packs every sequence by itself.
    pub fn of(tokens: usize) -> Packing {
        Packing { tokens, together: 1 }
    }
}

/// Packs sequences into micro-batches of at most `packing.tokens` tokens; a larger unit of
/// sequences has one of its own. A prefix that sequences of a micro-batch share is computed and
/// counted once.
///
/// The order is that of the sequences' content (adapter, tokens), so that sums over a batch do not
/// depend on how it was shuffled. Units without reads are left out.
///
/// # Errors
/// A read that is past its sequence.
pub fn micro_batches(sequences: &[PolicySequence], packing: Packing) -> Result<Vec<Micro>> {
    for (at, sequence) in sequences.iter().enumerate() {
        if sequence.reads.last().is_some_and(|(read, _)| *read >= sequence.token_ids.len()) {
            return Err(TrainError::Invalid(format!(
                "sequence {at} has {} tokens, and one past them is read",
                sequence.token_ids.len()
            )));
        }
    }
    let units = units(sequences, packing.together.max(1));
    let mut cut = Cut::new(packing.tokens, sequences, &units);
    let mut batches = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let (mut tokens, mut last) = (0, None);
    for unit in units {
        let mut added = added_rows(sequences, last, &unit);
        cut.seen += added;
        if !open.is_empty() && cut.is_due(tokens + added) {
            batches.push(micro(sequences, std::mem::take(&mut open))?);
            tokens = 0;
            cut.made += 1;
            added = added_rows(sequences, None, &unit);
        }
        tokens += added;
        last = unit.last().copied();
        open.extend(unit);
    }
    if !open.is_empty() {
        batches.push(micro(sequences, open)?);
    }
    Ok(batches)
}

/// Sequences that are never separated, in the order of their content, without those that have no
/// reads.
fn units(sequences: &[PolicySequence], together: usize) -> Vec<Vec<usize>> {
    let starts = (0..sequences.len()).step_by(together);
    let unit = |at: usize| {
        let members = at..sequences.len().min(at + together);
        members.filter(|at| !sequences[*at].reads.is_empty()).collect()
    };
    let mut units: Vec<Vec<usize>> =
        starts.map(unit).filter(|unit: &Vec<_>| !unit.is_empty()).collect();
    units.sort_by(|a, b| by_content(&sequences[a[0]], &sequences[b[0]]));
    units
}

/// Rows that a unit adds to a micro-batch after the sequence `before`.
fn added_rows(sequences: &[PolicySequence], mut before: Option<usize>, unit: &[usize]) -> usize {
    let mut rows = 0;
    for at in unit {
        let sequence = &sequences[*at];
        let shared = before.map_or(0, |before| sequence.shared(&sequences[before]));
        rows += sequence.needed().len() - shared;
        before = Some(*at);
    }
    rows
}

/// The cut of a batch into parts of about the same size: as few as the limit of tokens permits, and
/// an even number of them, so that parallel workers end together. The number of workers must not
/// affect the order of a sum, so it is not used here.
#[derive(Debug)]
struct Cut {
    most: usize,
    total: usize,
    parts: usize,
    /// Number of complete parts.
    made: usize,
    /// Tokens of the units placed so far.
    seen: usize,
}

impl Cut {
    fn new(most: usize, sequences: &[PolicySequence], units: &[Vec<usize>]) -> Cut {
        let (mut total, mut last) = (0, None);
        for unit in units {
            total += added_rows(sequences, last, unit);
            last = unit.last().copied();
        }
        let parts = total.div_ceil(most.max(1));
        Cut {
            most,
            total,
            parts: if parts > 1 { parts.next_multiple_of(2) } else { 1 },
            made: 0,
            seen: 0,
        }
    }

    /// Whether a part that would grow to `tokens` ends instead.
    fn is_due(&self, tokens: usize) -> bool {
        let has_its_share = self.seen * self.parts > self.total * (self.made + 1);
        tokens > self.most || has_its_share
    }
}

fn by_content(a: &PolicySequence, b: &PolicySequence) -> Ordering {
    (a.adapter, a.needed())
        .cmp(&(b.adapter, b.needed()))
        .then_with(|| a.token_ids.cmp(&b.token_ids))
        .then_with(|| a.reads.len().cmp(&b.reads.len()))
}

fn micro(sequences: &[PolicySequence], members: Vec<usize>) -> Result<Micro> {
    let item = |at: &usize| {
        let sequence = &sequences[*at];
        let slot = |at| AdapterSlot(u32::try_from(at).expect("a policy has few adapters"));
        PackItem {
            token_ids: sequence.needed().to_vec(),
            start: 0,
            adapter: sequence.adapter.map(slot),
            outputs: sequence.reads.clone(),
            blocks: Vec::new(),
        }
    };
    let items: Vec<PackItem> = members.iter().map(item).collect();
    let batch = pack_shared(&items)?;
    let lens = batch.cu_seqlens_q.windows(2);
    let lens = lens.map(|ends| (ends[1] - ends[0]) as usize);
    Ok(Micro {
        spans: lens.zip(&members).map(|(len, at)| (len, sequences[*at].adapter)).collect(),
        logit_scales: members.iter().map(|at| sequences[*at].logit_scale).collect(),
        batch,
        sequences: members,
    })
}
