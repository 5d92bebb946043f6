//! Due times of an open loop's requests: a Poisson process, computed before the clock starts.
//!
//! Users do not wait for each other, so the gaps between their requests are independent and
//! exponential. The whole schedule is a function of rate, span and seed.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The most arrivals of one phase, of eight bytes each.
pub(crate) const MAX_ARRIVALS: f64 = 20_000_000.0;

/// Due times in nanoseconds from the start, ascending, all below `span`.
///
/// `rate` is in requests per second, finite and above zero. Each phase of a run draws from its own
/// `stream` of the generator seeded with `seed`.
pub(crate) fn poisson(rate: f64, span: Duration, seed: u64, stream: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    let span_s = span.as_secs_f64();
    let mut at_s = 0.0_f64;
    let next = || {
        // 1 - u lies in (0, 1], so the logarithm is finite; ln_1p keeps the short gaps exact.
        let u: f64 = rng.random();
        at_s += -(-u).ln_1p() / rate;
        (at_s < span_s).then(|| nanos(at_s))
    };
    std::iter::from_fn(next).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a due time is positive and a span is hours at most, far below 2^63 nanoseconds"
)]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPAN: Duration = Duration::from_secs(20);

    #[test]
    fn equal_seeds_give_equal_arrivals() {
        assert_eq!(poisson(500.0, SPAN, 7, 1), poisson(500.0, SPAN, 7, 1));
        assert_ne!(poisson(500.0, SPAN, 7, 1), poisson(500.0, SPAN, 8, 1));
        assert_ne!(poisson(500.0, SPAN, 7, 1), poisson(500.0, SPAN, 7, 2));
    }

    #[test]
    fn longer_span_only_appends_arrivals() {
        let short = poisson(100.0, SPAN, 3, 0);
        let long = poisson(100.0, SPAN * 2, 3, 0);
        assert_eq!(short[..], long[..short.len()]);
    }

    /// The law of a Poisson process, in five standard deviations of each statistic.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "thousands of arrivals")]
    fn gaps_are_exponential_and_independent() {
        for (rate, seed) in [(50.0, 0), (1000.0, 1), (20_000.0, 2)] {
            let due = poisson(rate, SPAN, seed, 0);
            let n = due.len() as f64;
            let expected = rate * SPAN.as_secs_f64();
            assert!((n - expected).abs() < 5.0 * expected.sqrt(), "{n} of {expected}");

            let gaps: Vec<f64> =
                due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
            let mean = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
            // An exponential gap has a standard deviation equal to its mean; the sample variance
            // of n such gaps has a relative standard error of sqrt(8 / n).
            let relative = variance * rate * rate;
            assert!((relative - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{relative}");

            // The share of gaps longer than the mean is 1/e.
            let long = gaps.iter().filter(|gap| **gap * rate > 1.0).count() as f64 / n;
            let share = (-1.0_f64).exp();
            assert!((long - share).abs() < 5.0 * (share * (1.0 - share) / n).sqrt(), "{long}");
        }
    }

    proptest! {
        #[test]
        fn due_times_ascend_within_the_span(
            rate in 0.001f64..5000.0, millis in 0u64..3000, seed: u64, stream in 0u64..20,
        ) {
            let span = Duration::from_millis(millis);
            let due = poisson(rate, span, seed, stream);
            prop_assert!(due.is_sorted());
            prop_assert!(due.iter().all(|at| u128::from(*at) < span.as_nanos()));
        }
    }
}
