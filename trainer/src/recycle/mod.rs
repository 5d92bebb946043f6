//! Questions made of rollouts, so that the model that solves problems is also trained to judge: SPARK
//! ([`spark`]), ranked preferences and self-scored answers as in URPO ([`urpo`]), critiques as in
//! CRL ([`crl`]).
//!
//! Everything here is pure: groups and chance in, items and counts out. Nothing knows the engine or
//! the optimiser. Labels come from verifiers or from data and never from the model itself, but for
//! URPO's open instructions, which is what its gate is for. An answer that has no reward is never
//! used and never counts as wrong.

pub mod cache;
pub mod crl;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod guard;
pub mod hygiene;
pub mod reservoir;
pub mod spark;
mod stored;
pub mod templates;
pub mod urpo;

pub use cache::Cache;
pub use reservoir::Reservoir;
pub use spark::{Spark, SparkConfig};
pub use templates::{Template, TemplateKind, Templates};

use crate::random::decision;

/// The scorers that the templates of this crate name and that `rubrics` does not have by itself,
/// as tables of a configuration. A verdict is the text of the last box that closes, byte by byte: a
/// verdict in words, in `\box{}` or in another mark earns 0. A `reply` is the whole text.
pub const SCORERS: &str = r#"
[[scorer]]
name = "verdict"
kind = "exact"
extract = "marked"
marker = '\boxed'

[[scorer]]
name = "conclusion"
kind = "exact"
extract = "marked"
marker = "/conclusion"

[[scorer]]
name = "reply"
kind = "exact"
extract = "whole"
"#;

/// The chance of one step of a run: the same step of the same seed decides the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The seed of the run.
    pub seed: u64,
    /// The step, from 1.
    pub step: u64,
}

impl At {
    /// The generator of one decision of this step.
    fn chance(self, purpose: &str, number: usize) -> rand_chacha::ChaCha12Rng {
        decision(self.seed, purpose, &[self.step, number as u64])
    }
}

/// `count` of `0..of` without replacement, each subset as likely as any other, in rising order; all
/// of them where there are not that many.
fn subset(rng: &mut impl rand::Rng, of: usize, count: usize) -> Vec<usize> {
    if count >= of {
        return (0..of).collect();
    }
    let mut chosen = rand::seq::index::sample(rng, of, count).into_vec();
    chosen.sort_unstable();
    chosen
}
