//! Fitting maps on samples whose truth is known.
//!
//! All three fits are deterministic, and none depends on the order of the samples but through the
//! rounding of sums.

use base::stats::sigmoid;

use super::map::{Calibration, Temperature};

mod isotonic;
mod newton;

/// A raw value and whether what it judged was right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The scorer's raw value: a margin, unbounded.
    pub raw: f64,
    /// The truth.
    pub right: bool,
}

/// A family of maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// One number; the raw value 0 stays at 0.5.
    Temperature,
    /// Two numbers: it moves the middle too.
    Platt,
    /// Any rising shape; it wants the most samples.
    Isotonic,
}

/// Why samples have no map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// A raw value that is not a number.
    #[error("sample {index} has a raw value that is not finite")]
    NotFinite {
        /// From 0.
        index: usize,
    },
    /// All samples are right, or all are wrong, or there is none.
    #[error("of {given} samples {right} are right: both right and wrong ones are needed")]
    OneClass {
        /// All.
        given: usize,
        /// The right ones.
        right: usize,
    },
    /// One raw value for everything.
    #[error("all raw values are the same number, which says nothing about any sample")]
    AllEqual,
    /// A higher raw value does not mean a likelier right answer.
    #[error("right samples do not have the higher raw values: no rising map fits")]
    NotRising,
    /// No right sample is below 0 and no wrong one above, so the best temperature is none.
    #[error(
        "0 separates all right samples from all wrong ones: any smaller temperature fits better"
    )]
    Separable,
    /// The search did not end.
    #[error("the fit did not converge")]
    NotConverged,
    /// Too few samples of a class for the folds.
    #[error("{folds} folds need {folds} samples of each class, and the smaller one has {given}")]
    TooFewForFolds {
        /// Folds asked for.
        folds: usize,
        /// Samples of the smaller class.
        given: usize,
    },
}

/// The map of this family that fits the samples best.
///
/// - Temperature: least negative log-likelihood, which is convex in `1 / T`.
/// - Platt: least cross-entropy against his smoothed targets, `(n + 1) / (n + 2)` for the right
///   and `1 / (m + 2)` for the wrong samples, so that a clean separation stays finite.
/// - Isotonic: least squares among rising step functions, by pooling adjacent violators.
///
/// # Errors
/// [`FitError`].
pub fn fit(samples: &[Sample], method: Method) -> Result<Calibration, FitError> {
    check(samples)?;
    match method {
        Method::Temperature => temperature(samples),
        Method::Platt => newton::platt(samples),
        Method::Isotonic => isotonic::isotonic(samples),
    }
}

/// For every sample the probability by a map that was fitted without its fold, in the order of the
/// samples. The same samples give the same folds; every fold has both classes in about the same
/// shares.
///
/// # Errors
/// [`FitError`], also where a fold alone cannot be left out.
pub fn cross_fit(samples: &[Sample], method: Method, folds: usize) -> Result<Vec<f64>, FitError> {
    check(samples)?;
    let n_right = samples.iter().filter(|sample| sample.right).count();
    let smaller = n_right.min(samples.len() - n_right);
    if folds < 2 || smaller < folds {
        return Err(FitError::TooFewForFolds { folds, given: smaller });
    }
    let fold_of = deal(samples, folds);
    let mut probabilities = vec![0.0; samples.len()];
    for fold in 0..folds {
        let others = samples.iter().zip(&fold_of);
        let others: Vec<Sample> =
            others.filter(|(_, of)| **of != fold).map(|(sample, _)| *sample).collect();
        let map = fit(&others, method)?;
        for (index, sample) in samples.iter().enumerate() {
            if fold_of[index] == fold {
                probabilities[index] = map.apply(sample.raw);
            }
        }
    }
    Ok(probabilities)
}

/// The fold of each sample. Each class is shuffled and dealt out by itself: files have their rows
/// in groups, of five responses to a prompt perhaps, and dealing in their order would give the
/// same places of every group to the same fold.
pub(super) fn deal(samples: &[Sample], folds: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|index| base::seeded::split_mix(*index as u64));
    let mut dealt = [0_usize; 2];
    let mut fold_of = vec![0; samples.len()];
    for index in order {
        let next = &mut dealt[usize::from(samples[index].right)];
        fold_of[index] = *next % folds;
        *next += 1;
    }
    fold_of
}

fn check(samples: &[Sample]) -> Result<(), FitError> {
    let bad = samples.iter().position(|sample| !sample.raw.is_finite());
    if let Some(index) = bad {
        return Err(FitError::NotFinite { index });
    }
    let right = samples.iter().filter(|sample| sample.right).count();
    if right == 0 || right == samples.len() {
        return Err(FitError::OneClass { given: samples.len(), right });
    }
    #[expect(clippy::float_cmp, reason = "the very same number is meant")]
    let all_equal = samples.iter().all(|sample| sample.raw == samples[0].raw);
    if all_equal {
        return Err(FitError::AllEqual);
    }
    Ok(())
}

/// A map that rises less than this over raw values scaled to 1 is level, and which way it leans is
/// rounding.
const LEAST_SLOPE: f64 = 1e-6;

/// The largest size of a raw value: fits work on raw values over it, so that nothing overflows.
/// Raw values differ, so it is above 0.
fn scale(samples: &[Sample]) -> f64 {
    let sizes = samples.iter().map(|sample| sample.raw.abs());
    sizes.fold(0.0, f64::max)
}

/// The slope of the negative log-likelihood in `beta = 1 / T` rises, so its root is the minimum.
fn temperature(samples: &[Sample]) -> Result<Calibration, FitError> {
    let scale = scale(samples);
    let slope = |beta: f64| -> f64 {
        let terms = samples.iter().map(|sample| {
            let margin = sample.raw / scale;
            margin * (sigmoid(beta * margin) - f64::from(u8::from(sample.right)))
        });
        terms.sum()
    };
    if slope(LEAST_SLOPE) >= 0.0 {
        return Err(FitError::NotRising);
    }
    let is_misplaced = |sample: &Sample| sample.raw != 0.0 && (sample.raw > 0.0) != sample.right;
    if !samples.iter().any(is_misplaced) {
        return Err(FitError::Separable);
    }
    let (mut low, mut high) = (LEAST_SLOPE, 1.0);
    while slope(high) < 0.0 {
        (low, high) = (high, high * 2.0);
        if !high.is_finite() {
            return Err(FitError::NotConverged);
        }
    }
    // Halving a bracket of one binade leaves nothing after as many steps as there are bits.
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Temperature::new(scale / high).map(Calibration::Temperature).ok_or(FitError::NotConverged)
}
