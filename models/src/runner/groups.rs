//! The requested outputs of a batch, by kind.

use crate::adapter::AdapterTable;
use crate::batch::{AdapterSlot, Output, OutputRow, OutputSpec, RaggedBatch};
use crate::weights::Site;

/// A kind of output. Rows of one kind are computed together. A row's kind depends on its own sequence alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputGroup<'a> {
    /// [`OutputSpec::Head`].
    Head(HeadOf),
    /// [`OutputSpec::Vocab`].
    Vocab,
    /// [`OutputSpec::Labels`].
    Labels {
        /// The label tokens.
        columns: &'a [u32],
        /// Whether log Σ exp is computed too.
        mass: bool,
    },
    /// [`OutputSpec::Logprob`].
    Logprob,
    /// Vocabulary outputs under an adapter that changes the vocabulary head.
    Adapted,
    /// [`OutputSpec::Hidden`].
    Hidden,
}

/// The owner of the head of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOf {
    /// The model.
    Model,
    /// The adapter in this slot.
    Adapter(AdapterSlot),
}

/// The distinct requested rows, ascending; the first row if none is requested, since a forward has
/// at least one.
pub fn distinct_rows(rows: &[OutputRow]) -> Vec<u32> {
    let mut rows: Vec<u32> = rows.iter().map(|row| row.index).collect();
    if rows.is_empty() {
        rows.push(0);
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The groups of a batch's outputs, each with its indices into [`RaggedBatch::rows`], in the order of their first rows.
pub fn groups<'a>(
    batch: &'a RaggedBatch,
    adapters: &AdapterTable,
) -> Vec<(OutputGroup<'a>, Vec<usize>)> {
    let mut groups: Vec<(OutputGroup<'_>, Vec<usize>)> = Vec::new();
    for (at, row) in batch.rows.iter().enumerate() {
        let kind = kind(batch, row, adapters);
        match groups.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, rows)) => rows.push(at),
            None => groups.push((kind, vec![at])),
        }
    }
    groups
}

fn kind<'a>(
    batch: &'a RaggedBatch,
    row: &'a OutputRow,
    adapters: &AdapterTable,
) -> OutputGroup<'a> {
    let slot = batch.adapters[row.sequence as usize];
    let adapter = slot.and_then(|slot| Some((slot, adapters.get(slot)?)));
    let adapted = adapter.is_some_and(|(_, adapter)| adapter.pairs.contains_key(&Site::Vocab));
    match &row.output {
        OutputSpec::Head => OutputGroup::Head(match adapter {
            Some((slot, adapter)) if adapter.head.is_some() => HeadOf::Adapter(slot),
            Some(_) | None => HeadOf::Model,
        }),
        OutputSpec::Hidden => OutputGroup::Hidden,
        OutputSpec::Vocab | OutputSpec::Labels { .. } | OutputSpec::Logprob(_) if adapted => {
            OutputGroup::Adapted
        }
        OutputSpec::Vocab => OutputGroup::Vocab,
        OutputSpec::Labels { columns, mass } => OutputGroup::Labels { columns, mass: *mass },
        OutputSpec::Logprob(_) => OutputGroup::Logprob,
    }
}

/// The tokens whose log-probabilities these rows of [`RaggedBatch::rows`] request.
pub fn logprob_targets(batch: &RaggedBatch, rows: &[usize]) -> Vec<u32> {
    let target = |at: &usize| match batch.rows[*at].output {
        OutputSpec::Logprob(token) => Some(token),
        OutputSpec::Head | OutputSpec::Vocab | OutputSpec::Labels { .. } | OutputSpec::Hidden => {
            None
        }
    };
    rows.iter().filter_map(target).collect()
}

/// An output of a row from its full logits.
pub(super) fn from_logits(logits: Vec<f32>, read: &OutputSpec) -> Output {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_normalizer = || max + logits.iter().map(|x| (x - max).exp()).sum::<f32>().ln();
    match read {
        OutputSpec::Labels { columns, mass } => Output::Labels {
            log_normalizer: mass.then(log_normalizer),
            logits: columns.iter().map(|id| logits[*id as usize]).collect(),
        },
        OutputSpec::Logprob(token) => {
            let normalizer = log_normalizer();
            let entropy = logits.iter().map(|x| (x - normalizer).exp() * (normalizer - x)).sum();
            Output::Logprob { logprob: logits[*token as usize] - normalizer, entropy }
        }
        OutputSpec::Vocab | OutputSpec::Head | OutputSpec::Hidden => Output::Vocab(logits),
    }
}
