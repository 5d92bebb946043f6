//! Measures of the calibration and ranking of probabilities.

use base::stats::from_count;
use serde::Serialize;

/// A probability and the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// In [0, 1].
    pub probability: f64,
    /// The truth.
    pub right: bool,
}

/// Assignment of predictions to bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binning {
    /// Bins of one width between 0 and 1; empty ones are left out.
    EqualWidth(usize),
    /// Bins of about equal counts. Equal probabilities share a bin, so that bins do not depend on
    /// the order of the predictions.
    EqualMass(usize),
}

/// Predictions of similar probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// How many.
    pub count: usize,
    /// Their mean probability.
    pub mean: f64,
    /// The share that is right.
    pub right: f64,
}

/// The figures of a set of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Expected calibration error over ten bins of one width.
    pub ece: f64,
    /// The same over ten bins of one mass.
    pub ece_mass: f64,
    /// Mean squared error (Brier).
    pub brier: f64,
    /// Mean negative log-likelihood in nats. Probabilities of the truth below 1e-12 count as 1e-12,
    /// because the logarithm of 0 is infinite.
    pub nll: f64,
    /// Area under the receiver operating characteristic; rising maps change it only by the ties
    /// that they make.
    pub auroc: f64,
}

/// Bins of the expected calibration errors.
const BINS: usize = 10;

/// Least probability of the truth in logarithms.
const LEAST: f64 = 1e-12;

/// Computes all figures; `None` without both right and wrong predictions, or with a probability
/// outside [0, 1].
pub fn figures(predictions: &[Prediction]) -> Option<Figures> {
    let is_one = |it: &Prediction| (0.0..=1.0).contains(&it.probability);
    if !predictions.iter().all(is_one) {
        return None;
    }
    let n = from_count(predictions.len());
    let squares = predictions.iter().map(|it| {
        let truth = f64::from(u8::from(it.right));
        (it.probability - truth).powi(2)
    });
    let logs = predictions.iter().map(|it| {
        let said = if it.right { it.probability } else { 1.0 - it.probability };
        -said.max(LEAST).ln()
    });
    Some(Figures {
        auroc: auroc(predictions)?,
        ece: expected_error(&bins(predictions, Binning::EqualWidth(BINS))),
        ece_mass: expected_error(&bins(predictions, Binning::EqualMass(BINS))),
        brier: squares.sum::<f64>() / n,
        nll: logs.sum::<f64>() / n,
    })
}

/// Groups predictions into bins, in rising order; empty for no bins.
pub fn bins(predictions: &[Prediction], how: Binning) -> Vec<Bin> {
    let sorted = sorted(predictions);
    match how {
        Binning::EqualWidth(n) => {
            let place = |it: &Prediction| width_bin(it.probability, n);
            let runs = sorted.chunk_by(|a, b| place(a) == place(b));
            runs.filter(|_| n > 0).map(bin).collect()
        }
        Binning::EqualMass(n) => mass_runs(&sorted, n).into_iter().map(bin).collect(),
    }
}

/// Returns the mean difference between probability and accuracy over bins, weighted by their sizes.
pub fn expected_error(bins: &[Bin]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    if all == 0 {
        return 0.0;
    }
    let terms = bins.iter().map(|bin| from_count(bin.count) * (bin.mean - bin.right).abs());
    terms.sum::<f64>() / from_count(all)
}

/// Returns the probability that a right prediction is above a wrong one, ties counting one half;
/// `None` without both.
pub fn auroc(predictions: &[Prediction]) -> Option<f64> {
    let sorted = sorted(predictions);
    let n_right = predictions.iter().filter(|it| it.right).count();
    let n_wrong = predictions.len() - n_right;
    if n_right == 0 || n_wrong == 0 {
        return None;
    }
    // Counted in halves, so that counts stay integers.
    let (mut halves, mut below) = (0_u128, 0_u128);
    for tied in sorted.chunk_by(|a, b| a.probability.total_cmp(&b.probability).is_eq()) {
        let right = tied.iter().filter(|it| it.right).count() as u128;
        let wrong = tied.len() as u128 - right;
        halves += right * (2 * below + wrong);
        below += wrong;
    }
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
    let won = halves as f64 / 2.0;
    Some(won / (from_count(n_right) * from_count(n_wrong)))
}

fn sorted(predictions: &[Prediction]) -> Vec<Prediction> {
    let mut sorted = predictions.to_vec();
    // Minus zero equals zero.
    for it in &mut sorted {
        it.probability += 0.0;
    }
    sorted.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    sorted
}

fn width_bin(probability: f64, n: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a probability times a count of bins is small and not negative"
    )]
    let place = (probability * from_count(n)) as usize;
    place.min(n.saturating_sub(1))
}

/// Splits predictions into runs of at least an equal share, each ending at a change of probability.
fn mass_runs(sorted: &[Prediction], n: usize) -> Vec<&[Prediction]> {
    let mut runs = Vec::new();
    let mut rest = sorted;
    for left in (1..=n).rev() {
        if rest.is_empty() {
            break;
        }
        let mut end = rest.len().div_ceil(left);
        let last = rest[end - 1].probability;
        end += rest[end..].partition_point(|it| it.probability.total_cmp(&last).is_le());
        let (run, later) = rest.split_at(end);
        runs.push(run);
        rest = later;
    }
    runs
}

fn bin(run: &[Prediction]) -> Bin {
    let said: f64 = run.iter().map(|it| it.probability).sum();
    let right = run.iter().filter(|it| it.right).count();
    Bin {
        count: run.len(),
        mean: said / from_count(run.len()),
        right: from_count(right) / from_count(run.len()),
    }
}
