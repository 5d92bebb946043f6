//! A model whose weights are on a card.

use std::sync::Arc;

use gpu::kernels::{
    AttentionShape, Epilogue, HeadShape, Rotation, RowNorm, Store, most_group, product,
};
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::config::{MlpConfig, ModelConfig};
use models::decoder::Rope;
use models::head::Head;
use models::weights::{Loaded, Numerics, Param, Site, Storage, WeightSource};
use models::{ModelError, ModelFiles, Result};

use crate::adapters::{Place, PlaceId, Places};
use crate::axis::{Axis, FusedRows};
use crate::error::device;
use crate::head::GpuHead;
use crate::kv::head_shape;
use crate::layer::Layer;
use crate::rooms::{ExpertWidths, HeadWidths, Widths};
use crate::weights::{CardArrays, Upload, Uploads};

/// Embedding, layers, final norm and head on a card.
#[derive(Debug)]
pub struct GpuModel {
    pub(crate) gpu: Gpu,
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) weights: Weights,
    held: CardArrays,
    pub(crate) ropes: Vec<Rotation>,
    /// The shapes of attention: one for each window of the layers.
    pub(crate) attention: Vec<AttentionShape>,
    pub(crate) widths: Widths,
    pub(crate) flags: DeviceSlice<u32>,
}

/// What a model has of its files.
#[derive(Debug)]
pub(crate) struct Weights {
    /// `[vocab, hidden]`.
    pub(crate) embedding: DeviceSlice<bf16>,
    /// The vocabulary head where it is not the embedding.
    own_vocabulary: Option<DeviceSlice<bf16>>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: RowNorm,
    pub(crate) head: Option<GpuHead>,
    pub(crate) places: Places,
    pub(crate) embedding_place: PlaceId,
    pub(crate) vocabulary_place: PlaceId,
    /// The different windows of the layers.
    windows: Vec<Option<usize>>,
    pub(crate) hidden: Axis,
}

impl Weights {
    fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        config: &Arc<ModelConfig>,
    ) -> Result<Weights> {
        let hidden = Axis::whole(config.hidden_size);
        let vocabulary = FusedRows::one(Axis::exact(config.vocab_size));
        let mut places = Places::default();
        let mut windows = Vec::new();
        for layer in &config.layers {
            if !windows.contains(&layer.window) {
                windows.push(layer.window);
            }
        }
        let embedding = upload.matrix(&[Param::Embedding], &vocabulary, hidden)?;
        let has_own = config.head.has_vocabulary() && !config.tie_embeddings;
        let own_vocabulary =
            has_own.then(|| upload.matrix(&[Param::Vocab], &vocabulary, hidden)).transpose()?;
        let mut layers = Vec::with_capacity(config.layers.len());
        for index in 0..config.layers.len() {
            layers.push(Layer::load(upload, (config, index), &windows, &mut places)?);
        }
        let norm = upload.norm(Param::FinalNorm, hidden, config.norm)?;
        let head = Head::load(config.head, config.hidden_size, upload.source)?;
        let head = head.map(|head| GpuHead::of(&mut upload.uploads, &head, hidden)).transpose()?;
        let embedding_place = places.add(Place {
            groups: vec![vec![Site::Embedding]],
            rows: FusedRows::one(hidden),
            columns: Axis::exact(config.vocab_size),
            scale: config.embedding_scale.unwrap_or(1.0),
        });
        let vocabulary_place = places.add(Place {
            groups: vec![vec![Site::Vocab]],
            rows: vocabulary,
            columns: hidden,
            scale: 1.0,
        });
        Ok(Weights {
            embedding,
            own_vocabulary,
            layers,
            norm,
            head,
            places,
            embedding_place,
            vocabulary_place,
            windows,
            hidden,
        })
    }
}

impl GpuModel {
    /// Uploads the weights of a source, one matrix at a time, and tables of the cosines and sines of all positions.
    ///
    /// # Errors
    /// Those of the source; [`ModelError::Device`] where memory is full; [`ModelError::Unavailable`] for what the kernels
    /// do not take: heads of more than 256 numbers, more query heads over one key head than tiles take, more than 1,024 experts.
    pub fn load(
        gpu: &Gpu,
        config: &Arc<ModelConfig>,
        source: &mut impl WeightSource,
    ) -> Result<GpuModel> {
        check(gpu, config)?;
        let mut upload = Upload { gpu, source, uploads: Uploads::new(gpu) };
        let weights = Weights::load(&mut upload, config)?;
        let held = upload.uploads.into_held();
        Ok(GpuModel {
            attention: weights.windows.iter().map(|window| attention(config, *window)).collect(),
            widths: Widths { changed: weights.places.widest_of_layers(), ..widths(config) },
            ropes: rotations(gpu, config)?,
            weights,
            held,
            flags: gpu.upload(&[0]).map_err(device)?,
            gpu: gpu.clone(),
            config: config.clone(),
        })
    }

    /// Writes the weights of a source over those that it has.
    ///
    /// # Errors
    /// Those of the source; [`ModelError::Device`]. The weights are then of both sources.
    pub(crate) fn rewrite(&self, source: &mut impl WeightSource) -> Result<()> {
        let uploads = Uploads::again(&self.gpu, &self.held);
        let mut upload = Upload { gpu: &self.gpu, source, uploads };
        Weights::load(&mut upload, &self.config).map(drop)
    }

    /// [`GpuModel::load`] of a model's files.
    ///
    /// # Errors
    /// As [`GpuModel::load`], and those of [`models::weights::FileWeights::finish`].
    pub fn of_files(gpu: &Gpu, files: &ModelFiles) -> Result<(GpuModel, Loaded)> {
        let mut source = files.weights(Storage::Bf16);
        let model = GpuModel::load(gpu, &files.config, &mut source)?;
        Ok((model, source.finish()?))
    }

    /// The arithmetic of all models on this card.
    pub fn numerics(&self) -> Numerics {
        Numerics::CudaBf16 { capability: self.gpu.card().capability, revision: REVISION }
    }

    /// Outputs of the model's own head; `None` without one.
    pub fn head_labels(&self) -> Option<usize> {
        self.weights.head.as_ref().map(GpuHead::n_labels)
    }

    pub(crate) fn heads(&self) -> HeadShape {
        head_shape(&self.config)
    }

    /// The cap on logits, 0 for none.
    pub(crate) fn cap(&self) -> f32 {
        self.config.logit_softcap.unwrap_or(0.0)
    }

    /// `[vocab, hidden]`.
    pub(crate) fn vocabulary(&self) -> &DeviceSlice<bf16> {
        self.weights.own_vocabulary.as_ref().unwrap_or(&self.weights.embedding)
    }

    /// Logits `[rows, columns]` of `x [rows, hidden]`: over the vocabulary, or over some of its tokens.
    pub(crate) fn logits(
        &self,
        x: &DeviceSlice<bf16>,
        columns: Option<&DeviceSlice<u32>>,
        (y, cap): (&DeviceSlice<f32>, f32),
    ) -> gpu::Result<()> {
        let epilogue = Epilogue { bias: None, store: Store::F32 { y: y.clone(), cap } };
        product(&self.gpu, (x, self.vocabulary()), self.weights.hidden.padded(), columns, &epilogue)
    }
}

fn check(gpu: &Gpu, config: &ModelConfig) -> Result<()> {
    let experts = config.layers.iter().filter_map(|layer| match layer.mlp {
        MlpConfig::Dense { .. } => None,
        MlpConfig::Experts { num_experts, .. } => Some(num_experts),
    });
    let group = most_group(gpu, config.head_dim);
    let counts = [
        ("numbers of a head", config.head_dim, MAX_HEAD_DIM),
        ("query heads over a key head", config.num_heads / config.num_kv_heads, group),
        ("experts of a layer", experts.max().unwrap_or(0), gpu::sources::MAX_EXPERTS as usize),
    ];
    match counts.into_iter().find(|(_, count, max)| count > max) {
        None => Ok(()),
        Some((what, count, max)) => Err(ModelError::Unavailable {
            requested: format!("model with {count} {what} on a card"),
            available: format!("at most {max}"),
        }),
    }
}

/// Of the arithmetic of kernels and walk: a change that gives other bits raises it.
const REVISION: u32 = 1;

const MAX_HEAD_DIM: usize = 256;

/// The shape of attention over a window.
pub(crate) fn attention(config: &ModelConfig, window: Option<usize>) -> AttentionShape {
    AttentionShape {
        heads: head_shape(config),
        scale: config.attention_scale,
        cap: config.attention_softcap.unwrap_or(0.0),
        window,
    }
}

fn rotations(gpu: &Gpu, config: &ModelConfig) -> Result<Vec<Rotation>> {
    let positions: Vec<u32> = (0..).take(config.max_positions).collect();
    let rotation = |rope| {
        let table = Rope::new(rope).table(&positions);
        Ok(Rotation {
            cosines: gpu.upload(&table.cos).map_err(device)?,
            sines: gpu.upload(&table.sin).map_err(device)?,
            half: table.half,
        })
    };
    config.ropes.iter().map(rotation).collect()
}

/// Numbers of a row without adapters.
pub(crate) fn widths(config: &ModelConfig) -> Widths {
    let mut widths = Widths {
        hidden: Axis::whole(config.hidden_size).padded(),
        heads: HeadWidths::of(head_shape(config)),
        ..Widths::default()
    };
    for layer in &config.layers {
        match layer.mlp {
            MlpConfig::Dense { intermediate_size } => {
                widths.inner = widths.inner.max(Axis::whole(intermediate_size).padded());
            }
            MlpConfig::Experts { intermediate_size, num_experts, experts_per_token, .. } => {
                let ExpertWidths { layers, count, per_row, inner } = &mut widths.experts;
                *layers += 1;
                *count = num_experts.max(*count);
                *per_row = experts_per_token.max(*per_row);
                *inner = Axis::whole(intermediate_size).padded().max(*inner);
            }
        }
    }
    widths
}
