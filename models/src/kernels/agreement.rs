//! Whether this machine's instruction sets agree: every kernel of a forward, on the same numbers,
//! by each of them.
//!
//! Tests check this on the machine that builds them; this module checks the machine that runs the
//! server.

use half::{bf16, f16};

use super::attention::{self, BlockLayout, Blocks, Geometry, KvLane, Queries};
use super::bf16_dot;
use super::bf16_pairs::Bf16Matrix;
use super::gated;
use super::gemm::{self, Addends, LowRank, SecondFactor};
use super::int8::{self, Int8Matrix};
use super::lora::{RoundedSegment, rounded_updates_by};
use super::norm::RmsNorm;
use super::rotary::{Rotary, RotaryTable, Turn};
use super::simd::Isa;
use crate::config::Activation;
use crate::kernels::panels::{PANEL, PanelData, Panels};
use crate::random::named_numbers;

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The instruction sets of this CPU, narrow to wide.
    pub isas: Vec<&'static str>,
    /// The kernels that were run.
    pub kernels: Vec<&'static str>,
    /// Pairs of a kernel and an instruction set whose bits differ from those of the narrowest.
    pub differing: Vec<(&'static str, &'static str)>,
}

/// A kernel over fixed numbers.
type FixedKernel = fn(Isa) -> Vec<f32>;

const KERNELS: [(&str, FixedKernel); 9] = [
    ("f32 product", |isa| product(isa, Storage::F32)),
    ("f16 product", |isa| product(isa, Storage::F16)),
    ("bf16 product", |isa| product(isa, Storage::Bf16)),
    ("bf16 dot product", bf16_dots),
    ("norm", norm),
    ("gated activation", activation),
    ("rotary", rotary),
    ("attention", attention::<f32>),
    ("bf16 attention", attention::<u32>),
];

/// Rows, output and input columns of the products: no multiple of a tile.
const ROWS: usize = 13;
const N: usize = 75;
const K: usize = 131;
/// The rank of the products' updates.
const RANK: usize = 5;

/// Runs every kernel with every instruction set of this CPU.
pub fn check() -> Agreement {
    let isas = Isa::available();
    let mut found = Agreement {
        isas: isas.iter().map(|isa| isa.name()).collect(),
        kernels: KERNELS.iter().map(|(name, _)| *name).collect(),
        differing: Vec::new(),
    };
    for (name, run) in KERNELS {
        let by = isas.iter().map(|isa| (isa.name(), run(*isa)));
        found.compare(name, &by.collect::<Vec<_>>());
    }
    found.kernels.push("int8 product");
    found.compare("int8 product", &int8_products());
    found
}

impl Agreement {
    fn compare(&mut self, kernel: &'static str, by: &[(&'static str, Vec<f32>)]) {
        let bits = |numbers: &[f32]| -> Vec<u32> { numbers.iter().map(|x| x.to_bits()).collect() };
        let plain = by.first().map(|(_, numbers)| bits(numbers));
        let other = |(isa, numbers): &(&'static str, Vec<f32>)| {
            (Some(bits(numbers)) != plain).then_some((kernel, *isa))
        };
        self.differing.extend(by.iter().filter_map(other));
    }
}

/// Storage of a product's weights.
#[derive(Clone, Copy)]
enum Storage {
    F32,
    F16,
    Bf16,
}

fn numbers(name: &str, len: usize) -> Vec<f32> {
    named_numbers(0, name, len, 1.0)
}

fn product(isa: Isa, storage: Storage) -> Vec<f32> {
    let weight = numbers("weight", N.div_ceil(PANEL) * PANEL * K);
    let halves: Vec<f16> = weight.iter().copied().map(f16::from_f32).collect();
    let brains: Vec<bf16> = weight.iter().copied().map(bf16::from_f32).collect();
    let data = match storage {
        Storage::F32 => PanelData::F32(&weight),
        Storage::F16 => PanelData::F16(&halves),
        Storage::Bf16 => PanelData::Bf16(&brains),
    };
    let mut out = vec![0.0; ROWS * N];
    let panels = Panels { data, n: N, k: K };
    let (b, inner) =
        (numbers("factor", N.div_ceil(PANEL) * PANEL * RANK), numbers("inner", ROWS * RANK));
    let b = SecondFactor::Panels(Panels { data: PanelData::F32(&b), n: N, k: RANK });
    let update = LowRank::new(isa, 0..ROWS, inner, b, 0.3);
    let addends = Addends { bias: None, updates: &[update] };
    gemm::matmul_by(isa, &numbers("x", ROWS * K), panels, addends, &mut out);
    out
}

fn bf16_dots(isa: Isa) -> Vec<f32> {
    let of = |name, n: usize, k: usize| {
        let numbers: Vec<bf16> = numbers(name, n * k).into_iter().map(bf16::from_f32).collect();
        Bf16Matrix::pack(&numbers, n, k).expect("as many numbers as it needs")
    };
    let (x, weight) = (numbers("x", ROWS * K), of("weight", N, K));
    let (a, b) = (of("inner", RANK, K), of("factor", N, RANK));
    let segment = RoundedSegment { rows: 0..ROWS, a: &a, b: &b, scale: 0.3 };
    let updates = rounded_updates_by(isa, &x, &[segment]);
    let mut out = vec![0.0; ROWS * N];
    let addends = Addends { bias: None, updates: &updates };
    bf16_dot::product(isa, &x, &weight, addends, &mut out);
    out
}

fn int8_products() -> Vec<(&'static str, Vec<f32>)> {
    let weight = Int8Matrix::quantise(&numbers("weight", N * K), N, K);
    let weight = weight.expect("rows are short and numbers finite");
    int8::by_instructions(&numbers("x", ROWS * K), &weight, Addends::default(), ROWS * N)
}

fn norm(isa: Isa) -> Vec<f32> {
    let mut out = vec![0.0; ROWS * K];
    let norm = RmsNorm { weight: &numbers("norm", K), eps: 1e-6, unit_offset: true };
    norm.forward(isa, &numbers("x", ROWS * K), &mut out);
    out
}

fn activation(isa: Isa) -> Vec<f32> {
    let (gate, up) = (numbers("gate", ROWS * K), numbers("up", ROWS * K));
    let mut all = Vec::new();
    for activation in [Activation::Silu, Activation::Gelu, Activation::GeluTanh] {
        let mut out = vec![0.0; ROWS * K];
        gated::forward(isa, activation, &gate, &up, &mut out);
        all.extend(out);
    }
    all
}

fn rotary(isa: Isa) -> Vec<f32> {
    let (heads, head_dim, half) = (3, 20, 9);
    let angles = numbers("angles", ROWS * half);
    let table = RotaryTable {
        cos: angles.iter().map(|x| x.cos()).collect(),
        sin: angles.iter().map(|x| x.sin()).collect(),
        half,
    };
    let mut out = vec![0.0; ROWS * heads * head_dim];
    let rotary = Rotary { table: &table, head_dim, turn: Turn::Forth };
    rotary.run(isa, &numbers("x", out.len()), &mut out);
    out
}

fn attention<T: KvLane>(isa: Isa) -> Vec<f32> {
    let geometry = Geometry {
        num_heads: 6,
        num_kv_heads: 2,
        head_dim: 36,
        scale: 0.3,
        softcap: Some(4.0),
        window: Some(90),
    };
    let cu_seqlens = [0, 1, 151, 222];
    let of = |name, heads: usize| numbers(name, 222 * heads * geometry.head_dim);
    let layout = BlockLayout::new(&cu_seqlens, geometry.num_kv_heads, 1, geometry.head_dim);
    let (q, k, v) = (of("q", 6), of("k", 2), of("v", 2));
    let (keys, values) = (layout.panels::<T>(&k), layout.rows(&v));
    let blocks = Blocks { keys: &keys, values: &values, table: &layout.table };
    let queries = Queries { q: &q, cu_seqlens_q: &cu_seqlens, cu_seqlens_k: &cu_seqlens };
    let mut out = vec![0.0; q.len()];
    attention::forward(isa, queries, blocks, geometry, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::{Agreement, KERNELS, check};
    use crate::kernels::simd::Isa;

    #[test]
    fn instruction_sets_of_this_machine_agree() {
        let found = check();
        assert_eq!(found.differing, []);
        assert_eq!(found.isas.len(), Isa::available().len());
        assert_eq!(found.kernels.len(), KERNELS.len() + 1);
        for (name, run) in KERNELS {
            let numbers = run(Isa::best());
            let says_something = numbers.iter().all(|x| x.is_finite() && *x != 0.0);
            assert!(says_something, "{name}");
        }
    }

    #[test]
    fn single_differing_bit_is_reported() {
        let mut found =
            Agreement { isas: vec!["a", "b", "c"], kernels: vec!["k"], differing: Vec::new() };
        let next = f32::from_bits(1.0_f32.to_bits() + 1);
        let by = [("a", vec![1.0]), ("b", vec![1.0]), ("c", vec![next])];
        found.compare("k", &by);
        found.compare("zero", &[("a", vec![0.0]), ("b", vec![-0.0])]);
        assert_eq!(found.differing, [("k", "c"), ("zero", "b")]);
    }
}
