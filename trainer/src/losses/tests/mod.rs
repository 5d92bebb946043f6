//! Losses by golden numbers, by finite differences and by invariants.

mod golden;
mod gradients;
mod hostile;
mod papers;
mod shares;
mod values;

use serde::Deserialize;

use super::aggregate::{BatchLimits, Denominators, Streams};
use super::layout::{Layout, Stream};
use super::loss::Loss;
use super::objective::Objective;
use super::tokens::Tokens;

/// The output of `trainer/goldens/losses.py`.
pub(crate) const GOLDENS: &str = include_str!("../../../goldens/losses.json");

/// Asserts equality within 1e-9 of the size, or of 1e-9 for numbers near 0.
#[track_caller]
pub(crate) fn near(what: &str, got: f64, expected: f64) {
    let distance = (got - expected).abs();
    assert!(distance <= 1e-9 * expected.abs().max(1e-3), "{what}: {got} is not {expected}");
}

/// As [`near`], for lists.
#[track_caller]
pub(crate) fn all_near(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}: number of values");
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        near(&format!("{what}, at {at}"), *got, *expected);
    }
}

/// Tokens that own their lists.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Batch {
    cu_seqlens: Vec<usize>,
    mask: Vec<bool>,
    streams: Option<Vec<Stream>>,
    positive: Option<Vec<bool>>,
    pass_rates: Option<Vec<f64>>,
    logp: Vec<f64>,
    #[serde(rename = "old")]
    old_logprobs: Vec<f64>,
    #[serde(rename = "behaviour")]
    rollout_logprobs: Option<Vec<f64>>,
    reference: Option<Vec<f64>>,
    advantages: Vec<f64>,
    factors: Option<Vec<f64>>,
    entropies: Option<Vec<f64>>,
    credit: Option<Vec<f64>>,
}

const LIMITS: BatchLimits = BatchLimits { max_tokens: 6, micro_batches: 1 };

impl Batch {
    fn layout(&self) -> Layout<'_> {
        Layout {
            cu_seqlens: &self.cu_seqlens,
            mask: &self.mask,
            streams: self.streams.as_deref(),
            positive: self.positive.as_deref(),
            pass_rates: self.pass_rates.as_deref(),
        }
    }

    fn tokens(&self) -> Tokens<'_> {
        Tokens {
            rollout_logprobs: self.rollout_logprobs.as_deref(),
            reference: self.reference.as_deref(),
            factors: self.factors.as_deref(),
            entropies: self.entropies.as_deref(),
            credit: self.credit.as_deref(),
            ..Tokens::new(self.layout(), &self.logp, &self.old_logprobs, &self.advantages)
        }
    }

    fn denominators(&self, limits: BatchLimits) -> Denominators {
        Denominators::of(&self.layout(), &Streams::default(), limits).expect("a good layout")
    }

    /// The loss of the batch.
    #[track_caller]
    fn loss(&self, objective: &Objective) -> Loss {
        objective.evaluate(&self.tokens(), &self.denominators(LIMITS)).expect("good numbers")
    }

    /// Sequences of a range.
    fn part(&self, from: usize, to: usize) -> Self {
        let (start, end) = (self.cu_seqlens[from], self.cu_seqlens[to]);
        let list = |all: &Vec<f64>| all[start..end].to_vec();
        Self {
            cu_seqlens: self.cu_seqlens[from..=to].iter().map(|at| at - start).collect(),
            mask: self.mask[start..end].to_vec(),
            streams: self.streams.as_ref().map(|all| all[from..to].to_vec()),
            positive: self.positive.as_ref().map(|all| all[from..to].to_vec()),
            pass_rates: self.pass_rates.as_ref().map(|all| all[from..to].to_vec()),
            logp: list(&self.logp),
            old_logprobs: list(&self.old_logprobs),
            rollout_logprobs: self.rollout_logprobs.as_ref().map(list),
            reference: self.reference.as_ref().map(list),
            advantages: list(&self.advantages),
            factors: self.factors.as_ref().map(list),
            entropies: self.entropies.as_ref().map(list),
            credit: self.credit.as_ref().map(list),
        }
    }
}

/// An objective as a run file writes it.
#[track_caller]
fn objective(toml: &str) -> Objective {
    toml::from_str(toml).expect("a good objective")
}
