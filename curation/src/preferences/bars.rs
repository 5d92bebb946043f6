//! Histogram of strengths.

use crate::histogram::{Bar, Histogram};

/// Target number of bars.
const SHOWN: f64 = 24.0;

/// Makes a histogram with bars whose width is a power of two, starting at its multiples; `None` if
/// no number is finite. It does not depend on the order of the numbers and needs no memory beside
/// theirs.
pub fn histogram(name: &str, numbers: Vec<f64>) -> Option<Histogram> {
    let n_numbers = numbers.len();
    let mut finite = numbers;
    finite.retain(|number| number.is_finite());
    finite.sort_unstable_by(f64::total_cmp);
    let (min, max) = (*finite.first()?, *finite.last()?);
    let width = width(min, max);
    let first = (min / width).floor();
    let mut bars: Vec<Bar> = Vec::new();
    for number in &finite {
        let mut end = bars.last().map_or(first * width, |bar| bar.high);
        while bars.is_empty() || *number >= end {
            bars.push(Bar { low: end, high: end + width, count: 0 });
            end += width;
        }
        bars.last_mut().expect("one was just pushed").count += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
    let mean = finite.iter().map(|n| n / finite.len() as f64).sum();
    Some(Histogram {
        column: name.to_owned(),
        rows: finite.len() as u64,
        without: (n_numbers - finite.len()) as u64,
        mean,
        min,
        max,
        bars,
    })
}

/// Returns the least power of two of which few bars cover all numbers and which floats of this size
/// resolve.
fn width(min: f64, max: f64) -> f64 {
    let mut width = 2f64.powi(-20);
    let largest = min.abs().max(max.abs());
    while max / width - min / width + 2.0 > SHOWN || largest / width > 1e15 {
        width *= 2.0;
    }
    width
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bars_cover_the_numbers() {
        #[track_caller]
        fn check(numbers: &[f64], line: Option<&str>) {
            let found = histogram("strength", numbers.to_vec()).map(|h| h.sparkline());
            assert_eq!(found.as_deref(), line, "{numbers:?}");
        }
        check(&[], None);
        check(&[f64::NAN, f64::INFINITY], None);
        check(&[0.5], Some("█"));
        check(&[-1.0, 1.0, 1.0], Some("▄               █"));
        let both = histogram("strength", vec![-1e300, f64::NAN, 1e300]).expect("numbers");
        assert_eq!((both.rows, both.without), (2, 1));
    }

    proptest! {
        #[test]
        fn every_number_is_in_its_bar(mut numbers in prop::collection::vec(-1e6..1e6f64, 1..300)) {
            let found = histogram("x", numbers.clone()).expect("numbers");
            numbers.reverse();
            prop_assert_eq!(&found, &histogram("x", numbers.clone()).expect("numbers"));
            prop_assert!(found.bars.len() <= 24, "{}", found.bars.len());
            for bar in &found.bars {
                let inside = numbers.iter().filter(|n| bar.low <= **n && **n < bar.high).count();
                prop_assert_eq!(bar.count, inside as u64);
            }
        }
    }
}
