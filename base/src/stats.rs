//! Statistics of a few numbers, in f64 and in the order given.
//!
//! Every sum runs from the first number to the last, so that equal inputs give equal bits.

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "a count of things in memory is below 2^53")]
pub fn from_count(n: usize) -> f64 {
    n as f64
}

/// Arithmetic mean; `None` of an empty slice.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / from_count(values.len()))
}

/// Standard deviation of a sample (divisor `n - 1`); `None` of fewer than two numbers.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / from_count(values.len() - 1)).sqrt())
}

/// Median; the midpoint of the middle two of an even number, `None` of an empty slice.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// Upper median: the larger of the middle two of an even number, `None` of an empty slice. What a
/// series of measured times is summarised by, because it is one of them.
pub fn upper_median(values: &[f64]) -> Option<f64> {
    sorted(values).get(values.len() / 2).copied()
}

/// Quantile of ascending numbers at `share` in [0, 1], interpolated linearly between neighbours
/// (type 7 of Hyndman and Fan, `numpy.quantile`'s default); `None` of an empty slice.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position between 0 and the last index"
)]
pub fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * from_count(last);
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * position.fract())
}

/// `log(sum(exp(values)))` without overflow; negative infinity of an empty slice.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let max = max(values);
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + values.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
}

/// `exp(values) / sum(exp(values))` without overflow.
pub fn softmax(values: &[f64]) -> Vec<f64> {
    softmax_with_temperature(values, 1.0)
}

/// [`softmax`] of `values / temperature`.
pub fn softmax_with_temperature(values: &[f64], temperature: f64) -> Vec<f64> {
    let max = max(values);
    let weights: Vec<f64> = values.iter().map(|x| ((x - max) / temperature).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// `1 / (1 + exp(-x))` without overflow.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// Index of the largest number, the first of several; `None` of an empty slice.
pub fn argmax(values: &[f64]) -> Option<usize> {
    let max = max(values);
    values.iter().position(|value| *value >= max)
}

/// Largest number; negative infinity of an empty slice.
pub fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn averages() {
        for (values, mean_is, median_is, upper_is) in [
            (&[][..], None, None, None),
            (&[2.0], Some(2.0), Some(2.0), Some(2.0)),
            (&[3.0, 1.0], Some(2.0), Some(2.0), Some(3.0)),
            (&[9.0, 1.0, 2.0], Some(4.0), Some(2.0), Some(2.0)),
        ] {
            assert_eq!(
                (mean(values), median(values), upper_median(values)),
                (mean_is, median_is, upper_is),
                "{values:?}"
            );
        }
    }

    #[test]
    fn sample_std_needs_two_numbers() {
        assert_eq!(sample_std(&[1.0]), None);
        assert!(near(sample_std(&[1.0, 3.0]).expect("two"), 2.0_f64.sqrt()));
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            let found = quantile_of_sorted(&values, share).expect("not empty");
            assert!(near(found, expected), "{share}: {found}");
        }
        assert_eq!(quantile_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn exponentials_do_not_overflow() {
        assert!(near(log_sum_exp(&[1000.0, 1000.0]), 1000.0 + 2.0_f64.ln()));
        for none in [&[][..], &[f64::NEG_INFINITY; 2]] {
            assert!(log_sum_exp(none) < f64::MIN, "{none:?}");
        }
        assert_eq!(softmax(&[1000.0, 1000.0]), [0.5, 0.5]);
        assert_eq!(softmax(&[-1000.0, f64::NEG_INFINITY]), [1.0, 0.0]);
        assert_eq!((sigmoid(0.0), sigmoid(-1000.0), sigmoid(1000.0)), (0.5, 0.0, 1.0));
    }

    #[test]
    fn temperature_divides_the_values() {
        let cool = softmax_with_temperature(&[0.0, 1.0], 0.5);
        let scaled = softmax(&[0.0, 2.0]);
        assert!(cool.iter().zip(&scaled).all(|(a, b)| near(*a, *b)), "{cool:?} {scaled:?}");
    }

    #[test]
    fn argmax_is_the_first_of_equals() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0]), Some(1));
        assert_eq!(argmax(&[]), None);
    }
}
