//! The contribution of one token to a policy loss.

/// The loss of a token before weights, and its derivative with respect to the token's own
/// log-probability. No policy loss here needs more: a ratio of a sequence distributes its gradient
/// over the tokens so that each gets its own part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TokenLoss {
    pub(crate) value: f64,
    pub(crate) slope: f64,
    pub(crate) cut: Cut,
}

/// The bound that limited the token, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    No,
    /// A lower bound of the ratio.
    Low,
    /// An upper bound of the ratio.
    High,
    /// The second bound for negative advantages.
    Dual,
    /// The token was dropped.
    Dropped,
}

impl TokenLoss {
    pub(crate) const NONE: Self = Self { value: 0.0, slope: 0.0, cut: Cut::No };

    /// `-coefficient * logp` with a constant coefficient.
    pub(crate) fn linear(coefficient: f64, logp: f64, cut: Cut) -> Self {
        Self { value: -coefficient * logp, slope: -coefficient, cut }
    }

    pub(crate) fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, slope: self.slope * factor, cut: self.cut }
    }
}
