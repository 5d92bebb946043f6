//! Latency histograms: microseconds, three significant digits, one hour at most.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest latency; longer ones count as this.
const LONGEST_US: u64 = 3_600_000_000;

/// A histogram of latencies.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

/// The usual summary of a histogram, in milliseconds. All zero when nothing was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Number of latencies recorded.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90 % are at most this.
    pub p90: f64,
    /// 99 % are at most this.
    pub p99: f64,
    /// 99.9 % are at most this.
    pub p99_9: f64,
    /// The longest.
    pub max: f64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, 3);
        Self(histogram.expect("the bounds are constant and valid"))
    }
}

impl Latencies {
    /// Records one latency; what exceeds an hour counts as an hour.
    pub fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LONGEST_US);
        self.0.saturating_record(micros);
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The smallest recorded latency that at least a share `quantile` (0 to 1) of all latencies do
    /// not exceed, in milliseconds and within 0.1 %; zero when nothing was recorded.
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        // The histogram answers with the end of a bucket, which can lie past the longest latency.
        to_ms(self.0.value_at_quantile(quantile).min(self.0.max()))
    }

    /// Number of latencies of at least `limit`, within 0.1 % of it.
    #[cfg(test)]
    pub(crate) fn at_least(&self, limit: Duration) -> u64 {
        let micros = u64::try_from(limit.as_micros()).expect("a short limit");
        self.0.count_between(micros, LONGEST_US)
    }

    /// The usual summary.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            count: self.count(),
            mean: if self.0.is_empty() { 0.0 } else { self.0.mean() / 1000.0 },
            p50: self.quantile_ms(0.5),
            p90: self.quantile_ms(0.9),
            p99: self.quantile_ms(0.99),
            p99_9: self.quantile_ms(0.999),
            max: to_ms(self.0.max()),
        }
    }

    /// The distribution as points `(nines, milliseconds)`, where a quantile q stands at
    /// -log10(1 - q) nines: 0 is the minimum, 1 is p90, 2 is p99. It ends where less than one
    /// latency is left above.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        const STEPS_PER_NINE: u32 = 20;
        if self.0.is_empty() {
            return Vec::new();
        }
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let last = (self.count() as f64).log10();
        let nines = (0..).map(|step| f64::from(step) / f64::from(STEPS_PER_NINE));
        let nines = nines.take_while(|nines| *nines <= last);
        let point = |nines: f64| (nines, self.quantile_ms(1.0 - 10f64.powf(-nines)));
        nines.map(point).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "an hour in microseconds is far below 2^52")]
fn to_ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(micros: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        for value in micros {
            latencies.record(Duration::from_micros(*value));
        }
        latencies
    }

    #[test]
    fn empty_histogram_is_all_zero() {
        assert_eq!(Latencies::default().quantiles(), Quantiles::default());
        assert!(Latencies::default().curve().is_empty());
    }

    #[test]
    fn quantiles_of_thousand_even_steps() {
        let quantiles = filled(&(1..=1000).collect::<Vec<_>>()).quantiles();
        let expected = Quantiles {
            count: 1000,
            mean: 0.5005,
            p50: 0.5,
            p90: 0.9,
            p99: 0.99,
            p99_9: 0.999,
            max: 1.0,
        };
        assert_eq!(quantiles, expected);
    }

    #[test]
    fn latencies_above_an_hour_count_as_an_hour() {
        let mut latencies = Latencies::default();
        latencies.record(Duration::MAX);
        let hour_ms = 3_600_000.0;
        assert!((latencies.quantiles().max - hour_ms).abs() <= hour_ms / 1000.0);
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_sorted_list(
            mut micros in prop::collection::vec(1u64..10_000_000, 1..400),
            per_mille in 1usize..=1000,
        ) {
            let latencies = filled(&micros);
            micros.sort_unstable();
            // Nearest rank: the smallest value that this share of all values does not exceed.
            // Where the rank is a whole number, its product in floating point may lie above it.
            let n = micros.len();
            let rank = (per_mille * n).div_ceil(1000);
            let next = (rank + usize::from((per_mille * n).is_multiple_of(1000))).min(n);
            let (low, high) = (to_ms(micros[rank - 1]), to_ms(micros[next - 1]));
            #[expect(clippy::cast_precision_loss, reason = "a thousand at most")]
            let found = latencies.quantile_ms(per_mille as f64 / 1000.0);
            prop_assert!(low <= found && found <= high * 1.001, "{found} for {low} to {high}");
        }

        #[test]
        fn curve_is_monotone(micros in prop::collection::vec(1u64..10_000_000, 1..400)) {
            let curve = filled(&micros).curve();
            prop_assert!(!curve.is_empty());
            prop_assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        }
    }
}
