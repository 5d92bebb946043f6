//! CUDA cards: the driver, kernels and memory.
//!
//! A card needs its driver alone (`libcuda.so.1`), which is looked for when the program runs; without one [`survey()`]
//! says so and nothing else is needed. Kernels are CUDA C++ below `gpu/cuda`. A program that was built with `TRIBUNAL_KERNELS`
//! has images of them for every architecture; any other compiles them by NVRTC for the card at hand and keeps them in a cache
//! folder. The same sources run on a processor in tests, by the emulated
//! driver in `gpu/cuda/emulated`.
//!
//! The rule of every kernel: the bits of a row depend on the row, its weights and its absolute positions, never on tile
//! shapes, neighbours or the order of blocks. This crate knows no model.

#![expect(clippy::many_single_char_names, reason = "x, w, y, n, k are the field's own names")]

mod arena;
mod driver;

mod card;
mod compiled;
mod error;
mod graphs;
mod images;
pub mod kernels;
mod launch;
mod memory;
mod open;
mod packed;
mod probes;
pub mod sources;
mod staging;
mod survey;

pub use arena::Arena;
pub use card::Card;
pub use compiled::{Compiled, KernelUse, compile};
pub use error::{GpuError, Result};
pub use graphs::{Graphs, Launches, Started};
pub use images::Origin;
pub use memory::{DeviceNumber, DeviceSlice};
pub use open::{Gpu, GpuOptions};
pub use packed::pack;
pub use probes::Probes;
pub use staging::Staging;
pub use survey::{Survey, survey};
