//! Prompts of a run ([`TrainingItem`]), and the rollouts of each ([`Group`]).

mod observation;
mod stored;

use std::ops::Range;
use std::sync::Arc;

use rubrics::toolbox::Toolbox;
use rubrics::{FailureKind, Message, Reference};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use verifiers::tool_calls::RequestedCall;

pub use self::observation::{EarlyEnd, Observation, interleaved};

/// The role in which the model responds to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemRole {
    /// Solves a problem.
    Policy,
    /// Judges whether one response is right.
    Pointwise,
    /// Judges which of two responses is better.
    Pairwise,
    /// Solves a problem again after a wrong solution or judgement.
    Reflection,
    /// Ranks several responses by scores.
    RankJudge,
    /// Criticises a solution and concludes whether it is right.
    Critic,
}

impl ItemRole {
    /// Its name in logs and checkpoints, which call the policy `player` and the rank judge
    /// `referee`.
    pub fn name(self) -> &'static str {
        match self {
            ItemRole::Policy => "player",
            ItemRole::Pointwise => "pointwise",
            ItemRole::Pairwise => "pairwise",
            ItemRole::Reflection => "reflection",
            ItemRole::RankJudge => "referee",
            ItemRole::Critic => "critic",
        }
    }

    /// Whether its tokens are a judgement of a response.
    pub fn judges(self) -> bool {
        match self {
            ItemRole::Policy | ItemRole::Reflection => false,
            ItemRole::Pointwise | ItemRole::Pairwise | ItemRole::RankJudge | ItemRole::Critic => {
                true
            }
        }
    }
}

/// A prompt for the model, with the reference for its response.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingItem {
    /// Its index in the data; a judge item has the index of its problem.
    pub index: u64,
    /// The role in which the model responds.
    pub role: ItemRole,
    /// The conversation to continue.
    pub turns: Vec<Message>,
    /// The problem's text, without a prompt around it.
    pub problem: Arc<str>,
    /// The reference answer of a problem, or the label of a judgement. `None` if only a model can
    /// judge the response.
    pub gold: Option<Arc<str>>,
    /// The reference answer of a problem that is rewarded without it; only audits read it.
    pub audit: Option<Arc<str>>,
    /// What scorers and the chat template read of its row beside these; empty for judgements.
    pub fields: Arc<RowFields>,
    /// The scorer that rewards the rollouts, by name.
    pub scorer: Arc<str>,
    /// The category or level that curricula choose by.
    pub category: Option<Arc<str>>,
    /// Index, within its step, of the rollout that it was made from.
    pub parent: Option<usize>,
}

/// Fields of a row that scorers or the chat template read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RowFields {
    /// The reference answer where it is a list or an object; a text is `gold`.
    pub reference: Option<Reference>,
    /// A rubric.
    pub rubric: Option<Map<String, Value>>,
    /// Principles to judge by.
    pub principles: Option<Vec<String>>,
    /// Supporting texts.
    pub context: Option<Vec<String>>,
    /// JSON schemas of tools.
    pub tools: Option<Vec<Value>>,
}

impl TrainingItem {
    /// Whether its row has a reference answer that rewards use.
    pub fn has_reference(&self) -> bool {
        self.gold.is_some() || self.fields.reference.is_some()
    }

    /// Gives a query that names no database that of the item's reference.
    pub fn give_database(&self, call: &mut RequestedCall) {
        if let Some(Reference::Object(reference)) = &self.fields.reference {
            Toolbox::set_database(call, reference);
        }
    }
}

/// A token that the model sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// The token.
    pub id: u32,
    /// Its log-probability in nats under the weights that sampled it, at the temperature of
    /// sampling, before any truncation.
    pub logprob: f32,
    /// The revision of those weights.
    pub revision: u64,
}

/// One response that the model sampled for an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Its sampled tokens, the one that ended it included.
    pub tokens: Vec<Token>,
    /// The results of its calls, between its tokens.
    pub observations: Vec<Observation>,
    /// The text that scorers read, without special tokens.
    pub text: String,
    /// Whether it was cut at the limit of its tokens or turns, or by a tool's failure.
    pub truncated: bool,
    /// Why it ended before the model ended it; `None` for the length or for no such end.
    pub early_end: Option<EarlyEnd>,
    /// The final answer extracted from the text; `None` if there is none.
    pub answer: Option<String>,
    /// The prompt that it was sampled from, where that is not the item's: with a scaffold.
    pub scaffold: Option<Arc<[u32]>>,
    /// Its reward, or the failure in its place.
    pub reward: Result<f64, FailureKind>,
    /// Whether it is right, by the rule of the run ([`RightRule`](crate::rollout::RightRule)); `None`
    /// without a verdict.
    pub right: Option<bool>,
    /// Its steps, if the scorer judged steps.
    pub steps: Option<Vec<JudgedStep>>,
}

/// A step of a rollout, as a scorer judged it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedStep {
    /// Its place in the text, in code points.
    pub span: Range<usize>,
    /// From 0, wrong, to 1, right; `None` if nothing in it could be checked.
    pub score: Option<f64>,
    /// Its reward by the scorer's `shaping`; `None` without shaping.
    pub reward: Option<f64>,
    /// The scorer's label: `right`, `wrong`, `matching`, `mismatched`, …
    pub label: String,
}

impl Rollout {
    /// Whether a verdict found it right.
    pub fn is_right(&self) -> bool {
        self.right == Some(true)
    }

    /// The ids of its tokens and of its observations.
    pub fn ids(&self) -> Vec<u32> {
        interleaved(&self.tokens, &self.observations)
    }

    /// The failure of a tool that ended it, which leaves it without a score.
    pub fn tool_failure(&self) -> Option<FailureKind> {
        match self.early_end {
            Some(EarlyEnd::Tool(kind)) => Some(kind),
            Some(EarlyEnd::Turns) | None => None,
        }
    }

    /// Whether a verdict found it wrong; false without a verdict.
    pub fn is_wrong(&self) -> bool {
        self.right == Some(false)
    }
}

/// The rollouts of one item in one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The item.
    pub item: Arc<TrainingItem>,
    /// The rollouts, in the order of their streams.
    pub rollouts: Vec<Rollout>,
}

impl Group {
    /// The rewards; `None` unless every rollout has one.
    pub fn rewards(&self) -> Option<Vec<f64>> {
        let rewards = self.rollouts.iter().map(|rollout| rollout.reward.ok());
        rewards.collect()
    }
}
