//! One layer: attention and MLP around the residual stream.

use gpu::kernels::{
    Activation, Attention, ExpertShape, Floats, HeadNorms, KvLayer, NormOutput, QueryRooms,
    RowNorm, Store, attend, finish, gather, norm, rotate_store,
};
use gpu::{Arena, DeviceSlice, Gpu};
use half::bf16;
use models::config::{self, MlpConfig, ModelConfig, QkNorm};
use models::weights::{LayerPart, Norm, Param, Projection as Name, WeightSource};

use crate::adapters::Places;
use crate::axis::{Axis, FusedRows};
use crate::experts::Experts;
use crate::pass::{LayerPass, RowsOf};
use crate::projection::Projection;
use crate::weights::Upload;

#[derive(Debug)]
pub(crate) struct Layer {
    norms: LayerNorms,
    qkv: Projection,
    o: Projection,
    head_norms: Option<HeadNorms>,
    rope: Option<usize>,
    /// An index into [`crate::step::Step::attention`].
    window: usize,
    mlp: Mlp,
}

/// The norms around attention and MLP; the placement decides which exist.
#[derive(Debug)]
struct LayerNorms {
    pre_attention: Option<RowNorm>,
    post_attention: Option<RowNorm>,
    pre_mlp: Option<RowNorm>,
    post_mlp: Option<RowNorm>,
}

#[derive(Debug)]
enum Mlp {
    Dense { gate_up: Projection, down: Projection, activation: Activation },
    Experts(Experts),
}

impl Layer {
    pub(crate) fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        (config, index): (&ModelConfig, usize),
        windows: &[Option<usize>],
        places: &mut Places,
    ) -> models::Result<Layer> {
        let hidden = Axis::whole(config.hidden_size);
        let [queries, keys] =
            [config.num_heads, config.num_kv_heads].map(|n| Axis::heads(n, config.head_dim));
        let layer = &config.layers[index];
        let biases = config.biases;
        let qkv = FusedRows::Stacked(vec![queries, keys, keys]);
        let window = windows.iter().position(|window| *window == layer.window);
        Ok(Layer {
            norms: LayerNorms::load(upload, (config, index), hidden)?,
            qkv: Projection::load(
                upload,
                (index, &[Name::Q, Name::K, Name::V]),
                (qkv, hidden),
                biases.qkv,
                places,
            )?,
            o: Projection::load(
                upload,
                (index, &[Name::O]),
                (FusedRows::one(hidden), queries),
                biases.output,
                places,
            )?,
            head_norms: head_norms(upload, (config, index))?,
            rope: layer.rope,
            window: window.expect("the windows are those of the layers"),
            mlp: Mlp::load(upload, (config, index), places)?,
        })
    }

    /// Carries the residual stream through the layer: of all rows or, from the attention on, of those that are kept.
    pub(crate) fn forward(
        &self,
        pass: &LayerPass<'_>,
        kv: &KvLayer,
        is_last: bool,
        arena: &mut Arena,
    ) -> gpu::Result<()> {
        let attended = self.attention(pass, kv)?;
        // Everything after the attention works row by row.
        let kept = pass.step.kept_index.as_ref().filter(|_| is_last);
        let (attended, of) = match kept {
            None => (attended, RowsOf::Batch),
            Some(index) => (keep(pass, &attended, index)?, RowsOf::Kept),
        };
        pass.leave(&self.o, &attended, (self.norms.post_attention.as_ref(), of))?;
        let x = pass.enter(self.norms.pre_mlp.as_ref(), of)?;
        let post = self.norms.post_mlp.as_ref();
        match &self.mlp {
            Mlp::Dense { gate_up, down, activation } => {
                let inner = pass.rooms.inner.part(0..pass.stream(of).1 * gate_up.n / 2);
                let store = Store::Gated { y: inner.clone(), activation: *activation };
                gate_up.run(pass.gpu, &x, store, pass.change(gate_up.place, of).as_ref())?;
                pass.leave(down, &inner, (post, of))
            }
            Mlp::Experts(experts) => {
                let delta = experts.run(pass, &x, of, arena)?;
                let (stream, rows) = pass.stream(of);
                match post {
                    Some(post) => norm(pass.gpu, &delta, post, &NormOutput::Add(stream.clone())),
                    None => add(pass.gpu, &delta, stream, rows),
                }
            }
        }
    }

    /// `[rows, heads · dim]`: before the output projection.
    fn attention(&self, pass: &LayerPass<'_>, kv: &KvLayer) -> gpu::Result<DeviceSlice<bf16>> {
        let LayerPass { gpu, step, rooms, .. } = *pass;
        let x = pass.enter(self.norms.pre_attention.as_ref(), RowsOf::Batch)?;
        let store = Store::F32 { y: rooms.qkv.clone(), cap: 0.0 };
        let change = pass.change(self.qkv.place, RowsOf::Batch);
        self.qkv.run(gpu, &x, store, change.as_ref())?;
        let to = QueryRooms {
            positions: step.positions.clone(),
            slots: step.slots.clone(),
            q: rooms.q.clone(),
        };
        let rotation = self.rope.map(|rope| &pass.ropes[rope]);
        rotate_store(gpu, &rooms.qkv, pass.heads, (self.head_norms.as_ref(), rotation), (&to, kv))?;
        let plan: &Attention = &step.attention[self.window];
        let parts = rooms.parts.part(0..plan.parts());
        attend(gpu, plan, &rooms.q, kv, (&rooms.attended, &parts))?;
        Ok(rooms.attended.clone())
    }
}

/// Gathers the kept rows of the residual stream and of the attention.
fn keep(
    pass: &LayerPass<'_>,
    attended: &DeviceSlice<bf16>,
    index: &DeviceSlice<u32>,
) -> gpu::Result<DeviceSlice<bf16>> {
    let LayerPass { gpu, rooms, .. } = *pass;
    let stream = [&rooms.x, &rooms.kept_x].map(|x| Floats::F32(x.clone()));
    gather(gpu, &stream[0], index, &stream[1])?;
    let kept = Floats::Bf16(rooms.kept_attended.clone());
    gather(gpu, &Floats::Bf16(attended.clone()), index, &kept)?;
    Ok(rooms.kept_attended.clone())
}

/// `stream += delta`.
fn add(
    gpu: &Gpu,
    delta: &DeviceSlice<f32>,
    stream: &DeviceSlice<f32>,
    rows: usize,
) -> gpu::Result<()> {
    let epilogue = gpu::kernels::Epilogue { bias: None, store: Store::Add(stream.clone()) };
    finish(gpu, delta, delta.len() / rows, &epilogue)
}

fn head_norms(
    upload: &mut Upload<'_, impl WeightSource>,
    (config, index): (&ModelConfig, usize),
) -> models::Result<Option<HeadNorms>> {
    let Some(kind) = config.qk_norm else {
        return Ok(None);
    };
    let axis = |heads| match kind {
        QkNorm::PerHead => Axis::whole(config.head_dim),
        QkNorm::Whole => Axis::heads(heads, config.head_dim),
    };
    let at = |norm| Param::Layer(index, LayerPart::Norm(norm));
    let q = upload.norm(at(Norm::Q), axis(config.num_heads), config.norm)?;
    let k = upload.norm(at(Norm::K), axis(config.num_kv_heads), config.norm)?;
    // The share of padding is that of a head in both.
    Ok(Some(HeadNorms { q: q.weight, k: k.weight, eps: q.eps, offset: q.offset }))
}

impl LayerNorms {
    fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        (config, index): (&ModelConfig, usize),
        hidden: Axis,
    ) -> models::Result<LayerNorms> {
        let (pre, post) = (config.norm.placement.is_before(), config.norm.placement.is_after());
        let mut norm = |there: bool, norm: Norm| {
            let place = Param::Layer(index, LayerPart::Norm(norm));
            there.then(|| upload.norm(place, hidden, config.norm)).transpose()
        };
        Ok(LayerNorms {
            pre_attention: norm(pre, Norm::PreAttention)?,
            post_attention: norm(post, Norm::PostAttention)?,
            pre_mlp: norm(pre, Norm::PreMlp)?,
            post_mlp: norm(post, Norm::PostMlp)?,
        })
    }
}

impl Mlp {
    fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        (config, index): (&ModelConfig, usize),
        places: &mut Places,
    ) -> models::Result<Mlp> {
        let hidden = Axis::whole(config.hidden_size);
        let activation = activation(config.activation);
        match config.layers[index].mlp {
            MlpConfig::Dense { intermediate_size } => {
                let inner = Axis::whole(intermediate_size);
                let bias = config.biases.mlp;
                Ok(Mlp::Dense {
                    gate_up: Projection::load(
                        upload,
                        (index, &[Name::Gate, Name::Up]),
                        (FusedRows::Gated(inner), hidden),
                        bias,
                        places,
                    )?,
                    down: Projection::load(
                        upload,
                        (index, &[Name::Down]),
                        (FusedRows::one(hidden), inner),
                        bias,
                        places,
                    )?,
                    activation,
                })
            }
            MlpConfig::Experts { intermediate_size, num_experts, experts_per_token, normalise } => {
                let shape =
                    ExpertShape { experts: num_experts, per_row: experts_per_token, normalise };
                let inner = Axis::whole(intermediate_size);
                let at = (index, config.biases.mlp);
                Experts::load(upload, at, (shape, activation), (hidden, inner), places)
                    .map(Mlp::Experts)
            }
        }
    }
}

fn activation(of: config::Activation) -> Activation {
    match of {
        config::Activation::Silu => Activation::Silu,
        config::Activation::Gelu => Activation::Gelu,
        config::Activation::GeluTanh => Activation::GeluTanh,
    }
}
