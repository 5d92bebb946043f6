//! The decoder: every family is a configuration of it.

mod experts;
mod gated_mlp;
mod layer;
mod linear;
mod mlp;
mod rope;
mod walk;

use std::sync::Arc;

use candle_core::{Device, Tensor};

use crate::adapter::{Segment, factors_at, gathered};
use crate::batch::RaggedBatch;
use crate::config::{HeadConfig, ModelConfig};
use crate::error::Result;
use crate::kernels::attention::KvType;
use crate::kernels::rotary::RotaryTable;
use crate::kv::KvCache;
use crate::ops;
use crate::packed::Matrix;
use crate::shared::Spans;
use crate::weights::Site;
use crate::weights::{Param, Projection, WeightSource};
use layer::Layer;
pub use rope::Rope;
pub use walk::Walk;

/// Embedding, layers and final norm.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: Arc<ModelConfig>,
    embedding: Matrix,
    vocab: Vocabulary,
    layers: Vec<Layer>,
    norm: Tensor,
    ropes: Vec<Rope>,
}

/// The vocabulary head.
#[derive(Clone, Debug)]
enum Vocabulary {
    /// The embedding.
    Tied,
    /// A separate matrix.
    Own(Matrix),
    /// None: the model has another head.
    None,
}

impl Vocabulary {
    fn load(config: &ModelConfig, source: &mut impl WeightSource) -> Result<Vocabulary> {
        match config.head {
            HeadConfig::Vocab | HeadConfig::Value if config.tie_embeddings => Ok(Vocabulary::Tied),
            HeadConfig::Vocab | HeadConfig::Value => {
                let (n, k) = (config.vocab_size, config.hidden_size);
                source.matrix(Param::Vocab, n, k).map(Vocabulary::Own)
            }
            HeadConfig::Sequence { .. }
            | HeadConfig::Token { .. }
            | HeadConfig::Reward { .. }
            | HeadConfig::Process { .. } => Ok(Vocabulary::None),
        }
    }
}

/// The batch data that every layer needs, by reference.
#[derive(Clone, Copy, Debug)]
struct ForwardCtx<'a> {
    /// Tokens, positions and spans.
    batch: &'a RaggedBatch,
    /// Consecutive rows under one adapter.
    segments: &'a [Segment],
    /// The blocks that [`RaggedBatch::paging`] refers to; `None` for a one-shot forward.
    kv: Option<&'a KvCache>,
    /// Cosines and sines of every row, one table for each of [`ModelConfig::ropes`].
    ropes: &'a [Arc<RotaryTable>],
    /// The spans of attention without KV blocks.
    spans: &'a Spans,
}

/// The rows whose hidden states are returned.
#[derive(Clone, Copy, Debug)]
pub enum RowSelection<'a> {
    /// Every row of the batch.
    All,
    /// These, in ascending order, at least one.
    Only(&'a [u32]),
}

/// Rows that the last layer carries past its attention, and their adapters.
#[derive(Debug)]
struct Kept {
    index: Tensor,
    segments: Vec<Segment>,
}

impl Kept {
    fn new(rows: RowSelection<'_>, segments: &[Segment]) -> Result<Option<Kept>> {
        match rows {
            RowSelection::All => Ok(None),
            RowSelection::Only(rows) => Ok(Some(Kept {
                index: Tensor::new(rows, &Device::Cpu)?,
                segments: gathered(segments, rows),
            })),
        }
    }

    /// `[T, n] -> [R, n]`.
    fn select(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.index_select(&self.index, 0)?)
    }
}

impl Decoder {
    /// Builds the decoder from its weights.
    pub fn load(config: &Arc<ModelConfig>, source: &mut impl WeightSource) -> Result<Decoder> {
        let (vocab_size, hidden) = (config.vocab_size, config.hidden_size);
        Ok(Decoder {
            embedding: source.matrix(Param::Embedding, vocab_size, hidden)?,
            vocab: Vocabulary::load(config, source)?,
            layers: (0..config.layers.len())
                .map(|index| Layer::load(config, index, source))
                .collect::<Result<_>>()?,
            norm: source.vector(Param::FinalNorm, hidden)?,
            ropes: config.ropes.iter().map(Rope::new).collect(),
            config: config.clone(),
        })
    }

    /// The hidden states after the final norm, f32: `[T, hidden]`, or `[R, hidden]` of the selected
    /// rows. A row has the same bits either way.
    pub fn forward(
        &self,
        batch: &RaggedBatch,
        segments: &[Segment],
        kv: Option<&KvCache>,
        rows: RowSelection<'_>,
    ) -> Result<Tensor> {
        let table = |rope: &Rope| Arc::new(rope.table(&batch.positions));
        let ropes: Vec<_> = self.ropes.iter().map(table).collect();
        let spans = Spans::new(batch)?;
        let ctx = ForwardCtx { batch, segments, kv, ropes: &ropes, spans: &spans };
        let kept = Kept::new(rows, segments)?;
        let mut x = self.embed(&ctx)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let last = index + 1 == self.layers.len();
            x = layer.forward(&ctx, index, &x, kept.as_ref().filter(|_| last))?;
        }
        let norm = self.config.norm;
        ops::rms_norm(&x, &self.norm, norm.eps, norm.unit_offset)
    }

    fn embed(&self, ctx: &ForwardCtx<'_>) -> Result<Tensor> {
        let token_ids = &ctx.batch.token_ids;
        let x = ops::embedding(&self.embedding, token_ids)?;
        let pairs = factors_at(ctx.segments, Site::Embedding);
        let x = if pairs.is_empty() { x } else { ops::lora_embedding(token_ids, x, &pairs)? };
        match self.config.embedding_scale {
            None => Ok(x),
            Some(scale) => Ok((x * f64::from(scale))?),
        }
    }

    /// The vocabulary head `[vocab, hidden]`: the embedding if the two are tied; `None` if the
    /// architecture has another head.
    pub fn vocabulary(&self) -> Option<&Matrix> {
        match &self.vocab {
            Vocabulary::Tied => Some(&self.embedding),
            Vocabulary::Own(matrix) => Some(matrix),
            Vocabulary::None => None,
        }
    }

    /// The type of its keys and values.
    pub fn kv_type(&self) -> KvType {
        self.layers.first().map_or(KvType::F32, Layer::kv_type)
    }

    /// Whether the product at a site rounds its operands, so that adapters are rounded there, too.
    pub fn rounds_at(&self, site: Site) -> bool {
        match site {
            Site::Embedding | Site::Vocab | Site::Layer(_, Projection::Router) => false,
            Site::Layer(index, _) => self.layers.get(index).is_some_and(Layer::rounds),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }
}
