//! The maps are monotone and neutral where they should be; fits, measures and files in their own
//! files.

mod files;
mod fits;
mod maps;
mod measures;

use super::{Calibration, LabelledValue, sigmoid};

/// Returns `copies` samples for every raw value, right in the share that the probability gives.
fn drawn(raws: &[f64], copies: u32, probability: impl Fn(f64) -> f64) -> Vec<LabelledValue> {
    let mut samples = Vec::new();
    for raw in raws {
        let n_right = (probability(*raw) * f64::from(copies)).round();
        for index in 0..copies {
            samples.push(LabelledValue { raw: *raw, right: f64::from(index) < n_right });
        }
    }
    samples
}

/// Raw values from -4 to 4.
fn grid() -> Vec<f64> {
    (-16..=16).map(|quarters| f64::from(quarters) / 4.0).collect()
}
