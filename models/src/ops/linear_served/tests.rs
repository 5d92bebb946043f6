use std::sync::Arc;

use candle_core::{Device, Tensor, Var};
use half::bf16;

use super::{RoundedLora, linear_served};
use crate::gradcheck::random;
use crate::kernels::bf16_pairs::Bf16Matrix;
use crate::kernels::int8::Int8Matrix;
use crate::ops::linear;
use crate::ops::test_tensors::same_bits;
use crate::packed::Weight;

fn weight(rows: &[f32], n: usize, k: usize) -> Weight {
    Weight::Int8(Arc::new(Int8Matrix::quantise(rows, n, k).unwrap()))
}

#[test]
fn integers_are_multiplied_exactly() {
    // Both scales are 1: the largest magnitude of every row and channel is 127.
    let weight = weight(&[127.0, 1.0, -2.0, 127.0], 2, 2);
    let x = Tensor::new(&[[127.0_f32, 3.0], [0.0, -127.0]], &Device::Cpu).unwrap();
    let bias = Tensor::new(&[0.5_f32, -1.0], &Device::Cpu).unwrap();
    let check = |bias: Option<&Tensor>, expected: [[f32; 2]; 2]| {
        let y = linear(&x, &weight, bias).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(y, expected);
    };
    check(None, [[16132.0, 127.0], [-127.0, -16129.0]]);
    check(Some(&bias), [[16132.5, 126.0], [-126.5, -16130.0]]);
}

fn factor(rows: &[f32], n: usize, k: usize) -> Arc<Bf16Matrix> {
    let rows: Vec<bf16> = rows.iter().copied().map(bf16::from_f32).collect();
    Arc::new(Bf16Matrix::pack(&rows, n, k).unwrap())
}

fn pairs(rows: &[f32], n: usize, k: usize) -> Weight {
    Weight::Bf16(factor(rows, n, k))
}

#[test]
fn activations_are_rounded_to_bf16_before_a_product_of_pairs() {
    // 1.00390625 lies between two bf16 and goes to the even one, 1.
    let weight = pairs(&[1.0, 2.0, 256.0, 0.0, -1.0, 0.5], 2, 3);
    let x = Tensor::new(&[[1.0 + 1.0 / 256.0_f32, 1.0, 1.0], [3.0, 0.0, -2.0]], &Device::Cpu);
    let (x, bias) = (x.unwrap(), Tensor::new(&[0.5_f32, -1.0], &Device::Cpu).unwrap());
    let check = |bias: Option<&Tensor>, expected: [[f32; 2]; 2]| {
        let y = linear(&x, &weight, bias).unwrap().to_vec2::<f32>().unwrap();
        assert_eq!(y, expected);
    };
    check(None, [[259.0, -0.5], [-509.0, -1.0]]);
    check(Some(&bias), [[259.5, -1.5], [-508.5, -2.0]]);
}

#[test]
fn backward_of_served_weights_is_refused() {
    for (weight, named) in
        [(weight(&[1.0, 2.0], 1, 2), "8-bit"), (pairs(&[1.0, 2.0], 1, 2), "bf16 pairs")]
    {
        let x = Var::new(&[[1.0_f32, 2.0]], &Device::Cpu).unwrap();
        let y = linear(x.as_tensor(), &weight, None).unwrap();
        let error = y.sum_all().unwrap().backward().unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        assert!(weight.trainable().is_err(), "{named}");
    }
}

#[test]
fn factors_round_what_they_multiply() {
    let weight = Arc::new(Int8Matrix::quantise(&[127.0, 0.0, 0.0, 127.0], 2, 2).unwrap());
    // 257 lies between two bf16 and goes to the even one, 256; as does the inner 256 + 1.
    let x = Tensor::new(&[[127.0_f32, 0.0], [257.0, 1.0], [0.0, 127.0]], &Device::Cpu).unwrap();
    let (a, b) = (factor(&[1.0, 1.0], 1, 2), factor(&[1.0, -2.0], 2, 1));
    let segments = vec![RoundedLora { rows: 1..2, a, b, scale: 0.5 }];
    let plain = linear_served(&x, &weight, None, Vec::new()).unwrap().to_vec2::<f32>().unwrap();
    let got = linear_served(&x, &weight, None, segments).unwrap().to_vec2::<f32>().unwrap();
    assert_eq!([&got[0], &got[2]], [&plain[0], &plain[2]]);
    assert_eq!(got[1], [plain[1][0] + 128.0, plain[1][1] - 256.0]);
}

#[test]
fn cutting_a_run_changes_no_bit() {
    let (t, n, k, rank) = (30, 37, 21, 5);
    let numbers = |seed, shape: (usize, usize)| {
        random(seed, shape).flatten_all().unwrap().to_vec1::<f32>().unwrap()
    };
    let weight = Arc::new(Int8Matrix::quantise(&numbers(1, (n, k)), n, k).unwrap());
    let (a, b) = (factor(&numbers(2, (rank, k)), rank, k), factor(&numbers(3, (n, rank)), n, rank));
    let x = random(4, (t, k));
    let bias = Tensor::from_vec(numbers(5, (1, n)), n, &Device::Cpu).unwrap();
    let run = |bounds: &[usize]| {
        let segment =
            |w: &[usize]| RoundedLora { rows: w[0]..w[1], a: a.clone(), b: b.clone(), scale: 2.0 };
        linear_served(&x, &weight, Some(&bias), bounds.windows(2).map(segment).collect()).unwrap()
    };
    for bounds in [&[0, 1, 30][..], &[0, 7, 7, 19, 30], &(0..=30).collect::<Vec<_>>()] {
        same_bits("cut", &run(bounds), &run(&[0, 30]));
    }
}

#[test]
fn misfits_are_refused() {
    let weight = Arc::new(Int8Matrix::quantise(&[1.0; 6], 2, 3).unwrap());
    let x = random(1, (4, 3));
    let of = |n, k| factor(&vec![1.0; n * k], n, k);
    let refuse = |x: &Tensor, segments: Vec<RoundedLora>, want: &str| {
        let error = linear_served(x, &weight, None, segments).expect_err(want).to_string();
        assert!(error.contains(want), "{error}");
    };
    let lora = |rows, a, b| RoundedLora { rows, a, b, scale: 1.0 };
    refuse(&random(1, (4, 2)), Vec::new(), "linear: x");
    refuse(&x, vec![lora(0..5, of(1, 3), of(2, 1))], "0..5");
    refuse(&x, vec![lora(0..2, of(1, 3), of(2, 1)), lora(1..3, of(1, 3), of(2, 1))], "after row 2");
    refuse(&x, vec![lora(0..1, of(1, 4), of(2, 1))], "A is [r, k]");
    refuse(&x, vec![lora(0..1, of(2, 3), of(2, 1))], "A is [r, k]");
    refuse(&x, vec![lora(0..1, of(1, 3), of(3, 1))], "B is [n, r]");
}
