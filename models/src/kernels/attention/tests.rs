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
    packed(isa, rows, g, &mut out);
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
