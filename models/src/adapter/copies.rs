//! Full copies of the base's own matrices in an adapter's file.
//!
//! PEFT adds the embedding or vocabulary head to the file when an adapter changes it by factors, or
//! when the vocabulary was resized. In the first case the copy is redundant, in the second the base
//! differs; comparing the numbers decides which.

use half::{bf16, f16};

use crate::error::Result;
use crate::weights::Checkpoint;
use crate::weights::FloatType;
use crate::weights::checkpoint::TensorRef;
use crate::weights::pack;

/// Numbers compared at once.
const BLOCK: usize = 1 << 20;

const EMBEDDING: &str = "model.embed_tokens.weight";
const VOCAB: &str = "lm_head.weight";

/// A full copy in an adapter's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FullCopy {
    /// The tensor in the adapter's file.
    pub(super) name: String,
    /// The matrix that it copies.
    pub(super) of: Original,
}

/// A matrix that PEFT may copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Original {
    /// The token embedding.
    Embedding,
    /// The vocabulary head.
    Vocab,
}

impl Original {
    fn module(self) -> &'static str {
        match self {
            Original::Embedding => "embed_tokens",
            Original::Vocab => "lm_head",
        }
    }

    fn tensor(self, base: &Checkpoint) -> &'static str {
        match self {
            Original::Vocab if base.has(VOCAB) => VOCAB,
            // A tied vocabulary head is the embedding.
            Original::Vocab | Original::Embedding => EMBEDDING,
        }
    }
}

/// Refuses a copy that does not equal the base's own matrix, and one that cannot be compared.
pub(super) fn check_copy(
    copy: &FullCopy,
    file: &Checkpoint,
    base: Option<&Checkpoint>,
) -> Result<()> {
    let refuse = |what: &str| {
        let module = copy.of.module();
        let what = format!("a full copy of `{module}`{what}");
        Err(file.tensor_error(&copy.name, what))
    };
    let Some(base) = base else {
        return refuse(
            ", and there is nothing to compare it with; save the adapter with \
             save_embedding_layers=False, or give the base's folder",
        );
    };
    let shape = file.info(&copy.name).map_or(&[][..], |info| &info.shape);
    let own_name = copy.of.tensor(base);
    if base.info(own_name).is_none_or(|info| info.shape != shape) {
        return refuse(" of another shape than the base's; an adapter may not replace it");
    }
    let (theirs, own) = (file.tensor(&copy.name, shape)?, base.tensor(own_name, shape)?);
    if equal(theirs, own, shape.iter().product())? {
        Ok(())
    } else {
        refuse(" that differs from the base's; an adapter may not replace it")
    }
}

/// Whether a copy holds the numbers of the original, rounded to the copy's type.
fn equal(copy: TensorRef<'_>, original: TensorRef<'_>, len: usize) -> Result<bool> {
    for start in (0..len).step_by(BLOCK) {
        let range = start..len.min(start + BLOCK);
        let theirs = pack::to_f32(copy, range.clone())?;
        let own = pack::to_f32(original, range)?;
        // Both are finite; equal bits but for the sign of zero, which changes no product.
        let differ = |(theirs, own): (&f32, &f32)| (theirs - rounded(*own, copy.dtype)).abs() > 0.0;
        if theirs.iter().zip(&own).any(differ) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn rounded(number: f32, dtype: FloatType) -> f32 {
    match dtype {
        FloatType::F32 => number,
        FloatType::F16 => f16::from_f32(number).to_f32(),
        FloatType::Bf16 => bf16::from_f32(number).to_f32(),
    }
}
