//! One layer: attention and MLP around the residual stream.

use candle_core::Tensor;

use super::linear::Linear;
use super::mlp::Mlp;
use super::{ForwardCtx, Kept};
use crate::config::{ModelConfig, NormConfig, QkNorm};
use crate::error::{ModelError, Result};
use crate::kernels::attention::{Geometry, KvType};
use crate::ops;
use crate::weights::{LayerPart, Norm, Param, Projection, WeightSource};

#[derive(Clone, Debug)]
pub(super) struct Layer {
    norms: LayerNorms,
    q: Linear,
    k: Linear,
    v: Linear,
    o: Linear,
    qk_norm: Option<(QkNorm, Tensor, Tensor)>,
    rope: Option<usize>,
    geometry: Geometry,
    /// The type in which keys and values are multiplied.
    kv_type: KvType,
    mlp: Mlp,
}

/// The norms around attention and MLP; the placement decides which exist.
#[derive(Clone, Debug)]
struct LayerNorms {
    config: NormConfig,
    pre_attention: Option<Tensor>,
    post_attention: Option<Tensor>,
    pre_mlp: Option<Tensor>,
    post_mlp: Option<Tensor>,
}

impl Layer {
    pub(super) fn load(
        config: &ModelConfig,
        index: usize,
        source: &mut impl WeightSource,
    ) -> Result<Layer> {
        let (hidden, dim) = (config.hidden_size, config.head_dim);
        let (q_size, kv_size) = (config.num_heads * dim, config.num_kv_heads * dim);
        let layer = &config.layers[index];
        let biases = config.biases;
        let norms = LayerNorms::load(config, index, source)?;
        let q = Linear::load(source, (index, Projection::Q), (q_size, hidden), biases.qkv)?;
        Ok(Layer {
            norms,
            kv_type: q.kv_type(),
            q,
            k: Linear::load(source, (index, Projection::K), (kv_size, hidden), biases.qkv)?,
            v: Linear::load(source, (index, Projection::V), (kv_size, hidden), biases.qkv)?,
            o: Linear::load(source, (index, Projection::O), (hidden, q_size), biases.output)?,
            qk_norm: load_qk_norm(config, index, source)?,
            rope: layer.rope,
            geometry: Geometry {
                num_heads: config.num_heads,
                num_kv_heads: config.num_kv_heads,
                head_dim: dim,
                scale: config.attention_scale,
                softcap: config.attention_softcap,
                window: layer.window,
            },
            mlp: Mlp::load(config, index, source)?,
        })
    }

    /// The type in which keys and values are multiplied, and kept in blocks.
    pub(super) fn kv_type(&self) -> KvType {
        self.kv_type
    }

    /// Whether the products of its projections, but for a router's, round their operands.
    pub(super) fn rounds(&self) -> bool {
        self.q.rounds()
    }

    /// `[T, hidden] -> [R, hidden]`: the rows that are kept, or all of them.
    pub(super) fn forward(
        &self,
        ctx: &ForwardCtx<'_>,
        index: usize,
        x: &Tensor,
        keep: Option<&Kept>,
    ) -> Result<Tensor> {
        let norms = &self.norms;
        let normed = norms.apply(norms.pre_attention.as_ref(), x)?;
        let attended = self.attention(ctx, index, &normed)?;
        // Everything after the attention works row by row, so rows without outputs are dropped
        // here.
        let (x, attended, segments) = match keep {
            None => (x.clone(), attended, ctx.segments),
            Some(kept) => (kept.select(x)?, kept.select(&attended)?, kept.segments.as_slice()),
        };
        let attended = self.o.forward(&attended, segments)?;
        let x = (x + norms.apply(norms.post_attention.as_ref(), &attended)?)?;
        let normed = norms.apply(norms.pre_mlp.as_ref(), &x)?;
        let changed = self.mlp.forward(&normed, segments)?;
        Ok((&x + norms.apply(norms.post_mlp.as_ref(), &changed)?)?)
    }

    /// `[T, hidden] -> [T, heads · head_dim]`: before the output projection.
    fn attention(&self, ctx: &ForwardCtx<'_>, index: usize, x: &Tensor) -> Result<Tensor> {
        let g = self.geometry;
        let q = self.q.forward(x, ctx.segments)?;
        let k = self.k.forward(x, ctx.segments)?;
        let v = self.v.forward(x, ctx.segments)?;
        let (q, k) = self.normalise(q, k)?;
        let rows = x.dim(0)?;
        let mut q = q.reshape((rows, g.num_heads, g.head_dim))?;
        let mut k = k.reshape((rows, g.num_kv_heads, g.head_dim))?;
        let v = v.reshape((rows, g.num_kv_heads, g.head_dim))?;
        if let Some(rope) = self.rope {
            q = ops::rotary(&q, &ctx.ropes[rope])?;
            k = ops::rotary(&k, &ctx.ropes[rope])?;
        }
        let attended = self.attend(ctx, index, (&q, &k, &v))?;
        Ok(attended.reshape((rows, g.num_heads * g.head_dim))?)
    }

    fn attend(
        &self,
        ctx: &ForwardCtx<'_>,
        index: usize,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
    ) -> Result<Tensor> {
        let batch = ctx.batch;
        match (&batch.paging, ctx.kv) {
            (None, _) => {
                let spans = ctx.spans;
                let [k, v] = [spans.spread(k)?, spans.spread(v)?];
                ops::attend(q, &k, &v, (&spans.queries, &spans.keys), (self.geometry, self.kv_type))
            }
            (Some(paging), Some(cache)) => {
                let kv = cache.layer(index);
                ops::write_kv(kv, k, v, &paging.slot_mapping)?;
                ops::attend_paged(
                    q,
                    kv,
                    (&batch.cu_seqlens_q, &batch.cu_seqlens_k),
                    paging,
                    self.geometry,
                )
            }
            (Some(_), None) => {
                Err(ModelError::Batch("it has KV blocks, and no cache was given".into()))
            }
        }
    }

    fn normalise(&self, q: Tensor, k: Tensor) -> Result<(Tensor, Tensor)> {
        let NormConfig { eps, unit_offset, .. } = self.norms.config;
        match &self.qk_norm {
            None => Ok((q, k)),
            Some((QkNorm::PerHead | QkNorm::Whole, q_weight, k_weight)) => {
                // A norm's rows are as long as its weight: one head, or all heads together.
                let norm = |x: &Tensor, weight: &Tensor| -> Result<Tensor> {
                    let rows = x.reshape(((), weight.dim(0)?))?;
                    Ok(ops::rms_norm(&rows, weight, eps, unit_offset)?.reshape(x.shape())?)
                };
                Ok((norm(&q, q_weight)?, norm(&k, k_weight)?))
            }
        }
    }
}

fn load_qk_norm(
    config: &ModelConfig,
    index: usize,
    source: &mut impl WeightSource,
) -> Result<Option<(QkNorm, Tensor, Tensor)>> {
    let Some(kind) = config.qk_norm else {
        return Ok(None);
    };
    let dim = config.head_dim;
    let (q, k) = match kind {
        QkNorm::PerHead => (dim, dim),
        QkNorm::Whole => (config.num_heads * dim, config.num_kv_heads * dim),
    };
    let q = source.vector(Param::Layer(index, LayerPart::Norm(Norm::Q)), q)?;
    let k = source.vector(Param::Layer(index, LayerPart::Norm(Norm::K)), k)?;
    Ok(Some((kind, q, k)))
}

impl LayerNorms {
    fn load(
        config: &ModelConfig,
        index: usize,
        source: &mut impl WeightSource,
    ) -> Result<LayerNorms> {
        let (pre, post) = (config.norm.placement.is_before(), config.norm.placement.is_after());
        let mut norm = |there: bool, norm: Norm| {
            let place = Param::Layer(index, LayerPart::Norm(norm));
            there.then(|| source.vector(place, config.hidden_size)).transpose()
        };
        Ok(LayerNorms {
            config: config.norm,
            pre_attention: norm(pre, Norm::PreAttention)?,
            post_attention: norm(post, Norm::PostAttention)?,
            pre_mlp: norm(pre, Norm::PreMlp)?,
            post_mlp: norm(post, Norm::PostMlp)?,
        })
    }

    fn apply(&self, weight: Option<&Tensor>, x: &Tensor) -> Result<Tensor> {
        match weight {
            None => Ok(x.clone()),
            Some(weight) => ops::rms_norm(x, weight, self.config.eps, self.config.unit_offset),
        }
    }
}
