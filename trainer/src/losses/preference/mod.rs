//! Losses on preferences: Bradley-Terry and Plackett-Luce on scores, contrasts of representations, DPO
//! and IPO on the log-probabilities of responses, and the weights of pairs.

pub mod bradley_terry;
pub mod contrastive;
pub mod difference;
pub mod direct;
pub mod plackett_luce;
pub mod weights;

pub use bradley_terry::{BradleyTerry, Pairs};
pub use contrastive::Contrastive;
pub use difference::score_difference;
pub use direct::{DirectPreference, PreferredResponses};
pub use plackett_luce::plackett_luce;
