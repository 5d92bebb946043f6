//! A batch's way through the decoder, one layer at a time.
//!
//! Serving takes the whole way at once. A trainer that keeps no more than what goes into each layer
//! (activation checkpointing: Chen et al., 2016, arXiv 1604.06174) goes through them one by one,
//! and again backwards.

use std::sync::Arc;

use candle_core::Tensor;

use super::{Decoder, ForwardCtx};
use crate::adapter::Segment;
use crate::batch::RaggedBatch;
use crate::error::Result;
use crate::kernels::rotary::RotaryTable;
use crate::ops;
use crate::shared::Spans;

/// One batch without KV blocks, and what each layer needs to know of it.
#[derive(Debug)]
pub struct Walk<'a> {
    decoder: &'a Decoder,
    batch: &'a RaggedBatch,
    segments: &'a [Segment],
    ropes: Vec<Arc<RotaryTable>>,
    spans: Spans,
}

impl<'a> Walk<'a> {
    /// Begins a walk.
    pub fn new(
        decoder: &'a Decoder,
        batch: &'a RaggedBatch,
        segments: &'a [Segment],
    ) -> Result<Walk<'a>> {
        let ropes = decoder.ropes.iter();
        Ok(Walk {
            decoder,
            batch,
            segments,
            ropes: ropes.map(|rope| Arc::new(rope.table(&batch.positions))).collect(),
            spans: Spans::new(batch)?,
        })
    }

    /// The tokens' embeddings, `[T, hidden]` f32.
    pub fn embed(&self) -> Result<Tensor> {
        self.decoder.embed(&self.ctx())
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.decoder.layers.len()
    }

    /// One layer, `[T, hidden] -> [T, hidden]`; with the bits of [`Decoder::forward`].
    ///
    /// # Panics
    /// If `index` is not below [`Walk::layers`].
    pub fn layer(&self, index: usize, x: &Tensor) -> Result<Tensor> {
        self.decoder.layers[index].forward(&self.ctx(), index, x, None)
    }

    /// The final norm, row by row.
    pub fn finish(&self, x: &Tensor) -> Result<Tensor> {
        let norm = self.decoder.config.norm;
        ops::rms_norm(x, &self.decoder.norm, norm.eps, norm.unit_offset)
    }

    fn ctx(&self) -> ForwardCtx<'_> {
        ForwardCtx {
            batch: self.batch,
            segments: self.segments,
            kv: None,
            ropes: &self.ropes,
            spans: &self.spans,
        }
    }
}
