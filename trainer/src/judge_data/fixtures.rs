//! Small groups for tests.

use std::sync::Arc;

use rubrics::{FailureKind, Message};

use crate::item::{Group, ItemRole, Rollout, TrainingItem};

/// A problem of the policy whose gold answer is `gold`.
pub(crate) fn problem(index: u64, gold: &str) -> TrainingItem {
    TrainingItem {
        index,
        role: ItemRole::Policy,
        turns: vec![Message {
            role: "user".to_owned(),
            content: format!("Solve: problem {index}"),
        }],
        problem: format!("problem {index}").into(),
        gold: Some(gold.into()),
        audit: None,
        fields: Arc::default(),
        scorer: "math".into(),
        category: Some("sums".into()),
        parent: None,
    }
}

/// The answers to problem `index`, whose gold answer is 2.
pub(crate) fn group(index: u64, rollouts: Vec<Rollout>) -> Group {
    Group { item: Arc::new(problem(index, "2")), rollouts }
}

fn rollout(answer: &str, reward: Result<f64, FailureKind>) -> Rollout {
    Rollout {
        tokens: Vec::new(),
        observations: Vec::new(),
        early_end: None,
        scaffold: None,
        text: format!("I reason. \\boxed{{{answer}}}"),
        truncated: false,
        answer: Some(answer.to_owned()),
        right: reward.ok().map(|reward| reward >= 1.0),
        reward,
        steps: None,
    }
}

pub(crate) fn right(answer: &str) -> Rollout {
    rollout(answer, Ok(1.0))
}

pub(crate) fn wrong(answer: &str) -> Rollout {
    rollout(answer, Ok(0.0))
}

/// An answer that could not be judged.
pub(crate) fn none() -> Rollout {
    rollout("unjudged", Err(FailureKind::Timeout))
}
