//! Losses, one pure function for each paper, from numbers to a value and its gradients.
//!
//! A loss does not use a model. Its input is log-probabilities or scores; it returns its value and
//! the derivative with respect to each of them, which the decoder's backward propagates. Everything
//! is `f64`, everything that is not finite is a [`FormulaError`] and never a number, and where a
//! paper leaves something open the documentation of the option states that the choice is ours.
//!
//! Formulas mark constants in a derivative by `sg`, a stop-gradient. The value
//! is then the one that automatic differentiation would show.
//!
//! | module | what |
//! |---|---|
//! | [`objective`] | [`Objective`]: a policy loss with everything around it, and `evaluate` |
//! | [`policy`] | REINFORCE, PPO, GRPO, Dr.GRPO, DAPO, GSPO, CISPO, SAPO, DPPO, AIPO, OREAL, NFT, `StableReinforce`, decoupled PPO |
//! | [`aggregate`], [`layout`] | denominators of the batch, token weights, streams |
//! | [`kl`] | k1, k2, k3, k3+ and the unbiased estimate, in the loss or in the reward |
//! | [`correction`] | TIS, `IcePop`, sequence MIS, geometric mask, OPSM, M2PO |
//! | [`length`] | DAPO's over-long penalty and filter |
//! | [`preference`] | Bradley-Terry, Plackett-Luce, contrasts, `MetaRM`, DPO, IPO and their weights |
//! | [`process`] | step labels: two-class heads, one-output heads, verdict tokens; SPA-RL progress |
//! | [`value`] | PPO's clipped loss of values |

pub mod aggregate;
pub mod correction;
pub mod error;
pub mod kl;
pub mod layout;
pub mod length;
pub mod objective;
pub mod policy;
pub mod preference;
pub mod process;
pub mod value;

mod logistic;
mod loss;
mod meter;
mod stats;
mod tokens;

#[cfg(test)]
pub(crate) mod tests;

pub use aggregate::{Aggregation, BatchLimits, Denominators, Streams};
pub use correction::Correction;
pub use error::FormulaError;
pub use kl::Kl;
pub use layout::{Layout, Stream};
pub use loss::Loss;
pub use objective::Objective;
pub use policy::PolicyLossKind;
pub use stats::{Stats, Tally};
pub use tokens::{MAX_LOG_RATIO, Tokens};
