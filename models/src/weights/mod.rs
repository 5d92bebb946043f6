//! Weights: parameters of a model, and the files that hold them.

pub mod checkpoint;
mod detached;
pub(crate) mod file_weights;
mod float_type;
mod header;
mod index;
pub mod names;
mod numerics;
pub(crate) mod pack;
mod param;
mod trainable;
mod weight_source;

pub use checkpoint::Checkpoint;
pub use detached::DetachedWeights;
pub use file_weights::{FileWeights, Loaded, Memory};
pub use float_type::FloatType;
pub use names::Names;
pub use numerics::{Compute, Numerics, NumericsChoice, Storage};
pub use param::{HeadPart, LayerPart, Norm, Param, Projection, Site};
pub use trainable::TrainableWeights;
pub use weight_source::WeightSource;
