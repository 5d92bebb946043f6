//! Models that are trained beside the policy, each with its own weights and optimiser: value models,
//! token reward models, step reward models.

use crate::error::Result;
use crate::optimiser::{AdamW, AdamWConfig};
use crate::policy::{Asserted, Gradients, Policy};

/// A model in training beside the policy.
#[derive(Debug)]
pub struct AuxiliaryModel {
    name: &'static str,
    policy: Policy,
    optimiser: AdamW,
    rate: f64,
    asserted: Asserted,
}

impl AuxiliaryModel {
    /// A model at the start of its training, at a constant learning rate. `name` is that of its
    /// folder in checkpoints and the prefix of its metrics.
    pub fn new(name: &'static str, policy: Policy, rate: f64, adamw: AdamWConfig) -> Self {
        let optimiser = AdamW::new(adamw, &policy);
        Self { name, policy, optimiser, rate, asserted: Asserted::default() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its weights.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The state of its optimiser.
    pub fn optimiser(&self) -> &AdamW {
        &self.optimiser
    }

    /// The state of its optimiser, to restore it, with its weights.
    pub fn restorable(&mut self) -> (&mut AdamW, &Policy) {
        (&mut self.optimiser, &self.policy)
    }

    /// Checks that a step with these gradients would be taken.
    ///
    /// # Errors
    /// Variables that no gradient reached in the first step, and gradients that are not finite.
    pub fn check(&mut self, gradients: &Gradients) -> Result<()> {
        self.policy.assert_reached(gradients, &mut self.asserted)?;
        self.optimiser.check(&self.policy, gradients).map(|_| ())
    }

    /// Takes a step of the optimiser and returns the norm of the gradients.
    ///
    /// # Errors
    /// Gradients that are not finite; then nothing was changed.
    pub fn take_step(&mut self, gradients: &mut Gradients) -> Result<f64> {
        self.optimiser.step(&self.policy, gradients, self.rate)
    }
}
