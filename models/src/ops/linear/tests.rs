use candle_core::{DType, Result, Tensor, Var};

use super::linear;
use crate::gradcheck::{check_agreement, check_gradients, compare, random, values_of};
use crate::ops::test_tensors::{candle_error, matrix, same_bits, unpack_panels};
use crate::packed::{Matrix, Weight};

fn run(x: &Tensor, weight: &Matrix, bias: Option<&Tensor>) -> Result<Tensor> {
    candle_error(linear(x, &Weight::Panels(weight.clone()), bias))
}

/// `(T, n, k)`
const SHAPES: [(usize, usize, usize); 5] =
    [(1, 1, 1), (3, 5, 4), (2, 16, 3), (5, 17, 7), (13, 33, 20)];

#[test]
fn gradients_follow_differences() {
    for (t, n, k) in [(1, 1, 1), (3, 5, 4), (5, 17, 3)] {
        let inputs = [random(1, (t, k)), matrix(2, n, k).tensor().clone(), random(3, n)];
        check_gradients(
            |i| run(&i[0], &Matrix::from_panels(i[1].clone(), n, k).expect("panels"), None),
            &inputs[..2],
            1e-3,
        );
        check_gradients(
            |i| {
                let weight = Matrix::from_panels(i[1].clone(), n, k).expect("panels");
                run(&i[0], &weight, Some(&i[2]))
            },
            &inputs,
            1e-3,
        );
    }
}

#[test]
fn linear_agrees_with_the_composed_graph() {
    for (t, n, k) in SHAPES {
        let inputs = [random(1, (t, k)), matrix(2, n, k).tensor().clone(), random(3, n)];
        check_agreement(
            |i| {
                let weight = Matrix::from_panels(i[1].clone(), n, k).expect("panels");
                run(&i[0], &weight, Some(&i[2]))
            },
            |i| i[0].matmul(&unpack_panels(&i[1], n)?.t()?)?.broadcast_add(&i[2]),
            &inputs,
            1e-5,
        );
    }
}

#[test]
fn variable_gives_the_bits_of_a_frozen_weight() {
    for (t, n, k) in SHAPES {
        let (x, bias) = (random(1, (t, k)), random(3, n));
        let frozen = matrix(2, n, k);
        let (tracked, _var) = frozen.to_var().expect("a copy");
        let want = run(&x, &frozen, Some(&bias)).expect("frozen");
        let got = run(&x, &tracked, Some(&bias)).expect("tracked");
        assert!(got.track_op() && !want.track_op());
        same_bits("tracked", &got, &want);
    }
}

#[test]
fn frozen_weight_passes_the_gradient_and_keeps_none() {
    let (t, n, k) = (4, 18, 6);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let weight = matrix(2, n, k).to_dtype(dtype).expect("a storage");
        let x = Var::from_tensor(&random(1, (t, k))).expect("a copy");
        let y = run(x.as_tensor(), &weight, None).expect("runs");
        let grads = y.sum_all().and_then(|y| y.backward()).expect("backward");
        let got = grads.get(&x).expect("of x");
        let widened = weight.to_dtype(DType::F32).expect("f32");
        let want = unpack_panels(widened.tensor(), n)
            .and_then(|w| w.sum_keepdim(0)?.broadcast_as((t, k)))
            .expect("sums of columns");
        compare(&format!("{dtype:?}"), &values_of(got), &values_of(&want), 1e-6);
        assert!(grads.get(weight.tensor()).is_none(), "{dtype:?}");
    }
}

#[test]
fn frozen_input_gets_no_gradient() {
    let x = random(1, (3, 4));
    let (weight, var) = matrix(2, 5, 4).to_var().expect("a copy");
    let y = run(&x, &weight, None).expect("runs");
    let grads = y.sum_all().and_then(|y| y.backward()).expect("backward");
    assert!(grads.get(&x).is_none());
    assert!(grads.get(var.as_tensor()).is_some());
}

#[test]
fn misfits_are_refused() {
    let weight = matrix(2, 5, 4);
    let (half, _var) = weight.to_dtype(DType::F16).and_then(|w| w.to_var()).expect("a copy");
    let cases = [
        (random(1, (3, 5)), &weight, None, "[T, 4]"),
        (random(1, 4), &weight, None, "rank"),
        (random(1, (3, 4)), &weight, Some(random(1, 4)), "[5]"),
        (random(1, (3, 4)), &half, None, "f32"),
        (random(1, (4, 3)).t().expect("2-D"), &weight, None, "contiguous"),
    ];
    for (x, weight, bias, want) in cases {
        let error = run(&x, weight, bias.as_ref()).expect_err(want).to_string();
        assert!(error.contains(want), "{error}");
    }
}
