//! One law in many sizes: every element is one chain of multiply-adds along `k`.

use half::{bf16, f16};
use proptest::prelude::*;

use super::{Addends, LowRank, SecondFactor, add_updates, columns, matmul, matmul_by};
use crate::kernels::panels::{PanelData, Panels, pack, unpack};
use crate::kernels::simd::Isa;

/// Numbers of both signs from a counter, in (-1, 1).
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64)
        .map(|i| {
            let mut z =
                (seed ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z ^= z >> 31;
            z = z.wrapping_mul(0x94d0_49bb_1331_11eb);
            (z >> 40) as f32 / 8_388_608.0 - 1.0
        })
        .collect()
}

/// Sizes, operands in row-major order, and the panels.
struct Case {
    m: usize,
    n: usize,
    k: usize,
    x: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
    panels: Vec<f32>,
}

impl Case {
    fn new(m: usize, n: usize, k: usize) -> Case {
        let w = numbers(1, n * k);
        Case { m, n, k, x: numbers(2, m * k), bias: numbers(3, n), panels: pack(&w, n, k), w }
    }

    fn panels(&self) -> Panels<'_> {
        Panels { data: PanelData::F32(&self.panels), n: self.n, k: self.k }
    }

    fn product(&self) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.m * self.n];
        matmul(&self.x, self.panels(), Addends::bias(Some(&self.bias)), &mut out);
        out
    }

    /// The expected value without bias, computed directly.
    fn chain(&self, row: usize, column: usize) -> f32 {
        let (x, w) = (&self.x[row * self.k..], &self.w[column * self.k..]);
        (0..self.k).fold(0.0_f32, |sum, i| x[i].mul_add(w[i], sum))
    }
}

fn bits(all: &[f32]) -> Vec<u32> {
    all.iter().map(|x| x.to_bits()).collect()
}

/// Every element equals its chain; so a row's bits do not depend on the batch, nor on tile, block
/// or width.
fn check_chains(m: usize, n: usize, k: usize) {
    let case = Case::new(m, n, k);
    for isa in Isa::available() {
        let (mut out, mut biased) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
        matmul_by(isa, &case.x, case.panels(), Addends::default(), &mut out);
        matmul_by(isa, &case.x, case.panels(), Addends::bias(Some(&case.bias)), &mut biased);
        for row in 0..m {
            for column in 0..n {
                let (at, want) = (row * n + column, case.chain(row, column));
                let name = isa.name();
                let place = || format!("{name} [{m}, {k}] x [{n}, {k}] at ({row}, {column})");
                assert_eq!(out[at].to_bits(), want.to_bits(), "{}", place());
                let want = want + case.bias[column];
                assert_eq!(biased[at].to_bits(), want.to_bits(), "{} with bias", place());
            }
        }
    }
}

#[test]
fn every_element_is_one_chain() {
    for m in [1, 2, 3, 5, 6, 7, 8, 13, 64, 100] {
        for k in [0, 1, 17, 300] {
            for n in [1, 16, 33, 71] {
                check_chains(m, n, k);
            }
        }
    }
    for (m, n, k) in [(1, 151, 2000), (13, 40, 896), (100, 17, 2000), (515, 9, 30)] {
        check_chains(m, n, k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_element_is_one_chain_at_any_size(m in 1usize..40, n in 1usize..140, k in 0usize..700) {
        check_chains(m, n, k);
    }
}

#[test]
fn row_has_the_same_bits_alone_and_in_a_batch() {
    for (m, n, k) in [(100, 896, 896), (8, 300, 4864), (513, 33, 300)] {
        let case = Case::new(m, n, k);
        let all = case.product();
        for row in 0..m {
            let mut alone = vec![f32::NAN; n];
            let x = &case.x[row * k..(row + 1) * k];
            matmul(x, case.panels(), Addends::bias(Some(&case.bias)), &mut alone);
            assert_eq!(bits(&alone), bits(&all[row * n..(row + 1) * n]), "row {row} of {m}");
        }
    }
}

#[test]
fn product_is_near_the_exact_one() {
    for (m, n, k) in [(1, 40, 2000), (13, 40, 896), (64, 17, 300)] {
        let case = Case::new(m, n, k);
        let (mut most, mut sum) = (0.0_f64, 0.0);
        for (at, got) in case.product().into_iter().enumerate() {
            let (row, column) = (at / n, at % n);
            let exact = (0..k).fold(f64::from(case.bias[column]), |sum, i| {
                f64::from(case.x[row * k + i]).mul_add(f64::from(case.w[column * k + i]), sum)
            });
            let difference = (f64::from(got) - exact).abs();
            most = most.max(difference);
            sum += difference;
        }
        let mean = sum / (m * n) as f64;
        // Rounding errors of k steps whose sums are about sqrt(k / 9).
        let bound = 2e-7 * k as f64;
        assert!(most < bound, "[{m}, {n}, {k}]: max {most:e}, mean {mean:e}, allowed {bound:e}");
    }
}

#[test]
fn half_precision_weights_give_the_bits_of_equal_f32_weights() {
    for (m, n, k) in [(1, 150, 300), (5, 33, 17), (8, 70, 896), (100, 33, 600)] {
        let case = Case::new(m, n, k);
        let f16s: Vec<f16> = case.panels.iter().map(|w| f16::from_f32(*w)).collect();
        let bf16s: Vec<bf16> = case.panels.iter().map(|w| bf16::from_f32(*w)).collect();
        let wide_f16: Vec<f32> = f16s.iter().map(|w| w.to_f32()).collect();
        let wide_bf16: Vec<f32> = bf16s.iter().map(|w| w.to_f32()).collect();
        for isa in Isa::available() {
            let run = |data| {
                let mut out = vec![f32::NAN; m * n];
                matmul_by(isa, &case.x, Panels { data, n, k }, Addends::default(), &mut out);
                bits(&out)
            };
            let name = isa.name();
            assert_eq!(run(PanelData::F16(&f16s)), run(PanelData::F32(&wide_f16)), "{name} {m}");
            assert_eq!(run(PanelData::Bf16(&bf16s)), run(PanelData::F32(&wide_bf16)), "{name} {m}");
        }
    }
}

#[test]
fn number_of_threads_changes_no_bit() {
    for (m, n, k) in [(1, 4864, 896), (100, 896, 300), (300, 16, 2000), (8, 4864, 300)] {
        let case = Case::new(m, n, k);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool starts").install(|| bits(&case.product()))
        };
        let one = on(1);
        assert_eq!(one, on(2), "[{m}, {n}, {k}] on two threads");
        assert_eq!(one, on(3), "[{m}, {n}, {k}] on three threads");
    }
}

#[test]
fn update_is_a_product_then_one_multiply_add() {
    for (m, n, k) in [(1, 896, 8), (7, 100, 16), (64, 17, 64), (100, 40, 300), (3, 5, 0)] {
        let case = Case::new(m, n, k);
        let mut product = vec![0.0; m * n];
        matmul(&case.x, case.panels(), Addends::default(), &mut product);
        let before = numbers(4, m * n);
        let want: Vec<f32> = product.iter().zip(&before).map(|(p, y)| p.mul_add(0.3, *y)).collect();
        let mut out = before;
        let b = SecondFactor::Panels(case.panels());
        let update = LowRank::new(Isa::best(), 0..m, case.x.clone(), b, 0.3);
        add_updates(&[update], n, &mut out);
        assert_eq!(bits(&out), bits(&want), "[{m}, {n}, {k}]");
    }
}

#[test]
fn selected_columns_have_the_bits_of_the_product() {
    let case = Case::new(5, 100, 300);
    let mut all = vec![0.0; 5 * 100];
    matmul(&case.x, case.panels(), Addends::default(), &mut all);
    let chosen: Vec<u32> = (0..40).map(|i| (i * 37 + 3) % 100).collect();
    for chosen in [&chosen[..], &[99, 0], &[42, 42], &[]] {
        let mut out = vec![f32::NAN; 5 * chosen.len()];
        columns(&case.x, case.panels(), chosen, &mut out);
        for (row, out) in (0..5).zip(out.chunks(chosen.len().max(1))) {
            let want: Vec<f32> = chosen.iter().map(|c| all[row * 100 + *c as usize]).collect();
            assert_eq!(bits(out), bits(&want), "row {row} of {chosen:?}");
        }
    }
}

#[test]
fn range_of_panels_covers_its_columns() {
    let (m, n, k) = (3, 100, 40);
    let case = Case::new(m, n, k);
    let mut all = vec![0.0; m * n];
    matmul(&case.x, case.panels(), Addends::default(), &mut all);
    for (panels, columns) in [(0..2, 0..32), (3..5, 48..80), (5..7, 80..100), (7..7, 100..100)] {
        let part = case.panels().range(panels.clone());
        assert_eq!(part.n, columns.len(), "{panels:?}");
        let mut out = vec![f32::NAN; m * part.n];
        matmul(&case.x, part, Addends::default(), &mut out);
        for row in 0..m {
            let want = &all[row * n..][columns.clone()];
            assert_eq!(bits(&out[row * part.n..][..part.n]), bits(want), "{panels:?}");
        }
    }
}

#[test]
fn non_finite_operand_makes_a_non_finite_result() {
    let (m, n, k) = (14, 20, 500);
    for (bad, at) in [(f32::NAN, 0), (f32::INFINITY, 499), (f32::NEG_INFINITY, 256)] {
        let mut case = Case::new(m, n, k);
        case.x[3 * k + at] = bad;
        let out = case.product();
        let clean = Case::new(m, n, k).product();
        for (i, (got, clean)) in out.iter().zip(&clean).enumerate() {
            if i / n == 3 {
                assert!(!got.is_finite(), "{bad} at {at} gave {got}");
            } else {
                assert_eq!(got.to_bits(), clean.to_bits(), "row {} beside {bad}", i / n);
            }
        }
        let mut rows = unpack(&case.panels, n, k);
        rows[7 * k + at] = bad;
        case.panels = pack(&rows, n, k);
        let out = case.product();
        for row in 0..m {
            assert!(!out[row * n + 7].is_finite(), "{bad} in a weight");
            assert!(row == 3 || out[row * n + 8].is_finite(), "{bad} beside");
        }
    }
}
