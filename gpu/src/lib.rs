//! CUDA cards: the driver, kernels and memory.
//!
//! A card needs its driver alone (`libcuda.so.1`), which is looked for when the program runs; without one, and without
//! the feature `cuda`, [`survey()`] says so and nothing else is needed. Kernels are CUDA C++ below `gpu/cuda`, compiled by
//! NVRTC for the card at hand and kept in a cache folder. The same sources run on a processor in tests, by the emulated
//! driver in `gpu/cuda/emulated`.
//!
//! The rule of every kernel: the bits of a row depend on the row, its weights and its absolute positions, never on tile
//! shapes, neighbours or the order of blocks. This crate knows no model.

#![cfg_attr(
    feature = "cuda",
    expect(clippy::many_single_char_names, reason = "x, w, y, n, k are the field's own names")
)]

#[cfg(feature = "cuda")]
mod arena;
#[cfg(feature = "cuda")]
mod driver;

mod card;
#[cfg(feature = "cuda")]
mod compiled;
mod error;
#[cfg(feature = "cuda")]
mod images;
#[cfg(feature = "cuda")]
pub mod kernels;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(feature = "cuda")]
mod open;
#[cfg(feature = "cuda")]
pub mod sources;
#[cfg(feature = "cuda")]
mod staging;
mod survey;

#[cfg(feature = "cuda")]
pub use arena::Arena;
pub use card::Card;
#[cfg(feature = "cuda")]
pub use compiled::{Compiled, KernelUse, compile};
pub use error::{GpuError, Result};
#[cfg(feature = "cuda")]
pub use memory::{DeviceNumber, DeviceSlice};
#[cfg(feature = "cuda")]
pub use open::{Gpu, GpuOptions};
#[cfg(feature = "cuda")]
pub use staging::Staging;
pub use survey::{Survey, survey};
