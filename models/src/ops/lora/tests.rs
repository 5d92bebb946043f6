use std::ops::Range;

use candle_core::{DType, Result, Tensor, Var};
use proptest::prelude::{Just, prop, proptest};

use super::{LoraSegment, lora, lora_embedding};
use crate::gradcheck::{check_agreement, check_gradients, random, values_of};
use crate::ops::test_tensors::{candle_error, matrix, same_bits, unpack_panels};
use crate::packed::Matrix;

const T: usize = 9;
const K: usize = 5;
const N: usize = 18;
const R: usize = 3;
const VOCAB: usize = 20;
const TOKENS: [u32; T] = [3, 0, 19, 3, 7, 3, 16, 15, 0];

/// Rows `2..4` and `6..9` under the first adapter, `4..6` under the second.
const RUNS: [(Range<usize>, usize); 3] = [(2..4, 0), (4..6, 1), (6..9, 0)];

fn segments<'a>(runs: &[(Range<usize>, usize)], factors: &'a [Matrix]) -> Vec<LoraSegment<'a>> {
    let segment = |(rows, adapter): &(Range<usize>, usize)| LoraSegment {
        rows: rows.clone(),
        a: &factors[2 * adapter],
        b: &factors[2 * adapter + 1],
        scale: [0.5, 2.0][*adapter],
    };
    runs.iter().map(segment).collect()
}

/// `A` and `B` of two adapters, of ranks 3 and 2.
fn factors() -> Vec<Matrix> {
    vec![matrix(1, R, K), matrix(2, N, R), matrix(3, 2, K), matrix(4, N, 2)]
}

fn embedding_factors() -> Vec<Matrix> {
    vec![matrix(1, VOCAB, R), matrix(2, N, R), matrix(3, VOCAB, 2), matrix(4, N, 2)]
}

fn like(shapes: &[Matrix], panels: &[Tensor]) -> Vec<Matrix> {
    let wrap = |(m, p): (&Matrix, &Tensor)| Matrix::from_panels(p.clone(), m.n(), m.k());
    shapes.iter().zip(panels).map(wrap).collect::<crate::Result<_>>().expect("panels")
}

/// The update composed of candle's operations, for all rows under their adapters.
fn composed(
    y: &Tensor,
    factors: &[Matrix],
    inner: impl Fn(&Matrix, Range<usize>) -> Result<Tensor>,
) -> Result<Tensor> {
    let mut parts = vec![y.narrow(0, 0, 2)?];
    for s in segments(&RUNS, factors) {
        let b = unpack_panels(s.b.tensor(), s.b.n())?;
        let update = (inner(s.a, s.rows.clone())?.matmul(&b.t()?)? * f64::from(s.scale))?;
        parts.push((y.narrow(0, s.rows.start, s.rows.len())? + update)?);
    }
    Tensor::cat(&parts, 0)
}

fn operands(first: Tensor, factors: &[Matrix]) -> Vec<Tensor> {
    let mut inputs = vec![first, random(8, (T, N))];
    inputs.extend(factors.iter().map(|m| m.tensor().clone()));
    inputs
}

#[test]
fn gradients_follow_differences_and_the_composed_graph() {
    let shapes = factors();
    let inputs = operands(random(7, (T, K)), &shapes);
    let op = |i: &[Tensor]| {
        candle_error(lora(&i[0], i[1].copy()?, &segments(&RUNS, &like(&shapes, &i[2..]))))
    };
    check_gradients(op, &inputs, 1e-3);
    let reference = |i: &[Tensor]| {
        composed(&i[1], &like(&shapes, &i[2..]), |a, run| {
            i[0].narrow(0, run.start, run.len())?.matmul(&unpack_panels(a.tensor(), a.n())?.t()?)
        })
    };
    check_agreement(op, reference, &inputs, 1e-5);
}

#[test]
fn with_frozen_factors_the_input_still_gets_its_gradient() {
    let factors = factors();
    let inputs = [random(7, (T, K)), random(8, (T, N))];
    let op = |i: &[Tensor]| candle_error(lora(&i[0], i[1].copy()?, &segments(&RUNS, &factors)));
    check_gradients(op, &inputs, 1e-3);
}

#[test]
fn embedding_gradients_follow_differences_and_the_composed_graph() {
    let shapes = embedding_factors();
    let ids = Tensor::new(&TOKENS, &candle_core::Device::Cpu).expect("ids");
    let inputs = operands(random(8, (T, N)), &shapes);
    let inputs = &inputs[1..];
    let op = |i: &[Tensor]| {
        candle_error(lora_embedding(
            &TOKENS,
            i[0].copy()?,
            &segments(&RUNS, &like(&shapes, &i[1..])),
        ))
    };
    check_gradients(op, inputs, 1e-3);
    let reference = |i: &[Tensor]| {
        composed(&i[0], &like(&shapes, &i[1..]), |a, run| {
            unpack_panels(a.tensor(), a.n())?.index_select(&ids.narrow(0, run.start, run.len())?, 0)
        })
    };
    check_agreement(op, reference, inputs, 1e-5);
    check_gradients(
        |i| candle_error(lora_embedding(&TOKENS, i[0].copy()?, &segments(&RUNS, &shapes))),
        &inputs[..1],
        1e-3,
    );
}

#[test]
fn tracking_changes_no_bit() {
    let (x, y) = (random(7, (T, K)), random(8, (T, N)));
    let (frozen, embedding) = (factors(), embedding_factors());
    let vars =
        |m: &[Matrix]| -> Vec<Matrix> { m.iter().map(|m| m.to_var().expect("a copy").0).collect() };
    let var = |t: &Tensor| Var::from_tensor(t).expect("a copy").into_inner();
    let run = |x: &Tensor, y: &Tensor, f: &[Matrix]| {
        lora(x, y.copy().expect("a copy"), &segments(&RUNS, f)).expect("runs")
    };
    let want = run(&x, &y, &frozen);
    same_bits("x", &run(&var(&x), &y, &frozen), &want);
    same_bits("y", &run(&x, &var(&y), &frozen), &want);
    same_bits("factors", &run(&x, &y, &vars(&frozen)), &want);
    let embed = |y: &Tensor, f: &[Matrix]| {
        lora_embedding(&TOKENS, y.copy().expect("a copy"), &segments(&RUNS, f)).expect("runs")
    };
    let want = embed(&y, &embedding);
    same_bits("embedded y", &embed(&var(&y), &embedding), &want);
    same_bits("embedding factors", &embed(&y, &vars(&embedding)), &want);
}

#[test]
fn half_precision_factors_are_exact() {
    let (x, y) = (random(7, (T, K)), random(8, (T, N)));
    for dtype in [DType::F16, DType::BF16] {
        let halves: Vec<Matrix> =
            factors().iter().map(|m| m.to_dtype(dtype).expect("half")).collect();
        let wide: Vec<Matrix> =
            halves.iter().map(|m| m.to_dtype(DType::F32).expect("f32")).collect();
        let run = |f: &[Matrix]| lora(&x, y.copy().expect("a copy"), &segments(&RUNS, f));
        same_bits("half", &run(&halves).expect("runs"), &run(&wide).expect("runs"));
        // One pair frozen in half precision beside one in training.
        let mut mixed = halves.clone();
        mixed[..2].clone_from_slice(&[wide[0].to_var().expect("var").0, wide[1].clone()]);
        same_bits("mixed", &run(&mixed).expect("runs"), &run(&wide).expect("runs"));
    }
}

#[test]
fn rows_outside_of_segments_keep_their_bits() {
    let (x, y) = (random(7, (T, K)), random(8, (T, N)));
    let got = lora(&x, y.copy().expect("a copy"), &segments(&RUNS, &factors())).expect("runs");
    same_bits("before", &got.narrow(0, 0, 2).expect("rows"), &y.narrow(0, 0, 2).expect("rows"));
    let changed = values_of(&got.narrow(0, 2, 7).expect("rows"));
    let before = values_of(&y.narrow(0, 2, 7).expect("rows"));
    assert!(changed.iter().zip(&before).all(|(a, b)| a.to_bits() != b.to_bits()));
    let none = lora(&x, y.clone(), &[]).expect("no segments");
    same_bits("none", &none, &y);
}

proptest! {
    /// One run cut anywhere, over vectors and gradients alike.
    #[test]
    fn cutting_a_run_changes_no_bit(cuts in prop::collection::btree_set(1..T, 0..4), adapter in Just(0)) {
        let bounds: Vec<usize> = [0].into_iter().chain(cuts).chain([T]).collect();
        let cut: Vec<_> = bounds.windows(2).map(|w| (w[0]..w[1], adapter)).collect();
        let vars: Vec<Matrix> = factors().iter().map(|m| m.to_var().expect("a copy").0).collect();
        let x = Var::from_tensor(&random(7, (T, K))).expect("a copy");
        let run = |runs: &[(Range<usize>, usize)]| {
            let y = lora(x.as_tensor(), random(8, (T, N)), &segments(runs, &vars)).expect("runs");
            let grads = y.sqr().and_then(|y| y.sum_all()?.backward()).expect("backward");
            let of = |t: &Tensor| grads.get(t).expect("a gradient").clone();
            [y.detach(), of(x.as_tensor()), of(vars[0].tensor()), of(vars[1].tensor())]
        };
        for (got, want) in run(&cut).iter().zip(&run(&[(0..T, adapter)])) {
            same_bits("cut", got, want);
        }
    }
}

#[test]
fn misfits_are_refused() {
    let all = factors();
    let (x, y) = (random(7, (T, K)), random(8, (T, N)));
    let refuse = |runs: &[(Range<usize>, usize)], f: &[Matrix], want: &str| {
        let error = lora(&x, y.clone(), &segments(runs, f)).expect_err(want).to_string();
        assert!(error.contains(want), "{error}");
    };
    refuse(&[(0..10, 0)], &all, "0..10");
    refuse(&[(3..5, 0), (4..6, 1)], &all, "after row 5");
    refuse(&[(0..2, 0)], &[matrix(1, R, K + 1), all[1].clone()], "A is [r, k]");
    refuse(&[(0..2, 0)], &[matrix(1, R + 1, K), all[1].clone()], "A is [r, k]");
    refuse(&[(0..2, 0)], &[all[0].clone(), matrix(1, N + 1, R)], "B is [n, r]");
    let small = [matrix(1, 17, R), matrix(2, N, R)];
    let error = lora_embedding(&TOKENS, y.clone(), &segments(&[(2..4, 0)], &small));
    assert!(error.expect_err("token 19").to_string().contains("token 19"));
}
