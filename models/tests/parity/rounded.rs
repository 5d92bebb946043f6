//! Products of bf16 and of 8-bit integers beside transformers in f32, over all goldens.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use models::Runner;
use models::weights::Compute;

use crate::cases::Cases;
use crate::golden::{Closeness, Golden, read};
use crate::{alone_and_together, load, load_adapter_as};

/// The outputs of one family, in every arithmetic, beside those of transformers.
type Family = [Closeness; 3];

const ARITHMETICS: [Compute; 3] = [Compute::F32, Compute::Bf16, Compute::Int8];

/// Kendall's tau of pairs: the share of comparisons with the same result on both sides, less the
/// share of those with opposite results.
fn kendall_tau(pairs: &[[f32; 2]]) -> f64 {
    let (mut sum, mut count) = (0, 0);
    for (at, a) in pairs.iter().enumerate() {
        for b in &pairs[..at] {
            let order = [0, 1].map(|side| a[side].total_cmp(&b[side]) as i64);
            sum += order[0] * order[1];
            count += 1;
        }
    }
    sum as f64 / f64::from(count)
}

/// Difference of the largest and the least number of transformers.
fn spread(pairs: &[[f32; 2]]) -> f64 {
    let expected = pairs.iter().map(|pair| f64::from(pair[1]));
    let [least, most] =
        expected.fold([f64::MAX, f64::MIN], |[least, most], x| [least.min(x), most.max(x)]);
    most - least
}

/// The table of docs/models.md: `cargo test -p models --test parity rounded -- --nocapture`.
#[test]
fn rounded_products_stay_near_transformers() {
    let parent = tempfile::tempdir().expect("a folder");
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for case in &Cases::read().models {
        let golden = read(format!("models/{}.json", case.name));
        let family = families.entry(case.spec.preset.name()).or_default();
        let (dir, _) = case.make(parent.path()).expect("made");
        for (compute, closeness) in ARITHMETICS.into_iter().zip(family) {
            let model = load(&dir, compute).expect("loaded");
            let mut runner = Runner::new(model.decoder, model.head);
            let compared = alone_and_together(&mut runner, &golden, None, closeness);
            compared.expect("outputs of the same kinds");
        }
    }
    println!("| model | outputs | spread | bf16: tau | difference | int8: tau | difference |");
    for (name, [exact, rounded @ ..]) in &families {
        let spread = spread(&exact.pairs);
        let mut line = format!("| {name} | {} | {spread:.2} |", exact.pairs.len());
        // Rounding can turn the choice of an expert: qwen3_moe is the worst, the others are at a third.
        for (closeness, (least_tau, largest)) in rounded.iter().zip([(0.97, 0.06), (0.97, 0.03)]) {
            let tau = kendall_tau(&closeness.pairs);
            write!(line, " {tau:.4} | {:.4} |", closeness.max).expect("memory takes it");
            assert!(closeness.max > 100.0 * exact.max, "{name}: nothing is rounded");
            assert!(tau >= least_tau, "{name}: tau {tau}");
            assert!(closeness.max <= largest * spread, "{name}: {}", closeness.max);
        }
        println!("{line}");
    }
}

/// Adapters over rounded products beside peft in f32: within the bounds of the products themselves.
#[test]
fn adapters_over_rounded_products_stay_near_peft() {
    let cases = Cases::read();
    for case in &cases.adapters {
        let golden: Golden = read(format!("adapters/{}.json", case.name));
        let mut of = ARITHMETICS.map(|_| Closeness::default());
        for (compute, closeness) in ARITHMETICS.into_iter().zip(&mut of) {
            let parent = tempfile::tempdir().expect("a folder");
            let (mut runner, slot) =
                load_adapter_as(compute, case, &cases, parent.path()).expect("loaded");
            let compared = alone_and_together(&mut runner, &golden, Some(slot), closeness);
            compared.expect("outputs of the same kinds");
        }
        let [exact, rounded @ ..] = &of;
        let spread = spread(&exact.pairs);
        for (closeness, (least_tau, largest)) in rounded.iter().zip([(0.97, 0.06), (0.97, 0.03)]) {
            let tau = kendall_tau(&closeness.pairs);
            println!("{}: tau {tau:.4}, {:.4} of {spread:.2}", case.name, closeness.max);
            assert!(closeness.max > 100.0 * exact.max, "{}: nothing is rounded", case.name);
            // One comparison of few outputs weighs more than rounding.
            let is_telling = closeness.pairs.len() >= 100;
            assert!(tau >= least_tau || !is_telling, "{}: tau {tau}", case.name);
            assert!(closeness.max <= largest * spread, "{}: {}", case.name, closeness.max);
        }
    }
}
