//! A forward through the decoder, one layer at a time.
//!
//! Serving runs all layers at once. A trainer that keeps only the input of each layer (activation
//! checkpointing: Chen et al., 2016, arXiv 1604.06174) runs them one by one, and again backwards.

use std::sync::Arc;

use candle_core::Tensor;

use super::{Decoder, ForwardCtx};
use crate::adapter::Segment;
use crate::batch::RaggedBatch;
use crate::error::Result;
use crate::kernels::rotary::RotaryTable;
use crate::ops;
use crate::shared::Spans;

/// One batch without KV blocks, and the data that each layer needs.
#[derive(Debug)]
pub struct Walk<'a> {
    decoder: &'a Decoder,
    batch: &'a RaggedBatch,
    segments: &'a [Segment],
    ropes: Vec<Arc<RotaryTable>>,
    spans: Spans,
}

impl<'a> Walk<'a> {
    /// Prepares a batch.
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

    /// Runs one layer, `[T, hidden] -> [T, hidden]`, with the bits of [`Decoder::forward`].
    ///
    /// # Panics
    /// If `index` is not below [`Walk::layers`].
    pub fn layer(&self, index: usize, x: &Tensor) -> Result<Tensor> {
        self.decoder.layers[index].forward(&self.ctx(), index, x, None)
    }

    /// Applies the final norm, row by row.
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
