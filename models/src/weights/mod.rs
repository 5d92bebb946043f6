//! Where weights come from: places in a model, and the files that hold them.

pub mod checkpoint;
mod detached;
mod header;
mod index;
pub mod names;
pub(crate) mod pack;
mod positioned;
pub(crate) mod source;
mod trainable;

use candle_core::Tensor;

use crate::error::Result;
use crate::packed::{Matrix, Weight};

pub use checkpoint::Checkpoint;
pub use detached::DetachedWeights;
pub use names::Names;
pub use positioned::Positioned;
pub use source::{FileWeights, Loaded, Memory, Storage};
pub use trainable::TrainableWeights;

/// A place in a model that a tensor fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Token embedding `[vocab, hidden]`.
    Embedding,
    /// Vocabulary head `[vocab, hidden]`, where it is not the embedding.
    Vocab,
    /// The norm after the last layer.
    FinalNorm,
    /// A part of the score, label or value head.
    Head(HeadPart),
    /// A part of a layer.
    Layer(usize, LayerPart),
}

/// A part of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HeadPart {
    /// The inner layer of a two-layer head.
    InnerWeight,
    /// Its bias.
    InnerBias,
    /// The layer that gives the outputs.
    Weight,
    /// Its bias.
    Bias,
}

/// A part of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LayerPart {
    /// A linear layer's weight.
    Weight(Projection),
    /// A linear layer's bias.
    Bias(Projection),
    /// A norm's weight.
    Norm(Norm),
}

/// The linear layers of one decoder layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Projection {
    /// Queries.
    Q,
    /// Keys.
    K,
    /// Values.
    V,
    /// The attention's output.
    O,
    /// The gate.
    Gate,
    /// What is gated.
    Up,
    /// Back to the residual stream.
    Down,
    /// Chooses experts.
    Router,
    /// An expert's gate.
    ExpertGate(u32),
    /// What an expert gates.
    ExpertUp(u32),
    /// An expert's way back.
    ExpertDown(u32),
}

/// The norms of one decoder layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Norm {
    /// Before the attention.
    PreAttention,
    /// After the attention, before the residual sum.
    PostAttention,
    /// Before the MLP.
    PreMlp,
    /// After the MLP, before the residual sum.
    PostMlp,
    /// Of queries.
    Q,
    /// Of keys.
    K,
}

/// What a decoder is built from.
pub trait WeightSource {
    /// A linear layer's weight `[n, k]`, in the storage that the source was told to use.
    fn weight(&mut self, place: Place, n: usize, k: usize) -> Result<Weight>;
    /// A weight `[n, k]` that must stay floating point: embeddings and heads.
    fn matrix(&mut self, place: Place, n: usize, k: usize) -> Result<Matrix>;
    /// A vector `[n]` f32: a bias or a norm.
    fn vector(&mut self, place: Place, n: usize) -> Result<Tensor>;
}
