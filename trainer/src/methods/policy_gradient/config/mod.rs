//! Options of policy gradients.

use serde::{Deserialize, Serialize};

use crate::advantages::AdvantageKind;
use crate::curriculum::{CurriculumConfig, Fill, FillConfig, Keep};
use crate::item::TrainingItem;
use crate::losses::policy::{CreditWeights, PolicyLossKind};
use crate::losses::{Objective, Streams};
use crate::methods::context::RunNames;
use crate::rollout::{AtLimit, RightRule, ToolSection};
use crate::staleness::Partials;

use super::majority_vote;
pub use super::scaffolds::{AlongGroup, AlongTraining, ScaffoldSection};
use super::step_signals::StepSignal;

mod asynchronous;
mod auxiliary;
mod sections;

pub use asynchronous::AsynchronousSection;
pub use auxiliary::{
    ImplicitSection, OwnValue, ProgressSection, SharedValue, StepModelSection, StepSplit,
    TokenRewardSection, TrajectoryScore, ValueSection,
};
pub use sections::{
    CompareSection, CrlSection, Filter, FilterOver, FiltrationSection, GuardSection, JudgeUpdate,
    MonitorSection, PairReward, PartialSection, RoundReference, RoundSection, RoundWeights,
    SamplingSection, SparkSection, Teach, TrustSection, UrpoSection,
};

/// `[method]` with `kind = "policy_gradient"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientConfig {
    /// Prompts of a step.
    pub prompts: usize,
    /// Rollouts of each prompt.
    pub group: usize,
    /// Maximum tokens of a response.
    pub max_tokens: usize,
    /// The scorer of problems that name none.
    #[serde(default)]
    pub scorer: Option<String>,
    /// Which answers are right, for SPARK, CRL, old mistakes, CAPO, TP-GRPO and evaluations. `None`
    /// is a reward of 1, which only a verifier's reward has this meaning of.
    #[serde(default)]
    pub right: Option<RightRule>,
    /// The draws of responses in training.
    #[serde(default)]
    pub sampling: SamplingSection,
    /// The loss.
    #[serde(default)]
    pub objective: Objective,
    /// The map from rewards to advantages.
    #[serde(default)]
    pub advantage: AdvantageKind,
    /// Weight of each stream in the loss.
    #[serde(default)]
    pub streams: Streams,
    /// The scorer whose verdicts on steps a process-aware advantage reads; `None` takes the scorer
    /// that rewards the rollout.
    #[serde(default)]
    pub steps_scorer: Option<String>,
    /// The values that GAE reads.
    #[serde(default)]
    pub value: Option<ValueSection>,
    /// The token reward model of OREAL.
    #[serde(default)]
    pub token_reward: Option<TokenRewardSection>,
    /// A model that gives steps their rewards.
    #[serde(default)]
    pub step_model: Option<StepModelSection>,
    /// The choice of problems.
    #[serde(default)]
    pub curriculum: CurriculumConfig,
    /// The groups that are trained on.
    #[serde(default)]
    pub keep: Keep,
    /// Sampling again until there are `prompts` groups to train on (DAPO, arXiv 2503.14476); `None`
    /// samples once.
    #[serde(default)]
    pub fill: Option<FillConfig>,
    /// Consecutive steps without a group whose rewards differ after which the run stops; 0 never
    /// stops it.
    #[serde(default = "no_progress_after", alias = "stuck_after")]
    pub no_progress_after: u64,
    /// Steps of the optimiser on the same rollouts.
    #[serde(default = "one")]
    pub epochs: u64,
    /// Penalty and filter of over-long responses.
    #[serde(default)]
    pub overlong: Overlong,
    /// Rewards by scorers that compare responses.
    #[serde(default)]
    pub compare: Option<CompareSection>,
    /// Responses are drawn again by a filter, before values and advantages (PF-PPO).
    #[serde(default)]
    pub filtration: Option<FiltrationSection>,
    /// A penalty for responses that flag themselves.
    #[serde(default)]
    pub monitor: Option<MonitorSection>,
    /// A part of a row's rubric before its prompt while it is sampled (`RuscaRL`).
    #[serde(default)]
    pub scaffold: Option<ScaffoldSection>,
    /// Pairs of responses in the place of advantages (`StepORLM`).
    #[serde(default)]
    pub round: Option<RoundSection>,
    /// Judging and reflection items made of rollouts.
    #[serde(default)]
    pub spark: Option<SparkSection>,
    /// A share of critiques in the policy's batch (CRL).
    #[serde(default)]
    pub crl: Option<CrlSection>,
    /// Number of old mistakes kept, for judging items that lack new ones; 0 by default.
    #[serde(default, alias = "reservoir")]
    pub replay_buffer: usize,
    /// Ranked and open rows beside problems (URPO).
    #[serde(default)]
    pub urpo: Option<UrpoSection>,
    /// Groups started beyond need and continued in later steps (APRIL).
    #[serde(default)]
    pub partial: Option<PartialSection>,
    /// Steps whose rollouts are sampled at once, by the weights at their beginning, to which ratios are
    /// (TP-GRPO, arXiv 2507.23317, which has 50); `None` samples for each step.
    #[serde(default)]
    pub sample_ahead: Option<usize>,
    /// Sampling for later steps beside the update of the present one.
    #[serde(default)]
    pub asynchronous: Option<AsynchronousSection>,
    /// Audits of rewards that the model gives itself.
    #[serde(default)]
    pub guard: Option<GuardSection>,
    /// A gate of rewards that the model gives itself.
    #[serde(default)]
    pub trust: Option<TrustSection>,
    /// The adapter that solves; `None` is the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
    /// The adapter that judges; `None` is the one that solves.
    #[serde(default)]
    pub judge_adapter: Option<String>,
}

fn no_progress_after() -> u64 {
    20
}

fn one() -> u64 {
    1
}

/// Penalty and filter of over-long responses (DAPO, arXiv 2503.14476).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlong {
    /// Length of the soft penalty in tokens: over these before the limit the reward falls by 1.
    pub buffer: Option<usize>,
    /// Whether truncated responses are left out of the loss.
    pub filter: bool,
}

impl PolicyGradientConfig {
    /// The scorer of `rubrics` that judges responses to an item; the run's own after a majority
    /// vote.
    pub(super) fn verifier<'a>(&'a self, item: &'a TrainingItem) -> &'a str {
        match &*item.scorer {
            majority_vote::SCORER => self.scorer.as_deref().unwrap_or("math"),
            scorer => scorer,
        }
    }

    pub(in crate::methods) fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        for (name, value, least) in [
            ("prompts", self.prompts, 1),
            ("group", self.group, 1),
            ("max_tokens", self.max_tokens, 1),
        ] {
            if value < least {
                problems.push(format!("`{name}` is at least {least}"));
            }
        }
        if self.epochs == 0 {
            problems.push("`epochs` is at least 1".to_owned());
        }
        let checks = [
            ("objective", self.objective.check()),
            ("advantage", self.advantage.check()),
            ("streams", self.streams.check()),
        ];
        for (name, checked) in checks {
            problems.extend(checked.err().map(|error| format!("{name}: {error}")));
        }
        let checks =
            [self.curriculum.check(), self.keep.check(), self.fill.map_or(Ok(()), Fill::check)];
        problems.extend(checks.into_iter().filter_map(Result::err).map(|e| e.to_string()));
        problems.extend(self.sampling.check());
        problems.extend(self.check_steps());
        problems.extend(self.check_rewards());
        problems.extend(self.check_halves());
        problems.extend(self.round.iter().flat_map(|round| self.check_round(round)));
        problems.extend(self.guard.iter().flat_map(|guard| guard.check(run)));
        problems.extend(self.trust.iter().flat_map(|trust| self.check_trust(trust, run)));
        problems.extend(self.monitor.iter().flat_map(|monitor| monitor.check(run)));
        problems.extend(self.scaffold.iter().flat_map(ScaffoldSection::check));
        problems.extend(self.check_waiting());
        problems.extend(self.asynchronous.iter().flat_map(|own| own.check(self)));
        if let Some(partial) = &self.partial {
            problems.extend(Partials::new(partial.options).err().map(|e| e.to_string()));
        }
        if self.urpo.is_some() && StepSignal::of(&self.advantage).is_some() {
            problems.push(
                "URPO's kinds have rewards on three scales and judgements have no steps, so that \
                 `advantage` is one of whole responses there"
                    .to_owned(),
            );
        }
        problems.extend(self.check_auxiliary());
        for name in [&self.adapter, &self.judge_adapter].into_iter().flatten() {
            if !run.adapters.contains(&name.as_str()) {
                problems.push(format!("the adapter '{name}' is not in [[policy.adapter]]"));
            }
        }
        let right = match &self.right {
            Some(RightRule::Scorer(name)) => Some(name),
            Some(RightRule::Reward(_)) | None => None,
        };
        for name in [&self.scorer, &self.steps_scorer].into_iter().flatten().chain(right) {
            problems.extend(run.missing_scorer(name));
        }
        problems
    }

    /// Lists what a gate of self-given rewards cannot work with.
    fn check_trust(&self, trust: &TrustSection, run: &RunNames<'_>) -> Vec<String> {
        let mut problems = trust.check(run);
        if self.guard.as_ref().is_some_and(|guard| guard.tau.is_some()) {
            problems.push("`trust` and `guard.tau` both weigh self-given rewards".to_owned());
        }
        if self.urpo.is_some() || self.round.is_some() {
            problems.push(
                "`trust` is for problems that a scorer judges: leave `urpo` and `round` out"
                    .to_owned(),
            );
        }
        problems
    }

    /// Lists what cannot stand beside responses that wait for a later step, or that were sampled from
    /// another prompt than they are trained on.
    fn check_waiting(&self) -> Vec<String> {
        let has_models = self.auxiliary_names().next().is_some();
        let (partial, ahead) = (self.partial.is_some(), self.sample_ahead.is_some());
        [
            (
                partial && !self.sampling.stop.is_empty(),
                "whether a response that waits for a later step (`partial`) has stopped at a text depends \
                 on the time: leave `partial` or `sampling.stop` out",
            ),
            (
                self.scaffold.is_some() && (partial || has_models),
                "a scaffold is a prompt of sampling alone: leave `partial`, `value`, `token_reward` and \
                 `step_model` out beside `scaffold`",
            ),
            (self.sample_ahead.is_some_and(|steps| steps < 2), "`sample_ahead` is at least 2"),
            (
                ahead && (partial || self.scaffold.is_some()),
                "`sample_ahead` trains on ratios to the weights that sampled a response to its plain \
                 prompt: leave `partial` and `scaffold` out beside it",
            ),
        ]
        .into_iter()
        .filter(|(fails, _)| *fails)
        .map(|(_, problem)| problem.to_owned())
        .collect()
    }

    /// Lists what cannot work with or without the tools of a run, each with the section at fault.
    pub(in crate::methods) fn check_tools(
        &self,
        tools: Option<&ToolSection>,
    ) -> Vec<(&'static str, String)> {
        let by_turns = self.step_model.as_ref().is_some_and(|own| own.split() == StepSplit::Turns);
        let drops = tools.is_some_and(|tools| tools.at_limit == AtLimit::Drop);
        [
            (
                tools.is_some() && (self.partial.is_some() || self.sample_ahead.is_some()),
                "tools",
                "a response that `partial` or `sample_ahead` holds for a later step has one turn: leave one \
                 of both out, or take `asynchronous`",
            ),
            (
                drops && matches!(self.advantage, AdvantageKind::Canon(_)),
                "tools",
                "`canon` compares the halves of a whole group, and `at_limit = \"drop\"` removes responses",
            ),
            (
                by_turns && tools.is_none(),
                "method",
                "step_model: `split = \"turns\"` is for a policy with [tools]",
            ),
        ]
        .into_iter()
        .filter(|(fails, _, _)| *fails)
        .map(|(_, key, problem)| (key, problem.to_owned()))
        .collect()
    }

    /// Versions of the weights by which the rollouts of a step may be older than those it begins with,
    /// by `asynchronous`.
    pub(super) fn max_staleness(&self) -> u64 {
        self.asynchronous.map_or(0, |own| own.max_staleness)
    }

    /// Whether responses wait for later steps, in which the weights are no longer those that sampled
    /// them.
    pub(super) fn has_waiting(&self) -> bool {
        self.partial.is_some() || self.sample_ahead.is_some() || self.max_staleness() > 0
    }

    /// Whether values are those of a head on the policy.
    pub fn has_shared_values(&self) -> bool {
        matches!(self.value, Some(ValueSection::Shared(_)))
    }

    /// Whether the engine samples while gradients are computed.
    pub fn overlaps(&self) -> bool {
        self.asynchronous.is_some_and(|own| own.overlap && own.max_staleness > 0)
    }

    /// Lists what a round of pairs has no use for.
    fn check_round(&self, round: &RoundSection) -> Vec<String> {
        let loss = round.loss.check().err().map(|error| format!("round.loss: {error}"));
        let has_own = self.objective != Objective::default()
            || self.advantage != AdvantageKind::default()
            || self.auxiliary_names().next().is_some();
        let own = has_own.then(|| {
            "`round` trains on pairs: leave `objective`, `advantage`, `value`, `token_reward` and \
             `step_model` out beside it"
                .to_owned()
        });
        let others = self.spark.is_some() || self.urpo.is_some() || self.guard.is_some();
        let others = (others || self.scaffold.is_some()).then(|| {
            "`round` pairs responses to problems by their outcomes: leave `spark`, `urpo`, `guard` and \
             `scaffold` out beside it"
                .to_owned()
        });
        loss.into_iter().chain(own).chain(others).collect()
    }

    /// Whether a loss or a reward compares with the reference model.
    pub fn reads_reference(&self) -> bool {
        let in_pairs = self.round.is_some_and(|round| round.reference == RoundReference::Frozen);
        let in_reward = matches!(&self.advantage, AdvantageKind::Gae(gae) if gae.kl.is_some());
        in_reward || in_pairs || self.objective.kl.is_some()
    }

    /// The extension or advantage that reads which answers are right; `None` if nothing does.
    pub(super) fn reads_right(&self) -> Option<&'static str> {
        let signal = StepSignal::of(&self.advantage);
        [
            (self.spark.is_some(), "`spark`"),
            (self.crl.is_some(), "`crl`"),
            (self.round.is_some(), "`round`"),
            (self.replay_buffer > 0, "`replay_buffer`"),
            (signal.is_some_and(StepSignal::needs_right), "the advantage"),
        ]
        .into_iter()
        .find_map(|(reads, name)| reads.then_some(name))
    }

    /// Checks that each model beside the policy has a use, and each use its model.
    fn check_auxiliary(&self) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.value.iter().flat_map(ValueSection::check));
        problems.extend(self.token_reward.iter().flat_map(TokenRewardSection::check));
        problems.extend(self.step_model.iter().flat_map(StepModelSection::check));
        let is_gae = matches!(self.advantage, AdvantageKind::Gae(_));
        let reads_credit = matches!(
            &self.objective.policy,
            PolicyLossKind::Oreal(oreal) if oreal.credit != CreditWeights::Even
        );
        let reads_implicit = matches!(self.advantage, AdvantageKind::IStar(_));
        let reads_progress = matches!(self.advantage, AdvantageKind::StepReturns(_));
        let uses_steps = match &self.step_model {
            None => true,
            Some(StepModelSection::Implicit(_)) => reads_implicit,
            Some(StepModelSection::Progress(_)) => reads_progress,
        };
        for (holds, problem) in [
            (
                is_gae == self.value.is_some(),
                "`advantage = { kind = \"gae\" }` and `value` need each other",
            ),
            (
                is_gae || self.filtration.is_none(),
                "`filtration` draws responses before the advantages of a value model, \
                 `advantage = { kind = \"gae\" }`",
            ),
            (
                reads_credit == self.token_reward.is_some(),
                "OREAL's credit comes from a token reward model, `token_reward`, unless it is \
                 `credit = \"even\"`: one of both is missing",
            ),
            (
                uses_steps,
                "`step_model` of the kind \"implicit\" is for `advantage = { kind = \"istar\" }`, and of \
                 the kind \"progress\" for \"step_returns\"",
            ),
            (
                self.spark.is_none() || self.auxiliary_names().next().is_none(),
                "`spark` has judge items in steps of their own, and models beside the policy do not \
                 learn from them: leave `spark` or `value`, `token_reward` and `step_model` out",
            ),
        ] {
            if !holds {
                problems.push(problem.to_owned());
            }
        }
        problems
    }

    /// The keys of sections of models beside the policy.
    fn auxiliary_names(&self) -> impl Iterator<Item = &'static str> {
        let value = self.value.as_ref().map(|_| "value");
        let tokens = self.token_reward.as_ref().map(|_| "token_reward");
        let steps = self.step_model.as_ref().map(|_| "step_model");
        value.into_iter().chain(tokens).chain(steps)
    }

    /// Checks that an advantage reads the steps of `steps_scorer`.
    fn check_steps(&self) -> Option<String> {
        let reads_steps = StepSignal::of(&self.advantage).is_some() || self.round.is_some();
        self.steps_scorer.as_ref().filter(|_| !reads_steps).map(|_| {
            "`steps_scorer` is there for an advantage that reads steps, and this one does not"
                .to_owned()
        })
    }

    /// Lists the sections that move rewards out of the range that the advantage can read.
    fn check_rewards(&self) -> Vec<String> {
        let Some(range) = self.advantage.reward_range() else {
            return Vec::new();
        };
        // Verdicts of `right` replace the rewards of an advantage that reads no others.
        let by_verdicts = self.right.is_some()
            && StepSignal::of(&self.advantage).is_some_and(StepSignal::needs_right);
        let compares = matches!(self.compare, Some(CompareSection::Reference { .. }));
        [
            (
                self.overlong.buffer.is_some(),
                "`overlong.buffer` takes something off rewards",
                "; use `overlong.filter`",
            ),
            (self.monitor.is_some() && !by_verdicts, "`monitor` takes something off rewards", ""),
            (
                compares && !by_verdicts,
                "`compare = { with = \"reference\" }` gives rewards around 0",
                "",
            ),
            (
                self.urpo.is_some() && StepSignal::of(&self.advantage).is_none(),
                "`urpo` rewards rankings from -1 to 1",
                "",
            ),
        ]
        .into_iter()
        .filter(|(moves, _, _)| *moves)
        .map(|(_, what, instead)| {
            format!("{what}, and this `advantage` needs rewards that are {range}{instead}")
        })
        .collect()
    }

    /// Lists what leaves CANON a group without two equal halves.
    fn check_halves(&self) -> Vec<String> {
        let halves = matches!(self.advantage, AdvantageKind::Canon(_));
        let abstains = self.guard.as_ref().is_some_and(|guard| guard.tau.is_some());
        [
            (
                !self.group.is_multiple_of(2),
                "`advantage = { kind = \"canon\" }` compares the halves of a group: `group` is even",
            ),
            (
                abstains,
                "`advantage = { kind = \"canon\" }` compares the halves of a whole group, and \
                 `guard.tau` removes responses",
            ),
        ]
        .into_iter()
        .filter(|(fails, _)| halves && *fails)
        .map(|(_, problem)| problem.to_owned())
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::PolicyGradientConfig;

    #[test]
    fn former_names_of_keys_are_accepted() {
        let parse = |keys: &str| {
            let text = format!("prompts = 1\ngroup = 1\nmax_tokens = 1\n{keys}");
            toml::from_str::<PolicyGradientConfig>(&text).expect("a valid section")
        };
        let now = "no_progress_after = 3\nreplay_buffer = 4\nstreams = { policy = 0.5 }\n\
                   urpo = { rank_judge = { calls = 3 } }";
        let then = "stuck_after = 3\nreservoir = 4\nstreams = { player = 0.5 }\n\
                    urpo = { referee = { calls = 3 } }";
        assert_eq!(parse(now), parse(then));
        assert_eq!(parse(now).no_progress_after, 3);
    }
}
