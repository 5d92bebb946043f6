//! The state of a policy-gradient run in a checkpoint. Field names are those of the file.

use std::collections::BTreeMap;
use std::iter::repeat_with;

use serde::{Deserialize, Serialize};

use super::monitor_state::MonitorState;
use super::prompts::PromptsState;
use crate::curriculum::{CurriculumState, DiscardRate, NoProgressRule};
use crate::item::{EarlyEnd, Observation, Token, TrainingItem};
use crate::judge_data::self_reward::GapStop;
use crate::judge_data::trust::Trust;
use crate::judge_data::urpo::Schedule;
use crate::judge_data::{ItemQueue, ReplayBuffer};
use crate::rollout::SampledResponse;
use crate::staleness::{Capacity, Partials};

/// The state of a run between steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientState {
    #[serde(rename = "problems")]
    pub(super) prompts: PromptsState,
    #[serde(rename = "stuck")]
    pub(super) no_progress: NoProgressRule,
    #[serde(default)]
    pub(super) discard: DiscardRate,
    #[serde(rename = "cache")]
    pub(super) judge_items: ItemQueue,
    #[serde(rename = "reservoir")]
    pub(super) replay_buffer: ReplayBuffer,
    #[serde(rename = "mixed")]
    pub(super) urpo: Option<UrpoState>,
    #[serde(rename = "ahead")]
    pub(super) partial_rollouts: Option<PartialRolloutsState>,
    /// Groups that later steps train on, of `sample_ahead` and `asynchronous`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sampled_ahead: Vec<StoredGroup>,
    #[serde(rename = "gap")]
    pub(super) reward_gap: Option<GapStop>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) monitor: Option<MonitorState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trust: Option<Trust>,
    /// Steps of the optimisers of the models beside the policy, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) auxiliary: BTreeMap<String, u64>,
}

/// State of URPO's ranked and open rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UrpoState {
    pub(super) schedule: Schedule,
    pub(super) order: Option<CurriculumState>,
    pub(super) open: Option<PromptsState>,
}

/// State of partial rollouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartialRolloutsState {
    pub(super) partials: Partials,
    pub(super) capacity: Option<Capacity>,
    pub(super) held: Vec<StoredGroup>,
    pub(super) next: u64,
}

/// A group that waits for a later step, in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredGroup {
    pub(super) id: u64,
    pub(super) item: TrainingItem,
    /// The tokens of each response, whether it ended and whether it was interrupted.
    pub(super) answers: Vec<(Vec<StoredToken>, bool, bool)>,
    /// The turns of each response; empty for a policy without tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) turns: Vec<StoredTurns>,
}

/// What a response of several turns has beside its tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTurns {
    observations: Vec<Observation>,
    early_end: Option<EarlyEnd>,
}

/// A token, the bits of its log-probability, and how many revisions old it is. Revisions count from the
/// start of a process.
type StoredToken = (u32, u32, u64);

impl StoredGroup {
    /// Responses without scaffolds; `revision` is that of the weights.
    pub(super) fn new(
        id: u64,
        item: &TrainingItem,
        responses: &[SampledResponse],
        revision: u64,
    ) -> StoredGroup {
        let token = |token: &Token| {
            let age = revision.wrapping_sub(token.revision);
            (token.id, token.logprob.to_bits(), age)
        };
        let answer = |sample: &SampledResponse| {
            let tokens = sample.tokens.iter().map(token).collect();
            (tokens, sample.ended, sample.interrupted)
        };
        let turns = |sample: &SampledResponse| StoredTurns {
            observations: sample.observations.clone(),
            early_end: sample.early_end,
        };
        let mut turns: Vec<StoredTurns> = responses.iter().map(turns).collect();
        if turns.iter().all(|own| *own == StoredTurns::default()) {
            turns.clear();
        }
        let answers = responses.iter().map(answer).collect();
        StoredGroup { id, item: item.clone(), answers, turns }
    }

    /// The responses, for weights of this revision.
    pub(super) fn responses(&self, revision: u64) -> Vec<SampledResponse> {
        let token = |(id, bits, age): &StoredToken| Token {
            id: *id,
            logprob: f32::from_bits(*bits),
            revision: revision.wrapping_sub(*age),
        };
        let turns = self.turns.iter().cloned().chain(repeat_with(StoredTurns::default));
        let answers = self.answers.iter().zip(turns);
        answers
            .map(|((tokens, ended, interrupted), turns)| SampledResponse {
                tokens: tokens.iter().map(token).collect(),
                observations: turns.observations,
                ended: *ended,
                interrupted: *interrupted,
                early_end: turns.early_end,
                scaffold: None,
            })
            .collect()
    }
}
