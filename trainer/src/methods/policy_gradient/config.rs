//! Options of policy gradients.

use serde::{Deserialize, Serialize};

use crate::advantages::AdvantageKind;
use crate::losses::{Objective, Streams};
use crate::recycle::SparkConfig;
use crate::run::RunConfig;

/// `[method]` with `kind = "policy_gradient"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyGradientConfig {
    /// Problems of a step.
    pub prompts: usize,
    /// Answers to each.
    pub group: usize,
    /// Tokens of an answer at most.
    pub max_tokens: usize,
    /// The scorer of problems that name none.
    #[serde(default)]
    pub scorer: Option<String>,
    /// The loss.
    #[serde(default)]
    pub objective: Objective,
    /// From rewards to advantages.
    #[serde(default)]
    pub advantage: AdvantageKind,
    /// What each stream counts for in the loss.
    #[serde(default)]
    pub streams: Streams,
    /// What becomes of groups whose rewards are all the same.
    #[serde(default)]
    pub zero_variance: ZeroVariance,
    /// How often problems are drawn again, until `prompts` groups have something to teach (DAPO,
    /// arXiv 2503.14476); 0 takes what comes. Of use where such groups are dropped.
    #[serde(default)]
    pub resample: usize,
    /// Steps without anything to learn from after which the run stops; 0 goes on for ever.
    #[serde(default = "stuck_after")]
    pub stuck_after: u64,
    /// Steps of the optimiser on the same rollouts.
    #[serde(default = "one")]
    pub epochs: u64,
    /// What answers that are too long lose.
    #[serde(default)]
    pub overlong: Overlong,
    /// Judging and reflection items made of rollouts.
    #[serde(default)]
    pub spark: Option<SparkSection>,
    /// The adapter that solves, where it is not the model itself.
    #[serde(default)]
    pub adapter: Option<String>,
    /// The adapter that judges, where it is another than the one that solves.
    #[serde(default)]
    pub judge_adapter: Option<String>,
}

fn stuck_after() -> u64 {
    20
}

fn one() -> u64 {
    1
}

/// What becomes of groups whose rewards are all the same: SPARK keeps them, since the divergence
/// from the reference still applies; CRL and online difficulty filtering drop them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroVariance {
    /// They are left out of the loss and its denominators.
    #[default]
    Drop,
    /// They stay, with advantages of 0.
    Keep,
}

/// What answers that are too long lose (DAPO, arXiv 2503.14476).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlong {
    /// Tokens before the limit from which on the reward falls to 1 less; none without it.
    pub buffer: Option<usize>,
    /// Whether answers that were cut teach nothing.
    pub filter: bool,
}

/// `[method.spark]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparkSection {
    /// The table's numbers.
    #[serde(default)]
    pub options: SparkConfig,
    /// The wordings.
    #[serde(default = "wordings")]
    pub templates: String,
    /// Items of a judge's period; `prompts` without it.
    #[serde(default)]
    pub batch: Option<usize>,
}

fn wordings() -> String {
    "spark".to_owned()
}

impl PolicyGradientConfig {
    pub(in crate::methods) fn check(&self, run: &RunConfig) -> Vec<String> {
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
        for name in [&self.adapter, &self.judge_adapter].into_iter().flatten() {
            if !run
                .policy
                .adapter
                .iter()
                .any(|adapter| &adapter.name == name)
            {
                problems.push(format!("the adapter '{name}' is not in [[policy.adapter]]"));
            }
        }
        if let Some(name) = &self.scorer
            && run.scorers.get(name).is_none()
        {
            let near = run.scorers.near(name).join("', '");
            problems.push(format!("there is no scorer '{name}'; near are '{near}'"));
        }
        problems
    }
}
