//! Names of a model's parameters, independent of any family's file names.

use std::fmt;

/// A parameter of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Param {
    /// Token embedding `[vocab, hidden]`.
    Embedding,
    /// Vocabulary head `[vocab, hidden]`, if it is not the embedding.
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
    /// The factor that is gated.
    Up,
    /// The output projection of the MLP.
    Down,
    /// Chooses experts.
    Router,
    /// An expert's gate.
    ExpertGate(u32),
    /// An expert's gated factor.
    ExpertUp(u32),
    /// An expert's output projection.
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
    /// The norm of queries.
    Q,
    /// The norm of keys.
    K,
}

/// A linear layer that an adapter can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// The token embedding.
    Embedding,
    /// The vocabulary head.
    Vocab,
    /// A projection of a layer.
    Layer(usize, Projection),
}

impl fmt::Display for Site {
    /// `embedding`, `vocab`, `layers.3.q`, `layers.3.experts.5.gate`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (layer, projection) = match self {
            Site::Embedding => return f.write_str("embedding"),
            Site::Vocab => return f.write_str("vocab"),
            Site::Layer(layer, projection) => (layer, projection),
        };
        write!(f, "layers.{layer}.")?;
        match projection {
            Projection::Q => f.write_str("q"),
            Projection::K => f.write_str("k"),
            Projection::V => f.write_str("v"),
            Projection::O => f.write_str("o"),
            Projection::Gate => f.write_str("gate"),
            Projection::Up => f.write_str("up"),
            Projection::Down => f.write_str("down"),
            Projection::Router => f.write_str("router"),
            Projection::ExpertGate(expert) => write!(f, "experts.{expert}.gate"),
            Projection::ExpertUp(expert) => write!(f, "experts.{expert}.up"),
            Projection::ExpertDown(expert) => write!(f, "experts.{expert}.down"),
        }
    }
}
