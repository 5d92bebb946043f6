//! The adapters of a runner, and the rows of a batch that use each.

use std::ops::Range;
use std::sync::Arc;

use super::lora::{Adapter, RoundedPair};
use crate::batch::{AdapterSlot, RaggedBatch};
use crate::error::{ModelError, Result};
use crate::ops::{LoraSegment, RoundedLora};
use crate::weights::Site;

/// The adapters that a forward may use, by slot.
#[derive(Clone, Debug, Default)]
pub struct AdapterTable {
    slots: Vec<Option<Arc<Adapter>>>,
}

/// Consecutive rows under one adapter. A segment owns a reference: removing the adapter from the
/// table does not disturb a running batch.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Rows of the packed batch.
    pub rows: Range<usize>,
    /// Their adapter.
    pub adapter: Arc<Adapter>,
}

impl AdapterTable {
    /// Inserts an adapter into a free slot.
    pub fn insert(&mut self, adapter: Arc<Adapter>) -> AdapterSlot {
        let free = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[free] = Some(adapter);
        AdapterSlot(u32::try_from(free).expect("fewer than 2^32 adapters"))
    }

    /// Removes an adapter; batches that name its slot are refused until it is filled again.
    pub fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.slots.get_mut(slot.0 as usize)?.take()
    }

    /// The adapter in a slot.
    pub fn get(&self, slot: AdapterSlot) -> Option<&Arc<Adapter>> {
        self.slots.get(slot.0 as usize)?.as_ref()
    }

    /// The slots in use with their adapters, in order.
    pub fn iter(&self) -> impl Iterator<Item = (AdapterSlot, &Arc<Adapter>)> {
        (0..)
            .map(AdapterSlot)
            .zip(&self.slots)
            .filter_map(|(slot, adapter)| Some((slot, adapter.as_ref()?)))
    }

    /// The segments of a batch in order; adjacent sequences under one adapter are joined.
    ///
    /// # Errors
    /// [`ModelError::Batch`] for a sequence that names an empty slot.
    pub fn segments(&self, batch: &RaggedBatch) -> Result<Vec<Segment>> {
        let mut segments: Vec<(AdapterSlot, Segment)> = Vec::new();
        for (span, slot) in batch.cu_seqlens_q.windows(2).zip(&batch.adapters) {
            let Some(slot) = slot else { continue };
            let rows = span[0] as usize..span[1] as usize;
            match segments.last_mut() {
                Some((last, segment)) if last == slot && segment.rows.end == rows.start => {
                    segment.rows.end = rows.end;
                }
                _ => {
                    let adapter = self.get(*slot).ok_or_else(|| {
                        ModelError::Batch(format!("adapter slot {} is empty", slot.0))
                    })?;
                    segments.push((*slot, Segment { rows, adapter: adapter.clone() }));
                }
            }
        }
        Ok(segments.into_iter().map(|(_, segment)| segment).collect())
    }
}

/// The factors of each segment that changes a site.
pub fn factors_at(segments: &[Segment], site: Site) -> Vec<LoraSegment<'_>> {
    segments
        .iter()
        .filter_map(|segment| {
            let pair = segment.adapter.pairs.get(&site)?;
            Some(LoraSegment {
                rows: segment.rows.clone(),
                a: &pair.a,
                b: &pair.b,
                scale: pair.scale,
            })
        })
        .collect()
}

/// As [`factors_at`], in bf16; factors that are not rounded yet are rounded now.
///
/// # Errors
/// As [`super::LoraPair::rounded`].
pub fn rounded_factors_at(segments: &[Segment], site: Site) -> Result<Vec<RoundedLora>> {
    let of = |segment: &Segment| {
        let adapter = &segment.adapter;
        let pair = match (adapter.rounded.get(&site), adapter.pairs.get(&site)) {
            (Some(pair), _) => pair.clone(),
            (None, Some(pair)) => match pair.rounded(site) {
                Ok(pair) => pair,
                Err(error) => return Some(Err(error)),
            },
            (None, None) => return None,
        };
        let RoundedPair { a, b, scale } = pair;
        Some(Ok(RoundedLora { rows: segment.rows.clone(), a, b, scale }))
    };
    segments.iter().filter_map(of).collect()
}

/// The segments as ranges of the gathered rows, which are ascending.
pub(crate) fn gathered(segments: &[Segment], rows: &[u32]) -> Vec<Segment> {
    let before = |row: usize| rows.partition_point(|r| (*r as usize) < row);
    segments
        .iter()
        .map(|segment| Segment {
            rows: before(segment.rows.start)..before(segment.rows.end),
            adapter: segment.adapter.clone(),
        })
        .filter(|segment| !segment.rows.is_empty())
        .collect()
}
