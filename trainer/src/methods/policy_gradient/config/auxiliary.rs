//! Sections of a run file for models that are trained beside the policy.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use verifiers::arithmetic::Splitter;

use crate::losses::value::ValueLoss;

/// `value` of `[method]`: the values that GAE reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "trunk", rename_all = "snake_case")]
pub enum ValueSection {
    /// A model of its own.
    Own(OwnValue),
    /// A head on the policy, trained in the policy's steps.
    Shared(SharedValue),
}

/// A value model with its own weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnValue {
    /// Its learning rate.
    pub rate: f64,
    /// A model folder with a score head of one output, such as a reward model; `None` puts a head of
    /// zeros on the policy's model.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// First steps, in which it alone is trained.
    #[serde(default)]
    pub warmup: u64,
    /// Whether it reads the reference answer behind the conversation (Pairwise-RL, 2504.04950),
    /// which the policy never sees. The wording is ours.
    #[serde(default)]
    pub anchor: bool,
    /// Its loss.
    #[serde(default)]
    pub loss: ValueLoss,
}

/// A value head on the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedValue {
    /// The weight of its loss beside the policy's; 0.1 as in TRL.
    #[serde(default = "tenth")]
    pub weight: f64,
    /// Its loss.
    #[serde(default)]
    pub loss: ValueLoss,
}

fn tenth() -> f64 {
    0.1
}

/// `token_reward` of `[method]`: the token reward model of OREAL (2502.06781).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRewardSection {
    /// Its learning rate.
    pub rate: f64,
    /// First steps, in which it alone is trained; 10 in the paper.
    #[serde(default = "ten")]
    pub warmup: u64,
    /// Whether one right and one wrong response of each group are trained on, drawn at random, as in
    /// the published code; advantages are those of the whole group.
    #[serde(default = "yes")]
    pub pairs: bool,
    /// Whether groups are weighted by how hard they are: 6, 4, 4, 2 and 0 from a pass rate of 0 up, in
    /// fifths, over their mean. The published code repeats problems so by a pass rate that was
    /// measured before; the group's own is ours.
    #[serde(default)]
    pub by_pass_rate: bool,
}

fn ten() -> u64 {
    10
}

fn yes() -> bool {
    true
}

/// `step_model` of `[method]`: a model that gives steps their rewards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StepModelSection {
    /// iStar's implicit process reward model (2509.19199).
    Implicit(ImplicitSection),
    /// SPA-RL's progress estimator (2505.20732).
    Progress(ProgressSection),
}

/// An implicit process reward model: a copy of the policy whose log-ratio to the policy, summed over
/// the tokens of a step, is the step's reward. It learns by Bradley-Terry on all pairs of a right and
/// a wrong response of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImplicitSection {
    /// Its learning rate.
    pub rate: f64,
    /// The factor of log-ratios; 0.05 in the paper.
    #[serde(default = "beta")]
    pub beta: f64,
    /// The score of a response.
    #[serde(default)]
    pub trajectory: TrajectoryScore,
    /// The steps of a response, unless `steps_scorer` finds them.
    #[serde(default)]
    pub split: StepSplit,
}

fn beta() -> f64 {
    0.05
}

/// The score of a response by an implicit process reward model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrajectoryScore {
    /// The mean reward of its steps, as in the published code.
    #[default]
    MeanSteps,
    /// Their sum, as the paper is reported to have it.
    Sum,
}

/// A progress estimator: a score at the last token of each step, whose sum over a response learns to
/// equal its reward. The paper trains it before the policy and reads it from logits; training it in
/// turn with the policy, by a score head, is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressSection {
    /// Its learning rate.
    pub rate: f64,
    /// The reward of a step that `steps_scorer` finds right, or of a turn whose calls succeed, beside its
    /// progress. The published code
    /// gives 0.5 to an action that the environment executes.
    #[serde(default = "half")]
    pub bonus: f64,
    /// The steps of a response, unless `steps_scorer` finds them.
    #[serde(default)]
    pub split: StepSplit,
}

fn half() -> f64 {
    0.5
}

/// The rule by which a response is cut into steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSplit {
    /// Lines that are not blank.
    #[default]
    Lines,
    /// Paragraphs.
    BlankLines,
    /// Sentences, within lines.
    Sentences,
    /// Turns of a policy with tools. A turn is executed, for SPA-RL's bonus, if none of its calls failed,
    /// and the last one always.
    Turns,
}

impl StepSplit {
    /// The rule by the text; `None` for turns.
    pub(in super::super) fn splitter(self) -> Option<Splitter> {
        match self {
            StepSplit::Lines => Some(Splitter::Lines),
            StepSplit::BlankLines => Some(Splitter::BlankLines),
            StepSplit::Sentences => Some(Splitter::Sentences),
            StepSplit::Turns => None,
        }
    }
}

impl ValueSection {
    /// First steps in which the policy is not trained.
    pub(in super::super) fn warmup(&self) -> u64 {
        match self {
            ValueSection::Own(own) => own.warmup,
            ValueSection::Shared(_) => 0,
        }
    }

    pub(in super::super) fn loss(&self) -> ValueLoss {
        match self {
            ValueSection::Own(own) => own.loss,
            ValueSection::Shared(shared) => shared.loss,
        }
    }

    pub(super) fn check(&self) -> Vec<String> {
        let own = match self {
            ValueSection::Own(own) => check_rate("value", own.rate),
            ValueSection::Shared(shared) if !(shared.weight.is_finite() && shared.weight > 0.0) => {
                Some("value: `weight` is a positive number".to_owned())
            }
            ValueSection::Shared(_) => None,
        };
        let loss = self.loss().check().err().map(|error| format!("value: {error}"));
        own.into_iter().chain(loss).collect()
    }
}

impl TokenRewardSection {
    pub(super) fn check(&self) -> Vec<String> {
        check_rate("token_reward", self.rate).into_iter().collect()
    }
}

impl StepModelSection {
    /// Its learning rate.
    pub(in super::super) fn rate(&self) -> f64 {
        match self {
            StepModelSection::Implicit(section) => section.rate,
            StepModelSection::Progress(section) => section.rate,
        }
    }

    /// The rule for steps without `steps_scorer`.
    pub(in super::super) fn split(&self) -> StepSplit {
        match self {
            StepModelSection::Implicit(section) => section.split,
            StepModelSection::Progress(section) => section.split,
        }
    }

    pub(super) fn check(&self) -> Vec<String> {
        let (name, value) = match self {
            StepModelSection::Implicit(section) => ("beta", section.beta),
            StepModelSection::Progress(section) => ("bonus", section.bonus),
        };
        let range = (!(value.is_finite() && value >= 0.0))
            .then(|| format!("step_model: `{name}` is 0 or more"));
        check_rate("step_model", self.rate()).into_iter().chain(range).collect()
    }
}

fn check_rate(section: &str, rate: f64) -> Option<String> {
    let holds = rate.is_finite() && rate > 0.0;
    (!holds).then(|| format!("{section}: `rate` is a positive number"))
}
