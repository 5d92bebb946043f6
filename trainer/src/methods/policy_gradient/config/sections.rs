//! Sections of a run file that switch on hooks of the training loop.

use serde::{Deserialize, Serialize};

use crate::error::{Result, TrainError};
use crate::judge_data::crl::CrlConfig;
use crate::judge_data::self_reward::GapStop;
use crate::judge_data::trust::TrustConfig;
use crate::judge_data::urpo::{Mix, OpenRule, RankJudgeConfig};
use crate::judge_data::{SparkConfig, TemplateKind, Templates};
use crate::losses::preference::DirectPreference;
use crate::methods::context::RunNames;
use crate::rollout::DrawParams;
use crate::staleness::PartialsConfig;

/// `sampling` of `[method]`: how responses are drawn in training. Log-probabilities, entropies and
/// divergences of the loss are those of the distribution at this temperature, before truncation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingSection {
    /// Divides the logits; 1.
    pub temperature: f32,
    /// Keeps the most likely tokens that have this probability together; 1.
    pub top_p: f32,
    /// Number of most likely tokens to keep; `None` keeps all.
    pub top_k: Option<usize>,
    /// Keeps tokens of at least this share of the largest probability; 0.
    pub min_p: f32,
    /// Texts that end a response, of which they stay a part; also in evaluations.
    pub stop: Vec<String>,
}

impl Default for SamplingSection {
    fn default() -> Self {
        let DrawParams { temperature, top_p, top_k, min_p } = DrawParams::FULL;
        Self { temperature, top_p, top_k, min_p, stop: Vec::new() }
    }
}

impl SamplingSection {
    /// The distribution that tokens are drawn from.
    pub fn draws(&self) -> DrawParams {
        let Self { temperature, top_p, top_k, min_p, stop: _ } = *self;
        DrawParams { temperature, top_p, top_k, min_p }
    }

    /// [`DrawParams::logit_scale`] of its draws.
    pub fn logit_scale(&self) -> Option<f32> {
        self.draws().logit_scale()
    }

    pub(super) fn check(&self) -> Vec<String> {
        [
            (
                (0.01..=100.0).contains(&self.temperature),
                "`sampling.temperature` is from 0.01 to 100",
            ),
            (self.top_p > 0.0 && self.top_p <= 1.0, "`sampling.top_p` is above 0 and at most 1"),
            (self.top_k != Some(0), "`sampling.top_k` is at least 1"),
            ((0.0..=1.0).contains(&self.min_p), "`sampling.min_p` is from 0 to 1"),
            (!self.stop.iter().any(String::is_empty), "`sampling.stop` has no empty text"),
        ]
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, problem)| problem.to_owned())
        .collect()
    }
}

/// `[method.round]`: pairs of the policy's own responses in the place of advantages (`StepORLM`, 2509.22558),
/// as reported. Whether its loss has a reference is not known; `none` and `frozen` are both readings, and
/// `sampler` is ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoundSection {
    /// The loss of pairs.
    pub loss: DirectPreference,
    /// What log-probabilities are compared with.
    pub reference: RoundReference,
    /// The weight of a pair.
    pub weights: RoundWeights,
    /// Whether two wrong responses make a pair, by their steps alone; true.
    pub wrong_pairs: bool,
}

impl Default for RoundSection {
    fn default() -> Self {
        Self {
            loss: DirectPreference::default(),
            reference: RoundReference::default(),
            weights: RoundWeights::default(),
            wrong_pairs: true,
        }
    }
}

/// The policy that log-probabilities of pairs are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundReference {
    /// The one that sampled them: at the beginning of a round, with `sample_ahead`.
    #[default]
    Sampler,
    /// The model at the start of the run.
    Frozen,
    /// None.
    None,
}

/// The weight of a pair of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundWeights {
    /// 1 between a right and a wrong response, else the difference of shares of right steps.
    #[default]
    WDpo,
    /// 1.
    Even,
}

/// `[method.crl]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrlSection {
    /// The share, and whether labels are balanced.
    #[serde(default)]
    pub options: CrlConfig,
    /// The wordings.
    #[serde(default = "critiques")]
    pub templates: String,
}

fn critiques() -> String {
    "crl".to_owned()
}

/// `[method.spark]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparkSection {
    /// The options of SPARK's table.
    #[serde(default)]
    pub options: SparkConfig,
    /// The wordings.
    #[serde(default = "wordings")]
    pub templates: String,
    /// Items of a judge phase; `prompts` by default.
    #[serde(default)]
    pub batch: Option<usize>,
    /// The training signal of the judge.
    #[serde(default)]
    pub teach: Teach,
    /// The optimiser step that trains on them.
    #[serde(default)]
    pub update: JudgeUpdate,
}

fn wordings() -> String {
    "spark".to_owned()
}

/// The training signal of the judge: sampled replies or labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Teach {
    /// Replies are sampled, and those that agree with the label are rewarded, as in SPARK.
    #[default]
    Rewards,
    /// The label is the reply, and its cross-entropy is the loss. Reflections, whose reply is
    /// unknown, are left out.
    Labels,
    /// Rewards, then labels.
    Both,
}

/// The scorer of items whose full reply is the label.
const WHOLE: &str = "reply";

impl Teach {
    pub(in crate::methods::policy_gradient) fn samples(self) -> bool {
        match self {
            Teach::Rewards | Teach::Both => true,
            Teach::Labels => false,
        }
    }

    pub(in crate::methods::policy_gradient) fn writes(self) -> bool {
        match self {
            Teach::Labels | Teach::Both => true,
            Teach::Rewards => false,
        }
    }

    /// Refuses templates whose labels are only a part of the reply.
    pub(in crate::methods::policy_gradient) fn check(self, templates: &Templates) -> Result<()> {
        let kinds = [TemplateKind::Pointwise, TemplateKind::Pairwise];
        let mut used = kinds.iter().flat_map(|kind| templates.of(*kind));
        if self.writes() && used.any(|template| &*template.scorer != WHOLE) {
            return Err(TrainError::Invalid(format!(
                "spark: labels are taught where they are the whole reply; these templates have \
                 wordings with another scorer than `{WHOLE}`"
            )));
        }
        Ok(())
    }
}

/// The optimiser step that trains on judge data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeUpdate {
    /// A separate step after the policy's, as in SPARK (arXiv 2509.22624). An adaptive optimiser
    /// makes each step about as long as the last for any number of items, so that this needs about
    /// as many items as problems.
    #[default]
    Own,
    /// The policy's step: items are sampled under the same weights, and policy, judge and labels
    /// are weighted by `streams`, each over its own tokens (as in URPO, arXiv 2507.17515).
    Joint,
}

/// `[method.urpo]`. All defaults are our reconstruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UrpoSection {
    /// Share of each kind in a batch.
    pub mix: Mix,
    /// The rule that admits open rows.
    pub open: OpenRule,
    /// Parsing of the rank judge's replies.
    #[serde(alias = "referee")]
    pub rank_judge: RankJudgeConfig,
    /// The wordings; `urpo` by default.
    pub templates: String,
    /// The share of ranked rows that is never trained on and measures the rank judge for the gate;
    /// 0.1.
    pub held_out: f64,
    /// Steps between those measurements; 10.
    pub every: u64,
}

impl Default for UrpoSection {
    fn default() -> Self {
        Self {
            mix: Mix::default(),
            open: OpenRule::default(),
            rank_judge: RankJudgeConfig::default(),
            templates: "urpo".to_owned(),
            held_out: 0.1,
            every: 10,
        }
    }
}

/// `[method.partial]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PartialSection {
    /// The number launched, and the limit of interruptions.
    pub options: PartialsConfig,
    /// Maximum age of a token in revisions of the weights, η of `AReaL` (arXiv 2505.24298). Older
    /// tokens are left out of the loss and counted, and no more groups are started than can be
    /// trained on in time. `None` permits any age.
    pub max_staleness: Option<u64>,
}

/// `[method.guard]`, for problems whose right answer the rewards do not use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardSection {
    /// The scorer with access to the truth: it receives the right answer (`audit`) of audited
    /// groups.
    pub scorer: String,
    /// The share of groups that are audited; 0.05.
    #[serde(default = "audit_share")]
    pub share: f64,
    /// The rule that ends the run.
    #[serde(default)]
    pub stop: GapStop,
    /// Reads rewards as probabilities of being right: a rollout with |p - 1/2| below it abstains
    /// and leaves its group, the others get a reward of 1 or 0. `None` keeps rewards unchanged.
    #[serde(default)]
    pub tau: Option<f64>,
    /// Whether the others are weighted by the judge's confidence, |2p - 1|; needs `tau`.
    #[serde(default)]
    pub weigh: bool,
}

fn audit_share() -> f64 {
    0.05
}

impl GuardSection {
    pub(in crate::methods::policy_gradient) fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        if !(0.0..=1.0).contains(&self.share) {
            problems.push("`guard.share` is between 0 and 1".to_owned());
        }
        if self.tau.is_some_and(|tau| !(0.0..=0.5).contains(&tau)) {
            problems.push("`guard.tau` is between 0 and 0.5".to_owned());
        }
        if self.weigh && self.tau.is_none() {
            problems.push("`guard.weigh` needs `guard.tau`".to_owned());
        }
        problems.extend(run.missing_scorer(&self.scorer));
        problems
    }
}

/// `[method.trust]`: self-given rewards count for as much as their judge tells right from wrong answers
/// to one problem ([`crate::judge_data::trust`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustSection {
    /// The judge.
    pub scorer: String,
    /// Problems with a reference answer that measure the judge and are never trained on.
    pub held_out: usize,
    /// Steps between measurements; 10.
    #[serde(default = "ten")]
    pub every: u64,
    /// Interval and schedule.
    #[serde(default)]
    pub options: TrustConfig,
}

fn ten() -> u64 {
    10
}

impl TrustSection {
    pub(super) fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        let few = (self.held_out == 0 || self.every == 0)
            .then(|| "trust: `held_out` and `every` are at least 1".to_owned());
        let options = self.options.check().err().map(|error| error.to_string());
        run.missing_scorer(&self.scorer).into_iter().chain(few).chain(options).collect()
    }
}

/// `[method.filtration]`: PF-PPO (2409.06957).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FiltrationSection {
    /// The filter that responses are drawn by.
    pub filter: Filter,
    /// The responses that are drawn from.
    #[serde(default)]
    pub over: FilterOver,
}

/// A filter of policy filtration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The best response alone.
    BestOfN,
    /// The best response, and the others together as often.
    BestRandom,
    /// The best and the worst response.
    BestWorst,
    /// Each response in proportion to its squared reward.
    Reweight,
}

/// The responses that a filter draws from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilterOver {
    /// Those of one prompt.
    #[default]
    Prompt,
    /// All of the batch, as in verl.
    Batch,
}

/// `compare` of `[method]`: what a scorer that compares responses compares a rollout with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "with", rename_all = "snake_case", deny_unknown_fields)]
pub enum CompareSection {
    /// The reference answer of its row, in both orders (Pairwise-RL, 2504.04950). The published
    /// formulas are not known; these are ours.
    Reference {
        /// The reward of a pair.
        #[serde(default)]
        reward: PairReward,
    },
    /// The other rollouts of its group.
    Group,
}

/// The reward of a rollout that was compared with the reference answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairReward {
    /// The probability that it is the better one, less one half.
    #[default]
    Probability,
    /// The log-odds of that.
    LogOdds,
}

/// `[method.monitor]`: `CoT Monitor+` (2505.18807). The reward of a response is its own plus `weight
/// penalty` where the scorer flags it. The published values of penalty, start and rate are not known;
/// these are ours, as are tolerance and cap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorSection {
    /// The scorer that reads the comment of a response on itself.
    pub scorer: String,
    /// The least score of a flagged response; 1.
    #[serde(default = "whole")]
    pub flagged_from: f64,
    /// The reward of a flag, below 0; -1.
    #[serde(default = "minus_one")]
    pub penalty: f64,
    /// The weight of the penalty at the start; 0.
    #[serde(default)]
    pub start: f64,
    /// The rate of the weight: each step moves it by `-rate (J + tolerance)` with the mean penalty `J`.
    pub rate: f64,
    /// The mean penalty that is tolerated, without which the weight never falls; 0.05.
    #[serde(default = "tolerance")]
    pub tolerance: f64,
    /// The largest weight; 1.
    #[serde(default = "whole")]
    pub cap: f64,
}

fn whole() -> f64 {
    1.0
}

fn minus_one() -> f64 {
    -1.0
}

fn tolerance() -> f64 {
    0.05
}

impl MonitorSection {
    pub(super) fn check(&self, run: &RunNames<'_>) -> Vec<String> {
        let numbers = [self.flagged_from, self.start, self.rate, self.tolerance, self.cap];
        let holds = numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
            && self.penalty.is_finite()
            && self.penalty < 0.0
            && self.rate > 0.0
            && self.start <= self.cap;
        let range = (!holds).then(|| {
            "monitor: `penalty` is below 0, `rate` above 0, the other numbers 0 or more, and `start` at \
             most `cap`"
                .to_owned()
        });
        run.missing_scorer(&self.scorer).into_iter().chain(range).collect()
    }
}
