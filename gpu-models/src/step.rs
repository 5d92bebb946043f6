//! A step's host data on a card.

use std::collections::BTreeMap;

use gpu::kernels::{
    Attention, AttentionShape, BlockPair, BlockPairs, NO_ADAPTER, Pieces, QuerySpan,
};
use gpu::{DeviceSlice, Gpu, Staging};
use models::adapter::AdapterTable;
use models::batch::{AdapterSlot, RaggedBatch};
use models::kernels::kv_block::BlockCopy;
use models::{BLOCK, TokenDraw};

use crate::output_plan::OutputPlan;

/// A batch, staged.
#[derive(Debug)]
pub(crate) struct Step {
    /// Rows of the batch.
    pub(crate) rows: usize,
    /// Rows with outputs.
    pub(crate) kept: usize,
    pub(crate) ids: DeviceSlice<u32>,
    pub(crate) positions: DeviceSlice<u32>,
    pub(crate) slots: DeviceSlice<u32>,
    /// The rows with outputs; `None` if all are.
    pub(crate) kept_index: Option<DeviceSlice<u32>>,
    /// One for each shape of attention.
    pub(crate) attention: Vec<Attention>,
    /// Copies of blocks, in this order.
    pub(crate) copies: Vec<BlockPairs>,
    /// The rows of each adapter, and those among the rows with outputs; `None` without adapters.
    pub(crate) pieces: Option<Pieces>,
    pub(crate) kept_pieces: Option<Pieces>,
    pub(crate) slots_in_use: Vec<AdapterSlot>,
    /// The adapter of each row of the batch, and of each row with outputs, for the experts of a model that has them; `None`
    /// without adapters.
    pub(crate) adapters_of_rows: Option<[DeviceSlice<u32>; 2]>,
    /// Blocks of the step's own; 0 for a batch with blocks of a pool.
    pub(crate) own_blocks: usize,
    pub(crate) outputs: Vec<OutputPlan>,
    /// For a step that continues each sequence by one token: steps of one key differ in little but the numbers that are staged.
    pub(crate) decode_key: Option<u64>,
}

/// A batch, and for each of its outputs the draw in place of logits, or none.
pub(crate) type DrawingBatch<'a> = (&'a RaggedBatch, &'a [Option<TokenDraw>]);

/// Where keys and values of a batch lie.
struct Blocks {
    /// Blocks of all sequences, one after the other, and where those of each begin.
    table: Vec<u32>,
    first: Vec<usize>,
    /// Of each row.
    slots: Vec<u32>,
    own: usize,
}

impl Step {
    /// Stages a checked batch, whose rows with outputs are `kept`, for attention of these shapes and for experts, if there
    /// are any.
    ///
    /// # Errors
    /// [`gpu::GpuError::OutOfMemory`] where a room of the staging is full.
    pub(crate) fn stage(
        (gpu, shapes, has_experts): (&Gpu, &[AttentionShape], bool),
        adapters: &AdapterTable,
        ((batch, draws), kept): (DrawingBatch<'_>, &[u32]),
        staging: &mut Staging,
    ) -> gpu::Result<Step> {
        staging.begin()?;
        let blocks = Blocks::of(batch);
        let spans = spans(batch, &blocks.first);
        let rows = batch.token_ids.len();
        let of_adapter = rows_of_adapters(batch, None);
        let kept_of_adapter = rows_of_adapters(batch, Some(kept));
        let is_part = kept.len() < rows;
        let copies = batch.paging.iter().flat_map(|paging| in_runs(&paging.copies));
        let decode_key = decode_key(batch, staging.turn());
        let mut step = Step {
            rows,
            kept: kept.len(),
            ids: staging.put(&batch.token_ids)?,
            positions: staging.put(&batch.positions)?,
            slots: staging.put(&blocks.slots)?,
            kept_index: if is_part { Some(staging.put(kept)?) } else { None },
            attention: Vec::new(),
            copies: copies
                .map(|run| BlockPairs::stage(&run, staging))
                .collect::<gpu::Result<_>>()?,
            pieces: pieces(&of_adapter, staging)?,
            kept_pieces: pieces(&kept_of_adapter, staging)?,
            slots_in_use: of_adapter.keys().copied().map(AdapterSlot).collect(),
            adapters_of_rows: None,
            own_blocks: blocks.own,
            outputs: Vec::new(),
            decode_key,
        };
        if has_experts && !of_adapter.is_empty() {
            step.adapters_of_rows = Some([
                staging.put(&adapters_of_rows(&of_adapter, rows))?,
                staging.put(&adapters_of_rows(&kept_of_adapter, kept.len()))?,
            ]);
        }
        // What is before it keeps its addresses in graphs while tables of blocks grow.
        for shape in shapes {
            step.attention.push(Attention::plan(gpu, *shape, &spans, &blocks.table, staging)?);
        }
        // Last: no graph has their addresses.
        step.outputs = OutputPlan::stage_all((batch, draws), kept, adapters, staging)?;
        staging.send()?;
        Ok(step)
    }

    /// One more than the largest slot of an adapter.
    pub(crate) fn slots_end(&self) -> usize {
        self.slots_in_use.last().map_or(0, |slot| slot.0 as usize + 1)
    }
}

/// The adapter of each of `n` rows.
fn adapters_of_rows(of_adapter: &BTreeMap<u32, Vec<u32>>, n: usize) -> Vec<u32> {
    let mut all = vec![NO_ADAPTER; n];
    for (slot, rows) in of_adapter {
        for row in rows {
            all[*row as usize] = *slot;
        }
    }
    all
}

/// Rows of the largest step that is worth a graph: in larger ones the card is busy while the processor starts kernels.
const MAX_GRAPH_ROWS: usize = 256;

fn decode_key(batch: &RaggedBatch, turn: usize) -> Option<u64> {
    let rows = batch.token_ids.len();
    let one_each = batch.cu_seqlens_q.windows(2).all(|span| span[1] - span[0] <= 1);
    let fits = batch.paging.is_some() && one_each && (1..=MAX_GRAPH_ROWS).contains(&rows);
    fits.then_some((rows * 2 + turn) as u64)
}

impl Blocks {
    fn of(batch: &RaggedBatch) -> Blocks {
        let mut blocks = Blocks { table: Vec::new(), first: Vec::new(), slots: Vec::new(), own: 0 };
        match &batch.paging {
            Some(paging) => {
                for of_sequence in &paging.block_table {
                    blocks.first.push(blocks.table.len());
                    blocks.table.extend(of_sequence.iter().map(|block| block.0));
                }
                blocks.slots.clone_from(&paging.slot_mapping);
            }
            // Each sequence in blocks of the step's own, one after the other.
            None => {
                for span in batch.cu_seqlens_q.windows(2) {
                    let tokens = (span[1] - span[0]) as usize;
                    let first = blocks.own;
                    blocks.own += tokens.div_ceil(BLOCK);
                    blocks.first.push(first);
                    blocks.table.extend((first..blocks.own).map(as_u32));
                    blocks.slots.extend((first * BLOCK..).take(tokens).map(as_u32));
                }
            }
        }
        blocks
    }
}

fn spans(batch: &RaggedBatch, tables: &[usize]) -> Vec<QuerySpan> {
    let rows = batch.cu_seqlens_q.windows(2);
    let spans = rows.zip(batch.cu_seqlens_k.windows(2)).zip(tables);
    spans
        .map(|((rows, keys), table)| {
            let count = (rows[1] - rows[0]) as usize;
            let keys = (keys[1] - keys[0]) as usize;
            QuerySpan { row: rows[0] as usize, count, position: keys - count, table: *table }
        })
        .filter(|span| span.count > 0)
        .collect()
}

/// The rows of each adapter by slot; with `kept`, ascending rows of the batch, their indices among those.
pub(crate) fn rows_of_adapters(
    batch: &RaggedBatch,
    kept: Option<&[u32]>,
) -> BTreeMap<u32, Vec<u32>> {
    let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (span, slot) in batch.cu_seqlens_q.windows(2).zip(&batch.adapters) {
        let Some(slot) = slot else { continue };
        let range = match kept {
            None => span[0]..span[1],
            Some(kept) => {
                let before = |row: u32| as_u32(kept.partition_point(|kept| *kept < row));
                before(span[0])..before(span[1])
            }
        };
        rows.entry(slot.0).or_default().extend(range);
    }
    rows
}

fn pieces(rows: &BTreeMap<u32, Vec<u32>>, staging: &mut Staging) -> gpu::Result<Option<Pieces>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let groups: Vec<(u32, &[u32])> =
        rows.iter().map(|(slot, rows)| (*slot, rows.as_slice())).collect();
    Pieces::stage(&groups, staging).map(Some)
}

/// Copies in runs that may happen at once: none of a run reads or writes a block that another of it writes.
fn in_runs(copies: &[BlockCopy]) -> Vec<Vec<BlockPair>> {
    let mut runs: Vec<Vec<BlockPair>> = Vec::new();
    for copy in copies {
        let pair = BlockPair { from: copy.from.0, to: copy.to.0 };
        let is_apart = |other: &BlockPair| {
            pair.to != other.to && pair.to != other.from && pair.from != other.to
        };
        match runs.last_mut() {
            Some(run) if run.iter().all(is_apart) => run.push(pair),
            Some(_) | None => runs.push(vec![pair]),
        }
    }
    runs
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a batch has fewer than 2^32 tokens and slots")
}

#[cfg(test)]
mod tests {
    use models::{BlockId, OutputSpec, PackItem, pack};

    use super::*;

    #[test]
    fn copies_that_depend_on_each_other_follow_each_other() {
        let check = |copies: &[(u32, u32)], expected: &[usize]| {
            let copies: Vec<BlockCopy> = copies
                .iter()
                .map(|(from, to)| BlockCopy { from: BlockId(*from), to: BlockId(*to) })
                .collect();
            let runs = in_runs(&copies);
            assert_eq!(runs.iter().map(Vec::len).collect::<Vec<_>>(), expected, "{copies:?}");
            let pairs = runs.concat();
            assert!(pairs.iter().zip(&copies).all(|(a, b)| (a.from, a.to) == (b.from.0, b.to.0)));
        };
        check(&[], &[]);
        check(&[(0, 1), (0, 2), (3, 4)], &[3]);
        check(&[(0, 1), (1, 2)], &[1, 1]);
        check(&[(0, 1), (2, 0)], &[1, 1]);
        check(&[(0, 1), (2, 1), (2, 3)], &[1, 2]);
    }

    fn batch(items: &[(usize, usize, Option<u32>, &[u32])]) -> RaggedBatch {
        let items: Vec<PackItem> = items
            .iter()
            .map(|(start, n, slot, blocks)| PackItem {
                token_ids: vec![1; *n],
                start: *start,
                adapter: slot.map(AdapterSlot),
                outputs: vec![(n - 1, OutputSpec::Hidden)],
                blocks: blocks.iter().copied().map(BlockId).collect(),
            })
            .collect();
        pack(&items).expect("it packs")
    }

    #[test]
    fn spans_say_where_keys_lie() {
        let span = |row, count, position, table| QuerySpan { row, count, position, table };
        let paged = batch(&[(20, 3, None, &[7, 2]), (0, 17, None, &[4, 9])]);
        let blocks = Blocks::of(&paged);
        assert_eq!(blocks.table, [7, 2, 4, 9]);
        assert_eq!(blocks.slots[..4], [36, 37, 38, 64]);
        assert_eq!(blocks.own, 0);
        assert_eq!(spans(&paged, &blocks.first), [span(0, 3, 20, 0), span(3, 17, 0, 2)]);
        let apart = batch(&[(0, 17, None, &[]), (0, 1, None, &[])]);
        let blocks = Blocks::of(&apart);
        assert_eq!(blocks.table, [0, 1, 2]);
        assert_eq!(blocks.slots[15..], [15, 16, 32]);
        assert_eq!(blocks.own, 3);
        assert_eq!(spans(&apart, &blocks.first), [span(0, 17, 0, 0), span(17, 1, 0, 2)]);
    }

    #[test]
    fn rows_belong_to_the_adapters_of_their_sequences() {
        let batch = batch(&[
            (0, 2, Some(1), &[]),
            (0, 1, None, &[]),
            (0, 2, Some(0), &[]),
            (0, 1, Some(1), &[]),
        ]);
        let all = BTreeMap::from([(0, vec![3, 4]), (1, vec![0, 1, 5])]);
        assert_eq!(rows_of_adapters(&batch, None), all);
        let kept = BTreeMap::from([(0, vec![2]), (1, vec![0, 3])]);
        assert_eq!(rows_of_adapters(&batch, Some(&[1, 2, 4, 5])), kept);
    }
}
