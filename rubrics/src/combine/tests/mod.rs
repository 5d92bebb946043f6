//! The papers' formulas by hand-computed numbers, what must always hold, and bad numbers.

mod always;
mod hostile;
mod papers;

use super::CombineError;

/// Equal within the rounding of a few operations.
#[track_caller]
fn near(got: Result<f64, CombineError>, expected: f64) {
    let got = got.expect("the numbers are good");
    assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
}

#[track_caller]
fn all_near(got: Result<Vec<f64>, CombineError>, expected: &[f64]) {
    let got = got.expect("the numbers are good");
    let same =
        got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(same, "{got:?} is not {expected:?}");
}
