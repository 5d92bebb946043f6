//! A trial of a run: every scorer on a real row, in the way that the run uses it, and one loss.

use std::collections::BTreeSet;

use rubrics::{Evidence, FailureKind, Outcome};

use super::adapters;
use super::training_run::TrainingRun;
use crate::data::{TrainingRow, TrainingRows};
use crate::error::{Result, TrainError};
use crate::item::{Group, Rollout, TrainingItem};
use crate::judge_data::urpo;
use crate::methods::policy_gradient::MAJORITY_VOTE;
use crate::methods::{
    MethodConfig, PolicyGradient, PolicyGradientConfig, StepContext, offline_step,
};
use crate::rollout::{RightRule, RolloutParams, SampleRequest};

/// What a scorer does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It gives rewards.
    Reward,
    /// It says which answers are right.
    Right,
    /// It judges steps.
    Steps,
    /// It audits rewards.
    Audit,
}

impl Use {
    fn name(self) -> &'static str {
        match self {
            Use::Reward => "reward",
            Use::Right => "right",
            Use::Steps => "steps",
            Use::Audit => "audit",
        }
    }
}

impl TrainingRun {
    /// Tries the run without a step of the optimiser: samples a response to the first row of every
    /// scorer and scores it, or computes the loss of the first batch. Returns a line for each trial.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] for a scorer that cannot work in its place, with its row; rows that the
    /// method cannot train on.
    pub fn check(&mut self) -> Result<Vec<String>> {
        if let (Some(policy_gradient), MethodConfig::PolicyGradient(method)) =
            (&self.policy_gradient, &self.config.method)
        {
            return check_scorers(policy_gradient, method, &self.rows);
        }
        let step = StepContext {
            policy: &self.policy,
            reference: self.reference.as_ref(),
            encoder: self.sampler.encoder(),
            micro_tokens: adapters::micro_tokens(&self.config, &self.policy),
            step: 1,
            steps: self.steps(),
            seed: self.config.run.seed,
            revision: self.sampler.host().engine.revision(),
        };
        let output =
            offline_step(&self.config.method, &step, &mut self.rows, self.shifted.as_mut())?;
        let loss = output.metrics.get("loss").unwrap_or(f64::NAN);
        Ok(vec![format!("the loss of the first {} rows is {loss:.4}", self.config.method.rows())])
    }
}

fn check_scorers(
    policy_gradient: &PolicyGradient,
    method: &PolicyGradientConfig,
    rows: &TrainingRows,
) -> Result<Vec<String>> {
    let TrainingRows::Stored { rows, .. } = rows else {
        return Ok(Vec::new());
    };
    let items: Vec<&TrainingItem> = rows.iter().filter_map(TrainingRow::problem).collect();
    let used: BTreeSet<&str> = items.iter().map(|item| &*item.scorer).collect();
    if let Some(own) = &method.scorer
        && !used.contains(own.as_str())
        && !used.contains(MAJORITY_VOTE)
    {
        return Err(TrainError::Invalid(format!(
            "`scorer` of [method] is '{own}', and every row names another one, so that it would reward \
             nothing"
        )));
    }
    let mut lines = Vec::new();
    for scorer in used.into_iter().filter(|name| ![MAJORITY_VOTE, urpo::SCORER].contains(name)) {
        let Some(item) = items.iter().find(|item| &*item.scorer == scorer) else { continue };
        let rollout = sampled(policy_gradient, method, item)?;
        for (purpose, name) in uses(method, item) {
            lines.push(tried(policy_gradient, (purpose, name), item, &rollout)?);
        }
    }
    Ok(lines)
}

/// The scorers that judge a response to an item.
fn uses<'c>(
    method: &'c PolicyGradientConfig,
    item: &'c TrainingItem,
) -> impl Iterator<Item = (Use, &'c str)> {
    let right = match &method.right {
        Some(RightRule::Scorer(name)) => Some((Use::Right, name.as_str())),
        Some(RightRule::Reward(_)) | None => None,
    };
    let right = right.filter(|_| item.has_reference());
    let steps = method.steps_scorer.as_deref().map(|name| (Use::Steps, name));
    let audit = method.guard.as_ref().filter(|_| item.audit.is_some());
    let audit = audit.map(|guard| (Use::Audit, guard.scorer.as_str()));
    [Some((Use::Reward, &*item.scorer)), right, steps, audit].into_iter().flatten()
}

fn sampled(
    policy_gradient: &PolicyGradient,
    method: &PolicyGradientConfig,
    item: &TrainingItem,
) -> Result<Rollout> {
    let sampler = policy_gradient.sampler();
    let prompt = sampler.prompt(item)?;
    let request = SampleRequest::new(prompt, policy_gradient.adapter(item.role), 0);
    let draws = method.sampling.draws();
    let params = RolloutParams { seed: 0, max_tokens: method.max_tokens, draws };
    let mut samples = policy_gradient.respond(vec![(request, item)], params)?;
    sampler.rollout(samples.remove(0))
}

/// Scores a response. A failure that another response would not change is an error.
fn tried(
    policy_gradient: &PolicyGradient,
    (purpose, name): (Use, &str),
    item: &TrainingItem,
    rollout: &Rollout,
) -> Result<String> {
    let audited = TrainingItem { gold: item.audit.clone(), ..item.clone() };
    let item = if purpose == Use::Audit { &audited } else { item };
    let rewards = policy_gradient.rewards();
    let outcome = if purpose == Use::Reward && rewards.is_pairwise(name)? {
        // A response beside itself is a tie: the way of the pair is tried, not the judge's taste.
        let group = Group { item: item.clone().into(), rollouts: vec![rollout.clone(); 2] };
        rewards.among(&group, 0)?.remove(0)
    } else {
        rewards.outcome(name, (item, rollout), purpose == Use::Reward)?
    };
    let row = item.index + 1;
    let place = format!("{} by '{name}' on row {row}", purpose.name());
    let reason = match &outcome {
        Ok(scored) => &scored.reason,
        Err(failure) => &failure.reason,
    };
    let why = reason.detail.as_deref().unwrap_or(reason.code);
    if cannot_work(&outcome) {
        return Err(TrainError::Invalid(format!("{place}: {why}")));
    }
    let has_steps = Evidence::of(&outcome).steps.as_ref().is_some_and(|steps| !steps.is_empty());
    if purpose == Use::Steps && !has_steps && !rollout.text.trim().is_empty() {
        return Err(TrainError::Invalid(format!(
            "{place}: it found no steps in a response of the model: {why}"
        )));
    }
    Ok(match outcome {
        Ok(scored) => format!("{place}: {:.4} ({})", scored.score, scored.reason.code),
        Err(failure) => format!("{place}: no score ({})", failure.reason.code),
    })
}

/// Whether a scorer fails for every response to this row.
fn cannot_work(outcome: &Outcome) -> bool {
    match outcome {
        Ok(_) => false,
        Err(failure) => match failure.kind {
            FailureKind::Refused
            | FailureKind::BadReference
            | FailureKind::ToolError
            | FailureKind::Internal => true,
            FailureKind::Abstain
            | FailureKind::Truncated
            | FailureKind::ParseError
            | FailureKind::Timeout
            | FailureKind::Overloaded => false,
        },
    }
}
