//! Scaffolds inside rollouts (`[method.scaffold]`; `RuscaRL`, arXiv 2508.16949): a part of a row's rubric
//! stands before its prompt while a response is sampled, less of it along a group and along training.
//!
//! By default the policy is trained on the plain prompt: log-probabilities are computed anew for it, so
//! that ratios begin at 1 and the help of the scaffold is distilled. The scorer reads the whole rubric
//! and the plain prompt.

use rubrics::Message;
use rubrics::rubric::scaffold::{GroupDecay, Schedule, StepDecay, TrainingSample, message};
use rubrics::rubric::{Rubric, parse};
use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use crate::item::TrainingItem;
use crate::methods::context::StepContext;
use crate::rollout::RewardManager;

/// `[method.scaffold]`. The defaults are those of the published script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScaffoldSection {
    /// The decay along a group.
    pub group: AlongGroup,
    /// The decay along training.
    pub steps: AlongTraining,
    /// Whether the policy is trained on the prompt with its scaffold, as it was sampled.
    pub train_on_scaffold: bool,
}

/// The decay of a scaffold along a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlongGroup {
    /// All of the rubric for the first response, nothing for the last.
    #[default]
    Linear,
    /// All for so many first responses, nothing for the others.
    Binary(usize),
}

/// The decay of a scaffold along training, by the share x of steps that are done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlongTraining {
    /// `1 / (1 + exp(steep (x - start)))`.
    Sigmoid {
        /// The share at which half is shown; 0.20.
        start: f64,
        /// The steepness; 125.
        steep: f64,
    },
    /// `1 - x`.
    Linear,
    /// `(1 - x)^p`.
    Power(f64),
    /// As much as at the beginning.
    None,
}

impl Default for AlongTraining {
    fn default() -> Self {
        Self::Sigmoid { start: 0.20, steep: 125.0 }
    }
}

impl ScaffoldSection {
    pub(super) fn check(&self) -> Vec<String> {
        let holds = match self.steps {
            AlongTraining::Sigmoid { start, steep } => {
                start.is_finite() && steep.is_finite() && steep >= 0.0
            }
            AlongTraining::Power(p) => p.is_finite() && p >= 0.0,
            AlongTraining::Linear | AlongTraining::None => true,
        };
        let problem =
            "scaffold: `start`, `steep` and a power are finite, the last two not negative";
        (!holds).then(|| problem.to_owned()).into_iter().collect()
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            group: match self.group {
                AlongGroup::Linear => GroupDecay::Linear,
                AlongGroup::Binary(full) => GroupDecay::Binary(full),
            },
            step: match self.steps {
                AlongTraining::Sigmoid { start, steep } => StepDecay::Sigmoid { start, steep },
                AlongTraining::Linear => StepDecay::Linear,
                AlongTraining::Power(p) => StepDecay::Power(p),
                AlongTraining::None => StepDecay::None,
            },
        }
    }

    /// The conversations that the responses of a group are sampled from; `None` is the item's own. Items
    /// without a rubric have no scaffold.
    ///
    /// # Errors
    /// A rubric that cannot be read.
    pub(super) fn conversations(
        &self,
        item: &TrainingItem,
        group: usize,
        (step, rewards): (&StepContext<'_>, &RewardManager),
    ) -> Result<Vec<Option<Vec<Message>>>> {
        let Some(rubric) = rubric(item, rewards)? else {
            return Ok(vec![None; group]);
        };
        let own = |index| {
            let place = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
            let (step, steps) = (place(step.step), place(step.steps));
            TrainingSample { index, group, step, steps: steps.max(step) }
        };
        let seed = step.seed.wrapping_add(item.index);
        let shown = (0..group).map(|index| {
            let text = message(&rubric, &self.schedule(), own(index), seed);
            let text = text.map_err(|error| TrainError::Invalid(error.to_string()))?;
            Ok(text.map(|text| with_system(&item.turns, text)))
        });
        shown.collect()
    }
}

/// The rubric of an item's row.
fn rubric(item: &TrainingItem, rewards: &RewardManager) -> Result<Option<Rubric>> {
    let Some(fields) = &item.fields.rubric else {
        return Ok(None);
    };
    let text = serde_json::Value::Object(fields.clone()).to_string();
    let file = format!("rubric of row {}.json", item.index + 1);
    let names: Vec<&str> = rewards.scorer_names().collect();
    let parsed = parse(&file, &text, &names);
    parsed.map(Some).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        TrainError::Invalid(lines.join("\n"))
    })
}

/// A conversation with a text before its system message.
fn with_system(turns: &[Message], text: String) -> Vec<Message> {
    let (text, rest) = match turns.split_first() {
        Some((first, rest)) if first.role == "system" => {
            (format!("{text}\n\n{}", first.content), rest)
        }
        _ => (text, turns),
    };
    let mut turns = vec![Message::new("system", &*text)];
    turns.extend_from_slice(rest);
    turns
}

#[cfg(test)]
mod tests {
    use rubrics::rubric::scaffold::shown;

    use super::*;

    #[test]
    fn scaffold_stands_before_the_system_message() {
        let check = |turns: &[(&str, &str)], expected: &[(&str, &str)]| {
            let turns: Vec<Message> =
                turns.iter().map(|(role, text)| Message::new(*role, *text)).collect();
            let got = with_system(&turns, "Include this.".to_owned());
            let got: Vec<(&str, &str)> =
                got.iter().map(|turn| (&*turn.role, &*turn.content)).collect();
            assert_eq!(got, expected);
        };
        check(&[("user", "a")], &[("system", "Include this."), ("user", "a")]);
        let both = "Include this.\n\nBe kind.";
        check(&[("system", "Be kind."), ("user", "a")], &[("system", both), ("user", "a")]);
    }

    /// METHODS2 J2: four responses, a hundred steps, six items.
    #[test]
    fn j2_scaffolds_decay_along_group_and_training() {
        let schedule = ScaffoldSection::default().schedule();
        let at = |step: usize| {
            let own = |index| TrainingSample { index, group: 4, step, steps: 100 };
            let shown = (0..4).map(|index| shown(&schedule, own(index), 6).expect("it exists"));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(at(1), [6, 4, 2, 0]);
        assert_eq!(at(21), [3, 2, 1, 0]);
        assert_eq!(at(41), [0, 0, 0, 0]);
    }

    #[test]
    fn options_are_read_and_checked() {
        let section = |text: &str| toml::from_str::<ScaffoldSection>(text).expect("an option");
        let script = Schedule { group: GroupDecay::Linear, ..Schedule::SCRIPT };
        assert_eq!(section("").schedule(), script);
        let other = section("group = { binary = 2 }\nsteps = { power = 2.0 }").schedule();
        let expected = Schedule { group: GroupDecay::Binary(2), step: StepDecay::Power(2.0) };
        assert_eq!(other, expected);
        assert!(section("steps = \"none\"").check().is_empty());
        assert_eq!(section("steps = { power = -1.0 }").check().len(), 1);
        assert!(toml::from_str::<ScaffoldSection>("step = \"none\"").is_err());
    }
}
