use std::sync::Arc;

use candle_core::{DType, Device, Tensor, Var};
use candle_nn::ops::softmax;
use half::bf16;
use proptest::prelude::*;

use super::{attend, attend_paged, copy_blocks, write_kv};
use crate::batch::Paging;
use crate::gradcheck::{check_agreement, check_gradients, random, value_and_gradients, values_of};
use crate::kernels::attention::{Geometry, KvType};
use crate::kernels::kv_block::BlockCopy;
use crate::kernels::kv_block::{BLOCK, BlockId};
use crate::kv::LayerKv;

fn geometry(heads: (usize, usize), head_dim: usize) -> Geometry {
    Geometry {
        num_heads: heads.0,
        num_kv_heads: heads.1,
        head_dim,
        scale: 1.0 / (head_dim as f32).sqrt(),
        softcap: None,
        window: None,
    }
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a small number")
}

fn cu_seqlens(lens: &[usize]) -> Arc<[u32]> {
    let mut ends = vec![0];
    for len in lens {
        ends.push(ends[ends.len() - 1] + as_u32(*len));
    }
    ends.into()
}

/// Queries, keys and values, large enough that the softmax is far from flat.
fn inputs(seed: u64, rows: usize, g: Geometry) -> [Tensor; 3] {
    let of = |seed, heads| (random(seed, (rows, heads, g.head_dim)) * 2.0).unwrap();
    [of(seed, g.num_heads), of(seed + 1, g.num_kv_heads), of(seed + 2, g.num_kv_heads)]
}

/// One sequence by candle's own operations, `[n, heads, dim]`.
fn composed_one(x: &[Tensor], g: Geometry) -> candle_core::Result<Tensor> {
    let n = x[0].dim(0)?;
    let group = g.num_heads / g.num_kv_heads;
    let spread = |x: &Tensor| {
        let x = x.unsqueeze(2)?.broadcast_as((n, g.num_kv_heads, group, g.head_dim))?;
        x.reshape((n, g.num_heads, g.head_dim))?.transpose(0, 1)?.contiguous()
    };
    let q = x[0].transpose(0, 1)?.contiguous()?;
    let scores = (q.matmul(&spread(&x[1])?.t()?.contiguous()?)? * f64::from(g.scale))?;
    let scores = match g.softcap {
        None => scores,
        Some(cap) => ((scores / f64::from(cap))?.tanh()? * f64::from(cap))?,
    };
    let sees = |i: usize, j: usize| j <= i && g.window.is_none_or(|w| j + w > i);
    let mask: Vec<f32> =
        (0..n * n).map(|at| if sees(at / n, at % n) { 0.0 } else { f32::NEG_INFINITY }).collect();
    let mask = Tensor::from_vec(mask, (n, n), &Device::Cpu)?;
    let weights = softmax(&scores.broadcast_add(&mask)?, 2)?;
    weights.matmul(&spread(&x[2])?)?.transpose(0, 1)?.contiguous()
}

fn composed(x: &[Tensor], lens: &[usize], g: Geometry) -> candle_core::Result<Tensor> {
    let mut at = 0;
    let mut outs = Vec::new();
    for len in lens {
        let of_one: Vec<Tensor> =
            x.iter().map(|x| x.narrow(0, at, *len)).collect::<Result<_, _>>()?;
        outs.push(composed_one(&of_one, g)?);
        at += len;
    }
    Tensor::cat(&outs, 0)
}

fn run(x: &[Tensor], lens: &[usize], g: Geometry) -> Tensor {
    run_as(x, lens, (g, KvType::F32))
}

fn run_as(x: &[Tensor], lens: &[usize], of: (Geometry, KvType)) -> Tensor {
    let spans = cu_seqlens(lens);
    attend(&x[0], &x[1], &x[2], (&spans, &spans), of).unwrap()
}

/// Every case in both types of keys and values.
fn typed_cases() -> Vec<(Vec<usize>, Geometry, KvType)> {
    let both = |(lens, g): (Vec<usize>, Geometry)| {
        [KvType::F32, KvType::Bf16].map(|kv_type| (lens.clone(), g, kv_type))
    };
    cases().into_iter().flat_map(both).collect()
}

/// Shapes with every edge: partial blocks, tiles and vectors; one to eight heads a group.
fn cases() -> Vec<(Vec<usize>, Geometry)> {
    let mut cases = Vec::new();
    for (lens, heads, head_dim) in [
        (vec![1], (1, 1), 8),
        (vec![1, 2, 1], (2, 2), 16),
        (vec![5, 19], (4, 2), 20),
        (vec![70], (7, 1), 16),
        (vec![16, 64, 3], (2, 1), 8),
        (vec![130, 9], (6, 2), 24),
        (vec![67], (1, 1), 96),
        (vec![40], (9, 1), 256),
    ] {
        for (window, softcap) in [
            (None, None),
            (Some(1), None),
            (Some(7), Some(3.0)),
            (Some(65), None),
            (None, Some(1.5)),
        ] {
            let plain = geometry(heads, head_dim);
            cases.push((lens.clone(), Geometry { softcap, window, ..plain }));
        }
    }
    cases
}

#[test]
fn values_and_gradients_equal_the_composed_graph() {
    for (lens, g) in cases() {
        let inputs = inputs(1, lens.iter().sum(), g);
        check_agreement(|x| Ok(run(x, &lens, g)), |x| composed(x, &lens, g), &inputs, 2e-5);
    }
}

#[test]
fn gradients_equal_finite_differences() {
    for (lens, heads, window, softcap) in [
        (vec![3, 5], (2, 1), None, None),
        (vec![6], (2, 2), Some(2), Some(2.0)),
        (vec![18], (1, 1), Some(17), None),
    ] {
        let g = Geometry { softcap, window, ..geometry(heads, 8) };
        let inputs = inputs(9, lens.iter().sum(), g);
        check_gradients(|x| Ok(run(x, &lens, g)), &inputs, 2e-3);
    }
}

#[test]
fn value_and_gradients_are_independent_of_neighbours() {
    let g = Geometry { window: Some(50), softcap: Some(5.0), ..geometry((6, 2), 20) };
    let own = 75;
    let alone = value_and_gradients(|x| Ok(run(x, &[own], g)), &inputs(4, own, g));
    // The projection that makes a scalar weighs an element by its index, so the sequence comes
    // first and its neighbours change.
    for lens in [vec![own, 1], vec![own, 33, 64], vec![own, 200]] {
        let rest = inputs(40, lens[1..].iter().sum(), g);
        let both: Vec<Tensor> = inputs(4, own, g)
            .iter()
            .zip(&rest)
            .map(|(a, b)| Tensor::cat(&[a, b], 0).unwrap())
            .collect();
        let (value, gradients) = value_and_gradients(|x| Ok(run(x, &lens, g)), &both);
        let first = |t: &Tensor| bits(&t.narrow(0, 0, own).unwrap());
        assert_eq!(first(&value), bits(&alone.0), "value beside {lens:?}");
        for (got, want) in gradients.iter().zip(&alone.1) {
            assert_eq!(first(got), bits(want), "gradient beside {lens:?}");
        }
    }
}

/// Queries at the last positions only: values and gradients are those of a loss that ignores the
/// other positions.
#[test]
fn queries_may_be_the_last_positions_only() {
    for (lens, g) in cases() {
        let [q, k, v] = inputs(3, lens.iter().sum(), g);
        let spans = cu_seqlens(&lens);
        for unasked in [0, 1, 5] {
            let requested: Vec<usize> =
                lens.iter().map(|len| len.saturating_sub(unasked)).collect();
            let rows = spans.windows(2).zip(&requested);
            let rows = rows.flat_map(|(ends, n)| ends[1] - as_u32(*n)..ends[1]);
            let rows: Vec<u32> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let rows = Tensor::new(rows, &Device::Cpu).unwrap();
            let whole = |x: &[Tensor]| run(x, &lens, g).index_select(&rows, 0);
            let few = |x: &[Tensor]| {
                let q = x[0].index_select(&rows, 0)?;
                Ok(attend(&q, &x[1], &x[2], (&cu_seqlens(&requested), &spans), (g, KvType::F32))
                    .unwrap())
            };
            let of = [q.clone(), k.clone(), v.clone()];
            let (want, gradients) = value_and_gradients(whole, &of);
            let (got, found) = value_and_gradients(few, &of);
            assert_eq!(bits(&got), bits(&want), "{lens:?} {unasked} {g:?}");
            for (found, want) in found.iter().zip(&gradients) {
                // A gradient of 0 may have either sign.
                assert_eq!(values_of(found), values_of(want), "{lens:?} {unasked} {g:?}");
            }
        }
    }
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    values_of(tensor).into_iter().map(f32::to_bits).collect()
}

/// Rows `from..` of keys and values replaced by NaN and infinities.
fn poisoned(x: &Tensor, from: usize) -> Tensor {
    let (n, heads, dim) = x.dims3().unwrap();
    let poison = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let bad: Vec<f32> = (0..(n - from) * heads * dim).map(|i| poison[i % 3]).collect();
    let bad = Tensor::from_vec(bad, (n - from, heads, dim), &Device::Cpu).unwrap();
    Tensor::cat(&[&x.narrow(0, 0, from).unwrap(), &bad], 0).unwrap()
}

#[test]
fn later_positions_do_not_affect_earlier_ones() {
    for (lens, g, kv_type) in typed_cases() {
        let n = lens[0];
        let [q, k, v] = inputs(6, n, g);
        let whole = bits(&run_as(&[q.clone(), k.clone(), v.clone()], &[n], (g, kv_type)));
        let row = g.num_heads * g.head_dim;
        for from in [1, n / 2, n - 1] {
            let (k, v) = (poisoned(&k, from), poisoned(&v, from));
            let got = bits(&run_as(&[q.clone(), k, v], &[n], (g, kv_type)));
            assert_eq!(got[..from * row], whole[..from * row], "{g:?} {kv_type:?}, from {from}");
        }
        if let Some(window) = g.window {
            // The same for keys before the window: the last row sees `window` keys.
            let gone = n.saturating_sub(window);
            let tail = |x: &Tensor| x.narrow(0, gone, n - gone).unwrap();
            let bad = |x: &Tensor| {
                let lost = poisoned(&x.narrow(0, 0, gone.max(1)).unwrap(), 0);
                Tensor::cat(&[&lost.narrow(0, 0, gone).unwrap(), &tail(x)], 0).unwrap()
            };
            if gone > 0 {
                let got = bits(&run_as(&[q.clone(), bad(&k), bad(&v)], &[n], (g, kv_type)));
                assert_eq!(
                    got[(n - 1) * row..],
                    whole[(n - 1) * row..],
                    "{g:?} {kv_type:?}, window"
                );
            }
        }
    }
}

/// A sequence that is written into blocks step by step.
struct Stream {
    first_row: usize,
    len: usize,
    done: usize,
    blocks: Vec<BlockId>,
}

/// A cache of NaN, and blocks of it for each sequence in an order that the seed shuffles.
fn streams(lens: &[usize], of: (Geometry, KvType), seed: u64) -> (LayerKv, Vec<Stream>) {
    streams_over(f32::NAN, lens, of, seed)
}

/// A cache of this one number, and blocks of it for each sequence in an order that the seed
/// shuffles.
fn streams_over(
    garbage: f32,
    lens: &[usize],
    (g, kv_type): (Geometry, KvType),
    seed: u64,
) -> (LayerKv, Vec<Stream>) {
    let n_blocks: usize = lens.iter().map(|len| len.div_ceil(BLOCK) + 1).sum();
    let pool = |lanes| {
        let shape = (n_blocks, g.num_kv_heads, lanes);
        let pair = u32::from(bf16::from_f32(garbage).to_bits()) * 0x1_0001;
        match kv_type {
            KvType::F32 => Tensor::full(garbage, shape, &Device::Cpu).unwrap(),
            KvType::Bf16 => Tensor::full(pair, shape, &Device::Cpu).unwrap(),
        }
    };
    let [keys, values] = kv_type.lanes(g.head_dim).map(pool);
    let kv = LayerKv { keys, values };
    let order = values_of(&random(seed, n_blocks));
    let mut ids: Vec<u32> = (0..as_u32(n_blocks)).collect();
    ids.sort_by(|a, b| order[*a as usize].total_cmp(&order[*b as usize]));
    let mut first_row = 0;
    let streams = lens.iter().map(|len| {
        let blocks = ids.split_off(ids.len() - len.div_ceil(BLOCK));
        first_row += len;
        Stream {
            first_row: first_row - len,
            len: *len,
            done: 0,
            blocks: blocks.into_iter().map(BlockId).collect(),
        }
    });
    (kv, streams.collect())
}

/// Runs `take[i]` more rows of each stream over the cache; gives each row's index and its result.
fn paged_step(
    x: &[Tensor; 3],
    kv: &LayerKv,
    streams: &mut [Stream],
    take: &[usize],
    g: Geometry,
) -> Vec<(usize, Vec<u32>)> {
    let (mut rows, mut paging) = (Vec::new(), Paging::default());
    let (mut cu_q, mut cu_k) = (vec![0], vec![0]);
    for (stream, take) in streams.iter_mut().zip(take) {
        let end = stream.len.min(stream.done + take);
        if end == stream.done {
            continue;
        }
        for position in stream.done..end {
            rows.push(as_u32(stream.first_row + position));
            let block = stream.blocks[position / BLOCK].0 as usize;
            paging.slot_mapping.push(as_u32(block * BLOCK + position % BLOCK));
        }
        paging.block_table.push(stream.blocks.clone());
        cu_q.push(as_u32(rows.len()));
        cu_k.push(cu_k[cu_k.len() - 1] + as_u32(end));
        stream.done = end;
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let index = Tensor::new(rows.as_slice(), &Device::Cpu).unwrap();
    let [q, k, v] = x.each_ref().map(|x| x.index_select(&index, 0).unwrap());
    write_kv(kv, &k, &v, &paging.slot_mapping).unwrap();
    let out = attend_paged(&q, kv, (&cu_q, &cu_k), &paging, g).unwrap();
    let width = g.num_heads * g.head_dim;
    let out = bits(&out);
    let out = out.chunks_exact(width).map(<[u32]>::to_vec);
    rows.iter().map(|row| *row as usize).zip(out).collect()
}

/// Keys and values of which all rows but the first `own` are this number.
fn garbage_after(own: usize, x: &[Tensor; 3], garbage: f32) -> [Tensor; 3] {
    let spoil = |x: &Tensor| {
        let (n, heads, dim) = x.dims3().unwrap();
        let rest = Tensor::full(garbage, (n - own, heads, dim), &Device::Cpu).unwrap();
        Tensor::cat(&[&x.narrow(0, 0, own).unwrap(), &rest], 0).unwrap()
    };
    [x[0].clone(), spoil(&x[1]), spoil(&x[2])]
}

/// Blocks are reused without being cleared, and the last of a sequence is partly filled. Old
/// content, and the blocks of other sequences, are not even multiplied by zero.
#[test]
fn other_content_of_blocks_changes_no_bit() {
    for (lens, g, kv_type) in typed_cases() {
        let own = lens[0];
        let x = inputs(8, lens.iter().sum(), g);
        let alone = x.each_ref().map(|x| x.narrow(0, 0, own).unwrap());
        let (want, width) = (bits(&run_as(&alone, &[own], (g, kv_type))), g.num_heads * g.head_dim);
        for garbage in [0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let x = garbage_after(own, &x, garbage);
            let (kv, mut streams) = streams_over(garbage, &lens, (g, kv_type), 5);
            let mut seen = 0;
            // As in chunked prefill, then decoding, then the rest.
            for take in [own.div_ceil(2), 1, 1, usize::MAX / 2] {
                let takes = vec![take; lens.len()];
                for (row, got) in paged_step(&x, &kv, &mut streams, &takes, g) {
                    if row < own {
                        let want = &want[row * width..(row + 1) * width];
                        assert_eq!(
                            got, want,
                            "{garbage} beside row {row} of {lens:?}, {g:?} {kv_type:?}"
                        );
                        seen += 1;
                    }
                }
            }
            assert_eq!(seen, own);
        }
    }
}

#[test]
fn blocks_are_copied_completely_and_in_order() {
    let (n_blocks, heads, dim) = (4, 3, 5);
    // Pairs of source and destination; then the numbers of each block.
    for (pairs, want) in [
        (vec![], [0, 1, 2, 3]),
        (vec![(0, 3)], [0, 1, 2, 0]),
        (vec![(3, 0)], [3, 1, 2, 3]),
        (vec![(0, 1), (1, 2)], [0, 0, 0, 3]),
        (vec![(1, 2), (0, 1)], [0, 0, 1, 3]),
        (vec![(0, 1), (2, 1)], [0, 2, 2, 3]),
        (vec![(2, 2)], [0, 1, 2, 3]),
    ] {
        let pool = |seed| random(seed, (n_blocks, heads, dim * BLOCK));
        let kv = LayerKv { keys: pool(1), values: pool(2) };
        let before = [bits(&kv.keys), bits(&kv.values)];
        copy_blocks(&kv, &copies(&pairs)).unwrap();
        for (before, after) in before.iter().zip([bits(&kv.keys), bits(&kv.values)]) {
            let size = heads * dim * BLOCK;
            let want = want.map(|from| &before[from * size..(from + 1) * size]);
            assert_eq!(after, want.concat(), "{pairs:?}");
        }
    }
}

#[test]
fn copy_beyond_the_cache_is_refused() {
    let kv = LayerKv::new((2, 1, 8), KvType::Bf16).unwrap();
    for (pairs, block) in [
        (vec![(0, 2)], 2),
        (vec![(2, 0)], 2),
        (vec![(0, 1), (1, 0), (7, 1)], 7),
        (vec![(u32::MAX, 0)], u32::MAX),
    ] {
        let error = copy_blocks(&kv, &copies(&pairs)).unwrap_err().to_string();
        let place = format!("block {block} of a cache of 2");
        assert!(error.contains(&place), "{pairs:?}: {error}");
    }
}

fn copies(pairs: &[(u32, u32)]) -> Vec<BlockCopy> {
    let copy = |(from, to): &(u32, u32)| BlockCopy { from: BlockId(*from), to: BlockId(*to) };
    pairs.iter().map(copy).collect()
}

fn any_geometry() -> impl Strategy<Value = Geometry> {
    let heads = prop::sample::select(vec![(1, 1), (2, 1), (4, 2), (7, 1), (3, 3), (9, 1)]);
    let head_dim = prop::sample::select(vec![8, 16, 20, 33, 48]);
    let window = prop::sample::select(vec![None, None, Some(1), Some(5), Some(40), Some(64)]);
    let softcap = prop::sample::select(vec![None, None, Some(2.0)]);
    (heads, head_dim, window, softcap).prop_map(|(heads, head_dim, window, softcap)| Geometry {
        softcap,
        window,
        ..geometry(heads, head_dim)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that each row has the same bits packed in one shot, alone, and over shuffled blocks
    /// of a NaN cache in chunks of any size beside other sequences.
    #[test]
    fn row_has_the_same_bits_packed_chunked_and_paged(
        lens in prop::collection::vec(1_usize..150, 1..4),
        g in any_geometry(),
        kv_type in prop::sample::select(vec![KvType::F32, KvType::Bf16]),
        seed in 0_u64..1000,
        chunks in prop::collection::vec(prop::collection::vec(0_usize..90, 3), 1..6),
    ) {
        let total: usize = lens.iter().sum();
        let x = inputs(seed, total, g);
        let width = g.num_heads * g.head_dim;
        let packed = bits(&run_as(&x, &lens, (g, kv_type)));
        let (kv, mut streams) = streams(&lens, (g, kv_type), seed);
        let mut seen = 0;
        // The last rounds take single rows, as decoding does, and then the rest.
        let rest = [vec![1; 3], vec![1; 3], vec![usize::MAX / 2; 3]];
        for take in chunks.iter().chain(&rest) {
            for (row, got) in paged_step(&x, &kv, &mut streams, take, g) {
                prop_assert_eq!(&got, &packed[row * width..(row + 1) * width], "row {}", row);
                seen += 1;
            }
        }
        prop_assert_eq!(seen, total);
        for stream in &streams {
            let own = x.each_ref().map(|x| x.narrow(0, stream.first_row, stream.len).unwrap());
            let at = stream.first_row * width;
            prop_assert_eq!(bits(&run_as(&own, &[stream.len], (g, kv_type))), &packed[at..at + stream.len * width]);
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let g = geometry((4, 2), 8);
    let [q, k, v] = inputs(1, 6, g);
    let spans = |q: &Tensor, k: &Tensor, (cu_q, cu_k): (&[u32], &[u32]), g| {
        attend(q, k, &v, (&cu_q.into(), &cu_k.into()), (g, KvType::F32)).is_err()
    };
    let attend = |q: &Tensor, k: &Tensor, cu: &[u32], g| spans(q, k, (cu, cu), g);
    assert!(!attend(&q, &k, &[0, 2, 6], g));
    assert!(attend(&q, &k, &[0, 7], g), "spans beyond the rows");
    assert!(attend(&q, &k, &[0, 5], g), "rows beyond the spans");
    assert!(attend(&q, &k, &[0, 7, 6], g), "spans that go back");
    assert!(attend(&q, &q, &[0, 6], g), "keys of other heads");
    let few = &q.narrow(0, 0, 2).unwrap();
    assert!(!spans(few, &k, (&[0, 0, 2], &[0, 2, 6]), g));
    assert!(spans(few, &k, (&[0, 2, 2], &[0, 1, 6]), g), "queries without keys");
    assert!(spans(few, &k, (&[0, 2], &[0, 2, 6]), g), "keys without queries");
    assert!(spans(few, &k, (&[0, 1, 2], &[0, 7, 6]), g), "keys that go back");
    assert!(spans(few, &k, (&[0, 2], &[0, 5]), g), "keys beyond the spans");
    let odd = [
        Geometry { num_kv_heads: 3, ..g },
        Geometry { num_kv_heads: 0, ..g },
        Geometry { window: Some(0), ..g },
    ];
    for g in odd {
        assert!(attend(&q, &k, &[0, 6], g), "{g:?}");
    }
}

#[test]
fn cache_is_checked_against_spans_and_table() {
    let g = geometry((4, 2), 8);
    let [q, k, v] = inputs(1, 3, g);
    let kv = streams(&[16], (g, KvType::Bf16), 1).0;
    let step = |slots: &[u32], table: &[u32], keys: u32| {
        let paging = Paging {
            block_table: vec![table.iter().map(|id| BlockId(*id)).collect()],
            slot_mapping: slots.to_vec(),
            copies: Vec::new(),
        };
        write_kv(&kv, &k, &v, slots)?;
        attend_paged(&q, &kv, (&[0, 3], &[0, keys]), &paging, g)
    };
    assert!(step(&[16, 17, 18], &[1], 3).is_ok());
    assert!(step(&[16, 17, 32], &[1], 3).is_err(), "a slot beyond the cache");
    assert!(step(&[16, 17], &[1], 3).is_err(), "too few slots");
    assert!(step(&[16, 17, 18], &[2], 3).is_err(), "a block beyond the cache");
    assert!(step(&[16, 17, 18], &[1], 17).is_err(), "too few blocks");
    assert!(step(&[16, 17, 18], &[1], 2).is_err(), "fewer keys than queries");
}

#[test]
fn tracked_operands_of_a_cache_are_refused() {
    let g = geometry((1, 1), 8);
    let kv = streams(&[3], (g, KvType::F32), 1).0;
    let [q, k, v] = inputs(1, 3, g).map(|x| Var::from_tensor(&x).unwrap());
    assert!(write_kv(&kv, &k, &v.as_detached_tensor(), &[0, 1, 2]).is_err());
    let paging = Paging {
        block_table: vec![vec![BlockId(0)]],
        slot_mapping: vec![0, 1, 2],
        copies: Vec::new(),
    };
    assert!(attend_paged(&q, &kv, (&[0, 3], &[0, 3]), &paging, g).is_err());
    let half = q.to_dtype(DType::F16).unwrap();
    assert!(
        attend(&half, &k, &v, (&cu_seqlens(&[3]), &cu_seqlens(&[3])), (g, KvType::F32)).is_err(),
        "other dtypes"
    );
}
