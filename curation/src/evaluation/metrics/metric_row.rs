//! Rows of metrics.

/// A benchmark row with its scores.
pub trait MetricRow: Clone {
    /// Returns the stratum within which the bootstrap resamples.
    fn stratum(&self) -> &str;

    /// Whether the scorer could judge the row.
    fn is_judged(&self) -> bool;

    /// Returns the same row with the worst possible scores.
    #[must_use]
    fn as_wrong(&self) -> Self;
}
