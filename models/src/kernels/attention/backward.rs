//! The backward pass of packed attention; recomputes the scores.
//!
//! With `P` the softmax of the scores `S` and `D = Σ dO · O` by row (Dao et al., 2022):
//! `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP − D) ∘ S′`, `dQ = dS K`, `dK = dSᵀ Q`, where `S′` is
//! the slope of scale and cap. Sums go over positions in order, so a sequence's gradients do not
//! depend on the sequences packed beside it, nor on threads.

mod by_key;
mod by_query;
mod pass;

use rayon::prelude::*;

use super::geometry::Geometry;
use super::packed::{SequenceRun, runs};
use crate::kernels::kv_block::BLOCK;
use crate::kernels::simd::Isa;
use crate::kernels::threads::Shared;
use by_key::ByKey;
use by_query::ByQuery;
use pass::{Pass, Statistics};

pub use pass::Operands;

/// Gradients of queries, keys and values, in their shapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttentionGradients {
    /// `[Tq, heads, head_dim]`.
    pub q: Vec<f32>,
    /// `[Tk, kv_heads, head_dim]`.
    pub k: Vec<f32>,
    /// `[Tk, kv_heads, head_dim]`.
    pub v: Vec<f32>,
}

/// The gradients of packed attention.
pub fn backward(isa: Isa, operands: Operands<'_>, geometry: Geometry) -> AttentionGradients {
    let rows = operands.rows;
    let mut gradients = AttentionGradients {
        q: vec![0.0; rows.q.len()],
        k: vec![0.0; rows.k.len()],
        v: vec![0.0; rows.v.len()],
    };
    let runs = runs(rows.cu_seqlens_q, rows.cu_seqlens_k);
    let parts = RunGradients::of_runs(&runs, &mut gradients, geometry);
    let one = |(run, part): (&SequenceRun, RunGradients<'_>)| {
        let operands = Operands {
            rows: run.of(rows, geometry),
            out: run.of_queries(operands.out, geometry),
            grad: run.of_queries(operands.grad, geometry),
        };
        gradients_of_run(&Pass::new(isa, operands, geometry), part);
    };
    runs.par_iter().zip(parts).for_each(one);
    gradients
}

/// The gradients of a run of sequences.
struct RunGradients<'a> {
    q: &'a mut [f32],
    k: &'a mut [f32],
    v: &'a mut [f32],
}

impl<'a> RunGradients<'a> {
    fn of_runs(
        runs: &[SequenceRun],
        all: &'a mut AttentionGradients,
        geometry: Geometry,
    ) -> Vec<RunGradients<'a>> {
        let (mut q, mut k, mut v) = (&mut all.q[..], &mut all.k[..], &mut all.v[..]);
        let mut parts = Vec::with_capacity(runs.len());
        for run in runs {
            let of_queries = run.queries.len() * geometry.num_heads * geometry.head_dim;
            let own = run.keys.len() * geometry.num_kv_heads * geometry.head_dim;
            let part = RunGradients {
                q: q.split_off_mut(..of_queries).expect("rows of the run"),
                k: k.split_off_mut(..own).expect("rows of the run"),
                v: v.split_off_mut(..own).expect("rows of the run"),
            };
            parts.push(part);
        }
        parts
    }
}

/// Computes the gradients of a run of sequences.
fn gradients_of_run(pass: &Pass<'_>, to: RunGradients<'_>) {
    let g = pass.geometry;
    let (dim, zeros) = (g.head_dim, vec![0.0; pass.delta.len()]);
    let mut statistics = Statistics { max: zeros.clone(), inverse: zeros };
    let (max, inverse) = (&mut statistics.max, &mut statistics.inverse);
    let [max, inverse] = [max, inverse].map(|of| Shared::new(of, BLOCK));
    let grad_q = Shared::new(to.q, g.num_heads * dim);
    pass.each(&pass.queries, |tasks| {
        pass.isa.run(ByQuery { pass, tasks, max: &max, inverse: &inverse, grad_q: &grad_q });
    });
    let [grad_k, grad_v] = [to.k, to.v].map(|of| Shared::new(of, g.num_kv_heads * dim));
    pass.each(&pass.keys, |tasks| {
        pass.isa.run(ByKey {
            pass,
            tasks,
            statistics: &statistics,
            grad_k: &grad_k,
            grad_v: &grad_v,
        });
    });
}
