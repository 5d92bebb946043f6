//! Runs sequences through a runner: in one piece, packed together, in chunks, or token by token.

use models::batch::AdapterSlot;
use models::{BLOCK, BlockId};
use models::{Forward as _, Output, OutputSpec, PackItem, Runner, pack};

use crate::golden::{Closeness, Wanted};

/// A sequence in progress.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) token_ids: Vec<u32>,
    adapter: Option<AdapterSlot>,
    blocks: Vec<BlockId>,
    done: usize,
}

/// A sequence and the expected outputs of its rows.
pub(crate) type Work = (Sequence, Vec<Wanted>);

impl Sequence {
    pub(crate) fn new(token_ids: &[u32], adapter: Option<AdapterSlot>) -> Sequence {
        Sequence { token_ids: token_ids.to_vec(), adapter, blocks: Vec::new(), done: 0 }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done == self.token_ids.len()
    }

    /// The next `n` tokens, or as many as there are.
    fn item(&self, n: usize, outputs: Vec<(usize, OutputSpec)>) -> PackItem {
        let end = self.token_ids.len().min(self.done.saturating_add(n));
        PackItem {
            token_ids: self.token_ids[self.done..end].to_vec(),
            start: self.done,
            adapter: self.adapter,
            outputs,
            blocks: self.blocks.clone(),
        }
    }
}

/// Gives each sequence blocks for its tokens and `more`, far from each other and out of order;
/// returns the number of blocks.
pub(crate) fn scatter(sequences: &mut [&mut Sequence], more: usize) -> usize {
    let count = sequences.len();
    let longest = sequences.iter().map(|s| s.token_ids.len() + more).max();
    let each = longest.unwrap_or(0).div_ceil(BLOCK);
    for (at, sequence) in sequences.iter_mut().enumerate() {
        let ids = (0..each).rev().map(|i| i * count + at);
        sequence.blocks = ids.map(|id| BlockId(u32::try_from(id).expect("few blocks"))).collect();
    }
    each * count
}

/// Runs the next tokens of each sequence in one batch and compares the wanted rows.
pub(crate) fn advance(
    runner: &mut Runner,
    works: &mut [(&mut Work, usize)],
    closeness: &mut Closeness,
) -> Result<(), String> {
    let mut items = Vec::new();
    let mut wanted = Vec::new();
    for (work, n) in works.iter() {
        let (sequence, all) = &**work;
        let rows = sequence.done..sequence.done.saturating_add(*n);
        let here: Vec<_> = all.iter().filter(|w| rows.contains(&w.row)).collect();
        let reads = here.iter().map(|w| (w.row - rows.start, w.read.clone()));
        items.push(sequence.item(*n, reads.collect()));
        wanted.extend(here.into_iter().cloned());
    }
    let outputs = forward(runner, &items)?;
    if outputs.len() != wanted.len() {
        return Err(format!("{} outputs for {} reads", outputs.len(), wanted.len()));
    }
    for (wanted, output) in wanted.iter().zip(&outputs) {
        wanted.compare(output, closeness)?;
    }
    for ((work, _), item) in works.iter_mut().zip(&items) {
        work.0.done += item.token_ids.len();
    }
    Ok(())
}

/// Runs the rest of each sequence, and then one token after the other; returns the logits that
/// chose each greedy token: `[sequence][step][vocabulary]`.
pub(crate) fn greedy(
    runner: &mut Runner,
    sequences: &mut [Sequence],
    steps: usize,
) -> Result<Vec<Vec<Vec<f32>>>, String> {
    let mut logits = vec![Vec::new(); sequences.len()];
    for _ in 0..steps {
        let last = |s: &Sequence| vec![(s.token_ids.len() - s.done - 1, OutputSpec::Vocab)];
        let items: Vec<_> = sequences.iter().map(|s| s.item(usize::MAX, last(s))).collect();
        let outputs = forward(runner, &items)?;
        for ((sequence, seen), output) in sequences.iter_mut().zip(&mut logits).zip(outputs) {
            let Output::Vocab(row) = output else {
                return Err(format!("logits were requested, not {output:?}"));
            };
            sequence.done = sequence.token_ids.len();
            sequence.token_ids.push(argmax(&row)?);
            seen.push(row);
        }
    }
    Ok(logits)
}

fn argmax(row: &[f32]) -> Result<u32, String> {
    let best = (0..).zip(row).max_by(|a, b| a.1.total_cmp(b.1));
    best.map(|(id, _)| id).ok_or_else(|| "no logits".into())
}

/// Packs and runs a batch; errors become text.
pub(crate) fn forward(runner: &mut Runner, items: &[PackItem]) -> Result<Vec<Output>, String> {
    let outputs = pack(items).and_then(|batch| runner.forward(&batch));
    outputs.map(|o| o.rows).map_err(|error| error.to_string())
}
