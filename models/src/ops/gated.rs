//! Gated activations (SwiGLU, GeGLU).

use candle_core::{CpuStorage, CustomOp2, Error, Layout, Shape, Tensor};

use super::storage::{Held, f32s};
use crate::config::Activation;
use crate::error::Result;
use crate::kernels::gated::{self, Operands};
use crate::kernels::simd::Isa;

struct Gated(Activation);

/// `act(gate) · up`, element by element: `[T, d], [T, d] -> [T, d]`. Gradients for both.
///
/// # Errors
/// Shapes that differ, or an operand that is not contiguous f32.
pub fn gated(gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
    Ok(gate.apply_op2(up, Gated(activation))?)
}

impl CustomOp2 for Gated {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        al: &Layout,
        b: &CpuStorage,
        bl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        if al.dims() != bl.dims() {
            return Err(Error::Msg(format!(
                "a gate of {:?} and a factor of {:?} differ in shape",
                al.dims(),
                bl.dims()
            )));
        }
        let (a, b) = (f32s(a, al)?, f32s(b, bl)?);
        let mut out = vec![0.0; a.len()];
        gated::forward(Isa::best(), self.0, a, b, &mut out);
        Ok((CpuStorage::F32(out), al.shape().clone()))
    }

    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> candle_core::Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let (gate_held, up_held, grad_held) = (Held::new(gate), Held::new(up), Held::new(&grad));
        let operands =
            Operands { gate: gate_held.f32s()?, up: up_held.f32s()?, grad: grad_held.f32s()? };
        let mut grad_gate = vec![0.0; operands.grad.len()];
        let mut grad_up = grad_gate.clone();
        gated::backward(Isa::best(), self.0, operands, &mut grad_gate, &mut grad_up);
        Ok((
            Some(Tensor::from_vec(grad_gate, gate.shape(), gate.device())?),
            Some(Tensor::from_vec(grad_up, up.shape(), up.device())?),
        ))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Tensor;

    use super::gated;
    use crate::config::Activation;
    use crate::gradcheck::{check_agreement, check_gradients, compare, random, values_of};
    use crate::kernels::gated::{Operands, backward, forward};
    use crate::kernels::simd::Isa;

    const ALL: [Activation; 3] = [Activation::Silu, Activation::Gelu, Activation::GeluTanh];

    fn composed(gate: &Tensor, activation: Activation) -> candle_core::Result<Tensor> {
        match activation {
            Activation::Silu => gate.silu(),
            Activation::Gelu => gate.gelu_erf(),
            Activation::GeluTanh => gate.gelu(),
        }
    }

    #[test]
    fn gradients_equal_composed_graph_and_differences() {
        for activation in ALL {
            let inputs = [(random(1, (3, 19)) * 4.0).unwrap(), random(2, (3, 19))];
            let op = |x: &[Tensor]| Ok(gated(&x[0], &x[1], activation).unwrap());
            check_gradients(op, &inputs, 1e-3);
            check_agreement(op, |x| composed(&x[0], activation)?.mul(&x[1]), &inputs, 1e-5);
        }
    }

    #[test]
    fn large_arguments_neither_overflow_nor_cancel() {
        let gate = [-1e30, -300.0, -90.0, -30.0, 30.0, 90.0, 300.0, 1e30];
        let ones = [1.0; 8];
        for activation in ALL {
            let (mut out, mut slope, mut value) = ([0.0; 8], [0.0; 8], [0.0; 8]);
            forward(Isa::best(), activation, &gate, &ones, &mut out);
            let operands = Operands { gate: &gate, up: &ones, grad: &ones };
            backward(Isa::best(), activation, operands, &mut slope, &mut value);
            assert_eq!(out.map(f32::to_bits), value.map(f32::to_bits));
            compare("value", &out, &gate.map(|x: f32| x.max(0.0)), 1e-6);
            compare("slope", &slope, &gate.map(|x| f32::from(x > 0.0)), 1e-6);
        }
    }

    #[test]
    fn bits_are_independent_of_place_and_machine() {
        let n = 50_000;
        let (gate, up) = (values_of(&random(1, n)), values_of(&random(2, n)));
        let run = |isa, activation, from: usize| {
            let operands = Operands { gate: &gate[from..], up: &up[from..], grad: &up[from..] };
            let mut outs = [(); 3].map(|()| vec![0.0; n - from]);
            let [value, grad_gate, grad_up] = &mut outs;
            forward(isa, activation, operands.gate, operands.up, value);
            backward(isa, activation, operands, grad_gate, grad_up);
            outs
        };
        for activation in ALL {
            let plain = run(Isa::available()[0], activation, 0);
            for isa in Isa::available() {
                assert_eq!(run(isa, activation, 0), plain, "{}", isa.name());
                let shifted = run(isa, activation, 49_001);
                for (shifted, whole) in shifted.iter().zip(&plain) {
                    assert_eq!(shifted[..], whole[49_001..], "{}", isa.name());
                }
            }
        }
    }

    #[test]
    fn differing_shapes_are_refused() {
        assert!(gated(&random(1, (2, 3)), &random(2, (3, 2)), Activation::Silu).is_err());
    }
}
