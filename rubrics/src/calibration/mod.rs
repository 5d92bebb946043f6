//! From what a model says to how often it is right: the maps, how they are fitted on answers that
//! are known ([`fit`]), and how good they are ([`measure`]).
//!
//! Every map is monotone: it never changes which of two answers is the likelier.
//!
//! - Temperature: `softmax(z / T)` (Guo et al., On Calibration of Modern Neural Networks, 2017).
//! - Platt: `1 / (1 + exp(-(a m + b)))` of the margin `m` (Platt, Probabilistic Outputs for Support
//!   Vector Machines, 1999). Platt writes `1 / (1 + exp(A f + B))`; here `a = -A` and `b = -B`, so
//!   that `a = 1`, `b = 0` changes nothing.
//! - Isotonic: a rising line through points (Zadrozny and Elkan, Transforming Classifier Scores
//!   into Accurate Multiclass Probability Estimates, 2002). Theirs is a step function; between two
//!   points we go straight, and beyond the first and the last the value stays.

mod fit;
mod map;
mod measure;
#[cfg(test)]
mod tests;
mod written;

pub use base::stats::sigmoid;
pub use fit::{FitError, Method, Sample, cross_fit, fit};
pub use map::{Calibration, Temperature};
pub use measure::{Bin, Binning, Figures, Prediction, auroc, bins, expected_error, figures};
pub use written::{ScorerCalibration, WrittenError};

pub(crate) use written::{WrittenMap, temperature_fault};
