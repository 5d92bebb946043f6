//! `[method.asynchronous]`: sampling for later steps beside the update of the present one.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::PolicyGradientConfig;

/// The largest `max_staleness`; the runs of the paper have at most 8.
const MOST: u64 = 8;

/// `[method.asynchronous]` (`AReaL`, arXiv 2505.24298), on a schedule of step numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsynchronousSection {
    /// Steps between the one that a response is begun in and the one that trains on it; 0 samples in
    /// the step itself.
    #[serde(deserialize_with = "max_staleness")]
    pub max_staleness: u64,
    /// Whether the engine samples while gradients are computed. `false` samples first, on the same
    /// schedule and to the same bits.
    #[serde(default = "yes")]
    pub overlap: bool,
}

/// A count whose errors have its name, which those of a method's sections lack.
fn max_staleness<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let named = |error| D::Error::custom(format!("asynchronous.max_staleness: {error}"));
    u64::deserialize(deserializer).map_err(named)
}

fn yes() -> bool {
    true
}

impl AsynchronousSection {
    /// Lists what cannot be, in sentences.
    pub(super) fn check(self, method: &PolicyGradientConfig) -> Vec<String> {
        let mut problems = Vec::new();
        let most = MOST.min(method.max_tokens as u64);
        if self.max_staleness > most {
            problems.push(format!(
                "asynchronous: `max_staleness` is from 0 to {most} (8, and `max_tokens`, since a \
                 response grows in each step), not {}",
                self.max_staleness
            ));
        }
        if self.max_staleness == 0 {
            return problems;
        }
        if !method.objective.corrects() {
            problems.push(
                "asynchronous: responses are of older weights, for which this `objective` does not \
                 correct: take `policy = { kind = \"decoupled_ppo\" }` or \"aipo\", or a `correction`"
                    .to_owned(),
            );
        }
        let schedule = "it has a schedule of its own for responses that wait";
        let current = "its model learns from responses of the current weights";
        for (is_set, name, why) in [
            (method.partial.is_some(), "partial", schedule),
            (method.sample_ahead.is_some(), "sample_ahead", schedule),
            (method.fill.is_some(), "fill", "it samples again by the rewards of the step"),
            (method.scaffold.is_some(), "scaffold", "its prompts depend on the step"),
            (method.round.is_some(), "round", "its loss has no ratio to the weights that sampled"),
            (method.urpo.is_some(), "urpo", "it decides in each step how many problems there are"),
            (method.token_reward.is_some(), "token_reward", current),
            (method.step_model.is_some(), "step_model", current),
        ] {
            if is_set {
                problems.push(format!(
                    "asynchronous: leave `{name}` out beside a `max_staleness` above 0: {why}"
                ));
            }
        }
        problems
    }
}
