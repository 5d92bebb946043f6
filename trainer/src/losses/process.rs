//! Losses on steps: labels at the last token of each, and SPA-RL's progress.
//!
//! A step's label is the probability that the step is right, 0 or 1 if it is known; `None` is a
//! step without a label, whose logits are not read. Losses are means over the `total` labelled
//! steps of the batch.

use super::error::{FormulaError, Result, boundaries, finite, lengths};
use super::logistic::cross_entropy;
use super::loss::Loss;
use super::stats::{Stats, Tally};

/// Cross-entropy of a head with two classes, wrong and right, at each step: `logits` has both. The
/// same function trains verdict tokens (the logits of the words for wrong and right), and the
/// trained probability is the one that the server reads. The gradient is with respect to both
/// logits of each step, in order.
///
/// # Errors
/// Lists of different lengths, more labels than `total`, labels outside [0, 1], or labelled logits
/// that are not finite.
pub fn two_class(logits: &[[f64; 2]], labels: &[Option<f64>], total: usize) -> Result<Loss> {
    let differences: Vec<f64> = logits.iter().map(|[wrong, right]| right - wrong).collect();
    let loss = binary(&differences, labels, total)?;
    let grad = loss.grad.iter().flat_map(|slope| [-slope, *slope]).collect();
    Ok(Loss { grad, ..loss })
}

/// Cross-entropy of a head with one output, the log-odds that a step is right. Verdicts that are
/// read as a difference of log-probabilities have these log-odds too.
///
/// # Errors
/// As [`two_class`].
pub fn binary(logits: &[f64], labels: &[Option<f64>], total: usize) -> Result<Loss> {
    lengths("labels", labels.len(), logits.len())?;
    let n_labelled = labels.iter().flatten().count();
    if n_labelled > total {
        return Err(FormulaError::Denominator { what: "labelled steps" });
    }
    let (mut value, mut grad) = (0.0, vec![0.0; logits.len()]);
    let (mut on_right, mut on_wrong) = (Tally::default(), Tally::default());
    for (index, (logit, label)) in logits.iter().zip(labels).enumerate() {
        let Some(label) = *label else { continue };
        if !logit.is_finite() {
            let what = "logit of step";
            return Err(FormulaError::NotFinite { what, index });
        }
        if !(0.0..=1.0).contains(&label) {
            let (what, range) = ("label of step", "from 0 to 1");
            return Err(FormulaError::OutOfRange { what, index, range });
        }
        let (own, slope) = cross_entropy(*logit, label);
        value += own / total as f64;
        grad[index] = slope / total as f64;
        if label > 0.5 {
            on_right.add(f64::from(u8::from(*logit > 0.0)));
        } else {
            on_wrong.add(f64::from(u8::from(*logit <= 0.0)));
        }
    }
    let mut stats = Stats::default();
    stats.insert("process/right_found".to_owned(), &on_right);
    stats.insert("process/wrong_found".to_owned(), &on_wrong);
    Loss::of_scores(value, grad, stats)
}

/// The loss of SPA-RL's progress estimator (2505.20732): the square of the difference between the
/// sum of an episode's contributions and its final reward, as a mean over the `total` episodes of
/// the batch. The gradient is with respect to each contribution.
///
/// # Errors
/// Lists that do not belong together, more episodes than `total`, or numbers that are not finite.
pub fn progress(
    contributions: &[f64],
    cu_episodes: &[usize],
    rewards: &[f64],
    total: usize,
) -> Result<Loss> {
    boundaries("cu_episodes", cu_episodes, contributions.len())?;
    finite("contribution", contributions)?;
    finite("reward", rewards)?;
    lengths("rewards", rewards.len(), cu_episodes.len() - 1)?;
    if rewards.len() > total {
        return Err(FormulaError::Denominator { what: "episodes" });
    }
    let (mut value, mut grad) = (0.0, vec![0.0; contributions.len()]);
    let mut distance = Tally::default();
    for (ends, reward) in cu_episodes.windows(2).zip(rewards) {
        let episode = ends[0]..ends[1];
        let error = contributions[episode.clone()].iter().sum::<f64>() - reward;
        value += error * error / total as f64;
        grad[episode].fill(2.0 * error / total as f64);
        distance.add(error.abs());
    }
    let mut stats = Stats::default();
    stats.insert("progress/abs_error".to_owned(), &distance);
    Loss::of_scores(value, grad, stats)
}
