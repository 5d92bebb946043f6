//! Rewards of rollouts, by the function that the server scores with.

use std::collections::BTreeMap;
use std::sync::Arc;

use rubrics::{
    FailureKind, Input, Models, Outcome, Passage, Priority, Reference, Registry, Responses,
    ScoreOptions, Scorer, Served, StepScore, Tools, VerifierPool, score,
};

use crate::error::{Result, TrainError};
use crate::item::{JudgedStep, Rollout, TrainingItem};

/// Rewards rollouts by the scorers of a run.
#[derive(Debug)]
pub struct RewardManager {
    registry: Registry,
    tools: Tools,
    runtime: tokio::runtime::Runtime,
}

/// The models that scorers of a run may query: the policy, its adapters, and frozen models.
#[derive(Debug)]
struct RunModels(Vec<Arc<engine::Host>>);

impl Models for RunModels {
    fn find(&self, name: &str) -> Option<Served> {
        self.0.iter().find_map(|host| Served::of(host, name))
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        let names = self.0.iter().map(|host| host.name.clone());
        names.take(3).collect()
    }
}

/// Queue length of the verifier pool, in jobs.
const QUEUE: usize = 1 << 16;

impl RewardManager {
    /// Checks the scorers of a run against the models that they query, the policy among them.
    ///
    /// # Errors
    /// Scorers that cannot work with this model, each with the missing feature.
    pub fn new(registry: Registry, hosts: Vec<Arc<engine::Host>>) -> Result<RewardManager> {
        let models = Arc::new(RunModels(hosts));
        registry.check(&*models).map_err(|problems| TrainError::Invalid(problems.join("\n")))?;
        let failed = |error: std::io::Error| TrainError::Engine(error.to_string());
        Ok(RewardManager {
            registry,
            tools: Tools {
                pool: VerifierPool::new(models::threads(), QUEUE).map_err(failed)?,
                models,
                recorder: None,
            },
            runtime: tokio::runtime::Builder::new_current_thread().build().map_err(failed)?,
        })
    }

    /// Looks up a scorer.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with similar names.
    pub fn scorer(&self, name: &str) -> Result<&Arc<Scorer>> {
        self.registry.get(name).ok_or_else(|| {
            let near = self.registry.near(name).join("', '");
            TrainError::Invalid(format!("there is no scorer '{name}'; near are '{near}'"))
        })
    }

    /// Fills in the rewards and answers of rollouts, each against its item.
    ///
    /// # Errors
    /// An item with an unknown scorer.
    pub fn reward(&self, pairs: &mut [(&TrainingItem, &mut Rollout)], seed: u64) -> Result<()> {
        let mut by_scorer: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (at, (item, _)) in pairs.iter().enumerate() {
            by_scorer.entry(item.scorer.clone()).or_default().push(at);
        }
        for (name, members) in by_scorer {
            let inputs: Vec<Arc<Input>> = members
                .iter()
                .map(|at| Arc::new(scorer_input(pairs[*at].0, pairs[*at].1)))
                .collect();
            for (at, outcome) in members.iter().zip(self.outcomes(&name, &inputs, seed)?) {
                let rollout = &mut *pairs[*at].1;
                match outcome {
                    Ok(reward) => {
                        rollout.steps = reward.evidence.steps.map(judged_steps);
                        let found = reward.evidence.candidate;
                        rollout.answer = found.map(|found| found.text);
                        rollout.reward = Ok(reward.score);
                    }
                    Err(failure) => {
                        rollout.answer = None;
                        rollout.reward = Err(failure.kind);
                    }
                }
            }
        }
        Ok(())
    }

    /// Fills in the steps of rollouts as a scorer judges them, independent of the rewarding scorer.
    /// If it has no verdict, the rollout loses its reward: it cannot be trained on.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn steps(
        &self,
        name: &str,
        pairs: &mut [(&TrainingItem, &mut Rollout)],
        seed: u64,
    ) -> Result<()> {
        let inputs: Vec<Arc<Input>> =
            pairs.iter().map(|(item, rollout)| Arc::new(scorer_input(item, rollout))).collect();
        let outcomes = self.outcomes(name, &inputs, seed)?;
        for ((_, rollout), outcome) in pairs.iter_mut().zip(outcomes) {
            match outcome {
                Ok(reward) => rollout.steps = reward.evidence.steps.map(judged_steps),
                // A scorer without a verdict on the response may have verdicts on its steps.
                Err(failure) => match (failure.kind, failure.evidence.steps) {
                    (FailureKind::Abstain, Some(steps)) => {
                        rollout.steps = Some(judged_steps(steps));
                    }
                    (kind, _) => rollout.reward = Err(kind),
                },
            }
        }
        Ok(())
    }

    /// The outcomes of a scorer, one for each input, in order.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn outcomes(&self, name: &str, inputs: &[Arc<Input>], seed: u64) -> Result<Vec<Outcome>> {
        let scorer = self.scorer(name)?;
        let ask = ScoreOptions { priority: Priority::Batch, seed, ..ScoreOptions::default() };
        let scored = self.runtime.block_on(score(scorer, inputs, ask, &self.tools));
        Ok(scored.into_iter().map(|scored| scored.outcome).collect())
    }
}

fn judged_steps(steps: Vec<StepScore>) -> Vec<JudgedStep> {
    let judged = |step: StepScore| JudgedStep {
        span: step.span,
        score: step.score,
        label: step.label.into_owned(),
    };
    steps.into_iter().map(judged).collect()
}

fn scorer_input(item: &TrainingItem, rollout: &Rollout) -> Input {
    let mut input = Input::of(rollout.text.clone());
    input.responses = Responses::One(Passage::Text(rollout.text.clone()));
    input.prompt = Some(Passage::Messages(item.turns.clone()).into());
    input.reference = item.gold.as_deref().map(|gold| Reference::Text(gold.to_owned()));
    input
}

/// Counts rollouts without a reward by the kind of failure.
pub fn failures<'a>(
    rollouts: impl IntoIterator<Item = &'a Rollout>,
) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for rollout in rollouts {
        if let Err(kind) = rollout.reward {
            *counts.entry(failure_name(kind)).or_default() += 1;
        }
    }
    counts
}

fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Abstain => "abstain",
        FailureKind::Refused => "refused",
        FailureKind::BadReference => "bad_reference",
        FailureKind::Truncated => "truncated",
        FailureKind::ParseError => "parse_error",
        FailureKind::ToolError => "tool_error",
        FailureKind::Timeout => "timeout",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Internal => "internal_error",
    }
}
