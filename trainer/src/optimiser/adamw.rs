//! `AdamW` (Loshchilov and Hutter, Decoupled Weight Decay Regularization, arXiv 1711.05101).
//!
//! Masters and moments are f32. A step writes the variables in place, so that the engine, which
//! shares their storage, uses them at once; no forward pass may run meanwhile.

use std::sync::Mutex;

use candle_core::{CpuStorage, InplaceOp1, Layout};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use crate::policy::{Gradients, Parameter, Policy};

/// The hyperparameters of the update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamWConfig {
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Added to the root.
    pub eps: f64,
    /// Decoupled decay of matrices, times the learning rate; norms, biases and embeddings have
    /// none.
    pub weight_decay: f64,
    /// The largest global norm of a step's gradients; larger ones are scaled down to it.
    pub clip: Option<f64>,
}

impl Default for AdamWConfig {
    fn default() -> AdamWConfig {
        AdamWConfig { beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.0, clip: Some(1.0) }
    }
}

/// Means of one parameter's gradients and of their squares. Both begin at 0, which is corrected for by the
/// number of the parameter's own steps: adapters that take turns do not change each other's updates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// Mean of the gradients.
    pub mean: Vec<f32>,
    /// Mean of their squares.
    pub square: Vec<f32>,
    /// Steps in which it had a gradient.
    pub steps: u64,
}

/// The optimiser's state; together with the parameters it suffices to resume a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// The hyperparameters.
    pub config: AdamWConfig,
    /// Steps taken.
    pub steps: u64,
    /// One entry per parameter, in the order of [`Policy::parameters`].
    pub moments: Vec<Moments>,
}

impl AdamW {
    /// Starts with zero moments.
    pub fn new(config: AdamWConfig, policy: &Policy) -> AdamW {
        let zeros = |parameter: &Parameter| {
            let n = parameter.var.elem_count();
            Moments { mean: vec![0.0; n], square: vec![0.0; n], steps: 0 }
        };
        AdamW { config, steps: 0, moments: policy.parameters().iter().map(zeros).collect() }
    }

    /// Checks that a step with these gradients would be taken; returns their norm.
    ///
    /// # Errors
    /// [`TrainError::NotFinite`] if the norm is not finite.
    pub fn check(&self, policy: &Policy, gradients: &Gradients) -> Result<f64> {
        let norm = gradients.norm();
        if norm.is_finite() {
            return Ok(norm);
        }
        // Parts that the batch did not use have no gradient, which is not a fault.
        let faults = gradients.faults(policy).into_iter();
        let faults = faults.filter(|(at, _)| gradients.parts[*at].is_some());
        let faults: Vec<String> = faults.map(|(_, fault)| fault).collect();
        Err(TrainError::NotFinite {
            step: self.steps + 1,
            what: format!("the norm of the gradients ({})", faults.join(", ")),
        })
    }

    /// Clips the gradients and takes one step at this learning rate; returns the norm before
    /// clipping. A parameter without gradient keeps its value and its moments.
    ///
    /// # Errors
    /// [`TrainError::NotFinite`] if the norm is not finite; then nothing was changed.
    pub fn step(&mut self, policy: &Policy, gradients: &mut Gradients, rate: f64) -> Result<f64> {
        let norm = self.check(policy, gradients)?;
        if let Some(clip) = self.config.clip.filter(|clip| norm > *clip) {
            gradients.scale(clip / norm);
        }
        self.steps += 1;
        let parts = gradients.parts.iter().zip(&mut self.moments);
        for (parameter, (gradient, moments)) in policy.parameters().iter().zip(parts) {
            let Some(gradient) = gradient else { continue };
            moments.steps += 1;
            let update = Update {
                factors: Factors::new(&self.config, moments.steps, rate, parameter.decays),
                gradient,
                moments: Mutex::new(moments),
            };
            parameter.var.as_tensor().inplace_op1(&update)?;
        }
        Ok(norm)
    }
}

/// One parameter's step.
struct Update<'a> {
    factors: Factors,
    gradient: &'a [f32],
    /// candle passes the operation by shared reference.
    moments: Mutex<&'a mut Moments>,
}

/// Factors of a parameter's step.
#[derive(Clone, Copy)]
struct Factors {
    beta1: f32,
    beta2: f32,
    eps: f32,
    /// The learning rate over 1 − β₁ᵗ.
    step: f32,
    /// √(1 − β₂ᵗ).
    root: f32,
    /// 1 − rate · decay.
    keep: f32,
}

impl Factors {
    #[expect(clippy::cast_possible_truncation, reason = "factors, rounded to the parameters' type")]
    fn new(config: &AdamWConfig, step: u64, rate: f64, decays: bool) -> Factors {
        let power = |beta: f64| beta.powf(step as f64);
        let decay = if decays { config.weight_decay } else { 0.0 };
        Factors {
            beta1: config.beta1 as f32,
            beta2: config.beta2 as f32,
            eps: config.eps as f32,
            step: (rate / (1.0 - power(config.beta1))) as f32,
            root: (1.0 - power(config.beta2)).sqrt() as f32,
            keep: (1.0 - rate * decay) as f32,
        }
    }

    fn apply(self, x: &mut f32, gradient: f32, mean: &mut f32, square: &mut f32) {
        *mean = self.beta1 * *mean + (1.0 - self.beta1) * gradient;
        *square = self.beta2 * *square + (1.0 - self.beta2) * gradient * gradient;
        let root = square.sqrt() / self.root + self.eps;
        *x = *x * self.keep - self.step * *mean / root;
    }
}

/// Numbers that one thread updates at a time.
const PIECE: usize = 1 << 14;

impl InplaceOp1 for Update<'_> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> candle_core::Result<()> {
        let CpuStorage::F32(numbers) = storage else {
            return Err(candle_core::Error::Msg("parameters are f32".into()));
        };
        let Some((start, end)) = layout.contiguous_offsets() else {
            return Err(candle_core::Error::Msg("a parameter is not contiguous".into()));
        };
        let mut moments = self.moments.lock().expect("no holder panics");
        let Moments { mean, square, .. } = &mut **moments;
        numbers[start..end]
            .par_chunks_mut(PIECE)
            .zip(self.gradient.par_chunks(PIECE))
            .zip(mean.par_chunks_mut(PIECE).zip(square.par_chunks_mut(PIECE)))
            .for_each(|((numbers, gradient), (mean, square))| {
                let moments = mean.iter_mut().zip(square);
                for ((x, g), (mean, square)) in numbers.iter_mut().zip(gradient).zip(moments) {
                    self.factors.apply(x, *g, mean, square);
                }
            });
        Ok(())
    }
}
