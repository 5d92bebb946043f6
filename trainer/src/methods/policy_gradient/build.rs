//! Builds a policy-gradient method from its configuration, and saves and restores its state.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::StopStrings;

use super::auxiliary::{AuxiliaryModels, PROBLEM_VALUE};
use super::config::{CompareSection, PolicyGradientConfig};
use super::group_source::{GroupSource, NewGroups};
use super::hook::Hook;
use super::hooks::{
    Asynchronous, CompareRewards, ConfidentRewards, CrlHook, FiltrationHook, GuardHook,
    PartialRollouts, SampledAhead, SparkHook, TranscriptHook, UrpoHook, monitor, trust,
};
use super::problem_values::ProblemValues;
use super::prompts::Prompts;
use super::responder::Responder;
use super::rollouts::{RewardHook, Rollouts};
use super::state::PolicyGradientState;
use super::train_step::PolicyGradient;
use crate::auxiliary::AuxiliaryModel;
use crate::curriculum::{DiscardRate, NoProgressRule};
use crate::data::{Ranked, TrainingRow, TrainingRows};
use crate::error::{Result, TrainError};
use crate::item::{ItemRole, TrainingItem};
use crate::judge_data::{ItemQueue, ReplayBuffer};
use crate::methods::context::wrong_kind;
use crate::rollout::{
    RewardManager, RolloutParams, SampleRequest, SampledResponse, Sampler, ToolLoop,
};

impl PolicyGradient {
    /// Builds the loop and its hooks over a served policy and the rows of a run.
    ///
    /// # Errors
    /// Invalid options, and rows that are not problems.
    pub fn new(
        config: PolicyGradientConfig,
        sampler: Sampler,
        rewards: RewardManager,
        rows: &TrainingRows,
        seed: u64,
    ) -> Result<PolicyGradient> {
        let stop = stop_strings(&config, &sampler)?;
        let (config, rewards) = (Arc::new(config), Arc::new(rewards));
        let mut rows = RowsByKind::of(rows, config.urpo.is_some())?;
        let comparing = comparing_scorers(&config, &rewards, &rows.problems)?;
        if let Some(reader) = config.reads_right() {
            check_right(&config, &rewards, &rows.problems, reader)?;
        }
        let mut hooks: Vec<Box<dyn Hook>> = Vec::new();
        let mut reward_hooks: Vec<Box<dyn RewardHook>> = Vec::new();
        if let Some(section) = &config.crl {
            hooks.push(Box::new(CrlHook::new(section)?));
        }
        if let Some(section) = &config.urpo {
            let urpo = UrpoHook::new(section.clone(), rows.ranked, rows.open, seed)?;
            reward_hooks.push(Box::new(urpo.rewards()));
            hooks.push(Box::new(urpo));
        }
        if let Some(section) = config.compare {
            reward_hooks.push(Box::new(CompareRewards::new(section, comparing)));
        }
        if let Some(section) = &config.monitor {
            let (hook, rewards) = monitor(section);
            hooks.push(Box::new(hook));
            reward_hooks.push(Box::new(rewards));
        }
        if let Some(section) = &config.guard {
            hooks.push(Box::new(GuardHook::new(section)?));
            reward_hooks.extend(ConfidentRewards::new(section).map(|hook| Box::new(hook) as _));
        }
        if let Some(section) = &config.trust {
            let (hook, rewards) = trust(section, &mut rows.problems, seed)?;
            hooks.push(Box::new(hook));
            reward_hooks.push(Box::new(rewards));
        }
        if let Some(section) = config.filtration {
            hooks.push(Box::new(FiltrationHook(section)));
        }
        if let Some(section) = &config.spark {
            hooks.push(Box::new(SparkHook::new(section, config.prompts)?));
        }
        let asynchronous = config.asynchronous.filter(|own| own.max_staleness > 0);
        let source: Box<dyn GroupSource> = match (asynchronous, config.partial, config.sample_ahead)
        {
            (Some(section), _, _) => Box::new(Asynchronous::new(section)),
            (None, Some(section), _) => Box::new(PartialRollouts::new(section, config.prompts)?),
            (None, None, Some(steps)) => Box::new(SampledAhead::new(steps)),
            (None, None, None) => Box::new(NewGroups),
        };
        Ok(PolicyGradient {
            prompts: Prompts::new(config.curriculum.clone(), rows.problems, seed)?,
            no_progress: NoProgressRule::new(config.no_progress_after),
            discard: DiscardRate::default(),
            replay_buffer: ReplayBuffer::new(config.replay_buffer, seed),
            rollouts: Rollouts {
                config: config.clone(),
                responder: Responder::new(sampler.clone(), rewards.clone(), stop),
                sampler,
                rewards,
                reward_hooks,
            },
            source,
            hooks,
            auxiliary: AuxiliaryModels::default(),
            config,
        })
    }

    /// Adds the models that are trained beside the policy, those of
    /// [`PolicyGradientConfig::auxiliary`].
    ///
    /// # Errors
    /// A model that is missing.
    pub fn with_auxiliary(self, models: Vec<AuxiliaryModel>) -> Result<PolicyGradient> {
        let own = |model: &AuxiliaryModel| model.name() == PROBLEM_VALUE;
        let (values, models): (Vec<_>, Vec<_>) = models.into_iter().partition(own);
        let mut built =
            PolicyGradient { auxiliary: AuxiliaryModels::new(&self.config, models)?, ..self };
        for model in values {
            built.prompts.set_values(ProblemValues(model));
        }
        Ok(built)
    }

    /// Lets the policy call tools in its rollouts.
    #[must_use]
    pub fn with_tools(mut self, tools: ToolLoop) -> PolicyGradient {
        self.rollouts.responder.set_tools(tools);
        self.hooks.push(Box::new(TranscriptHook));
        self
    }

    /// Samples responses to items, in turns if the policy has tools.
    ///
    /// # Errors
    /// Requests that cannot be sampled.
    pub fn respond(
        &self,
        requests: Vec<(SampleRequest, &TrainingItem)>,
        params: RolloutParams,
    ) -> Result<Vec<SampledResponse>> {
        self.rollouts.responder.respond(requests, params)
    }

    /// The models that are trained beside the policy and have weights of their own.
    pub fn auxiliary_models(&self) -> impl Iterator<Item = &AuxiliaryModel> {
        self.auxiliary.models().chain(self.prompts.value_model())
    }

    /// The sampler of the served policy.
    pub fn sampler(&self) -> &Sampler {
        &self.rollouts.sampler
    }

    /// The adapter that responds to items of a role; `None` is the model itself.
    pub fn adapter(&self, role: ItemRole) -> Option<Arc<str>> {
        self.rollouts.adapter(role)
    }

    /// The scorers of the run.
    pub fn rewards(&self) -> &RewardManager {
        &self.rollouts.rewards
    }

    /// Collects the state of all parts for a checkpoint.
    pub fn state(&self) -> PolicyGradientState {
        let mut state = PolicyGradientState {
            prompts: self.prompts.state(),
            no_progress: self.no_progress,
            discard: self.discard,
            judge_items: ItemQueue::new(self.config.prompts),
            replay_buffer: self.replay_buffer.clone(),
            urpo: None,
            partial_rollouts: None,
            sampled_ahead: Vec::new(),
            reward_gap: None,
            monitor: None,
            trust: None,
            auxiliary: self
                .auxiliary_models()
                .map(|model| (model.name().to_owned(), model.optimiser().steps))
                .collect(),
        };
        self.source.save(&mut state, self.revision());
        for hook in &self.hooks {
            hook.save(&mut state);
        }
        state
    }

    /// Restores all parts from a checkpoint.
    ///
    /// # Errors
    /// A checkpoint of other problems.
    pub fn restore(&mut self, state: PolicyGradientState) -> Result<()> {
        self.source.restore(&state, self.revision());
        for hook in &mut self.hooks {
            hook.restore(&state)?;
        }
        for model in self.auxiliary.models_mut().chain(self.prompts.value_model_mut()) {
            if let Some(steps) = state.auxiliary.get(model.name()) {
                model.restorable().0.steps = *steps;
            }
        }
        self.prompts.restore(state.prompts)?;
        self.no_progress = state.no_progress;
        self.discard = state.discard;
        self.replay_buffer = state.replay_buffer;
        Ok(())
    }

    /// Checks that the run says which answers to these items are right.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with the scorer whose rewards do not say it.
    pub fn check_right<'i>(
        &self,
        items: impl IntoIterator<Item = &'i TrainingItem>,
        reader: &str,
    ) -> Result<()> {
        check_right(&self.config, &self.rollouts.rewards, items, reader)
    }

    /// Revision of the served weights.
    pub(super) fn revision(&self) -> u64 {
        self.rollouts.sampler.host().engine.revision()
    }
}

/// Checks the scorers of all problems, and returns those that compare responses.
fn comparing_scorers(
    config: &PolicyGradientConfig,
    rewards: &RewardManager,
    problems: &[TrainingItem],
) -> Result<BTreeSet<Arc<str>>> {
    let mut comparing = BTreeSet::new();
    for item in problems {
        let name = config.verifier(item);
        match config.compare {
            Some(section) if rewards.is_pairwise(name)? => {
                let with_reference = matches!(section, CompareSection::Reference { .. });
                rewards.check_compared(name, item, with_reference)?;
                comparing.insert(item.scorer.clone());
            }
            Some(_) | None => rewards.check_item(name, item)?,
        }
    }
    if config.compare.is_some() && comparing.is_empty() {
        return Err(TrainError::Invalid(
            "`compare` is for scorers that compare responses, and no row has one".to_owned(),
        ));
    }
    Ok(comparing)
}

/// The texts that end a response; `None` if the run has none.
fn stop_strings(config: &PolicyGradientConfig, sampler: &Sampler) -> Result<Option<StopStrings>> {
    let texts = &config.sampling.stop;
    if texts.is_empty() {
        return Ok(None);
    }
    let tokenizer = sampler.encoder().tokenizer().clone();
    StopStrings::new(tokenizer, texts.clone(), true).map(Some).map_err(TrainError::Invalid)
}

/// Refuses rewards that are no verdicts of right and wrong, unless `right` is set: those of
/// pipelines, and of models that judge against a reference answer.
fn check_right<'i>(
    config: &PolicyGradientConfig,
    rewards: &RewardManager,
    items: impl IntoIterator<Item = &'i TrainingItem>,
    reader: &str,
) -> Result<()> {
    if config.right.is_some() {
        return Ok(());
    }
    for item in items {
        let name = config.verifier(item);
        let kind = rewards.kind(name)?;
        let is_graded = kind == "pipeline" || rewards.uses_models(name)?;
        if is_graded && item.has_reference() {
            return Err(TrainError::Invalid(format!(
                "{reader} reads which answers are right, and a reward by '{name}' ({kind}) does not say \
                 it: set `right` of [method] to the scorer that decides it, such as \"math\", or to the \
                 least reward of a right answer"
            )));
        }
    }
    Ok(())
}

/// The rows of a run by their kinds.
#[derive(Debug, Default)]
struct RowsByKind {
    problems: Vec<TrainingItem>,
    ranked: Vec<Ranked>,
    open: Vec<TrainingItem>,
}

impl RowsByKind {
    /// Sorts all rows; rows other than problems are accepted only if `mixed`.
    fn of(rows: &TrainingRows, mixed: bool) -> Result<RowsByKind> {
        let TrainingRows::Stored { rows, .. } = rows else {
            return Err(TrainError::Invalid(
                "the method needs problem rows, and a mixture has texts to write".to_owned(),
            ));
        };
        let mut kinds = RowsByKind::default();
        for row in rows {
            match row {
                TrainingRow::Problem(item) => kinds.problems.push(item.clone()),
                TrainingRow::Ranked(ranked) if mixed => kinds.ranked.push(ranked.clone()),
                TrainingRow::Preference(pair) if mixed => kinds.ranked.push(Ranked {
                    problem: pair.turns.last().map_or("", |turn| &turn.content).to_owned(),
                    candidates: vec![pair.chosen.clone(), pair.rejected.clone()],
                    ranks: vec![1.0, 2.0],
                }),
                TrainingRow::Open(item) if mixed => kinds.open.push(item.clone()),
                TrainingRow::Supervised(_)
                | TrainingRow::Preference(_)
                | TrainingRow::Process(_)
                | TrainingRow::Tokenized(_)
                | TrainingRow::Ranked(_)
                | TrainingRow::Open(_) => return Err(wrong_kind(row, "problem")),
            }
        }
        Ok(kinds)
    }
}
