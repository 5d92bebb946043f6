use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};

use super::{
    BLOCK, LogitScale, Ranked, Scan, TokenLogit, Truncation, draw, least_weight, needed, order,
};
use crate::sampling::random::bits;

/// By definition: sort all, truncate, draw.
fn by_sorting(logits: &[f32], truncation: Truncation, bits: u64) -> u32 {
    let mut all: Vec<TokenLogit> =
        (0..).zip(logits).map(|(id, logit)| TokenLogit { id, logit: *logit }).collect();
    all.sort_by(order);
    all.truncate(truncation.top_k.unwrap_or(all.len()));
    let scale = LogitScale { max: all[0].logit, inverse_temperature: 1.0 / truncation.temperature };
    let cuts = truncation.top_k.is_some_and(|k| k < logits.len())
        || truncation.top_p < 1.0
        || truncation.min_p > 0.0;
    if !cuts {
        all.sort_by_key(|c| c.id);
    }
    let list = Ranked::new(scale, all);
    let needed = needed(truncation.top_p, list.weights.iter().sum());
    let (mut kept, mut sum) = (Vec::new(), 0);
    for (candidate, weight) in list.candidates.iter().zip(&list.weights) {
        if cuts && (sum >= needed || *weight < least_weight(truncation.min_p)) {
            break;
        }
        sum += weight;
        kept.push((candidate.id, *weight));
    }
    let mut point = (u128::from(bits) * u128::from(sum)) >> 64;
    for (id, weight) in kept {
        match point.checked_sub(u128::from(weight)) {
            Some(rest) => point = rest,
            None => return id,
        }
    }
    unreachable!("a point lies below the sum")
}

fn truncations() -> impl Strategy<Value = Truncation> {
    let top_k = prop::sample::select(&[None, Some(1), Some(2), Some(7), Some(700), Some(9999)][..]);
    let top_p = prop::sample::select(&[1.0_f32, 1.0, 0.999, 0.9, 0.5, 1e-6][..]);
    let min_p = prop::sample::select(&[0.0_f32, 0.0, 1e-3, 0.1, 1.0][..]);
    let temperature = prop::sample::select(&[1.0_f32, 0.3, 3.0, 1e-5, 100.0][..]);
    (top_k, top_p, min_p, temperature).prop_map(|(top_k, top_p, min_p, temperature)| Truncation {
        temperature,
        top_k,
        top_p,
        min_p,
    })
}

/// Rows with ties, masks and any spread, shorter and longer than [`super::FEW`].
fn rows() -> impl Strategy<Value = Vec<f32>> {
    let tied = prop::sample::select(&[0.0, -0.0, 1.0, -3.0, f32::NEG_INFINITY][..]);
    let short = prop::collection::vec(tied, 1..40);
    let spread = prop::sample::select(&[0.01_f32, 1.0, 10.0, 1e30][..]);
    let long = (prop::collection::vec(-1.0_f32..1.0, 1..5 * BLOCK), spread);
    let long = long.prop_map(|(row, spread)| row.iter().map(|x| x * spread).collect());
    proptest::prop_oneof![short, long]
}

#[test]
fn draw_equals_full_sort() {
    proptest!(ProptestConfig::with_cases(4000), |(logits in rows(), truncation in truncations(), bits: u64)| {
        let scan = Scan::of(&logits);
        if scan.max.is_finite() {
            assert_eq!(draw(&logits, &scan, truncation, bits), by_sorting(&logits, truncation, bits), "{truncation:?}");
        }
    });
}

#[test]
fn extreme_random_bits_draw_valid_tokens() {
    proptest!(ProptestConfig::with_cases(1000), |(logits in rows(), truncation in truncations())| {
        let scan = Scan::of(&logits);
        if scan.max.is_finite() {
            for bits in [0, u64::MAX] {
                let token = draw(&logits, &scan, truncation, bits);
                assert!(logits[token as usize].is_finite());
                assert_eq!(token, by_sorting(&logits, truncation, bits));
            }
        }
    });
}

/// Pearson's statistic of many draws against probabilities of which none is tiny.
fn chi_square(logits: &[f32], truncation: Truncation, seed: u64, expected: &[f64]) -> f64 {
    let n = 40_000_u32;
    let scan = Scan::of(logits);
    let mut counts = vec![0_u32; logits.len()];
    for position in 0..u64::from(n) {
        counts[draw(logits, &scan, truncation, bits(seed, 0, position)) as usize] += 1;
    }
    let mut statistic = 0.0;
    for (count, p) in counts.iter().zip(expected) {
        let mean = p * f64::from(n);
        if mean == 0.0 {
            assert_eq!(*count, 0, "a truncated token");
        } else {
            statistic += (f64::from(*count) - mean).powi(2) / mean;
        }
    }
    statistic
}

#[test]
fn token_frequencies_match_probabilities() {
    let logits: Vec<f32> = [2.0, -1.0, 0.5, 1.5, 0.0, 1.0, -0.5, 2.0].into();
    let free = Truncation { temperature: 1.0, top_k: None, top_p: 1.0, min_p: 0.0 };
    let check = |truncation: Truncation, keeps: &[usize]| {
        let of = |i: &usize| f64::from(logits[*i] / truncation.temperature).exp();
        let sum: f64 = keeps.iter().map(of).sum();
        let mut expected = vec![0.0; logits.len()];
        for i in keeps {
            expected[*i] = of(i) / sum;
        }
        for seed in 0..5 {
            // Chi-square with 7 degrees of freedom exceeds 29.9 once in ten thousand.
            let statistic = chi_square(&logits, truncation, seed, &expected);
            assert!(statistic < 29.9, "{truncation:?}, seed {seed}: {statistic}");
        }
    };
    check(free, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let temperature = 0.5;
    check(Truncation { temperature, ..free }, &[0, 1, 2, 3, 4, 5, 6, 7]);
    check(Truncation { top_k: Some(3), ..free }, &[0, 3, 7]);
    check(Truncation { top_p: 0.6, ..free }, &[0, 3, 7]);
    check(Truncation { min_p: 0.3, ..free }, &[0, 3, 5, 7]);
    let both = Truncation { top_k: Some(4), top_p: 0.8, ..free };
    check(both, &[0, 3, 7]);
}
