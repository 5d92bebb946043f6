//! What follows a product.

use half::bf16;

use super::Address;
use crate::memory::DeviceSlice;

/// The activation of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// x · σ(x).
    Silu,
    /// GELU by the error function.
    Gelu,
    /// GELU by the tanh approximation.
    GeluTanh,
}

/// Where the sums of a product `[rows, n]` go, with their bias added.
#[derive(Clone, Debug)]
pub enum Store {
    /// `[rows, n]`, capped by `cap · tanh(x / cap)` unless `cap` is 0.
    F32 {
        /// The result.
        y: DeviceSlice<f32>,
        /// The cap.
        cap: f32,
    },
    /// `[rows, n]`.
    Bf16(DeviceSlice<bf16>),
    /// Added to `[rows, n]`: the residual stream.
    Add(DeviceSlice<f32>),
    /// `act(gate) · up`, `[rows, n / 2]`, of columns that are 8 of gate and 8 of up in turn.
    Gated {
        /// The result.
        y: DeviceSlice<bf16>,
        /// Of the gate.
        activation: Activation,
    },
    /// `max(x, 0)`, `[rows, n]`.
    Relu(DeviceSlice<bf16>),
}

/// Bias and destination of a product.
#[derive(Clone, Debug)]
pub struct Epilogue {
    /// `[n]`.
    pub bias: Option<DeviceSlice<f32>>,
    /// Where the numbers go.
    pub store: Store,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct RawEpilogue {
    pub(super) y: Address,
    bias: Address,
    activation: u32,
    cap: f32,
}

impl Epilogue {
    /// The store's number in the sources, and the end of the names of its kernels.
    pub(super) fn kind(&self) -> (u32, &'static str) {
        match self.store {
            Store::F32 { .. } => (0, "f32"),
            Store::Bf16(_) => (1, "bf16"),
            Store::Add(_) => (2, "add"),
            Store::Gated { .. } => (3, "gated"),
            Store::Relu(_) => (4, "relu"),
        }
    }

    /// Numbers of the result where the sums are `all`.
    pub(super) fn lengths(&self, all: usize) -> (usize, usize) {
        match &self.store {
            Store::F32 { y, .. } | Store::Add(y) => (y.len(), all),
            Store::Bf16(y) | Store::Relu(y) => (y.len(), all),
            Store::Gated { y, .. } => (y.len(), all / 2),
        }
    }

    pub(super) fn raw(&self) -> RawEpilogue {
        let (y, activation, cap) = match &self.store {
            Store::F32 { y, cap } => (y.into(), Activation::Silu, *cap),
            Store::Add(y) => (y.into(), Activation::Silu, 0.0),
            Store::Bf16(y) | Store::Relu(y) => (y.into(), Activation::Silu, 0.0),
            Store::Gated { y, activation } => (y.into(), *activation, 0.0),
        };
        let activation = match activation {
            Activation::Silu => 0,
            Activation::Gelu => 1,
            Activation::GeluTanh => 2,
        };
        RawEpilogue { y, bias: self.bias.as_ref().into(), activation, cap }
    }
}
