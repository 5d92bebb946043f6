//! The one decoder: every family is a configuration of it.

mod layer;
mod mlp;
mod rope;

use std::sync::Arc;

use candle_core::Tensor;

use crate::adapter::{Segment, Site, pairs};
use crate::batch::RaggedBatch;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::kernels::rotary::RotaryTable;
use crate::kv::KvCache;
use crate::ops;
use crate::packed::Matrix;
use crate::weights::{Place, WeightSource};
use layer::Layer;

/// Embedding, layers and final norm.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: Arc<ModelConfig>,
    embedding: Matrix,
    vocab: Option<Matrix>,
    layers: Vec<Layer>,
    norm: Tensor,
    ropes: Vec<Arc<RotaryTable>>,
}

/// Everything about one batch that a forward needs, by reference.
#[derive(Clone, Copy, Debug)]
pub struct ForwardCtx<'a> {
    /// Tokens, positions and spans.
    pub batch: &'a RaggedBatch,
    /// Runs of rows under an adapter.
    pub segments: &'a [Segment],
    /// The blocks that [`RaggedBatch::paging`] refers to; none for a one-shot forward.
    pub kv: Option<&'a KvCache>,
    /// [`RaggedBatch::positions`], shared.
    positions: &'a Arc<[u32]>,
    /// [`RaggedBatch::cu_seqlens_q`], shared.
    cu_seqlens: &'a Arc<[u32]>,
}

impl Decoder {
    /// Builds the decoder from its weights.
    pub fn load(config: &Arc<ModelConfig>, source: &mut impl WeightSource) -> Result<Decoder> {
        let (vocab_size, hidden) = (config.vocab_size, config.hidden_size);
        Ok(Decoder {
            embedding: source.matrix(Place::Embedding, vocab_size, hidden)?,
            vocab: match config.tie_embeddings {
                true => None,
                false => Some(source.matrix(Place::Vocab, vocab_size, hidden)?),
            },
            layers: (0..config.layers.len())
                .map(|index| Layer::load(config, index, source))
                .collect::<Result<_>>()?,
            norm: source.vector(Place::FinalNorm, hidden)?,
            ropes: config
                .ropes
                .iter()
                .map(|rope| Arc::new(rope::table(rope, config.max_positions)))
                .collect(),
            config: config.clone(),
        })
    }

    /// `[T, hidden] f32`: the hidden states after the final norm.
    pub fn forward(
        &self,
        batch: &RaggedBatch,
        segments: &[Segment],
        kv: Option<&KvCache>,
    ) -> Result<Tensor> {
        let positions = batch.positions.as_slice().into();
        let cu_seqlens = batch.cu_seqlens_q.as_slice().into();
        let ctx = ForwardCtx {
            batch,
            segments,
            kv,
            positions: &positions,
            cu_seqlens: &cu_seqlens,
        };
        let mut x = self.embed(&ctx)?;
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&ctx, index, &x, &self.ropes)?;
        }
        ops::rms_norm(
            &x,
            &self.norm,
            self.config.norm.eps,
            self.config.norm.unit_offset,
        )
    }

    fn embed(&self, ctx: &ForwardCtx<'_>) -> Result<Tensor> {
        let x = ops::embedding(&self.embedding, &ctx.batch.token_ids)?;
        let _ = pairs(ctx.segments, Site::Embedding);
        match self.config.embedding_scale {
            None => Ok(x),
            Some(scale) => Ok((x * f64::from(scale))?),
        }
    }

    /// The vocabulary head `[vocab, hidden]`: the embedding where the two are tied.
    pub fn vocabulary(&self) -> &Matrix {
        self.vocab.as_ref().unwrap_or(&self.embedding)
    }

    /// What the decoder was built from.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }
}
