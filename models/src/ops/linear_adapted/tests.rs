use candle_core::{Device, Tensor, Var};

use super::linear_adapted;
use crate::gradcheck::random;
use crate::ops::test_tensors::{matrix, same_bits};
use crate::ops::{LoraSegment, linear, lora};
use crate::packed::{Matrix, Weight};

const T: usize = 9;
const K: usize = 5;
const N: usize = 18;

fn weight() -> Matrix {
    matrix(4, N, K)
}

fn segments(factors: &[Matrix; 4]) -> [LoraSegment<'_>; 3] {
    let [a, b, c, d] = factors;
    [(1..3, a, b, 0.5), (3..4, c, d, 2.0), (6..9, a, b, 0.5)]
        .map(|(rows, a, b, scale)| LoraSegment { rows, a, b, scale })
}

fn factors() -> [Matrix; 4] {
    [matrix(1, 3, K), matrix(2, N, 3), matrix(5, 2, K), matrix(6, N, 2)]
}

#[test]
fn adapted_linear_is_linear_then_lora() {
    let (x, bias) = (random(7, (T, K)), Tensor::new(vec![0.5_f32; N], &Device::Cpu).expect("bias"));
    let factors = factors();
    for bias in [None, Some(&bias)] {
        let plain = linear(&x, &Weight::Panels(weight()), bias).expect("linear");
        let want = lora(&x, plain.copy().expect("a copy"), &segments(&factors)).expect("lora");
        let got = linear_adapted(&x, &weight(), bias, &segments(&factors)).expect("adapted");
        same_bits("adapted", &got, &want);
        let none = linear_adapted(&x, &weight(), bias, &[]).expect("no segments");
        same_bits("none", &none, &plain);
    }
}

#[test]
fn tracked_operands_get_gradients_of_the_same_bits() {
    let x = Var::from_tensor(&random(7, (T, K))).expect("a variable");
    let trained = factors().each_ref().map(|m| m.to_var().expect("a variable").0);
    let panels = weight();
    let got = linear_adapted(x.as_tensor(), &panels, None, &segments(&trained)).expect("adapted");
    let want = linear_adapted(&x.as_detached_tensor(), &panels, None, &segments(&factors()));
    same_bits("value", &got, &want.expect("untracked"));
    let gradients = got.sum_all().and_then(|sum| sum.backward()).expect("backward");
    let tensors = trained.iter().map(Matrix::tensor).chain([x.as_tensor()]);
    for (at, tensor) in tensors.enumerate() {
        assert!(gradients.get(tensor).is_some(), "operand {at}");
    }
}

#[test]
fn misfits_are_refused() {
    let factors = factors();
    let weight = weight();
    let refuse = |x: &Tensor, segments: &[LoraSegment<'_>], want: &str| {
        let error = linear_adapted(x, &weight, None, segments).expect_err(want).to_string();
        assert!(error.contains(want), "{error}");
    };
    refuse(&random(7, (T, K + 1)), &segments(&factors), "linear: x");
    refuse(&random(7, (8, K)), &segments(&factors), "6..9");
    let [a, b, ..] = &factors;
    let wide = matrix(1, 3, K + 1);
    refuse(
        &random(7, (T, K)),
        &[LoraSegment { rows: 0..1, a: &wide, b, scale: 1.0 }],
        "A is [r, k]",
    );
    let tall = matrix(1, N + 1, 3);
    refuse(
        &random(7, (T, K)),
        &[LoraSegment { rows: 0..1, a, b: &tall, scale: 1.0 }],
        "B is [n, r]",
    );
}
