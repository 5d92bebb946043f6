//! Storage of a model's weights in memory, and the arithmetic of its linear layers: the requested
//! one, and the one that a load chose.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use crate::digest::{DigestPart, digest};
use crate::kernels::attention::KvType;
use crate::kernels::simd::Isa;

/// Storage of matrices in memory, where they are multiplied in f32. Norms and biases are always f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// The type of the file.
    #[default]
    AsStored,
    /// 32-bit floats.
    F32,
    /// IEEE half precision; a weight beyond its range is an error.
    F16,
    /// bfloat16.
    Bf16,
}

/// The requested arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compute {
    /// bf16 for a model stored in bf16 on a CPU with bf16 dot products, f32 otherwise: other bits
    /// on other machines.
    Auto,
    /// Products of f32, whatever the storage.
    #[default]
    F32,
    /// Products of bf16 with f32 sums; the same bits on every machine, no faster than f32 on a CPU
    /// without the instruction.
    Bf16,
    /// Products of 8-bit integers.
    Int8,
}

/// The arithmetic of a loaded model. Routers, embeddings and heads compute in f32 in all, and so do
/// adapters of these; those of other layers are multiplied in bf16 in all but [`Numerics::F32`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numerics {
    /// [`crate::kernels::gemm`].
    #[default]
    F32,
    /// [`crate::kernels::bf16_dot`]; keys and values are bf16, too.
    Bf16,
    /// [`crate::kernels::int8`].
    Int8,
    /// bf16 with f32 sums by the kernels of a CUDA card. Weights, keys and values are bf16, too.
    CudaBf16 {
        /// The card's compute capability: tensor cores of other ones may round otherwise.
        capability: (u32, u32),
        /// Of the kernels: it rises when they give other bits.
        revision: u32,
    },
}

impl Numerics {
    /// The name in reports, logs and digests.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Numerics::F32 => "cpu-f32".into(),
            Numerics::Bf16 => "cpu-bf16".into(),
            Numerics::Int8 => "cpu-int8".into(),
            Numerics::CudaBf16 { capability: (major, minor), revision } => {
                format!("cuda-sm{major}{minor}-bf16-{revision}").into()
            }
        }
    }

    /// The revision of the kernels of a processor, which rises when they give other bits and is part
    /// of the digest; `None` where it is 1, or part of the name.
    fn revision(self) -> Option<u32> {
        match self {
            Numerics::F32 | Numerics::CudaBf16 { .. } => None,
            // 2: keys and values in bf16. 3: adapters in bf16.
            Numerics::Bf16 => Some(3),
            // 2: adapters in bf16.
            Numerics::Int8 => Some(2),
        }
    }

    /// The type of keys and values.
    pub fn kv_type(self) -> KvType {
        match self {
            Numerics::F32 | Numerics::Int8 => KvType::F32,
            Numerics::Bf16 | Numerics::CudaBf16 { .. } => KvType::Bf16,
        }
    }

    /// The digest of a model that is computed in this way, from that of its files: scores of one
    /// digest have the same bits. f32 keeps the digest of the files.
    pub fn digest_of(self, files: &str) -> String {
        match self {
            Numerics::F32 => files.to_owned(),
            Numerics::Bf16 | Numerics::Int8 | Numerics::CudaBf16 { .. } => {
                let name = self.name();
                let revision = self.revision().map(|revision| revision.to_string());
                let mut parts = BTreeMap::from([
                    ("files", DigestPart::Bytes(files.as_bytes())),
                    ("numerics", DigestPart::Bytes(name.as_bytes())),
                ]);
                if let Some(revision) = &revision {
                    parts.insert("revision", DigestPart::Bytes(revision.as_bytes()));
                }
                digest(&parts).expect("bytes in memory can be read")
            }
        }
    }
}

/// A [`Numerics`] and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumericsChoice {
    /// The arithmetic.
    pub numerics: Numerics,
    /// Why, for people.
    pub reason: &'static str,
}

impl Compute {
    /// The use of each arithmetic on this CPU, for people.
    pub fn advice() -> &'static str {
        if Isa::best().has_bf16_dots() {
            "here bf16 is about 1.8 times as fast as f32, int8 2.3 times and in half the memory"
        } else {
            "here bf16 is no faster than f32, int8 2 to 3 times as fast and in half the memory"
        }
    }

    /// Chooses for a model's files, as kept in `storage`, on this machine.
    pub fn choose(self, checkpoint: &Checkpoint, storage: Storage) -> NumericsChoice {
        let is_bf16 = match storage {
            Storage::AsStored => is_stored_in_bf16(checkpoint),
            Storage::Bf16 => true,
            Storage::F32 | Storage::F16 => false,
        };
        self.choose_for(is_bf16, Isa::best().has_bf16_dots())
    }

    fn choose_for(self, is_bf16: bool, has_bf16_dots: bool) -> NumericsChoice {
        let (numerics, reason) = match (self, is_bf16, has_bf16_dots) {
            (Compute::F32, ..) => (Numerics::F32, "as configured or by default"),
            (Compute::Bf16, _, true) => (Numerics::Bf16, "as configured"),
            (Compute::Bf16, _, false) => (
                Numerics::Bf16,
                "as configured; no faster than f32: the CPU has no bf16 dot products",
            ),
            (Compute::Int8, ..) => (Numerics::Int8, "as configured"),
            (Compute::Auto, true, true) => {
                (Numerics::Bf16, "auto: the weights are bf16, and the CPU has bf16 dot products")
            }
            (Compute::Auto, false, _) => (Numerics::F32, "auto: the weights are not bf16"),
            (Compute::Auto, true, false) => {
                (Numerics::F32, "auto: the CPU has no bf16 dot products")
            }
        };
        NumericsChoice { numerics, reason }
    }
}

/// Whether every matrix is.
fn is_stored_in_bf16(checkpoint: &Checkpoint) -> bool {
    let mut matrices = checkpoint.infos().filter(|(_, info)| info.shape.len() > 1);
    matrices.all(|(_, info)| info.dtype == Dtype::BF16)
}

#[cfg(test)]
mod tests {
    use super::{Compute, Numerics};

    #[test]
    fn auto_takes_bf16_where_weights_and_cpu_are_bf16() {
        use Numerics::{Bf16, F32, Int8};

        let check = |compute: Compute, expected: [Numerics; 4]| {
            let of = |is_bf16, has| compute.choose_for(is_bf16, has).numerics;
            let all = [of(false, false), of(false, true), of(true, false), of(true, true)];
            assert_eq!(all, expected, "{compute:?}");
        };
        check(Compute::Auto, [F32, F32, F32, Bf16]);
        check(Compute::F32, [F32; 4]);
        check(Compute::Bf16, [Bf16; 4]);
        check(Compute::Int8, [Int8; 4]);
    }

    #[test]
    fn digests_differ_where_bits_do() {
        let of = |numerics: Numerics| numerics.digest_of("sha256:ab");
        assert_eq!(of(Numerics::F32), "sha256:ab");
        assert_eq!(
            of(Numerics::Bf16),
            "sha256:56f48a5ec51fde0320db79dce0f65f5bd3ceb6b5d23805b5bc7623b3869ccbc3"
        );
        assert_eq!(
            of(Numerics::Int8),
            "sha256:9a8ff401639cf205e121ce31746bc9eb2d2953d93fef0aed6ecb7bda43498df3"
        );
        let card = |capability, revision| Numerics::CudaBf16 { capability, revision };
        assert_eq!(card((9, 0), 1).name(), "cuda-sm90-bf16-1");
        let all = [card((9, 0), 1), card((9, 0), 2), card((8, 0), 1), Numerics::Bf16].map(of);
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    }
}
