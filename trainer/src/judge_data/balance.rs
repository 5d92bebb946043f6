//! Balance of the labels of judge data.
//!
//! Rollouts drift to mostly right. A judge whose verdict is always yes would then seem to improve,
//! so labels are balanced within each batch and judges are measured by balanced accuracy.

use rand::Rng;

use super::draws::subset;

/// The labels to keep for equal numbers of both: all of the rarer one and a uniform sample of the
/// other, in ascending order.
pub fn balance_labels(labels: &[bool], rng: &mut impl Rng) -> Vec<usize> {
    let of = |wanted: bool| {
        let places = labels.iter().enumerate();
        let places = places.filter(move |(_, label)| **label == wanted);
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    let (yes, no) = (of(true), of(false));
    let count = yes.len().min(no.len());
    let mut kept = Vec::with_capacity(2 * count);
    for places in [yes, no] {
        let chosen = subset(rng, places.len(), count);
        kept.extend(chosen.into_iter().map(|at| places[at]));
    }
    kept.sort_unstable();
    kept
}

/// Pearson's correlation of two measures, such as the length and the self-given score of answers:
/// if it rises, length is being rewarded. `None` if one of them does not vary or a number is not
/// finite.
pub fn correlation(xs: &[f64], ys: &[f64]) -> Option<f64> {
    let n = xs.len() as f64;
    // The mean of equal values may differ from them by rounding, and they would then seem to vary.
    let varies = |values: &[f64]| values.iter().any(|value| value.total_cmp(&values[0]).is_ne());
    if xs.len() != ys.len() || !varies(xs) || !varies(ys) {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(xs), mean(ys));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in xs.iter().zip(ys) {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    let correlation = xy / (xx.sqrt() * yy.sqrt());
    correlation.is_finite().then(|| correlation.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use base::seeded::decision;

    fn rng() -> impl Rng {
        decision(1, "test", &[])
    }

    #[test]
    fn labels_are_balanced() {
        let check = |labels: &[bool], expected: usize| {
            let kept = balance_labels(labels, &mut rng());
            assert_eq!(kept.len(), expected, "{labels:?}");
            let yes = kept.iter().filter(|at| labels[**at]).count();
            assert_eq!(yes * 2, kept.len(), "{labels:?}");
            assert!(kept.is_sorted());
        };
        check(&[], 0);
        check(&[true, true], 0);
        check(&[true, false], 2);
        check(&[true, true, true, false], 2);
        check(&[false, true, false, true, false, false], 4);
    }

    #[test]
    fn lengths_and_scores_correlate() {
        let check = |xs: &[f64], ys: &[f64], expected: Option<f64>| {
            let found = correlation(xs, ys);
            let close = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
                (found, expected) => found == expected,
            };
            assert!(close, "{xs:?} {ys:?} {found:?}");
        };
        check(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0], Some(1.0));
        check(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], Some(-1.0));
        // Deviations (-1, 0, 1) and (-1, 2, -1) / 3.
        check(&[1.0, 2.0, 3.0], &[1.0, 2.0, 1.0], Some(0.0));
        // (−1.5, −0.5, 0.5, 1.5) · (−0.5, −0.5, 0.5, 0.5) = 2 over sqrt(5 · 1).
        check(&[1.0, 2.0, 3.0, 4.0], &[0.0, 0.0, 1.0, 1.0], Some(2.0 / 5f64.sqrt()));
        check(&[1.0, 2.0], &[1.0, 1.0], None);
        check(&[1.0], &[1.0], None);
        check(&[1.0, f64::NAN], &[1.0, 2.0], None);
        check(&[1.0, 2.0], &[1.0], None);
    }
}
