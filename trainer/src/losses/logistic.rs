//! The logistic function and related ones, without overflow.

/// `1 / (1 + exp(-z))`.
pub(crate) fn sigmoid(z: f64) -> f64 {
    let small = (-z.abs()).exp();
    let share = small / (1.0 + small);
    if z < 0.0 { share } else { 1.0 - share }
}

/// `log sigma(z)`, exact where sigma itself rounds to 0 or 1.
pub(crate) fn log_sigmoid(z: f64) -> f64 {
    z.min(0.0) - (-z.abs()).exp().ln_1p()
}

/// Cross-entropy at logit `z` where class 1 has probability `label`: its value and its derivative.
pub(crate) fn cross_entropy(z: f64, label: f64) -> (f64, f64) {
    let value = -(label * log_sigmoid(z) + (1.0 - label) * log_sigmoid(-z));
    (value, sigmoid(z) - label)
}
