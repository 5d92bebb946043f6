use proptest::prelude::*;

use super::*;
use crate::calibration::Temperature;

fn any() -> impl Strategy<Value = Calibration> {
    let number = || -3_i32..=3;
    let grid = || proptest::collection::btree_map(0_u32..=8, 0_u32..=8, 2..6);
    let isotonic = |cells: std::collections::BTreeMap<u32, u32>| {
        let mut seconds: Vec<u32> = cells.values().copied().collect();
        seconds.sort_unstable();
        let point = |(x, y): (&u32, u32)| [f64::from(*x) / 8.0, f64::from(y) / 8.0];
        Calibration::Isotonic { points: cells.keys().zip(seconds).map(point).collect() }
    };
    prop_oneof![
        (1_u32..=5).prop_map(|t| {
            let t = Temperature::new(f64::from(t) / 2.0).expect("above 0");
            Calibration::Temperature(t)
        }),
        (1_u32..=4, number())
            .prop_map(|(a, b)| Calibration::Platt { a: f64::from(a), b: f64::from(b) }),
        grid().prop_map(isotonic),
    ]
}

proptest! {
    #[test]
    fn every_calibration_is_monotone_and_a_probability(
        calibration in any(), low in -40_i32..=40, step in 0_i32..=20,
    ) {
        let low = f64::from(low) / 4.0;
        let (p, q) = (calibration.apply(low), calibration.apply(low + f64::from(step) / 4.0));
        prop_assert!((0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&q));
        prop_assert!(p <= q + 1e-15, "{p} > {q}");
    }
}

#[test]
fn neutral_maps_are_the_identity() {
    let neutral = [
        Calibration::Platt { a: 1.0, b: 0.0 },
        Calibration::Temperature(Temperature::new(1.0).expect("above 0")),
        Calibration::Isotonic { points: vec![[0.0, 0.0], [1.0, 1.0]] },
    ];
    for calibration in neutral {
        for margin in [-800.0, -3.0, 0.0, 0.25, 9.0, 800.0] {
            let change = calibration.apply(margin) - sigmoid(margin);
            assert!(change.abs() < 1e-15, "{calibration:?} at {margin}");
        }
    }
}
