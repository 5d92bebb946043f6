//! The prompts that a step samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::problem_values::ProblemValues;
use crate::advantages::{AdvantageKind, ScoredResponse};
use crate::auxiliary::AuxiliaryModel;
use crate::curriculum::{Curriculum, CurriculumConfig, CurriculumState, GroupAdvantages};
use crate::error::Result;
use crate::item::{Group, ItemRole, TrainingItem};
use crate::methods::context::StepContext;
use crate::metrics::Metrics;
use crate::rollout::Sampler;

/// The prompts of a run, and statistics of their rewards.
#[derive(Debug)]
pub(super) struct Prompts {
    items: Vec<TrainingItem>,
    curriculum: Curriculum,
    /// The pass through all prompts at the last call of [`Prompts::begins_pass`].
    pass: u64,
    /// Mean reward of each prompt's last group.
    rewards: BTreeMap<u64, f64>,
    /// A model of their mean rewards.
    values: Option<ProblemValues>,
}

/// What a model of values needs to read prompts.
pub(super) type ReadContext<'a> = (&'a Sampler, &'a StepContext<'a>);

/// Their state in a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptsState {
    curriculum: CurriculumState,
    #[serde(rename = "episode")]
    pass: u64,
    #[serde(with = "crate::float_bits::map")]
    rewards: BTreeMap<u64, f64>,
}

impl Prompts {
    /// Takes the problems of a run and numbers them, since several files may use the same indices.
    pub(super) fn new(
        config: CurriculumConfig,
        items: Vec<TrainingItem>,
        seed: u64,
    ) -> Result<Prompts> {
        let items: Vec<TrainingItem> =
            (0..).zip(items).map(|(index, item)| TrainingItem { index, ..item }).collect();
        let all = items.iter().map(|item| (item.index, item.category.as_deref()));
        Ok(Prompts {
            curriculum: Curriculum::new(config, all, seed)?,
            items,
            pass: 0,
            rewards: BTreeMap::new(),
            values: None,
        })
    }

    /// Chooses problems by a model of their values.
    pub(super) fn set_values(&mut self, values: ProblemValues) {
        self.values = Some(values);
    }

    /// The model of values.
    pub(super) fn value_model(&self) -> Option<&AuxiliaryModel> {
        self.values.as_ref().map(|values| &values.0)
    }

    /// The model of values.
    pub(super) fn value_model_mut(&mut self) -> Option<&mut AuxiliaryModel> {
        self.values.as_mut().map(|values| &mut values.0)
    }

    /// Trains the model of values on the mean rewards of a batch.
    pub(super) fn learn(
        &mut self,
        context: ReadContext<'_>,
        groups: &[Group],
        metrics: &mut Metrics,
    ) -> Result<()> {
        let Some(values) = &mut self.values else {
            return Ok(());
        };
        let observed = groups.iter().filter(|group| group.item.role == ItemRole::Policy);
        let observed = observed.filter_map(|group| {
            let rewards = group.rewards().filter(|rewards| !rewards.is_empty())?;
            Some((&*group.item, rewards.iter().sum::<f64>() / rewards.len() as f64))
        });
        values.learn(context, &observed.collect::<Vec<_>>(), metrics)
    }

    /// Whether a pass through all prompts ended since the last call.
    pub(super) fn begins_pass(&mut self) -> bool {
        let now = self.curriculum.pass();
        let begins = now > self.pass;
        self.pass = now;
        begins
    }

    /// Draws the next prompts.
    pub(super) fn draw(&mut self, n: usize, context: ReadContext<'_>) -> Result<Vec<TrainingItem>> {
        let rewards = &self.rewards;
        let known = rewards.len().max(1) as f64;
        let mean = rewards.values().sum::<f64>() / known;
        let item =
            |index: u64| &self.items[usize::try_from(index).expect("a place among problems")];
        // Without a value model the last mean rewards replace it, and for a problem that was never
        // sampled the mean of the others.
        let values = &self.values;
        let value = |problems: &[u64]| {
            if let Some(values) = values {
                let items: Vec<&TrainingItem> = problems.iter().map(|index| item(*index)).collect();
                return values.read(context, &items);
            }
            let value = |index: &u64| rewards.get(index).copied().unwrap_or(mean);
            Ok(problems.iter().map(value).collect())
        };
        let drawn = self.curriculum.draw(n, value)?;
        Ok(drawn.into_iter().map(|index| item(index).clone()).collect())
    }

    /// Passes the rewards of all groups to the curriculum, also of those that are not trained on.
    /// The advantages are GRPO's for every method: they measure how far rewards differ.
    pub(super) fn observe(&mut self, groups: &[Group]) -> Result<()> {
        let rewarded: Vec<(&Group, Vec<f64>)> = groups
            .iter()
            .filter_map(|group| Some((group, group.rewards()?)))
            .filter(|(_, rewards)| !rewards.is_empty())
            .collect();
        let responses: Vec<Vec<ScoredResponse<'_>>> = rewarded
            .iter()
            .map(|(_, rewards)| rewards.iter().map(|r| ScoredResponse::new(*r, 1)).collect())
            .collect();
        let advantages = AdvantageKind::default().evaluate(&responses)?;
        let advantages: Vec<Vec<f64>> = advantages.into_iter().map(|of| of.concat()).collect();
        let observed: Vec<GroupAdvantages<'_>> = rewarded
            .iter()
            .zip(&advantages)
            .map(|((group, _), advantages)| GroupAdvantages {
                category: group.item.category.as_deref(),
                advantages,
            })
            .collect();
        self.curriculum.observe(&observed)?;
        for (group, rewards) in &rewarded {
            let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
            self.rewards.insert(group.item.index, mean);
        }
        Ok(())
    }

    /// Reports the probabilities of categories if there are several.
    pub(super) fn report(&self, metrics: &mut Metrics) {
        let weights = self.curriculum.weights();
        if weights.len() > 1 {
            for (name, weight) in weights {
                metrics.set(format!("curriculum/{name}"), weight);
            }
        }
        metrics.set("curriculum_episode", self.curriculum.pass() as f64);
    }

    pub(super) fn state(&self) -> PromptsState {
        PromptsState {
            curriculum: self.curriculum.state(),
            pass: self.pass,
            rewards: self.rewards.clone(),
        }
    }

    pub(super) fn restore(&mut self, state: PromptsState) -> Result<()> {
        self.curriculum.resume(state.curriculum)?;
        self.pass = state.pass;
        self.rewards = state.rewards;
        Ok(())
    }
}
