//! The parts, in order of worth.

mod card;
mod host;
mod kernels;
mod physics;
mod rates;
mod speed;
mod workload;

use gpu::Gpu;

use crate::effort::Effort;

/// Runs a part and prints its results.
pub(crate) type Run = fn(&Gpu, Effort);

/// The parts by their names.
pub(crate) const ALL: &[(&str, Run)] = &[
    ("card", card::run),
    ("kernels", kernels::run),
    ("families", kernels::families),
    ("invariance", kernels::invariance),
    ("physics", physics::run),
    ("speed", speed::run),
    ("host", host::run),
];
