//! Root-mean-square normalisation.

use candle_core::{CpuStorage, CustomOp2, Error, Layout, Shape, Tensor};

use super::storage::{Held, f32s};
use crate::error::Result;
use crate::kernels::norm;
use crate::kernels::simd::Isa;

#[derive(Clone, Copy)]
struct RmsNorm {
    eps: f32,
    unit_offset: bool,
}

/// `x [.., d]`, `weight [d] -> [.., d]`: each row of `d` divided by its root mean square and
/// multiplied by the weight (by `1 + weight` with `unit_offset`). Gradients for both.
///
/// # Errors
/// A row that is not as long as the weight, or an operand that is not contiguous f32.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32, unit_offset: bool) -> Result<Tensor> {
    Ok(x.apply_op2(weight, RmsNorm { eps, unit_offset })?)
}

impl RmsNorm {
    fn over(self, weight: &[f32]) -> norm::RmsNorm<'_> {
        norm::RmsNorm { weight, eps: self.eps, unit_offset: self.unit_offset }
    }
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        if wl.dims().is_empty() || xl.dims().last() != wl.dims().first() || wl.dims()[0] == 0 {
            return Err(Error::Msg(format!(
                "rows of {:?} do not have the width of the norm's weight {:?}",
                xl.dims(),
                wl.dims()
            )));
        }
        let (x, w) = (f32s(x, xl)?, f32s(w, wl)?);
        let mut out = vec![0.0; x.len()];
        self.over(w).forward(Isa::best(), x, &mut out);
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        w: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> candle_core::Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let (x_held, w_held, grad_held) = (Held::new(x), Held::new(w), Held::new(&grad));
        let (x_data, grad_data) = (x_held.f32s()?, grad_held.f32s()?);
        let norm = self.over(w_held.f32s()?);
        let run = |like: &Tensor, fill: &dyn Fn(&mut [f32])| -> candle_core::Result<_> {
            if !like.track_op() {
                return Ok(None);
            }
            let mut out = vec![0.0; like.elem_count()];
            fill(&mut out);
            Tensor::from_vec(out, like.shape(), like.device()).map(Some)
        };
        let isa = Isa::best();
        Ok((
            run(x, &|out| norm.grad_input(isa, x_data, grad_data, out))?,
            run(w, &|out| norm.grad_weight(isa, x_data, grad_data, out))?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Tensor, Var};
    use candle_nn::ops::rms_norm_slow;

    use super::rms_norm;
    use crate::gradcheck::{check_agreement, check_gradients, random};
    use crate::kernels::norm::RmsNorm;
    use crate::kernels::simd::Isa;

    const EPS: f32 = 1e-6;

    #[test]
    fn gradients_equal_composed_graph_and_differences() {
        for (rows, d, unit_offset) in [(1, 2, false), (3, 8, true), (70, 17, false), (2, 40, true)]
        {
            let inputs = [random(1, (rows, d)), random(2, d)];
            let op = |x: &[Tensor]| Ok(rms_norm(&x[0], &x[1], EPS, unit_offset).unwrap());
            let composed = |x: &[Tensor]| {
                let weight = (&x[1] + f64::from(u8::from(unit_offset)))?;
                rms_norm_slow(&x[0], &weight, EPS)
            };
            check_agreement(op, composed, &inputs, 3e-5);
            check_gradients(op, &inputs, 2e-3);
        }
    }

    #[test]
    fn row_bits_are_independent_of_batch_and_machine() {
        let (rows, d) = (1500, 50);
        let (x, w) = (random(3, (rows, d)), random(4, d));
        let all = rms_norm(&x, &w, EPS, false).unwrap();
        for row in [0, 1, 700, rows - 1] {
            let alone = x.narrow(0, row, 1).unwrap();
            let alone = rms_norm(&alone, &w, EPS, false).unwrap();
            let bits = |t: &Tensor| crate::gradcheck::values_of(t);
            assert_eq!(bits(&alone), bits(&all.narrow(0, row, 1).unwrap()));
        }
        let (x, w) = (crate::gradcheck::values_of(&x), crate::gradcheck::values_of(&w));
        let norm = RmsNorm { weight: &w, eps: EPS, unit_offset: true };
        let run = |isa| {
            let mut outs = [vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; d]];
            norm.forward(isa, &x, &mut outs[0]);
            norm.grad_input(isa, &x, &x, &mut outs[1]);
            norm.grad_weight(isa, &x, &x, &mut outs[2]);
            outs
        };
        for isa in Isa::available() {
            assert_eq!(run(isa), run(Isa::available()[0]), "{}", isa.name());
        }
    }

    #[test]
    fn frozen_norm_weight_gets_no_gradient() {
        let x = Var::from_tensor(&random(1, (4, 8))).unwrap();
        let w = random(2, 8);
        let y = rms_norm(&x, &w, EPS, false).unwrap();
        let grads = y.sum_all().unwrap().backward().unwrap();
        assert!(grads.get(&x).is_some());
        assert!(grads.get(&w).is_none());
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        for (x, w) in [((2, 8), 7), ((2, 8), 16), ((2, 0), 0)] {
            let norm = rms_norm(&random(1, x), &random(2, w), EPS, false);
            assert!(norm.is_err(), "{x:?} by {w}");
        }
    }
}
