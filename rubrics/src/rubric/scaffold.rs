//! Scaffolds: a decreasing part of the rubric, shown to a policy in rollouts.
//!
//! `RuscaRL` (2508.16949), after its public code: the first rollout of a group gets most of
//! the rubric and the last nothing, and all get less as training proceeds. The log-probabilities
//! of a scaffolded rollout are conditioned on the prompt with its scaffold; the trainer decides how
//! to handle that.

use base::stats::from_count;
use sha2::{Digest as _, Sha256};

use super::definition::Rubric;
use super::item::{RubricItem, Veto};
use crate::prompt::Prompt;

/// Decay of the scaffold along a group and along training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Along a group.
    pub group: GroupDecay,
    /// Along training.
    pub step: StepDecay,
}

/// Decay along a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupDecay {
    /// `(n - 1 - i) / (n - 1)`: all for the first, nothing for the last.
    Linear,
    /// Everything for the first samples, nothing for the others.
    Binary(usize),
}

/// Decay along training; `x` is the completed share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepDecay {
    /// As much as in the beginning.
    None,
    /// `1 / (1 + exp(steep (x - start)))`.
    Sigmoid {
        /// Share of training at which half is shown.
        start: f64,
        /// Steepness.
        steep: f64,
    },
    /// `1 - x`.
    Linear,
    /// `(1 - x)^p`.
    Power(f64),
}

impl Schedule {
    /// Settings of the paper's training script: linear in the group, a sigmoid with start 0.20 and
    /// steepness 125.
    pub const SCRIPT: Self =
        Self { group: GroupDecay::Linear, step: StepDecay::Sigmoid { start: 0.20, steep: 125.0 } };
    /// Defaults of the paper's code: start 0.3 and steepness 10.
    pub const CODE_DEFAULT: Self =
        Self { group: GroupDecay::Linear, step: StepDecay::Sigmoid { start: 0.3, steep: 10.0 } };
}

/// One sample of one step of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingSample {
    /// Its place in its group, from 0.
    pub index: usize,
    /// Samples of the group.
    pub group: usize,
    /// The step of training, from 1.
    pub step: usize,
    /// Total steps of training.
    pub steps: usize,
}

/// An impossible sample or an invalid schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScaffoldError {
    /// Its place lies outside of its group.
    #[error("sample {index} of a group of {group}; samples count from 0")]
    Index {
        /// Its place.
        index: usize,
        /// The group's size.
        group: usize,
    },
    /// Its step lies outside of training.
    #[error("step {step} of {steps}; steps count from 1")]
    Step {
        /// The step.
        step: usize,
        /// All steps.
        steps: usize,
    },
    /// A number of the schedule is not finite, or negative where it must not be.
    #[error("the schedule's numbers must be finite, and a power and a steepness not negative")]
    Schedule,
}

impl GroupDecay {
    /// `λ_group` of the sample at `index` of a group of `group`; 1 for a group of one.
    pub fn share(self, index: usize, group: usize) -> f64 {
        if group <= 1 {
            return 1.0;
        }
        match self {
            Self::Linear => from_count(group - 1 - index.min(group - 1)) / from_count(group - 1),
            Self::Binary(full) if index < full => 1.0,
            Self::Binary(_) => 0.0,
        }
    }
}

impl StepDecay {
    /// `λ_step` at `x` in `[0, 1]`.
    pub fn share(self, x: f64) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Sigmoid { start, steep } => 1.0 / (1.0 + (steep * (x - start)).exp()),
            Self::Linear => 1.0 - x,
            Self::Power(p) => (1.0 - x).powf(p),
        }
    }

    fn is_usable(self) -> bool {
        match self {
            Self::None | Self::Linear => true,
            Self::Sigmoid { start, steep } => {
                start.is_finite() && steep.is_finite() && steep >= 0.0
            }
            Self::Power(p) => p.is_finite() && p >= 0.0,
        }
    }
}

impl TrainingSample {
    /// The share of training that is over, `(s - 1) / (T - 1)`. A training of one step is at its
    /// beginning.
    fn progress(self) -> f64 {
        if self.steps <= 1 {
            return 0.0;
        }
        from_count(self.step - 1) / from_count(self.steps - 1)
    }
}

/// Returns the number of `n_items` that a sample sees: `round(λ_group λ_step n)`, rounding halves
/// to even as the paper's code does. A training of one step has no decay.
///
/// # Errors
/// [`ScaffoldError`].
pub fn shown(
    schedule: &Schedule,
    sample: TrainingSample,
    n_items: usize,
) -> Result<usize, ScaffoldError> {
    let TrainingSample { index, group, step, steps } = sample;
    if index >= group {
        return Err(ScaffoldError::Index { index, group });
    }
    if step == 0 || step > steps {
        return Err(ScaffoldError::Step { step, steps });
    }
    if !schedule.step.is_usable() {
        return Err(ScaffoldError::Schedule);
    }
    let along = match steps {
        1 => 1.0,
        _ => schedule.step.share(sample.progress()),
    };
    let share = schedule.group.share(index, group) * along;
    let wanted = (share * from_count(n_items)).round_ties_even();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "both shares lie in [0, 1]"
    )]
    let wanted = wanted as usize;
    Ok(wanted.min(n_items))
}

/// Renders the system message with a rollout's part of the rubric; `None` if the part is empty.
/// `seed` and the rollout determine the items.
///
/// Items with positive points are listed under "include" and those with negative points under
/// "avoid"; an item without points, such as a veto alone, is listed under "avoid" if its veto
/// applies to high values. The message instructs the model not to mention the lists.
///
/// # Errors
/// [`ScaffoldError`].
pub fn message(
    rubric: &Rubric,
    schedule: &Schedule,
    sample: TrainingSample,
    seed: u64,
) -> Result<Option<String>, ScaffoldError> {
    let n_items = rubric.items.len();
    let picked = subset(n_items, shown(schedule, sample, n_items)?, sample, seed);
    let items: Vec<&RubricItem> = picked.into_iter().map(|at| &rubric.items[at]).collect();
    Ok(render(&items))
}

/// The message for these items; `None` for none.
pub fn render(items: &[&RubricItem]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let list = |avoid: bool| {
        let chosen = items.iter().filter(|item| is_fault(item) == avoid);
        let lines: Vec<String> = chosen.map(|item| line(item)).collect();
        if lines.is_empty() { "- nothing in particular".to_owned() } else { lines.join("\n") }
    };
    let prompt = Prompt::built_in("rubric-scaffold");
    let (include, avoid) = (list(false), list(true));
    let turns = prompt.fill(&[("include", &include), ("avoid", &avoid)]);
    turns.into_iter().next().map(|turn| turn.content)
}

/// `k` of `n` places in their order: those with the smallest digests, which is a random choice
/// that any machine repeats.
fn subset(n: usize, k: usize, sample: TrainingSample, seed: u64) -> Vec<usize> {
    let mut drawn: Vec<([u8; 32], usize)> = (0..n)
        .map(|at| {
            let mut hash = Sha256::new_with_prefix(seed.to_le_bytes());
            for part in [sample.step, sample.index, at] {
                hash.update((part as u64).to_le_bytes());
            }
            (hash.finalize().into(), at)
        })
        .collect();
    drawn.sort_unstable();
    let mut places: Vec<usize> = drawn.into_iter().take(k).map(|(_, at)| at).collect();
    places.sort_unstable();
    places
}

fn is_fault(item: &RubricItem) -> bool {
    let is_vetoed = matches!(item.veto, Some(Veto::Above(_)));
    item.points < 0.0 || (item.points == 0.0 && is_vetoed)
}

fn line(item: &RubricItem) -> String {
    let words: Vec<&str> = crate::prompt::lines(&item.criterion).collect();
    let points = item.points.abs();
    format!("- {} ({points} points)", words.join(" "))
}
