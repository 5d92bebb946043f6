//! The filters of policy filtration (PF-PPO, 2409.06957), which train on the scored responses that
//! reward models are most reliable on: the extremes.
//!
//! The filters and their weights are those of the authors' public code; the paper's text is not
//! known to us. There a batch is drawn with replacement in proportion to the weights. Ours: with
//! equal scores the choice follows from a seed and the content, the weights of *best-random* are
//! given for any number of responses (the code's 0.4 and 0.1 are those of five), and [`keep`]
//! chooses rows once and for all, as a dataset needs it.

use serde::Serialize;

use super::choice::lot;
use super::{GroupMember, best, measured, worst};

/// Filter of the responses of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filtration {
    /// The best response alone.
    BestOfN,
    /// The best response and a random other.
    BestRandom,
    /// The best and the worst response.
    BestWorst,
    /// Each response in proportion to its squared score.
    Reweight,
}

/// Sampling weights of the responses, which add up to 1; 0 for a response without a score. `None` if
/// there is no score, or with [`Filtration::Reweight`] only zeros.
pub fn weights(members: &[GroupMember<'_>], filtration: Filtration, seed: u64) -> Option<Vec<f64>> {
    let (best, worst) = (best(members, seed)?, worst(members, seed)?);
    let n_others = measured(members).count() - 1;
    let mut weights = vec![0.0; members.len()];
    for (index, score) in measured(members) {
        let is_best = index == best;
        weights[index] = match filtration {
            Filtration::BestOfN => f64::from(u8::from(is_best)),
            Filtration::BestRandom if is_best => 1.0,
            Filtration::BestRandom => inverse(n_others),
            Filtration::BestWorst => f64::from(u8::from(is_best || index == worst)),
            Filtration::Reweight => score * score,
        };
    }
    let whole: f64 = weights.iter().sum();
    let drawable = whole > 0.0 && whole.is_finite();
    drawable.then(|| weights.iter().map(|weight| weight / whole).collect())
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 responses")]
fn inverse(n: usize) -> f64 {
    1.0 / n as f64
}

/// Positions that a filter keeps, ascending. [`Filtration::Reweight`] draws `n` of them
/// without replacement in proportion to their weights, the others ignore `n`. Empty if
/// nothing was measured.
pub fn keep(
    members: &[GroupMember<'_>],
    filtration: Filtration,
    n: usize,
    seed: u64,
) -> Vec<usize> {
    let (Some(best), Some(worst)) = (best(members, seed), worst(members, seed)) else {
        return Vec::new();
    };
    let mut kept = match filtration {
        Filtration::BestOfN => vec![best],
        Filtration::BestRandom => {
            let others = measured(members).filter(|(index, _)| *index != best);
            let drawn =
                others.min_by_key(|(index, _)| (lot(&members[*index], seed, b"br"), *index));
            [Some(best), drawn.map(|(index, _)| index)].into_iter().flatten().collect()
        }
        Filtration::BestWorst => vec![best, worst],
        Filtration::Reweight => drawn(members, n, seed),
    };
    kept.sort_unstable();
    kept.dedup();
    kept
}

/// Draws `n` positions without replacement, in proportion to the squared scores (Efraimidis and Spirakis,
/// 2006): each response gets the key u^(1/w), u uniform, and the greatest keys are drawn. A response
/// of weight 0 is never drawn.
fn drawn(members: &[GroupMember<'_>], n: usize, seed: u64) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> = measured(members)
        .filter(|(_, score)| *score != 0.0)
        .map(|(index, score)| {
            #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
            let uniform = (lot(&members[index], seed, b"rw") >> 11) as f64 + 0.5;
            let uniform = uniform / 9_007_199_254_740_992.0;
            // The logarithm keeps the order, and small weights from running into zero.
            (uniform.ln() / (score * score), index)
        })
        .collect();
    keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keyed.truncate(n);
    keyed.into_iter().map(|(_, index)| index).collect()
}
