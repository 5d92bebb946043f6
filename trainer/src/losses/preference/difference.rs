//! How far apart a reward model's scores of responses are.

use crate::losses::error::{FormulaError, Result, boundaries, finite};
use crate::losses::logistic::sigmoid;
use crate::losses::loss::Loss;
use crate::losses::stats::{Stats, Tally};

/// `MetaRM`'s objective on responses of a shifted distribution, as Secrets of RLHF Part II (2401.06080)
/// is reported: the mean over the pairs of a list of `sigma(|s_i - s_j|)`, which is ascended. It is a
/// mean over the `total` lists of the batch; `cu_lists` holds the offsets of the lists and at the end
/// the number of scores. Equal scores have no gradient, and a list of one has no pairs.
///
/// # Errors
/// Boundaries that do not cut the scores, more lists than `total`, or a score that is not finite.
pub fn score_difference(scores: &[f64], cu_lists: &[usize], total: usize) -> Result<Loss> {
    boundaries("cu_lists", cu_lists, scores.len())?;
    finite("score", scores)?;
    if cu_lists.len() - 1 > total {
        return Err(FormulaError::Denominator { what: "lists" });
    }
    let (mut value, mut grad) = (0.0, vec![0.0; scores.len()]);
    let mut difference = Tally::default();
    for ends in cu_lists.windows(2) {
        let n = ends[1] - ends[0];
        let share = 2.0 / ((n * n.saturating_sub(1)).max(1) * total) as f64;
        for i in ends[0]..ends[1] {
            for j in i + 1..ends[1] {
                let apart = scores[i] - scores[j];
                let own = sigmoid(apart.abs());
                difference.add(own);
                value += share * own;
                if apart != 0.0 {
                    let slope = share * own * (1.0 - own) * apart.signum();
                    grad[i] += slope;
                    grad[j] -= slope;
                }
            }
        }
    }
    let mut stats = Stats::default();
    stats.insert("meta/difference".to_owned(), &difference);
    Loss::of_scores(value, grad, stats)
}
