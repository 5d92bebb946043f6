//! Rewards of answers, by the server's own function.

use std::collections::BTreeMap;
use std::sync::Arc;

use rubrics::{
    Ask, FailureKind, Input, Models, Passage, Pool, Priority, Reference, Registry, Responses,
    Scorer, Served, Tools, score,
};

use crate::error::{Result, TrainError};
use crate::item::{Item, Rollout};

/// Judges answers by the scorers of a run.
#[derive(Debug)]
pub struct Judge {
    registry: Registry,
    tools: Tools,
    runtime: tokio::runtime::Runtime,
}

/// The models that scorers of a run may ask: the policy under its name, and its adapters.
#[derive(Debug)]
struct Live(Arc<engine::Host>);

impl Models for Live {
    fn find(&self, name: &str) -> Option<Served> {
        Served::of(&self.0, name)
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        vec![self.0.name.clone()]
    }
}

/// Jobs that may wait for the verifiers' threads.
const QUEUE: usize = 1 << 16;

impl Judge {
    /// Over the scorers of a run and the model in training.
    ///
    /// # Errors
    /// Scorers that cannot work with this model, each with what it lacks.
    pub fn new(registry: Registry, host: Arc<engine::Host>) -> Result<Judge> {
        let models = Arc::new(Live(host));
        registry
            .check(&*models)
            .map_err(|problems| TrainError::Invalid(problems.join("\n")))?;
        let failed = |error: std::io::Error| TrainError::Engine(error.to_string());
        Ok(Judge {
            registry,
            tools: Tools {
                pool: Pool::new(models::threads(), QUEUE).map_err(failed)?,
                models,
                tape: None,
            },
            runtime: tokio::runtime::Builder::new_current_thread()
                .build()
                .map_err(failed)?,
        })
    }

    /// A scorer by its name.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with names that are near.
    pub fn scorer(&self, name: &str) -> Result<&Arc<Scorer>> {
        self.registry.get(name).ok_or_else(|| {
            let near = self.registry.near(name).join("', '");
            TrainError::Invalid(format!("there is no scorer '{name}'; near are '{near}'"))
        })
    }

    /// Fills in the rewards and answers of rollouts, each against its item.
    ///
    /// # Errors
    /// An item that names no scorer that there is.
    pub fn reward(&self, pairs: &mut [(&Item, &mut Rollout)], seed: u64) -> Result<()> {
        let mut by_scorer: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (at, (item, _)) in pairs.iter().enumerate() {
            by_scorer.entry(item.scorer.clone()).or_default().push(at);
        }
        for (name, members) in by_scorer {
            let scorer = self.scorer(&name)?;
            let inputs: Vec<Arc<Input>> = members
                .iter()
                .map(|at| Arc::new(input(pairs[*at].0, pairs[*at].1)))
                .collect();
            let ask = Ask {
                priority: Priority::Batch,
                seed,
                ..Ask::default()
            };
            let scored = self
                .runtime
                .block_on(score(scorer, &inputs, ask, &self.tools));
            for (at, scored) in members.into_iter().zip(scored) {
                let rollout = &mut *pairs[at].1;
                match scored.outcome {
                    Ok(reward) => {
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
}

fn input(item: &Item, rollout: &Rollout) -> Input {
    let mut input = Input::of(rollout.text.clone());
    input.responses = Responses::One(Passage::Text(rollout.text.clone()));
    input.prompt = Some(Passage::Turns(item.turns.clone()));
    input.reference = item
        .gold
        .as_deref()
        .map(|gold| Reference::Text(gold.to_owned()));
    input
}

/// How often each kind of failure came.
pub fn failures<'a>(
    rollouts: impl IntoIterator<Item = &'a Rollout>,
) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for rollout in rollouts {
        if let Err(kind) = rollout.reward {
            *counts.entry(name(kind)).or_default() += 1;
        }
    }
    counts
}

fn name(kind: FailureKind) -> &'static str {
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
