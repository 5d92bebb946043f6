//! The number types that weights may be stored in.

use std::fmt;
use std::str::FromStr;

use candle_core::DType;
use safetensors::Dtype;
use serde::Deserialize;

/// Number types of weight files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FloatType {
    /// 32-bit floats.
    #[default]
    F32,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
}

impl FloatType {
    /// Every type.
    pub const ALL: [FloatType; 3] = [FloatType::F32, FloatType::F16, FloatType::Bf16];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            FloatType::F32 => "f32",
            FloatType::F16 => "f16",
            FloatType::Bf16 => "bf16",
        }
    }

    /// The type of candle's tensors.
    pub fn dtype(self) -> DType {
        match self {
            FloatType::F32 => DType::F32,
            FloatType::F16 => DType::F16,
            FloatType::Bf16 => DType::BF16,
        }
    }

    /// Converts a type of safetensors; `None` if it is not a float.
    pub(super) fn of(dtype: Dtype) -> Option<FloatType> {
        let floats = [
            (Dtype::F32, FloatType::F32),
            (Dtype::F16, FloatType::F16),
            (Dtype::BF16, FloatType::Bf16),
        ];
        let (_, float) = floats.into_iter().find(|(known, _)| *known == dtype)?;
        Some(float)
    }

    /// Bytes of one number.
    pub fn byte_len(self) -> usize {
        match self {
            FloatType::F32 => 4,
            FloatType::F16 | FloatType::Bf16 => 2,
        }
    }

    /// The name in a safetensors header.
    pub(crate) fn format_name(self) -> &'static str {
        match self {
            FloatType::F32 => "F32",
            FloatType::F16 => "F16",
            FloatType::Bf16 => "BF16",
        }
    }

    /// The name in `torch_dtype` of `config.json`.
    pub fn torch_name(self) -> &'static str {
        match self {
            FloatType::F32 => "float32",
            FloatType::F16 => "float16",
            FloatType::Bf16 => "bfloat16",
        }
    }
}

impl fmt::Display for FloatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FloatType {
    type Err = String;

    fn from_str(name: &str) -> Result<FloatType, String> {
        let found = FloatType::ALL.into_iter().find(|float| float.name() == name);
        found.ok_or_else(|| {
            let names = FloatType::ALL.map(FloatType::name).join(", ");
            format!("no storage type is called `{name}`; there are {names}")
        })
    }
}
