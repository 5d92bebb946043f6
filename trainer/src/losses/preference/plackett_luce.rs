//! Plackett-Luce on the scores of ranked lists.

use base::stats::log_sum_exp;

use crate::losses::error::{FormulaError, Result, boundaries, finite};
use crate::losses::loss::Loss;
use crate::losses::stats::{Stats, Tally};

/// The negative log-likelihood of rankings under Plackett-Luce (R. L. Plackett, 1975):
/// `-sum over k of (s_k - log sum over j >= k of exp(s_j))` for scores in the order of their rank,
/// the best first. It is a mean over the `total` lists of the batch; `cu_lists` holds the offsets
/// of the lists and at the end the number of scores. A list of two is Bradley-Terry.
///
/// # Errors
/// Boundaries that do not cut the scores, more lists than `total`, or a score that is not finite.
pub fn plackett_luce(scores: &[f64], cu_lists: &[usize], total: usize) -> Result<Loss> {
    boundaries("cu_lists", cu_lists, scores.len())?;
    finite("score", scores)?;
    if cu_lists.len() - 1 > total {
        return Err(FormulaError::Denominator { what: "lists" });
    }
    let (mut value, mut grad) = (0.0, vec![0.0; scores.len()]);
    let mut best_first = Tally::default();
    for ends in cu_lists.windows(2) {
        let list = &scores[ends[0]..ends[1]];
        let slopes = &mut grad[ends[0]..ends[1]];
        for (rank, score) in list.iter().enumerate() {
            let log_total = log_sum_exp(&list[rank..]);
            value += (log_total - score) / total as f64;
            slopes[rank] -= 1.0 / total as f64;
            for (slope, other) in slopes[rank..].iter_mut().zip(&list[rank..]) {
                *slope += (other - log_total).exp() / total as f64;
            }
        }
        if let Some((best, others)) = list.split_first() {
            let first = others.iter().all(|other| best > other);
            best_first.add(f64::from(u8::from(first)));
        }
    }
    let mut stats = Stats::default();
    stats.insert("ranking/best_first".to_owned(), &best_first);
    Loss::of_scores(value, grad, stats)
}
