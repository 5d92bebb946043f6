//! Calibration maps from raw values to probabilities of being right: the maps, their fits on
//! labelled data ([`fit`]) and measures of their quality ([`measure`]).
//!
//! Every map is monotone: it never swaps two answers.
//!
//! - Temperature: `softmax(z / T)` (Guo et al., On Calibration of Modern Neural Networks, 2017).
//! - Platt: `1 / (1 + exp(-(a m + b)))` of the margin `m` (Platt, Probabilistic Outputs for Support
//!   Vector Machines, 1999). Platt writes `1 / (1 + exp(A f + B))`; here `a = -A` and `b = -B`, so
//!   that `a = 1`, `b = 0` changes nothing.
//! - Isotonic: a rising line through points (Zadrozny and Elkan, Transforming Classifier Scores
//!   into Accurate Multiclass Probability Estimates, 2002). Theirs is a step function; ours is
//!   linear between points and constant beyond the first and the last.

mod fit;
mod map;
mod measure;
#[cfg(test)]
mod tests;
mod written;

pub use base::stats::sigmoid;
pub use fit::{FitError, LabelledValue, Method, cross_fit, fit};
pub use map::{Calibration, Temperature};
pub use measure::{Bin, Binning, Figures, Prediction, auroc, bins, expected_error, figures};
pub use written::{ScorerCalibration, WrittenError};

pub(crate) use written::{WrittenMap, temperature_fault};
