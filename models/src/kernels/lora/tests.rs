//! Updates within a product against updates after it.

use half::bf16;
use proptest::prelude::*;

use super::{Input, RoundedSegment, Segment, add, rounded_updates_by, updates};
use crate::kernels::bf16_dot;
use crate::kernels::bf16_pairs::Bf16Matrix;
use crate::kernels::gemm::{self, Addends};
use crate::kernels::int8::{self, Int8Matrix};
use crate::kernels::panels::{PanelData, Panels, pack};
use crate::kernels::simd::{Isa, plain_dot};
use crate::random::named_numbers;

/// Output and input columns: no multiple of a tile.
const N: usize = 75;
const K: usize = 131;

fn bits(all: &[f32]) -> Vec<u32> {
    all.iter().map(|x| x.to_bits()).collect()
}

/// Two factors in f32 panels.
struct FactorPanels {
    a: Vec<f32>,
    b: Vec<f32>,
    rank: usize,
}

impl FactorPanels {
    fn new(seed: u64, rank: usize) -> FactorPanels {
        let (a, b) =
            (named_numbers(seed, "a", rank * K, 1.0), named_numbers(seed, "b", N * rank, 1.0));
        FactorPanels { a: pack(&a, rank, K), b: pack(&b, N, rank), rank }
    }

    fn segment(&self, rows: std::ops::Range<usize>, scale: f32) -> Segment<'_> {
        Segment {
            rows,
            a: Panels { data: PanelData::F32(&self.a), n: self.rank, k: K },
            b: Panels { data: PanelData::F32(&self.b), n: N, k: self.rank },
            scale,
        }
    }
}

/// A product over `x` with these addends, by the instructions of its own choice.
type NamedProduct<'a> = (String, Box<dyn Fn(&[f32], Addends<'_>) -> Vec<Vec<f32>> + 'a>);

/// Products of every kind on every instruction set.
fn products<'a>(
    panels: &'a [f32],
    pairs: &'a Bf16Matrix,
    int8: &'a Int8Matrix,
) -> Vec<NamedProduct<'a>> {
    let mut all: Vec<NamedProduct<'a>> = Vec::new();
    for isa in Isa::available() {
        let name = |kind: &str| format!("{kind} by {}", isa.name());
        all.push((
            name("f32"),
            Box::new(move |x, addends| {
                let mut out = vec![f32::NAN; x.len() / K * N];
                let weight = Panels { data: PanelData::F32(panels), n: N, k: K };
                gemm::matmul_by(isa, x, weight, addends, &mut out);
                vec![out]
            }),
        ));
        all.push((
            name("bf16"),
            Box::new(move |x, addends| {
                let mut out = vec![f32::NAN; x.len() / K * N];
                bf16_dot::product(isa, x, pairs, addends, &mut out);
                vec![out]
            }),
        ));
    }
    all.push((
        "int8".to_owned(),
        Box::new(move |x, addends| {
            let by = int8::by_instructions(x, int8, addends, x.len() / K * N);
            by.into_iter().map(|(_, out)| out).collect()
        }),
    ));
    all
}

/// Checks that updates within a product have the bits of the product, then [`add`].
fn check(x: &[f32], segments: &[Segment<'_>]) {
    let weight = named_numbers(1, "weight", N * K, 1.0);
    let bias = named_numbers(1, "bias", N, 1.0);
    let halves: Vec<bf16> = weight.iter().copied().map(bf16::from_f32).collect();
    let panels = pack(&weight, N, K);
    let pairs = Bf16Matrix::pack(&halves, N, K).expect("as many numbers as it needs");
    let int8 = Int8Matrix::quantise(&weight, N, K).expect("finite");
    let rows: Vec<_> = segments.iter().map(|segment| segment.rows.clone()).collect();
    for (name, product) in products(&panels, &pairs, &int8) {
        let bias = Some(&*bias);
        let mut after = product(x, Addends::bias(bias));
        for out in &mut after {
            add(Input::Rows(x), segments, out);
        }
        let within = product(x, Addends { bias, updates: &updates(Input::Rows(x), segments) });
        for (within, after) in within.iter().zip(&after) {
            assert_eq!(bits(within), bits(after), "{name}, {rows:?}");
        }
    }
}

#[test]
fn updates_within_a_product_have_the_bits_of_updates_after_it() {
    let [one, two, wide] =
        [FactorPanels::new(2, 3), FactorPanels::new(3, 16), FactorPanels::new(4, 40)];
    for rows in [1, 5, 13, 100, 530] {
        let x = named_numbers(0, "x", rows * K, 1.0);
        let third = rows.div_ceil(3);
        check(&x, &[]);
        check(&x, &[two.segment(0..rows, 0.5)]);
        check(&x, &[one.segment(0..third, 2.0), wide.segment(third..rows, -0.25)]);
        check(&x, &[two.segment(third.min(rows - 1)..rows, 1.0)]);
        let each = (0..rows).map(|row| [&one, &two][row % 2].segment(row..row + 1, 0.5));
        check(&x, &each.collect::<Vec<_>>());
    }
}

#[test]
fn updates_of_numbers_at_the_edges_have_the_bits_of_updates_after_the_product() {
    let mut factors = FactorPanels::new(2, 16);
    let edges =
        [0.0, -0.0, 1e-45, -1e-40, f32::MIN_POSITIVE, 1e38, f32::INFINITY, f32::NEG_INFINITY];
    for (at, edge) in edges.into_iter().enumerate() {
        factors.b[at * 37] = edge;
        factors.a[at * 41 + 3] = edge;
    }
    let mut x = named_numbers(0, "x", 20 * K, 1.0);
    for (at, edge) in edges.into_iter().enumerate() {
        x[at * K + at] = edge;
    }
    check(&x, &[factors.segment(0..8, 0.5), factors.segment(9..20, f32::MAX)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn updates_of_any_rows_have_the_bits_of_updates_after_the_product(
        rows in 1_usize..40, cuts in prop::collection::vec(0_usize..40, 0..8), ranks in prop::array::uniform2(1_usize..50),
    ) {
        let factors = [FactorPanels::new(5, ranks[0]), FactorPanels::new(6, ranks[1])];
        let mut bounds: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= rows).collect();
        bounds.sort_unstable();
        // Every third range is left out.
        let ranges = bounds.windows(2).enumerate().filter(|(at, range)| at % 3 < 2 && range[0] < range[1]);
        let segments: Vec<_> = ranges.map(|(at, range)| factors[at % 3].segment(range[0]..range[1], 0.5)).collect();
        check(&named_numbers(7, "x", rows * K, 1.0), &segments);
    }
}

/// Two factors of bf16, in row-major order and packed.
struct RoundedFactors {
    a: Vec<bf16>,
    b: Vec<bf16>,
    pairs: [Bf16Matrix; 2],
}

impl RoundedFactors {
    fn new(seed: u64, rank: usize, spread: f64) -> RoundedFactors {
        let numbers = |name, len| -> Vec<bf16> {
            named_numbers(seed, name, len, spread).into_iter().map(bf16::from_f32).collect()
        };
        let (a, b) = (numbers("a", rank * K), numbers("b", N * rank));
        let pack = |rows: &[bf16], n, k| Bf16Matrix::pack(rows, n, k).expect("complete");
        RoundedFactors { pairs: [pack(&a, rank, K), pack(&b, N, rank)], a, b }
    }

    fn segment(&self, rows: std::ops::Range<usize>, scale: f32) -> RoundedSegment<'_> {
        let [a, b] = &self.pairs;
        RoundedSegment { rows, a, b, scale }
    }

    /// What is added to a row of the output, before the scale.
    fn update(&self, x: &[f32]) -> Vec<f32> {
        let inner: Vec<f32> = self.a.chunks_exact(K).map(|a| chain(x, a)).collect();
        self.b.chunks_exact(inner.len()).map(|b| chain(&inner, b)).collect()
    }
}

/// The sum of a row of `x`, rounded, times a row of a matrix, by reference steps.
fn chain(x: &[f32], w: &[bf16]) -> f32 {
    let flushed = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    let x: Vec<u16> = x.iter().map(|x| bf16::from_f32(flushed(*x)).to_bits()).collect();
    let second = |pair: &[u16]| pair.get(1).copied().unwrap_or(0);
    x.chunks(2).zip(w.chunks(2)).fold(0.0, |sum, (x, w)| {
        let w: Vec<u16> = w.iter().map(|w| w.to_bits()).collect();
        plain_dot([x[0], second(x)], [w[0], second(&w)], sum)
    })
}

/// Checks that updates in bf16 are their chains after every product, on every instruction set.
fn check_rounded(x: &[f32], segments: &[(&RoundedFactors, std::ops::Range<usize>, f32)]) {
    let weight = named_numbers(1, "weight", N * K, 1.0);
    let halves: Vec<bf16> = weight.iter().copied().map(bf16::from_f32).collect();
    let panels = pack(&weight, N, K);
    let pairs = Bf16Matrix::pack(&halves, N, K).expect("as many numbers as it needs");
    let int8 = Int8Matrix::quantise(&weight, N, K).expect("finite");
    let rounded: Vec<_> = segments.iter().map(|(f, rows, s)| f.segment(rows.clone(), *s)).collect();
    let products = products(&panels, &pairs, &int8);
    for isa in Isa::available() {
        let updates = rounded_updates_by(isa, x, &rounded);
        for (name, product) in &products {
            let (plain, got) = (
                product(x, Addends::default()),
                product(x, Addends { bias: None, updates: &updates }),
            );
            for (mut want, got) in plain.into_iter().zip(&got) {
                for (factors, rows, scale) in segments {
                    for row in rows.clone() {
                        let update = factors.update(&x[row * K..][..K]);
                        for (want, sum) in want[row * N..].iter_mut().zip(update) {
                            *want = scale.mul_add(sum, *want);
                        }
                    }
                }
                let rows: Vec<_> = segments.iter().map(|(_, rows, _)| rows.clone()).collect();
                assert_eq!(bits(got), bits(&want), "{name} with {}, {rows:?}", isa.name());
            }
        }
    }
}

#[test]
fn rounded_updates_are_chains_of_pairs() {
    let [one, two, wide] =
        [(2, 3), (3, 16), (4, 70)].map(|(seed, r)| RoundedFactors::new(seed, r, 1.0));
    for rows in [1, 5, 13, 60] {
        let x = named_numbers(0, "x", rows * K, 1.0);
        let third = rows.div_ceil(3);
        check_rounded(&x, &[]);
        check_rounded(&x, &[(&two, 0..rows, 0.5)]);
        check_rounded(&x, &[(&one, 0..third, 2.0), (&wide, third..rows, -0.25)]);
    }
}

#[test]
fn small_numbers_of_rounded_updates_are_flushed() {
    // Products of the first factor, or of the second, are below the normal numbers.
    for spread in [1e-38, 1e-25, 1e-20] {
        let factors = RoundedFactors::new(2, 16, spread);
        let mut x = named_numbers(0, "x", 14 * K, spread);
        x[..6].copy_from_slice(&[1e-39, -1e-39, f32::MIN_POSITIVE, -0.0, 1.175e-38, 1e-45]);
        check_rounded(&x, &[(&factors, 0..9, 0.5), (&factors, 9..14, 1e10)]);
    }
}

#[test]
fn rounded_rows_have_the_same_bits_alone_and_beside_other_adapters() {
    let factors = [(2, 16), (3, 5)].map(|(seed, rank)| RoundedFactors::new(seed, rank, 1.0));
    let weight = named_numbers(1, "weight", N * K, 1.0);
    let int8 = Int8Matrix::quantise(&weight, N, K).expect("finite");
    let rows = 300;
    let x = named_numbers(0, "x", rows * K, 1.0);
    let run = |x: &[f32], segments: &[RoundedSegment<'_>]| {
        let updates = rounded_updates_by(Isa::best(), x, segments);
        let mut out = vec![f32::NAN; x.len() / K * N];
        int8::matmul_int8(x, &int8, Addends { bias: None, updates: &updates }, &mut out);
        bits(&out)
    };
    let ranges = [0..64, 64..65, 70..200, 200..300];
    let all: Vec<_> =
        ranges.iter().enumerate().map(|(at, r)| factors[at % 2].segment(r.clone(), 0.5)).collect();
    let together = run(&x, &all);
    for (at, range) in ranges.iter().enumerate() {
        for row in range.clone() {
            let alone = run(&x[row * K..][..K], &[factors[at % 2].segment(0..1, 0.5)]);
            assert_eq!(alone, together[row * N..][..N], "row {row}");
        }
    }
}
