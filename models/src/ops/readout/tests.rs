use candle_core::{D, DType, Result, Tensor};

use super::{label_logits, softcap, tempered_logprobs, token_logprobs};
use crate::gradcheck::{check_agreement, check_gradients, random};
use crate::kernels::readout::{LogitMap, row_readout};
use crate::ops::linear;
use crate::ops::test_tensors::{candle_error, matrix, same_bits, unpack_panels};
use crate::packed::{Matrix, Weight};

const R: usize = 4;
const V: usize = 37;
const D_MODEL: usize = 6;
const TARGETS: [u32; R] = [36, 0, 15, 16];
const CAPS: [Option<f32>; 2] = [None, Some(2.5)];

fn vocabulary(panels: &Tensor) -> Matrix {
    Matrix::from_panels(panels.clone(), V, D_MODEL).expect("panels")
}

fn inputs() -> [Tensor; 2] {
    [random(1, (R, D_MODEL)), matrix(2, V, D_MODEL).tensor().clone()]
}

/// Caps at temperature 1, and at others.
fn maps() -> impl Iterator<Item = LogitMap> {
    let scales = [None, Some(1.0 / 0.6), Some(0.5)];
    CAPS.into_iter().flat_map(move |cap| scales.map(|scale| LogitMap { cap, scale }))
}

fn logprobs(i: &[Tensor], map: LogitMap) -> Result<Tensor> {
    candle_error(tempered_logprobs(&i[0], &vocabulary(&i[1]), &TARGETS, map))
}

/// The three values from logits that exist.
fn composed(i: &[Tensor], map: LogitMap) -> Result<Tensor> {
    let mut logits = i[0].matmul(&unpack_panels(&i[1], V)?.t()?)?;
    if let Some(cap) = map.cap {
        logits = ((logits / f64::from(cap))?.tanh()? * f64::from(cap))?;
    }
    if let Some(scale) = map.scale {
        logits = (logits * f64::from(scale))?;
    }
    let max = logits.max_keepdim(D::Minus1)?.detach();
    let sum = logits.broadcast_sub(&max)?.exp()?.sum_keepdim(D::Minus1)?;
    let normalizer = (sum.log()? + max)?;
    let log_p = logits.broadcast_sub(&normalizer)?;
    let entropy = (log_p.exp()? * &log_p)?.sum_keepdim(D::Minus1)?.neg()?;
    let targets = Tensor::new(&TARGETS, i[0].device())?.unsqueeze(1)?;
    Tensor::cat(&[log_p.gather(&targets, 1)?, entropy, normalizer], 1)
}

#[test]
fn log_probabilities_follow_differences_and_the_composed_graph() {
    for map in maps() {
        check_gradients(|i| logprobs(i, map), &inputs(), 1e-3);
        check_agreement(|i| logprobs(i, map), |i| composed(i, map), &inputs(), 1e-5);
    }
}

/// What a sampler reads from logits that it scales itself.
#[test]
fn tempered_log_probabilities_have_the_bits_of_scaled_logits() {
    let [hidden, panels] = inputs();
    let vocabulary = vocabulary(&panels);
    let full = linear(&hidden, &Weight::Panels(vocabulary.clone()), None).expect("product");
    for map in maps() {
        let got = tempered_logprobs(&hidden, &vocabulary, &TARGETS, map).expect("reads");
        let full = map.cap.map_or(full.clone(), |cap| softcap(&full, cap).expect("caps"));
        let rows = got.to_vec2::<f32>().expect("2-D").into_iter();
        for ((read, mut logits), target) in
            rows.zip(full.to_vec2::<f32>().expect("2-D")).zip(TARGETS)
        {
            for z in &mut logits {
                *z *= map.scale.unwrap_or(1.0);
            }
            let want = row_readout(&logits);
            let want = [want.logprob(logits[target as usize]), want.entropy, want.log_normalizer];
            assert_eq!(
                read.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
                want.map(f32::to_bits)
            );
        }
    }
}

/// One value at a time, so that none hides behind another.
#[test]
fn each_readout_value_has_its_own_gradient() {
    for map in maps() {
        for value in 0..3 {
            check_agreement(
                |i| logprobs(i, map)?.narrow(1, value, 1)?.contiguous(),
                |i| composed(i, map)?.narrow(1, value, 1)?.contiguous(),
                &inputs(),
                1e-5,
            );
        }
    }
}

#[test]
fn large_vocabulary_gradients_equal_the_composed_graph() {
    let (v, d) = (2_100, 5);
    let targets = [1_023, 1_024, 2_099];
    let inputs = [random(1, (3, d)), matrix(2, v, d).tensor().clone()];
    let wrap = |p: &Tensor| Matrix::from_panels(p.clone(), v, d).expect("panels");
    check_agreement(
        |i| candle_error(token_logprobs(&i[0], &wrap(&i[1]), &targets, None)),
        |i| {
            let logits = i[0].matmul(&unpack_panels(&i[1], v)?.t()?)?;
            let normalizer = logits.exp()?.sum_keepdim(1)?.log()?;
            let log_p = logits.broadcast_sub(&normalizer)?;
            let entropy = (log_p.exp()? * &log_p)?.sum_keepdim(1)?.neg()?;
            let targets = Tensor::new(&targets, i[0].device())?.unsqueeze(1)?;
            Tensor::cat(&[log_p.gather(&targets, 1)?, entropy, normalizer], 1)
        },
        &inputs,
        1e-5,
    );
}

#[test]
fn label_logits_follow_differences_and_the_composed_graph() {
    for columns in [&[3_u32][..], &[36, 0, 17], &[5, 5, 20, 5]] {
        let op = |i: &[Tensor]| candle_error(label_logits(&i[0], &vocabulary(&i[1]), columns));
        let reference = |i: &[Tensor]| {
            let columns = Tensor::new(columns, i[0].device())?;
            i[0].matmul(&unpack_panels(&i[1], V)?.index_select(&columns, 0)?.t()?)
        };
        check_gradients(op, &inputs(), 1e-3);
        check_agreement(op, reference, &inputs(), 1e-5);
    }
}

#[test]
fn soft_cap_gradient_follows_differences() {
    let x = (random(1, (3, 5)) * 6.0).expect("scaled");
    check_gradients(|i| candle_error(softcap(&i[0], 2.5)), &[x], 1e-3);
}

#[test]
fn labels_and_targets_have_the_bits_of_the_full_product() {
    let [hidden, panels] = inputs();
    let vocabulary = vocabulary(&panels);
    let full = linear(&hidden, &Weight::Panels(vocabulary.clone()), None).expect("product");
    let columns = [36, 0, 15, 16, 0];
    let index = Tensor::new(&columns, hidden.device()).expect("columns");
    let want = full.index_select(&index, 1).expect("columns");
    let got = label_logits(&hidden, &vocabulary, &columns).expect("labels");
    same_bits("labels", &got, &want);
    for cap in CAPS {
        let reads = token_logprobs(&hidden, &vocabulary, &TARGETS, cap).expect("reads");
        let reads = reads.to_vec2::<f32>().expect("2-D");
        let full = cap.map_or(full.clone(), |cap| softcap(&full, cap).expect("caps"));
        let full = full.to_vec2::<f32>().expect("2-D");
        for ((read, logits), target) in reads.iter().zip(&full).zip(TARGETS) {
            let want = logits[target as usize] - read[2];
            assert!((read[0] - want).abs() <= 1e-6 * read[2].abs().max(1.0), "{read:?}");
        }
    }
}

#[test]
fn readout_bits_are_independent_of_other_rows() {
    let (v, d, r) = (1_100, 24, 64);
    let hidden = random(1, (r, d));
    let targets: Vec<u32> = (0..64).map(|i| i * 17).collect();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let vocabulary = matrix(2, v, d).to_dtype(dtype).expect("storage");
        for cap in CAPS {
            let all = token_logprobs(&hidden, &vocabulary, &targets, cap).expect("reads");
            for (size, from) in [(1, 0), (1, 63), (3, 20), (8, 40)] {
                let rows = hidden.narrow(0, from, size).expect("rows");
                let got = token_logprobs(&rows, &vocabulary, &targets[from..from + size], cap);
                same_bits("rows", &got.expect("reads"), &all.narrow(0, from, size).expect("rows"));
            }
        }
    }
}

#[test]
fn variable_vocabulary_gives_the_bits_of_a_frozen_one() {
    let [hidden, panels] = inputs();
    let frozen = vocabulary(&panels);
    let (tracked, _var) = frozen.to_var().expect("a copy");
    for cap in CAPS {
        let run = |m: &Matrix| token_logprobs(&hidden, m, &TARGETS, cap).expect("reads");
        same_bits("log-probabilities", &run(&tracked), &run(&frozen));
    }
    let run = |m: &Matrix| label_logits(&hidden, m, &TARGETS).expect("labels");
    same_bits("labels", &run(&tracked), &run(&frozen));
}

#[test]
fn misfits_are_refused() {
    let [hidden, panels] = inputs();
    let vocabulary = vocabulary(&panels);
    let refuse = |result: crate::Result<Tensor>, want: &str| {
        let error = result.expect_err(want).to_string();
        assert!(error.contains(want), "{error}");
    };
    refuse(label_logits(&hidden, &vocabulary, &[37]), "token 37");
    refuse(token_logprobs(&hidden, &vocabulary, &[0, 1, 2, 37], None), "token 37");
    refuse(token_logprobs(&hidden, &vocabulary, &[0], None), "[1, 6]");
    refuse(label_logits(&random(1, (2, 5)), &vocabulary, &[0]), "[R, 6]");
    let half = vocabulary.to_dtype(DType::F16).and_then(|m| m.to_var());
    refuse(label_logits(&hidden, &half.expect("a copy").0, &[0]), "f32");
}
