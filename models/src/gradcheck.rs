//! Checks of an operation's backward: against finite differences, and against the same formula
//! composed of candle's own operations.
//!
//! An operation is a closure from tensors to one tensor of any shape. Its gradient is taken through
//! a fixed random projection `Σ r · y`, so that every output element counts with a weight of its
//! own. The operations are f32 only: the projection is summed in f64 outside of them, and the
//! differences are of fourth order, so that a step large enough to drown rounding (`h = 1/64`)
//! still leaves a truncation error of about `h⁴`.

use base::seeded::split_mix;
use candle_core::{Device, Result, Shape, Tensor, Var};

/// Step of the differences; a power of two, so that `x ± h` rounds little.
const STEP: f32 = 1.0 / 64.0;

/// Uniform numbers in [−1, 1) that depend on the seed and the index only.
pub(crate) fn random(seed: u64, shape: impl Into<Shape>) -> Tensor {
    let shape = shape.into();
    let numbers: Vec<f32> = (0..shape.elem_count() as u64).map(|i| uniform(seed, i)).collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).expect("the shape counts the numbers")
}

/// Compares candle's backward of `op` with finite differences, input by input.
///
/// The difference may be at most `tolerance` times the largest gradient of that input (and at
/// least of 1e-3): about 1e-3 is usual for smooth operations in f32.
pub(crate) fn check_gradients(
    op: impl Fn(&[Tensor]) -> Result<Tensor>,
    inputs: &[Tensor],
    tolerance: f32,
) {
    let (_, gradients) = value_and_gradients(&op, inputs);
    for (index, gradient) in gradients.iter().enumerate() {
        let numeric = differences(&op, inputs, index);
        compare(
            &format!("input {index}: backward against differences"),
            &values_of(gradient),
            &numeric,
            tolerance,
        );
    }
}

/// Compares the value and every gradient of `op` with those of `reference`, both recorded by
/// candle. `tolerance` is relative to the largest number of each comparison.
pub(crate) fn check_agreement(
    op: impl Fn(&[Tensor]) -> Result<Tensor>,
    reference: impl Fn(&[Tensor]) -> Result<Tensor>,
    inputs: &[Tensor],
    tolerance: f32,
) {
    let (value, gradients) = value_and_gradients(&op, inputs);
    let (want, want_gradients) = value_and_gradients(&reference, inputs);
    assert_eq!(value.dims(), want.dims(), "shape of the value");
    compare("value", &values_of(&value), &values_of(&want), tolerance);
    for (index, (got, want)) in gradients.iter().zip(&want_gradients).enumerate() {
        let what = format!("gradient of input {index}");
        compare(&what, &values_of(got), &values_of(want), tolerance);
    }
}

/// The value of `op` and the gradient of its projection for every input.
///
/// # Panics
/// Where an input got no gradient, or one of another shape.
pub(crate) fn value_and_gradients(
    op: impl Fn(&[Tensor]) -> Result<Tensor>,
    inputs: &[Tensor],
) -> (Tensor, Vec<Tensor>) {
    let vars: Vec<Var> =
        inputs.iter().map(|x| Var::from_tensor(x).expect("a copy of the input")).collect();
    let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
    let value = op(&tensors).expect("the operation runs");
    let store = projection_of(&value)
        .and_then(|scalar| scalar.backward())
        .expect("the operation has a backward");
    let gradients = tensors
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let gradient = store.get(input).cloned();
            let gradient = gradient.unwrap_or_else(|| panic!("input {index} got no gradient"));
            assert_eq!(gradient.dims(), input.dims(), "gradient of input {index}");
            gradient
        })
        .collect();
    (value, gradients)
}

/// Asserts that two lists of numbers agree: the largest difference is at most `tolerance` times the
/// largest number expected (and at least of 1e-3). Prints the largest and the mean difference.
pub(crate) fn compare(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{what}: how many numbers");
    let scale = want.iter().fold(1e-3_f32, |s, x| s.max(x.abs()));
    let differences = || got.iter().zip(want).map(|(a, b)| (a - b).abs());
    // A NaN difference must not pass for a small one, so it counts as infinite.
    let finite = |d: f32| if d.is_nan() { f32::INFINITY } else { d };
    let (worst, max) = differences()
        .map(finite)
        .enumerate()
        .fold((0, 0.0), |m, (i, d)| if d > m.1 { (i, d) } else { m });
    let mean = differences().sum::<f32>() / got.len().max(1) as f32;
    assert!(
        max <= tolerance * scale,
        "{what}: max difference {max:e} at {worst} ({} for {}), mean {mean:e}, allowed {:e}",
        got[worst],
        want[worst],
        tolerance * scale,
    );
}

/// The numbers of an f32 tensor, row-major.
pub(crate) fn values_of(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("an f32 tensor")
}

/// The weights `r` of the projection of a value of this shape: its gradient.
pub(crate) fn projection_weights(shape: &[usize]) -> Tensor {
    random(PROJECTION, shape)
}

/// `Σ r · y` as a graph.
fn projection_of(value: &Tensor) -> Result<Tensor> {
    value.mul(&projection_weights(value.dims()))?.sum_all()
}

/// `Σ r · y` in f64, without a graph.
fn projection(value: &Tensor) -> f64 {
    let terms = values_of(value).into_iter().enumerate();
    terms.map(|(i, y)| f64::from(y) * f64::from(uniform(PROJECTION, i as u64))).sum()
}

#[expect(clippy::cast_possible_truncation, reason = "a gradient of f32 numbers is itself one")]
/// The fourth-order central difference of the projection for each element of one input.
fn differences(
    op: impl Fn(&[Tensor]) -> Result<Tensor>,
    inputs: &[Tensor],
    index: usize,
) -> Vec<f32> {
    let base = values_of(&inputs[index]);
    let at = |element: usize, step: f32| {
        let mut moved = base.clone();
        moved[element] += step;
        let mut inputs = inputs.to_vec();
        inputs[index] = Tensor::from_vec(moved, inputs[index].dims(), &Device::Cpu)
            .expect("the same shape as before");
        projection(&op(&inputs).expect("the operation runs"))
    };
    (0..base.len())
        .map(|i| {
            let near = at(i, STEP) - at(i, -STEP);
            let far = at(i, 2.0 * STEP) - at(i, -2.0 * STEP);
            ((8.0 * near - far) / (12.0 * f64::from(STEP))) as f32
        })
        .collect()
}

const PROJECTION: u64 = 0x7072_6f6a;

/// Uniform in [−1, 1), by `SplitMix64`.
fn uniform(seed: u64, index: u64) -> f32 {
    let x = split_mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
    (x >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
}

#[cfg(test)]
mod tests {
    use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

    use super::{check_agreement, check_gradients, random};

    /// `x³`, with a backward of `factor · x²`.
    struct Cube(f64);

    impl CustomOp1 for Cube {
        fn name(&self) -> &'static str {
            "cube"
        }

        fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
            let cubes = x.as_slice::<f32>()?.iter().map(|x| x * x * x).collect();
            Ok((CpuStorage::F32(cubes), layout.shape().clone()))
        }

        fn bwd(&self, x: &Tensor, _: &Tensor, g: &Tensor) -> Result<Option<Tensor>> {
            Ok(Some((x.sqr()?.mul(g)? * self.0)?))
        }
    }

    #[test]
    fn correct_backward_passes() {
        let inputs = [random(1, (3, 5)), random(2, (4, 5))];
        check_gradients(|x| x[0].matmul(&x[1].t()?)?.tanh(), &inputs, 1e-4);
        check_gradients(|x| x[0].apply_op1(Cube(3.0)), &inputs[..1], 1e-4);
        check_agreement(
            |x| x[0].apply_op1(Cube(3.0)),
            |x| x[0].sqr()?.mul(&x[0]),
            &inputs[..1],
            1e-6,
        );
    }

    #[test]
    #[should_panic(expected = "backward against differences")]
    fn wrong_factor_is_found_by_differences() {
        check_gradients(|x| x[0].apply_op1(Cube(3.01)), &[random(1, (3, 5))], 1e-3);
    }

    #[test]
    #[should_panic(expected = "gradient of input 0")]
    fn wrong_factor_is_found_by_the_reference() {
        check_agreement(
            |x| x[0].apply_op1(Cube(3.01)),
            |x| x[0].sqr()?.mul(&x[0]),
            &[random(1, (3, 5))],
            1e-3,
        );
    }

    #[test]
    #[should_panic(expected = "got no gradient")]
    fn cut_graph_is_found() {
        check_gradients(|x| x[0].detach().sqr(), &[random(1, 3)], 1e-3);
    }
}
