//! Packed batches in which a common prefix is computed once.
//!
//! The responses of a group start with one prompt. Everything that works row by row (projections,
//! norms, MLP, heads) processes the rows of that prompt once; attention alone reads each sequence
//! from its first token. A row's bits follow from its own sequence, so sharing changes no bit, and
//! the gradients of a shared row are the sums over the sequences that share it.

use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::batch::{OutputRow, PackItem, RaggedBatch, Sharing, pack};
use crate::error::{ModelError, Result};

/// Packs items in the given order; the common prefix of an item and the one before it, under the
/// same adapter, gets no rows of its own. Items sorted by their tokens share as much as possible.
///
/// In the batch `cu_seqlens_q` and `cu_seqlens_k` count an item's own rows.
///
/// # Errors
/// [`ModelError::Batch`] as for [`pack`], and for items with KV blocks, which a cache shares.
pub fn pack_shared(items: &[PackItem]) -> Result<RaggedBatch> {
    if items.iter().any(|item| !item.blocks.is_empty()) {
        return Err(ModelError::Batch(
            "rows are shared by a one-shot forward, and an item has KV blocks".into(),
        ));
    }
    let packed = pack(items)?;
    let mut own =
        RaggedBatch { cu_seqlens_q: vec![0], adapters: packed.adapters, ..RaggedBatch::default() };
    let mut sharing = Sharing {
        cu_seqlens: packed.cu_seqlens_q,
        rows: Vec::with_capacity(packed.token_ids.len()),
    };
    let mut before: Option<&PackItem> = None;
    let mut path: Vec<u32> = Vec::new();
    for item in items {
        path.truncate(before.map_or(0, |before| in_common(before, item)));
        for (position, token) in item.token_ids.iter().enumerate().skip(path.len()) {
            path.push(as_u32(own.token_ids.len()));
            own.token_ids.push(*token);
            own.positions.push(as_u32(position));
        }
        sharing.rows.extend_from_slice(&path);
        own.cu_seqlens_q.push(as_u32(own.token_ids.len()));
        before = Some(item);
    }
    own.rows = packed.rows;
    for OutputRow { index, .. } in &mut own.rows {
        *index = sharing.rows[*index as usize];
    }
    own.cu_seqlens_k.clone_from(&own.cu_seqlens_q);
    own.sharing = Some(sharing);
    Ok(own)
}

/// Length of the common prefix of two items.
fn in_common(a: &PackItem, b: &PackItem) -> usize {
    if a.adapter != b.adapter {
        return 0;
    }
    let pairs = a.token_ids.iter().zip(&b.token_ids);
    pairs.take_while(|(a, b)| a == b).count()
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a batch has fewer than 2^32 tokens")
}

/// The spans of attention. Queries are the rows themselves: the queries of a shared prefix belong
/// to the sequence before.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    /// `[B + 1]` running sums of rows.
    pub(crate) queries: Arc<[u32]>,
    /// `[B + 1]` running sums of places: rows, once for each sequence that has them.
    pub(crate) keys: Arc<[u32]>,
    /// The row of each place; `None` if each place has a row of its own.
    rows: Option<Tensor>,
}

impl Spans {
    pub(crate) fn new(batch: &RaggedBatch) -> Result<Spans> {
        let queries: Arc<[u32]> = batch.cu_seqlens_q.as_slice().into();
        let Some(sharing) = &batch.sharing else {
            return Ok(Spans { keys: queries.clone(), queries, rows: None });
        };
        let is_shared = sharing.rows.len() > batch.token_ids.len();
        let rows = is_shared.then(|| Tensor::new(sharing.rows.as_slice(), &Device::Cpu));
        Ok(Spans { queries, keys: sharing.cu_seqlens.as_slice().into(), rows: rows.transpose()? })
    }

    /// Gathers rows `[T, …]` into the places of attention.
    pub(crate) fn spread(&self, x: &Tensor) -> Result<Tensor> {
        match &self.rows {
            None => Ok(x.clone()),
            Some(rows) => Ok(x.index_select(rows, 0)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{AdapterSlot, OutputSpec};

    fn item(token_ids: &[u32], adapter: Option<u32>) -> PackItem {
        PackItem {
            token_ids: token_ids.to_vec(),
            start: 0,
            adapter: adapter.map(AdapterSlot),
            outputs: vec![(token_ids.len() - 1, OutputSpec::Head)],
            blocks: Vec::new(),
        }
    }

    /// Checks the batch's tokens, the sequences' rows, and the requested rows.
    fn check(items: &[(&[u32], Option<u32>)], tokens: &[u32], rows: &[&[u32]], read: &[u32]) {
        let items: Vec<PackItem> = items.iter().map(|(ids, slot)| item(ids, *slot)).collect();
        let batch = pack_shared(&items).expect("it packs");
        let sharing = batch.sharing.as_ref().expect("rows are shared");
        assert_eq!(batch.token_ids, tokens, "{items:?}");
        let spans = sharing.cu_seqlens.windows(2);
        let spans = spans.map(|ends| &sharing.rows[ends[0] as usize..ends[1] as usize]);
        assert_eq!(spans.collect::<Vec<_>>(), rows, "{items:?}");
        let found: Vec<u32> = batch.rows.iter().map(|row| row.index).collect();
        assert_eq!(found, read, "{items:?}");
        // A sequence's own rows are its last places.
        let own = batch.cu_seqlens_q.windows(2);
        let places = sharing.cu_seqlens.windows(2);
        for (own, places) in own.zip(places) {
            let (own, end) = (own[0]..own[1], places[1] as usize);
            let last = &sharing.rows[end - own.len()..end];
            assert_eq!(last, own.clone().collect::<Vec<_>>(), "{items:?}");
            let positions = own.clone().map(|row| batch.positions[row as usize]);
            let after = places[1] - places[0] - (own.end - own.start);
            assert!(positions.eq((after..).take(own.len())), "{items:?}");
        }
    }

    #[test]
    fn common_prefixes_are_packed_once() {
        check(&[(&[1, 2], None)], &[1, 2], &[&[0, 1]], &[1]);
        check(
            &[(&[1, 2, 3], None), (&[1, 2, 4], None), (&[1, 5], None)],
            &[1, 2, 3, 4, 5],
            &[&[0, 1, 2], &[0, 1, 3], &[0, 4]],
            &[2, 3, 4],
        );
        // A prefix of the next; two equal ones; nothing in common.
        check(
            &[(&[1], None), (&[1, 2], None), (&[1, 2], None), (&[2], None)],
            &[1, 2, 2],
            &[&[0], &[0, 1], &[0, 1], &[2]],
            &[0, 1, 1, 2],
        );
    }

    #[test]
    fn prefixes_are_not_shared_between_adapters() {
        check(
            &[(&[1, 2], None), (&[1, 2], Some(0)), (&[1, 3], Some(0)), (&[1], Some(1))],
            &[1, 2, 1, 2, 3, 1],
            &[&[0, 1], &[2, 3], &[2, 4], &[5]],
            &[1, 3, 4, 5],
        );
    }

    #[test]
    fn blocks_are_refused() {
        let mut paged = item(&[1], None);
        paged.blocks = vec![crate::kernels::kv_block::BlockId(0)];
        let error = pack_shared(&[paged]).expect_err("it has blocks");
        assert!(error.to_string().contains("KV blocks"), "{error}");
        assert!(pack_shared(&[PackItem { token_ids: Vec::new(), ..item(&[1], None) }]).is_err());
    }
}
