//! The objective of a run file: a policy loss with aggregation, divergence, correction and entropy,
//! and the function that evaluates it.

use serde::{Deserialize, Serialize};

use super::aggregate::{Aggregation, Denominators};
use super::correction::Correction;
use super::error::{FormulaError, Result, setting};
use super::kl::{Estimator, Kl};
use super::layout::{LossSequence, Stream};
use super::loss::Loss;
use super::meter::Meter;
use super::policy::PolicyLossKind;
use super::tokens::{Ratio, Tokens, View};

/// The objective of a run.
///
/// ```toml
/// [objective]
/// policy = { kind = "dapo", high = 0.28 }
/// kl = { weight = 1e-3, estimator = "k3" }
/// correction = { kind = "tis", cap = 2.0 }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Objective {
    /// The policy loss; GRPO by default.
    pub policy: PolicyLossKind,
    /// The aggregation of token losses; by default that of the policy loss's paper.
    pub aggregation: Option<Aggregation>,
    /// A divergence from the reference as part of the loss; `None` by default.
    pub kl: Option<Kl>,
    /// A correction for imported or stale rollouts; `None` by default.
    pub correction: Option<Correction>,
    /// The coefficient of the entropy, which is subtracted from the loss; 0 by default.
    pub entropy: f64,
}

impl Objective {
    /// Checks the options.
    ///
    /// # Errors
    /// Options that are invalid, alone or together.
    pub fn check(&self) -> Result<()> {
        self.policy.check()?;
        setting("entropy", "finite", self.entropy.is_finite())?;
        if let Some(kl) = &self.kl {
            kl.check()?;
        }
        if let Some(correction) = &self.correction {
            correction.check()?;
            setting(
                "correction",
                "one that does not count the ratio again which the policy loss has in itself",
                !(correction.weighs() && self.policy.corrects()),
            )?;
        }
        Ok(())
    }

    /// Whether it corrects for tokens that older weights sampled: in the policy loss, or by a
    /// correction.
    pub fn corrects(&self) -> bool {
        self.policy.corrects() || self.correction.is_some()
    }

    /// The aggregation of token losses.
    pub fn aggregation(&self) -> Aggregation {
        self.aggregation.unwrap_or_else(|| self.policy.aggregation())
    }

    /// The loss of a batch, or of the part of it in a micro-batch; `denominators` are those of the
    /// batch for every part. A sequence is never split between parts.
    ///
    /// Sequences of the streams `policy` and `judge` get the policy loss, those of `ce` their
    /// cross-entropy `-logp`, those of `ref_kl` their divergence from the reference (estimated as
    /// in `kl`, by the share of the stream and not by `kl.weight`; these tokens were not sampled,
    /// so that `unbiased` is `k3` there).
    ///
    /// # Errors
    /// Options or lists that do not belong together, missing numbers, numbers that are not finite,
    /// and results that are not.
    pub fn evaluate(&self, tokens: &Tokens<'_>, denominators: &Denominators) -> Result<Loss> {
        self.check()?;
        let sequences = tokens.checked()?;
        let weights = denominators.of_sequences(self.aggregation(), &sequences)?;
        let mut sum = TokenSums::new(tokens);
        for (sequence, weight) in sequences.iter().zip(weights) {
            let view = tokens.view(sequence);
            match sequence.stream {
                Stream::Policy | Stream::Judge => {
                    let counts = denominators.counts(sequence.stream);
                    let own = self.policy.weight(weight, counts, sequence)?;
                    self.add_policy(&view, own, sequence, &mut sum)?;
                    self.add_divergence(&view, weight, &mut sum)?;
                    self.add_entropy(&view, weight, &mut sum)?;
                }
                Stream::Ce => {
                    for at in view.places() {
                        sum.add(view.start + at, -weight * view.logp[at], -weight);
                    }
                    sum.meter.cross_entropy(&view);
                }
                Stream::RefKl => {
                    let estimator = self.kl.map_or(Estimator::default(), |kl| kl.estimator);
                    let estimator = estimator.without_step();
                    add_estimate(&view, estimator, weight, &mut sum)?;
                    sum.meter.reference(sequence.stream, &view);
                }
            }
        }
        sum.finish()
    }

    fn add_policy(
        &self,
        view: &View<'_>,
        weight: f64,
        sequence: &LossSequence,
        sum: &mut TokenSums,
    ) -> Result<()> {
        let terms = self.policy.terms(view)?;
        let mut factors = match &self.correction {
            Some(correction) => correction.factors(view)?,
            None => view.map(0.0, |_| 1.0),
        };
        if let Some(given) = view.factors {
            for at in view.places() {
                factors[at] *= given[at];
            }
        }
        for at in view.places() {
            let scale = weight * factors[at];
            sum.add(view.start + at, scale * terms[at].value, scale * terms[at].slope);
        }
        sum.meter.policy(sequence.stream, view, &terms, &factors);
        sum.meter.reference(sequence.stream, view);
        Ok(())
    }

    fn add_divergence(&self, view: &View<'_>, weight: f64, sum: &mut TokenSums) -> Result<()> {
        match self.kl {
            Some(kl) => add_estimate(view, kl.estimator, kl.weight * weight, sum),
            None => Ok(()),
        }
    }

    fn add_entropy(&self, view: &View<'_>, weight: f64, sum: &mut TokenSums) -> Result<()> {
        match view.entropies {
            Some(entropies) => {
                for at in view.places() {
                    sum.value -= self.entropy * weight * entropies[at];
                    sum.entropy_grad[view.start + at] = -self.entropy * weight;
                }
                Ok(())
            }
            None if self.entropy == 0.0 => Ok(()),
            None => Err(FormulaError::Missing {
                method: "entropy",
                what: "the entropies of the tokens",
            }),
        }
    }
}

fn add_estimate(view: &View<'_>, how: Estimator, weight: f64, sum: &mut TokenSums) -> Result<()> {
    let reference = view
        .reference
        .ok_or(FormulaError::Missing { method: "kl", what: "reference log-probabilities" })?;
    for at in view.places() {
        // `old_logprobs` is not read if the estimator does not need the ratio of the step.
        let step = match how {
            Estimator::Unbiased => Ratio::of(view.logp[at] - view.old_logprobs[at]),
            Estimator::K1 | Estimator::K2 | Estimator::K3 | Estimator::K3Plus => Ratio::of(0.0),
        };
        let (value, slope) = how.at(view.logp[at], reference[at], step);
        sum.add(view.start + at, weight * value, weight * slope);
    }
    Ok(())
}

/// Running sums over tokens.
struct TokenSums {
    value: f64,
    grad: Vec<f64>,
    entropy_grad: Vec<f64>,
    meter: Meter,
}

impl TokenSums {
    fn new(tokens: &Tokens<'_>) -> Self {
        Self {
            value: 0.0,
            grad: vec![0.0; tokens.logp.len()],
            entropy_grad: vec![0.0; tokens.entropies.map_or(0, <[f64]>::len)],
            meter: Meter::default(),
        }
    }

    fn add(&mut self, at: usize, value: f64, slope: f64) {
        self.value += value;
        self.grad[at] += slope;
    }

    fn finish(self) -> Result<Loss> {
        Loss {
            value: self.value,
            grad: self.grad,
            entropy_grad: self.entropy_grad,
            stats: self.meter.stats(),
        }
        .checked()
    }
}
