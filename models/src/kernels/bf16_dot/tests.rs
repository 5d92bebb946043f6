//! Against a chain of reference steps, on every instruction set.

use half::bf16;
use proptest::prelude::*;

use super::{Addends, Bf16Matrix, matmul_bf16, product, round_rows};
use crate::kernels::simd::{Isa, nearest, plain_dot};

/// Numbers of both signs from a counter, in (-1, 1), some of them many orders smaller.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64)
        .map(|i| {
            let mut z =
                (seed ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z ^= z >> 31;
            z = z.wrapping_mul(0x94d0_49bb_1331_11eb);
            let x = (z >> 40) as f32 / 8_388_608.0 - 1.0;
            if z.is_multiple_of(16) { x * 1e-20 } else { x }
        })
        .collect()
}

fn bits(all: &[f32]) -> Vec<u32> {
    all.iter().map(|x| x.to_bits()).collect()
}

/// The nearest bf16; a subnormal number counts as zero.
fn rounded(x: f32) -> u16 {
    bf16::from_f32(if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }).to_bits()
}

/// Operands, in row-major order and packed.
struct PairCase {
    m: usize,
    n: usize,
    k: usize,
    x: Vec<f32>,
    w: Vec<bf16>,
    bias: Vec<f32>,
    matrix: Bf16Matrix,
}

impl PairCase {
    fn new(m: usize, n: usize, k: usize) -> PairCase {
        PairCase::of([m, n, k], numbers(1, m * k), &numbers(2, n * k))
    }

    fn of([m, n, k]: [usize; 3], x: Vec<f32>, w: &[f32]) -> PairCase {
        let w: Vec<bf16> = w.iter().copied().map(bf16::from_f32).collect();
        let matrix = Bf16Matrix::pack(&w, n, k).expect("as many numbers as it needs");
        PairCase { m, n, k, x, bias: numbers(3, n), w, matrix }
    }

    fn check(&self) {
        let (m, n, k) = (self.m, self.n, self.k);
        let want = bits(&self.chains());
        for isa in Isa::available() {
            assert_eq!(bits(&self.product(isa)), want, "{} [{m}, {k}] x [{n}, {k}]", isa.name());
        }
    }

    fn product(&self, isa: Isa) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.m * self.n];
        product(isa, &self.x, &self.matrix, Addends::bias(Some(&self.bias)), &mut out);
        out
    }

    /// The expected values, computed directly.
    fn chains(&self) -> Vec<f32> {
        let number = |bits: Option<u16>| bits.unwrap_or(0);
        let mut all = Vec::with_capacity(self.m * self.n);
        for row in 0..self.m {
            let x = &self.x[row * self.k..][..self.k];
            let x: Vec<u16> = x.iter().map(|x| rounded(*x)).collect();
            for column in 0..self.n {
                let w = &self.w[column * self.k..][..self.k];
                let steps = x.chunks(2).zip(w.chunks(2));
                let sum = steps.fold(0.0, |sum, (x, w)| {
                    let second = number(w.get(1).map(|w| w.to_bits()));
                    plain_dot([x[0], number(x.get(1).copied())], [w[0].to_bits(), second], sum)
                });
                all.push(sum + self.bias[column]);
            }
        }
        all
    }
}

/// Every element equals its chain; so a row's bits do not depend on the batch, nor on tile, block
/// or instruction set.
fn check(m: usize, n: usize, k: usize) {
    PairCase::new(m, n, k).check();
}

/// Steps whose operands rule subnormal results out need no check of each, and have the same bits.
#[test]
fn small_numbers_are_flushed_whether_steps_are_checked_or_not() {
    let sizes @ [m, n, k] = [13, 37, 90];
    // Magnitudes from 1 to 2, so that exponents are those of the scales; some sums cancel.
    let with = |seed, count, exponent: i32| -> Vec<f32> {
        let far = |x: f32| (x + x.signum()) * 2.0_f32.powi(exponent);
        numbers(seed, count).into_iter().map(far).collect()
    };
    let check = |exponents: [i32; 2], is_normal: bool| {
        let [x, w] = exponents;
        let case = PairCase::of(sizes, with(1, m * k, x), &with(2, n * k, w));
        let pairs = round_rows(Isa::best(), &case.x, m, k);
        assert_eq!(case.matrix.keeps_normal(&pairs), is_normal, "{exponents:?}");
        case.check();
    };
    check([0, 0], true);
    check([-56, -56], true);
    check([-56, -57], false);
    check([-112, 0], true);
    check([14, -126], true);
    check([30, -127], false);
    // Below the normal numbers, `x` counts as zero.
    check([-127, 30], true);
    check([-63, -63], false);
}

#[test]
fn every_element_is_one_chain_of_pairs() {
    for m in [1, 2, 3, 6, 7, 8, 13, 40] {
        for (n, k) in [(1, 1), (16, 17), (33, 31), (71, 64), (20, 33), (5, 0)] {
            check(m, n, k);
        }
    }
    for (m, n, k) in [(1, 71, 2001), (13, 20, 1100), (40, 17, 1100), (259, 3, 9)] {
        check(m, n, k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_element_is_one_chain_of_pairs_at_any_size(m in 1usize..20, n in 1usize..80, k in 0usize..200) {
        check(m, n, k);
    }
}

#[test]
fn row_has_the_same_bits_alone_and_in_a_batch() {
    for (m, n, k) in [(30, 100, 896), (300, 33, 101), (13, 20, 4864)] {
        let case = PairCase::new(m, n, k);
        let all = case.product(Isa::best());
        for row in 0..m {
            let mut alone = vec![f32::NAN; n];
            let bias = Addends::bias(Some(&case.bias));
            matmul_bf16(&case.x[row * k..][..k], &case.matrix, bias, &mut alone);
            assert_eq!(bits(&alone), bits(&all[row * n..][..n]), "row {row} of {m}");
        }
    }
}

#[test]
fn number_of_threads_changes_no_bit() {
    for (m, n, k) in [(1, 2000, 896), (300, 96, 300)] {
        let case = PairCase::new(m, n, k);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool starts").install(|| bits(&case.product(Isa::best())))
        };
        let one = on(1);
        assert_eq!(one, on(2), "[{m}, {n}, {k}] on two threads");
        assert_eq!(one, on(3), "[{m}, {n}, {k}] on three threads");
    }
}

#[test]
fn product_is_near_that_of_the_floats() {
    let (m, n, k) = (20, 50, 896);
    let case = PairCase::new(m, n, k);
    let (mut most, mut sum) = (0.0_f64, 0.0);
    for (at, got) in case.product(Isa::best()).into_iter().enumerate() {
        let (row, column) = (at / n, at % n);
        let exact = (0..k).fold(f64::from(case.bias[column]), |sum, i| {
            f64::from(case.x[row * k + i]).mul_add(case.w[column * k + i].to_f64(), sum)
        });
        let difference = (f64::from(got) - exact).abs();
        most = most.max(difference);
        sum += difference;
    }
    // Factors of about 0.58, one of them rounded by at most 2^-9 of itself, at random signs.
    let bound = 5.0 * (k as f64).sqrt() * 0.58 * 0.58 / 512.0 / 3.0_f64.sqrt();
    let mean = sum / (m * n) as f64;
    assert!(most < bound, "max {most:e}, mean {mean:e}, allowed {bound:e}");
}

#[test]
fn non_finite_row_affects_no_other() {
    let (m, n, k) = (14, 20, 501);
    let clean = PairCase::new(m, n, k);
    let want = clean.product(Isa::best());
    for (bad, at) in [(f32::NAN, 0), (f32::INFINITY, 500), (f32::NEG_INFINITY, 256)] {
        let mut case = PairCase::new(m, n, k);
        case.x[3 * k + at] = bad;
        for isa in Isa::available() {
            for (i, (got, want)) in case.product(isa).iter().zip(&want).enumerate() {
                if i / n == 3 {
                    assert!(!got.is_finite(), "{}: {bad} at {at} gave {got}", isa.name());
                } else {
                    assert_eq!(got.to_bits(), want.to_bits(), "row {} beside {bad}", i / n);
                }
            }
        }
    }
}

#[test]
fn numbers_are_rounded_to_the_nearest_bf16() {
    for high in 0..=u16::MAX {
        for low in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
            let x = f32::from_bits(u32::from(high) << 16 | low);
            assert_eq!(nearest(x), bf16::from_f32(x).to_bits(), "{x:e}");
        }
    }
}

#[test]
fn rows_are_rounded_alike_by_every_instruction_set() {
    let low = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
    let all: Vec<f32> = (0..=u16::MAX)
        .flat_map(|high| low.map(|low| f32::from_bits(u32::from(high) << 16 | low)))
        .collect();
    // Rows of every length: vectors, parts of them, and an odd number at the end.
    for k in [1, 2, 15, 16, 17, 31, 32, 33, 65] {
        let x = &all[..all.len() / k * k];
        let want: Vec<u32> = x
            .chunks(k)
            .flat_map(|row| row.chunks(2))
            .map(|pair| {
                u32::from(rounded(pair[0]))
                    | u32::from(pair.get(1).map_or(0, |x| rounded(*x))) << 16
            })
            .collect();
        for isa in Isa::available() {
            let got = bits(&round_rows(isa, x, x.len() / k, k));
            let differing = got.iter().zip(&want).position(|(got, want)| got != want);
            assert_eq!(
                differing,
                None,
                "{} of rows of {k}: {:?}",
                isa.name(),
                differing.map(|at| (got[at], want[at]))
            );
        }
    }
}

#[test]
fn matrices_need_all_their_numbers() {
    for (given, n, k) in [(5, 2, 3), (7, 2, 3), (1, 0, 3), (1, 3, 0)] {
        assert!(Bf16Matrix::pack(&vec![bf16::ONE; given], n, k).is_err(), "{given} of [{n}, {k}]");
    }
    let matrix = Bf16Matrix::pack(&[bf16::ONE; 37 * 5], 37, 5).expect("complete");
    assert_eq!((matrix.n(), matrix.k(), matrix.bytes()), (37, 5, 3 * 3 * 64));
}
