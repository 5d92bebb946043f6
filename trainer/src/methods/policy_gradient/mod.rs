//! Policy gradients on rollouts. The training loop is [`train_step`]; a run file adds hooks to it,
//! such as judging items made of the same rollouts (`hooks/`).

mod auxiliary;
mod build;
mod config;
mod group_source;
mod hook;
mod hooks;
mod labels;
mod majority_vote;
mod monitor_state;
mod problem_values;
mod prompts;
mod responder;
mod rollouts;
mod round;
mod scaffolds;
mod state;
mod step_signals;
pub mod train_step;
mod update_batch;

pub use auxiliary::{AuxiliarySpec, AuxiliaryStart};
pub use config::{
    AlongGroup, AlongTraining, AsynchronousSection, CompareSection, CrlSection, Filter, FilterOver,
    FiltrationSection, GuardSection, ImplicitSection, JudgeUpdate, MonitorSection, Overlong,
    OwnValue, PairReward, PartialSection, PolicyGradientConfig, ProgressSection, RoundReference,
    RoundSection, RoundWeights, SamplingSection, ScaffoldSection, SharedValue, SparkSection,
    StepModelSection, StepSplit, Teach, TokenRewardSection, TrajectoryScore, TrustSection,
    UrpoSection, ValueSection,
};
pub(crate) use majority_vote::SCORER as MAJORITY_VOTE;
pub use state::PolicyGradientState;
pub use train_step::PolicyGradient;
pub use update_batch::Apply;
