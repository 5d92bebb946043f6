//! Fitting maps on samples whose truth is known.
//!
//! All three fits are deterministic; the order of the samples changes nothing but the rounding of
//! sums.

use base::stats::sigmoid;

use super::map::{Calibration, Temperature};

mod isotonic;
mod newton;

/// A raw value and the truth of what it scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelledValue {
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
    /// Two numbers: slope and offset.
    Platt,
    /// Any rising shape; needs the most samples.
    Isotonic,
}

/// Error of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// A raw value is not finite.
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
    /// All raw values are equal.
    #[error("all raw values are the same number, which says nothing about any sample")]
    AllEqual,
    /// A higher raw value does not mean a likelier right answer.
    #[error("right samples do not have the higher raw values: no rising map fits")]
    NotRising,
    /// No right sample is below 0 and no wrong one above, so no temperature is the best.
    #[error(
        "0 separates all right samples from all wrong ones: any smaller temperature fits better"
    )]
    Separable,
    /// The search did not converge.
    #[error("the fit did not converge")]
    NotConverged,
    /// Too few samples of a class for the folds.
    #[error("{folds} folds need {folds} samples of each class, and the smaller one has {given}")]
    TooFewForFolds {
        /// Folds requested.
        folds: usize,
        /// Samples of the smaller class.
        given: usize,
    },
}

/// Fits the map of this family to the samples.
///
/// - Temperature: least negative log-likelihood, which is convex in `1 / T`.
/// - Platt: least cross-entropy against his smoothed targets, `(n + 1) / (n + 2)` for the right
///   and `1 / (m + 2)` for the wrong samples, so that a clean separation stays finite.
/// - Isotonic: least squares among rising step functions, by pooling adjacent violators.
///
/// # Errors
/// [`FitError`].
pub fn fit(samples: &[LabelledValue], method: Method) -> Result<Calibration, FitError> {
    check(samples)?;
    match method {
        Method::Temperature => temperature(samples),
        Method::Platt => newton::platt(samples),
        Method::Isotonic => isotonic::isotonic(samples),
    }
}

/// Computes each sample's probability by a map fitted without its fold, in the order of the
/// samples. The same samples give the same folds; every fold has both classes in about the same
/// shares.
///
/// # Errors
/// [`FitError`], also if the samples outside a fold cannot be fitted.
pub fn cross_fit(
    samples: &[LabelledValue],
    method: Method,
    folds: usize,
) -> Result<Vec<f64>, FitError> {
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
        let others: Vec<LabelledValue> =
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

/// Assigns each sample to a fold. Each class is shuffled and dealt separately: rows of files come
/// in groups, say of five responses to a prompt, and dealing in file order would put the same
/// positions of every group into the same fold.
pub(super) fn deal(samples: &[LabelledValue], folds: usize) -> Vec<usize> {
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

fn check(samples: &[LabelledValue]) -> Result<(), FitError> {
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

/// Least slope of a rising map over raw values scaled to 1; below it, the sign of the slope is
/// rounding.
const LEAST_SLOPE: f64 = 1e-6;

/// Returns the largest magnitude of a raw value. Fits divide raw values by it, so that nothing
/// overflows. Raw values differ, so it is above 0.
fn scale(samples: &[LabelledValue]) -> f64 {
    let sizes = samples.iter().map(|sample| sample.raw.abs());
    sizes.fold(0.0, f64::max)
}

/// Fits a temperature: the slope of the negative log-likelihood in `beta = 1 / T` rises, so its
/// root is the minimum.
fn temperature(samples: &[LabelledValue]) -> Result<Calibration, FitError> {
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
    let is_misplaced =
        |sample: &LabelledValue| sample.raw != 0.0 && (sample.raw > 0.0) != sample.right;
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
    // Bisection of one binade ends after as many steps as a float has bits.
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
