use proptest::prelude::*;

use super::*;
use crate::calibration::fit::deal;
use crate::calibration::{FitError, Method, Prediction, cross_fit, figures, fit};

const METHODS: [Method; 3] = [Method::Temperature, Method::Platt, Method::Isotonic];

fn samples(pairs: &[(f64, bool)]) -> Vec<LabelledValue> {
    let sample = |(raw, right): &(f64, bool)| LabelledValue { raw: *raw, right: *right };
    pairs.iter().map(sample).collect()
}

#[test]
fn fits_recover_the_map_of_the_samples() {
    for t in [0.25, 1.0, 3.0] {
        let drawn = drawn(&grid(), 2000, |raw| sigmoid(raw / t));
        match fit(&drawn, Method::Temperature) {
            Ok(Calibration::Temperature(got)) => {
                assert!((got.value() / t - 1.0).abs() < 0.01, "{got:?} is not {t}");
            }
            other => panic!("{other:?}"),
        }
    }
    for (a, b) in [(1.0, 0.0), (0.5, -1.0), (2.0, 1.5)] {
        let drawn = drawn(&grid(), 2000, |raw| sigmoid(a * raw + b));
        match fit(&drawn, Method::Platt) {
            Ok(Calibration::Platt { a: x, b: y }) => {
                assert!((x - a).abs() < 0.02 && (y - b).abs() < 0.02, "{x} {y}");
            }
            other => panic!("{other:?}"),
        }
    }
    // No line, no sigmoid: only the shape that rises.
    let step = |raw: f64| if raw < 1.0 { 0.2 } else { 0.9 };
    let map = fit(&drawn(&grid(), 100, step), Method::Isotonic).expect("it rises");
    for raw in grid() {
        assert!((map.apply(raw) - step(raw)).abs() < 1e-9, "at {raw}");
    }
}

#[test]
fn isotonic_pools_adjacent_violators() {
    // Shares 0, 1/2, 1/3, 1: the middle two fall and share 2/5.
    let pairs = [
        (-1.0, false),
        (0.0, true),
        (0.0, false),
        (1.0, true),
        (1.0, false),
        (1.0, false),
        (2.0, true),
    ];
    let map = fit(&samples(&pairs), Method::Isotonic).expect("it rises");
    for (raw, expected) in
        [(-9.0, 0.0), (-1.0, 0.0), (0.0, 0.4), (0.5, 0.4), (1.0, 0.4), (9.0, 1.0)]
    {
        assert!((map.apply(raw) - expected).abs() < 1e-12, "at {raw}");
    }
}

#[test]
fn unfittable_samples_are_errors() {
    let check = |pairs: &[(f64, bool)], expected: [Option<FitError>; 3]| {
        for (method, expected) in METHODS.into_iter().zip(expected) {
            assert_eq!(fit(&samples(pairs), method).err(), expected, "{method:?} {pairs:?}");
        }
    };
    let same = |error| [Some(error); 3];
    check(&[], same(FitError::OneClass { given: 0, right: 0 }));
    check(&[(1.0, true), (2.0, true)], same(FitError::OneClass { given: 2, right: 2 }));
    check(&[(1.0, false)], same(FitError::OneClass { given: 1, right: 0 }));
    check(&[(1.0, false), (1.0, true)], same(FitError::AllEqual));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        check(&[(1.0, false), (bad, true)], same(FitError::NotFinite { index: 1 }));
    }
    check(&[(-1.0, true), (1.0, false)], same(FitError::NotRising));
    // Level: which way it leans would be rounding.
    let level = [(-1.0, true), (-1.0, false), (3.0, false), (3.0, true)];
    check(&level, same(FitError::NotRising));
    // A clean separation at 0 has no temperature; Platt's targets keep him finite.
    check(&[(-1.0, false), (1.0, true)], [Some(FitError::Separable), None, None]);
    check(&[(0.0, false), (1.0, true)], [Some(FitError::Separable), None, None]);
    // All above 0: a temperature cannot say that they are mostly wrong.
    check(
        &[(1.0, false), (1.5, false), (2.0, false), (3.0, true)],
        [Some(FitError::NotRising), None, None],
    );
}

#[test]
fn large_and_small_raw_values_fit() {
    for scale in [1e-200, 1e-6, 1e6, 1e200] {
        let drawn = drawn(&grid(), 200, sigmoid);
        let scaled: Vec<LabelledValue> = drawn
            .iter()
            .map(|sample| LabelledValue { raw: sample.raw * scale, ..*sample })
            .collect();
        for method in [Method::Temperature, Method::Platt] {
            let map = fit(&scaled, method).expect("it is only another unit");
            for raw in grid() {
                let change = map.apply(raw * scale) - sigmoid(raw);
                assert!(change.abs() < 0.02, "{method:?} at {raw} x {scale}");
            }
        }
    }
}

#[test]
fn cross_fit_excludes_the_scored_fold() {
    let drawn = drawn(&grid(), 20, |raw| sigmoid(raw / 2.0));
    for method in METHODS {
        let probabilities = cross_fit(&drawn, method, 5).expect("enough of both");
        let predictions: Vec<Prediction> = drawn
            .iter()
            .zip(&probabilities)
            .map(|(sample, probability)| Prediction {
                probability: *probability,
                right: sample.right,
            })
            .collect();
        let figures = figures(&predictions).expect("probabilities");
        assert!(figures.ece < 0.1, "{method:?} {figures:?}");
    }
    let few = samples(&[(-1.0, false), (1.0, true), (2.0, true), (3.0, true)]);
    let error = FitError::TooFewForFolds { folds: 2, given: 1 };
    assert_eq!(cross_fit(&few, Method::Platt, 2), Err(error));
    let error = FitError::TooFewForFolds { folds: 1, given: 1 };
    assert_eq!(cross_fit(&few, Method::Platt, 1), Err(error));
}

#[test]
fn folds_are_even_and_shuffled() {
    // Five responses to each prompt, of which the same two are right.
    let grouped: Vec<LabelledValue> = (0..1000)
        .map(|row| LabelledValue { raw: f64::from(row % 5), right: row % 5 > 2 })
        .collect();
    let fold_of = deal(&grouped, 5);
    for right in [false, true] {
        for fold in 0..5 {
            let inside = |place: usize| {
                let rows = (place..1000).step_by(5);
                rows.filter(|row| fold_of[*row] == fold).count()
            };
            let places = if right { 3..5 } else { 0..3 };
            let counts: Vec<usize> = places.map(inside).collect();
            assert_eq!(counts.iter().sum::<usize>(), 40 * counts.len(), "{counts:?}");
            assert!(counts.iter().all(|count| (20..=60).contains(count)), "{counts:?}");
        }
    }
}

/// Samples on a coarse grid, so that ties and violations happen.
fn any_samples() -> impl Strategy<Value = Vec<LabelledValue>> {
    let sample = (-6_i32..=6, any::<bool>())
        .prop_map(|(raw, right)| LabelledValue { raw: f64::from(raw) / 2.0, right });
    proptest::collection::vec(sample, 2..40)
}

proptest! {
    #[test]
    fn fitted_maps_are_monotone_and_keep_the_base_rate(all in any_samples()) {
        for method in METHODS {
            let Ok(map) = fit(&all, method) else { continue };
            let said: Vec<f64> = grid().iter().map(|raw| map.apply(*raw)).collect();
            prop_assert!(said.windows(2).all(|pair| pair[0] <= pair[1] + 1e-15), "{map:?}");
            prop_assert!(said.iter().all(|p| (0.0..=1.0).contains(p)));
            if method == Method::Isotonic {
                let mean: f64 = all.iter().map(|sample| map.apply(sample.raw)).sum();
                let right = all.iter().filter(|sample| sample.right).count();
                let right = u32::try_from(right).expect("few");
                prop_assert!((mean - f64::from(right)).abs() < 1e-9, "{mean} {right}");
            }
        }
    }

    #[test]
    fn fits_do_not_depend_on_sample_order(all in any_samples()) {
        let mut turned = all.clone();
        turned.reverse();
        for method in METHODS {
            match (fit(&all, method), fit(&turned, method)) {
                (Ok(a), Ok(b)) => {
                    for raw in grid() {
                        prop_assert!((a.apply(raw) - b.apply(raw)).abs() < 1e-6);
                    }
                }
                (a, b) => prop_assert_eq!(a.is_err(), b.is_err()),
            }
        }
    }
}
