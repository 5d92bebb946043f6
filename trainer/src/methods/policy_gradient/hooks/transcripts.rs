//! One transcript a step of a policy with tools, drawn from its rollouts.

use base::seeded::decision;
use rand::RngExt as _;
use serde_json::{Value, json};

use super::super::hook::{Hook, HookContext, StepData};
use crate::error::Result;
use crate::item::{Rollout, TrainingItem};
use crate::rollout::{Sampler, failure_name};

/// Adds a transcript to the metrics of each step.
#[derive(Debug)]
pub(in super::super) struct TranscriptHook;

impl Hook for TranscriptHook {
    fn after_scoring(&mut self, cx: &mut HookContext<'_>, data: &mut StepData) -> Result<()> {
        let all = data
            .groups
            .iter()
            .flat_map(|group| group.rollouts.iter().map(move |rollout| (&*group.item, rollout)));
        let all: Vec<(&TrainingItem, &Rollout)> = all.collect();
        if !all.is_empty() {
            let mut rng = decision(cx.step.seed, "transcript", &[cx.step.step]);
            let (item, rollout) = all[rng.random_range(0..all.len())];
            let text = transcript(&cx.rollouts.sampler, item, rollout)?;
            cx.metrics.set_transcript(text);
        }
        Ok(())
    }
}

/// The turns of a rollout, each as the model wrote it, with the observations between them.
fn transcript(sampler: &Sampler, item: &TrainingItem, rollout: &Rollout) -> Result<Value> {
    let mut turns = Vec::new();
    let mut begin = 0;
    for observation in &rollout.observations {
        turns.push(json!({ "written": sampler.text(&rollout.tokens[begin..observation.at])? }));
        turns.push(json!({ "observation": observation.text }));
        begin = observation.at;
    }
    turns.push(json!({ "written": sampler.text(&rollout.tokens[begin..])? }));
    Ok(json!({
        "index": item.index,
        "problem": &*item.problem,
        "turns": turns,
        "truncated": rollout.truncated,
        "reward": rollout.reward.ok(),
        "failure": rollout.reward.err().map(failure_name),
    }))
}
