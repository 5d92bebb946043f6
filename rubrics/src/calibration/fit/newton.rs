//! Platt's two numbers by Newton's method with backtracking line search, after Lin, Lin and Weng, A
//! Note on Platt's Probabilistic Outputs for Support Vector Machines, 2007.

use base::stats::from_count;
use base::stats::sigmoid;

use super::{FitError, LEAST_SLOPE, LabelledValue, scale};
use crate::calibration::map::Calibration;

const MAX_STEPS: usize = 100;

/// Ridge that keeps the matrix of second derivatives invertible.
const RIDGE: f64 = 1e-12;

/// Gradients below this, per sample, are a minimum.
const FLAT: f64 = 1e-10;

/// Share of the linear decrease that a step must bring.
const GAIN: f64 = 1e-4;

/// A margin divided by the scale, and its smoothed target.
struct Aim {
    margin: f64,
    target: f64,
}

/// First and second derivatives of the loss in `a` and `b`.
#[derive(Default)]
struct Slopes {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

pub(super) fn platt(samples: &[LabelledValue]) -> Result<Calibration, FitError> {
    let scale = scale(samples);
    let aims = aims(samples, scale);
    let n_right = from_count(samples.iter().filter(|sample| sample.right).count());
    let n_wrong = from_count(samples.len()) - n_right;
    let (mut a, mut b) = (0.0, ((n_right + 1.0) / (n_wrong + 1.0)).ln());
    let mut least = loss(&aims, a, b);
    for _ in 0..MAX_STEPS {
        let slopes = slopes(&aims, a, b);
        if slopes.a.abs().max(slopes.b.abs()) < FLAT * from_count(samples.len()) {
            return line(a, b, scale);
        }
        let (aa, bb) = (slopes.aa + RIDGE, slopes.bb + RIDGE);
        let determinant = aa * bb - slopes.ab * slopes.ab;
        let step_a = -(bb * slopes.a - slopes.ab * slopes.b) / determinant;
        let step_b = -(aa * slopes.b - slopes.ab * slopes.a) / determinant;
        let promised = slopes.a * step_a + slopes.b * step_b;
        let mut share = 1.0;
        loop {
            let (next_a, next_b) = (a + share * step_a, b + share * step_b);
            let next = loss(&aims, next_a, next_b);
            if next < least + GAIN * share * promised {
                (a, b, least) = (next_a, next_b, next);
                break;
            }
            share *= 0.5;
            if share < 1e-10 {
                // No step decreases the loss: this is the minimum within rounding.
                return line(a, b, scale);
            }
        }
    }
    Err(FitError::NotConverged)
}

fn line(a: f64, b: f64, scale: f64) -> Result<Calibration, FitError> {
    if a <= LEAST_SLOPE {
        return Err(FitError::NotRising);
    }
    let a = a / scale;
    if !a.is_finite() || !b.is_finite() {
        return Err(FitError::NotConverged);
    }
    Ok(Calibration::Platt { a, b })
}

fn aims(samples: &[LabelledValue], scale: f64) -> Vec<Aim> {
    let n_right = from_count(samples.iter().filter(|sample| sample.right).count());
    let n_wrong = from_count(samples.len()) - n_right;
    let aim = |sample: &LabelledValue| Aim {
        margin: sample.raw / scale,
        target: if sample.right {
            (n_right + 1.0) / (n_right + 2.0)
        } else {
            1.0 / (n_wrong + 2.0)
        },
    };
    samples.iter().map(aim).collect()
}

/// Returns the cross-entropy: the sum of `log(1 + exp(x)) - target x`.
fn loss(aims: &[Aim], a: f64, b: f64) -> f64 {
    let term = |aim: &Aim| {
        let x = a * aim.margin + b;
        x.max(0.0) + (-x.abs()).exp().ln_1p() - aim.target * x
    };
    aims.iter().map(term).sum()
}

fn slopes(aims: &[Aim], a: f64, b: f64) -> Slopes {
    let mut slopes = Slopes::default();
    for Aim { margin, target } in aims {
        let p = sigmoid(a * margin + b);
        let (first, second) = (p - target, p * (1.0 - p));
        slopes.a += margin * first;
        slopes.b += first;
        slopes.aa += margin * margin * second;
        slopes.ab += margin * second;
        slopes.bb += second;
    }
    slopes
}
