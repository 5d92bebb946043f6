use half::bf16;

use super::{AttentionGradients, Geometry, Operands, Packed, backward, packed};
use crate::gradcheck::{random, values_of};
use crate::kernels::simd::Isa;

const GEOMETRY: Geometry = Geometry {
    num_heads: 6,
    num_kv_heads: 2,
    head_dim: 36,
    scale: 0.3,
    softcap: Some(4.0),
    window: Some(90),
};
const CU_SEQLENS: [u32; 4] = [0, 1, 151, 222];

/// The forward's result and the gradients.
fn run(isa: Isa, g: Geometry) -> (Vec<f32>, AttentionGradients) {
    let rows = CU_SEQLENS[3] as usize;
    let of = |seed, heads: usize| values_of(&random(seed, rows * heads * g.head_dim));
    let (q, k, v) = (of(1, g.num_heads), of(2, g.num_kv_heads), of(3, g.num_kv_heads));
    let rows = Packed { q: &q, k: &k, v: &v, cu_seqlens_q: &CU_SEQLENS, cu_seqlens_k: &CU_SEQLENS };
    let mut out = vec![0.0; q.len()];
    packed::<f32>(isa, rows, g, &mut out);
    let operands = Operands { rows, out: &out, grad: &of(4, g.num_heads) };
    let gradients = backward(isa, operands, g);
    (out, gradients)
}

#[test]
fn bits_depend_on_neither_instructions_nor_threads() {
    let plain = run(Isa::available()[0], GEOMETRY);
    assert!(plain.0.iter().all(|x| x.is_finite() && *x != 0.0));
    for isa in Isa::available() {
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let got = pool.expect("threads").install(|| run(isa, GEOMETRY));
            assert!(got == plain, "{} with {threads} threads", isa.name());
        }
    }
}

/// Scale and cap of softmax weights: a row of equal keys gives the mean of its values.
#[test]
fn equal_keys_average_their_values() {
    let g = Geometry { scale: 0.0, window: None, ..GEOMETRY };
    let (out, _) = run(Isa::best(), g);
    let v = values_of(&random(3, CU_SEQLENS[3] as usize * 2 * g.head_dim));
    let first = |at: usize| f64::from(v[at * 2 * g.head_dim]);
    for (row, keys) in [(0, 0..1), (1, 1..2), (150, 1..151), (221, 151..222)] {
        let n = keys.len() as f64;
        let mean = keys.map(first).sum::<f64>() / n;
        let got = f64::from(out[row * g.num_heads * g.head_dim]);
        assert!((got - mean).abs() < 1e-6, "row {row}: {got} for {mean}");
    }
}

/// A number as a pair holds it.
fn rounded(x: f32) -> f64 {
    let nearest = f64::from(bf16::from_f32(x).to_f32());
    if x.abs() < 2.0_f32.powi(-50) { 0.0 } else { nearest }
}

/// One head of one row over rounded operands, in f64; weights are rounded, too.
fn reference(q: &[f32], keys: &[&[f32]], values: &[&[f32]], g: Geometry) -> Vec<f64> {
    let dot = |k: &[f32]| q.iter().zip(k).map(|(q, k)| rounded(*q) * rounded(*k)).sum::<f64>();
    let score = |k: &&[f32]| {
        let score = dot(k) * f64::from(g.scale);
        g.softcap.map_or(score, |cap| (score / f64::from(cap)).tanh() * f64::from(cap))
    };
    let scores: Vec<f64> = keys.iter().map(score).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let total: f64 = weights.iter().sum();
    let sum = |d: usize| weights.iter().zip(values).map(|(w, v)| w * rounded(v[d])).sum::<f64>();
    (0..g.head_dim).map(|d| sum(d) / total).collect()
}

/// Beside f64 over the same rounded operands an output is off by the rounding of its weights alone:
/// 2⁻⁹ of the largest value at most, and as much again for weights under an older maximum.
#[test]
fn pairs_differ_from_exact_sums_of_rounded_operands_by_the_rounding_of_weights() {
    let plain = Geometry { softcap: None, window: None, ..GEOMETRY };
    let shapes = [
        GEOMETRY,
        plain,
        Geometry { head_dim: 33, ..plain },
        Geometry { num_heads: 2, num_kv_heads: 2, head_dim: 64, scale: 0.125, ..plain },
        Geometry { num_heads: 7, num_kv_heads: 1, head_dim: 16, scale: 1.5, ..plain },
    ];
    for (seed, g) in (10..).step_by(10).zip(shapes) {
        for magnitude in [1.0, 3.0, 1e-18] {
            let rows = CU_SEQLENS[3] as usize;
            let of = |seed, heads: usize| -> Vec<f32> {
                let numbers = values_of(&random(seed, rows * heads * g.head_dim));
                numbers.into_iter().map(|x| x * magnitude).collect()
            };
            let q = of(seed, g.num_heads);
            let [k, v] = [1, 2].map(|more| of(seed + more, g.num_kv_heads));
            let spans = &CU_SEQLENS;
            let packs = Packed { q: &q, k: &k, v: &v, cu_seqlens_q: spans, cu_seqlens_k: spans };
            let mut out = vec![f32::NAN; q.len()];
            packed::<u32>(Isa::best(), packs, g, &mut out);
            let largest = v.iter().copied().fold(0.0, f32::max);
            for row in 0..rows {
                let first = CU_SEQLENS.iter().rfind(|end| **end as usize <= row).copied();
                let first = first.unwrap_or(0) as usize;
                let seen = first + g.first_key(row - first)..row + 1;
                for head in 0..g.num_heads {
                    let kv_head = head / g.group();
                    let of = |x: &'_ [f32], row: usize, head: usize, heads: usize| {
                        let at = (row * heads + head) * g.head_dim;
                        x[at..at + g.head_dim].to_vec()
                    };
                    let numbers = |x: &[f32]| -> Vec<Vec<f32>> {
                        seen.clone().map(|row| of(x, row, kv_head, g.num_kv_heads)).collect()
                    };
                    let (keys, values) = (numbers(&k), numbers(&v));
                    let keys: Vec<&[f32]> = keys.iter().map(Vec::as_slice).collect();
                    let values: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
                    let want = reference(&of(&q, row, head, g.num_heads), &keys, &values, g);
                    for (got, want) in of(&out, row, head, g.num_heads).iter().zip(want) {
                        let off = (f64::from(*got) - want).abs();
                        let allowed = f64::from(largest) / 256.0;
                        assert!(off <= allowed, "row {row}: {got:e} for {want:e}, {g:?}");
                    }
                }
            }
        }
    }
}

/// Numbers of every size and kind: what is not finite comes out of the same places.
#[test]
fn pairs_have_the_same_bits_on_every_instruction_set_for_any_numbers() {
    let odd = [
        0.0,
        -0.0,
        1e-42,
        -1e-39,
        f32::MIN_POSITIVE,
        2.0_f32.powi(-50),
        f32::from_bits(2.0_f32.powi(-50).to_bits() - 1),
        -1e-17,
        1e30,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    // With the first eight all results are finite.
    for kinds in [0, 8, odd.len()] {
        for (seed, g) in [
            (100, GEOMETRY),
            (200, Geometry { head_dim: 33, softcap: None, window: Some(7), ..GEOMETRY }),
            (300, Geometry { head_dim: 16, softcap: None, window: None, scale: 9.0, ..GEOMETRY }),
        ] {
            let rows = CU_SEQLENS[3] as usize;
            let of = |seed, heads: usize| -> Vec<f32> {
                let mut numbers = values_of(&random(seed, rows * heads * g.head_dim));
                for (i, x) in numbers.iter_mut().enumerate() {
                    if kinds > 0 && i % 97 == 0 {
                        *x = odd[i / 97 % kinds];
                    } else {
                        *x *= 2.0_f32.powi(i32::try_from(i % 7).expect("small") * -9);
                    }
                }
                numbers
            };
            let (q, k, v) = (of(seed, g.num_heads), of(seed + 1, 2), of(seed + 2, 2));
            let spans = &CU_SEQLENS;
            let packs = Packed { q: &q, k: &k, v: &v, cu_seqlens_q: spans, cu_seqlens_k: spans };
            let run = |isa| {
                let mut out = vec![0.0; q.len()];
                packed::<u32>(isa, packs, g, &mut out);
                // A NaN may have any sign and payload.
                let bits = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
                (out.iter().all(|x| x.is_finite()), out.into_iter().map(bits).collect::<Vec<_>>())
            };
            let plain = run(Isa::available()[0]);
            assert_eq!(plain.0, kinds <= 8, "{kinds} kinds of odd numbers");
            for isa in Isa::available() {
                assert!(run(isa) == plain, "{} {kinds} {g:?}", isa.name());
            }
        }
    }
}
