//! Denoising preference pairs with several scorers, after *Secrets of RLHF II* (2401.06080).
//!
//! Each scorer gives a pair a difference: its score of the chosen response less that of the
//! rejected one. The mean of the differences is the strength of the preference, their standard
//! deviation its spread. Pairs of clearly negative strength are mislabelled, those near zero are
//! uncertain, and the strongest are easily overfitted; a list of rules decides what to do with
//! each.
//!
//! Known of the paper: ten reward models trained on different orders of the data, flipping at the
//! lowest strength, soft labels near zero, soft labels and a margin at the highest, and the
//! smoothing q = (1 - ε) y + ε/2 (all by third parties; the paper's text is not known to us). The
//! cuts between the three and ε are not known, so no rule has a default. Cuts by quantile, the
//! bound on the spread, rescaling scorers, and dropping are ours.

mod bars;
mod columns;
mod denoiser;
mod range;
mod rules;
mod strength;
mod table;
#[cfg(test)]
mod tests;
mod votes;

pub use bars::histogram;
pub use columns::{PairColumns, ScoreDifference, difference, exchanged_columns};
pub use denoiser::{AllVotes, BatchVotes, DenoiseCounts, Denoiser, RuleCount};
pub use range::StrengthRange;
pub use rules::{
    Action, PairDecision, ResolvedRule, ResolvedRules, RuleError, StrengthBound, StrengthRule,
    StrengthRules,
};
pub use strength::{StdDevKind, Strength, strength};
pub use table::{ColumnForm, DecidedPair, DenoiseTable, DenoiseTableOptions, SplitRows};
pub use votes::{Votes, rescaled};
