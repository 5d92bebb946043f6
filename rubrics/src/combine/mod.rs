//! Published reward formulas as pure functions over `f64`.
//!
//! No function calls a model, uses scorers, or (but for one format check) reads text of a model.
//! Every function takes finite numbers and returns finite numbers: a number that is not finite or
//! out of range, or a list of the wrong length, is a [`CombineError`], so that a failed measurement
//! cannot become a reward. Where a paper leaves something open, the choice is a parameter, and its
//! documentation states that it is ours.
//!
//! | module | method | from |
//! |---|---|---|
//! | [`steps`] | step scores to one number, first error, share of right steps | `ProcessBench`; `StepORLM` (2509.22558) |
//! | [`shaping`] | Clip, Delta | On Designing Effective RL Reward at Training Time for LLM Reasoning (2410.15115) |
//! | [`ensemble`] | mean, UWO, standardisation | Reward Model Ensembles Help Mitigate Overoptimization (2310.02743) |
//! | [`gate`] | gated reward accumulation | G-RA (2508.10548) |
//! | [`renorm`] | hybrid reward normalisation | PPR (2509.25598) |
//! | [`product`] | format, accuracy and consistency | R1-Reward (2505.02835) |
//! | [`group`] | group-relative advantages, pass rate | GRPO; RLOO as in OREAL (2502.06781) |
//! | [`critique`] | votes over critiques, token rewards | CAPO (2508.02298) |
//! | [`thoughts`] | thought rewards | TP-GRPO (2507.23317) |
//! | [`preference`] | both orders of a pair | Pairwise-RL (2504.04950) |
//! | [`grade`] | expected grade | plug-and-play judge (2506.05748) |
//! | [`tournament`] | mean probability of winning a pair | ours |
//! | [`selection`] | best of many, weighted votes | MARS-SQL (2511.01008); Is PRM Necessary? (2505.11227) |

pub mod critique;
pub mod ensemble;
pub mod gate;
pub mod grade;
pub mod group;
pub mod preference;
pub mod product;
pub mod renorm;
pub mod selection;
pub mod shaping;
pub mod steps;
pub mod thoughts;
pub mod tournament;

mod numbers;
mod spread;
#[cfg(test)]
mod tests;

pub use numbers::CombineError;
pub use spread::Variance;
