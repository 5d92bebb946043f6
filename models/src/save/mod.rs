//! Writing models and adapters as folders in the Hugging Face layout.

mod plan;
mod safetensors;
mod stage;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

pub use plan::{Request, TensorPlan, plan};
pub use safetensors::{NamedShape, Writer};
pub use stage::{Stage, io_error};

use crate::config::ModelConfig;
use crate::error::Result;
use crate::weights::{FloatType, Param};

/// Writes the tensors of a model into one weight file of a staged folder, and returns its length in
/// bytes. `numbers` returns the row-major f32 numbers of a place, `n` by `k`; `k` is 1 for a
/// vector.
///
/// # Errors
/// An error of `numbers`, and [`crate::ModelError::Io`] if the system refuses.
pub fn weights(
    stage: &Stage,
    file: &str,
    config: &Arc<ModelConfig>,
    storage: FloatType,
    mut numbers: impl FnMut(Param, usize, usize) -> Result<Vec<f32>>,
) -> Result<u64> {
    let plans = plan(config)?;
    let entries: Vec<NamedShape> = plans.iter().map(|plan| plan.entry.clone()).collect();
    let path = stage.path(file);
    let mut digest = Sha256::new();
    let created = Writer::create(&path, storage, &entries, &mut digest);
    let mut writer = created.map_err(io_error(&path))?;
    for part in plans.iter().flat_map(|plan| &plan.parts) {
        let numbers = numbers(part.place, part.n, part.k)?;
        assert_eq!(numbers.len(), part.n * part.k, "the numbers of {:?}", part.place);
        writer.numbers(&numbers).map_err(io_error(&path))?;
    }
    writer.finish().map_err(io_error(&path))
}

/// Writes tensors by name, `(name, shape, numbers)`, into one weight file of a staged folder.
///
/// # Errors
/// [`crate::ModelError::Io`] if the system refuses.
pub fn tensors<'a>(
    stage: &Stage,
    file: &str,
    storage: FloatType,
    tensors: impl IntoIterator<Item = (String, Vec<usize>, &'a [f32])>,
) -> Result<u64> {
    let (entries, numbers): (Vec<NamedShape>, Vec<&[f32]>) = tensors
        .into_iter()
        .map(|(name, shape, numbers)| (NamedShape { name, shape }, numbers))
        .unzip();
    let path = stage.path(file);
    let mut digest = Sha256::new();
    let written = Writer::create(&path, storage, &entries, &mut digest).and_then(|mut writer| {
        for (entry, numbers) in entries.iter().zip(numbers) {
            assert_eq!(entry.n_numbers(), numbers.len() as u64, "{}", entry.name);
            writer.numbers(numbers)?;
        }
        writer.finish()
    });
    written.map_err(io_error(&path))
}
