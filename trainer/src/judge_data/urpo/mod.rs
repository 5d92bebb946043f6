//! URPO (arXiv 2507.17515): one model is policy and rank judge in one GRPO loop over three kinds of data.
//!
//! | kind | role | reward |
//! |---|---|---|
//! | verifiable | policy | a verifier: 1 or 0 |
//! | preference | rank judge: scores N candidates | Kendall's tau with the gold ranks ([`rank_judge`]) |
//! | open | policy | the model's own scores for its answers, in several orders ([`open`]) |
//!
//! The abstract says that there are these three kinds and that all of them are updated together. The
//! rank judge's prompt and reward, the mixture and the warm-up are **our reconstruction**: options
//! with documented defaults, and none of them is the paper's value.
//!
//! Rewards are compared within the group of one prompt and never across kinds: a tau of 0.5, a
//! verifier's 1 and a score of 7 have no common scale.

pub mod open;
pub mod rank_judge;
pub mod schedule;
#[cfg(test)]
mod tests;

pub use open::{Call, Open, calls, length_correlation, self_rewards};
pub use rank_judge::{RankJudgeConfig, SCORER, kendall_tau, preference_item, reward};
pub use schedule::{Mix, OpenRule, Schedule};

/// Checks the ranks of a row's candidates, the smallest being the best.
pub(crate) fn check_ranks(candidates: usize, ranks: &[f64]) -> Result<(), String> {
    if candidates < 2 || candidates != ranks.len() {
        return Err(format!(
            "{candidates} candidates and {} ranks: two or more are ranked, each once",
            ranks.len()
        ));
    }
    if ranks.iter().any(|rank| !rank.is_finite()) {
        return Err("a rank is not finite".to_owned());
    }
    if ranks.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq()) {
        return Err("all candidates are ranked equal: nothing can be learnt from that".to_owned());
    }
    Ok(())
}
