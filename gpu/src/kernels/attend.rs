//! Attention over blocks of keys and values.

use half::bf16;

use super::{Address, HeadShape, KvLayer, argument, count, fits};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;
use crate::staging::Staging;

/// Absolute positions of a chunk, whose state is merged with those of the chunks before it.
const CHUNK: usize = 1024;
/// Rows of a narrow tile: positions times the query heads of a key head.
const NARROW: usize = 16;
/// Most query heads of a key head: those of a wide tile.
const WIDE: usize = 64;

/// Consecutive positions of a sequence in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySpan {
    /// Packed row of the first.
    pub row: usize,
    /// Their number, at least 1.
    pub count: usize,
    /// Position of the first in its sequence; its keys are those up to the last position, which are all stored.
    pub position: usize,
    /// Where the sequence's blocks begin in the table.
    pub table: usize,
}

/// How scores are formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    /// Heads.
    pub heads: HeadShape,
    /// Factor on query · key.
    pub scale: f32,
    /// `cap · tanh(x / cap)` of scores; 0 for none.
    pub cap: f32,
    /// Keys that a position sees, itself included; `None` for all.
    pub window: Option<usize>,
}

/// A step's spans as tiles of queries, the same for all layers of one shape.
#[derive(Clone, Debug)]
pub struct Attention {
    shape: AttentionShape,
    table: DeviceSlice<u32>,
    tiles: Tiles,
    /// Tiles whose chunks are computed apart: few sequences with long contexts fill the card that way.
    split: Option<Split>,
    parts: usize,
}

#[derive(Clone, Debug)]
struct Tiles {
    wide: bool,
    list: DeviceSlice<u32>,
    count: usize,
}

#[derive(Clone, Debug)]
struct Split {
    tiles: DeviceSlice<u32>,
    count: usize,
    merges: DeviceSlice<u32>,
    n_merges: usize,
}

/// A tile as the kernel takes it.
type RawTile = [u32; 8];
const NO_PART: u32 = u32::MAX;

/// Below this number of tiles, chunks of long contexts are computed apart.
const ENOUGH_TILES: usize = 256;
/// Numbers of the chunks that a step computes apart, at most: 64 MiB. Those beyond are computed by one tile each, with the
/// same bits.
const MOST_PARTS: usize = 1 << 24;

impl Attention {
    /// Cuts spans into tiles, and stages them and the table of blocks.
    ///
    /// # Errors
    /// [`crate::GpuError::Argument`] for heads that no tile takes, a span past its blocks, and too little room.
    pub fn plan(
        gpu: &Gpu,
        shape: AttentionShape,
        spans: &[QuerySpan],
        table: &[u32],
        staging: &mut Staging,
    ) -> Result<Attention> {
        const NAME: &str = "attend";
        let HeadShape { heads, kv_heads, dim } = shape.heads;
        let group = heads.checked_div(kv_heads).unwrap_or(0);
        if group == 0 || group > WIDE || instance(dim).is_none() {
            let what = format!("{heads} query heads over {kv_heads} of {dim} numbers");
            return Err(argument(NAME, what + " (at most 64 over one, of at most 256)"));
        }
        // Prompts in wide tiles. Where all are decodes, narrow ones waste less.
        let longest = spans.iter().map(|span| span.count).max().unwrap_or(0);
        let (wide_rows, wide_name) = wide(dim);
        let wide = (longest * group > NARROW || group > NARROW) && gpu.has(&wide_name);
        let rows = if wide { wide_rows } else { NARROW };
        if group > rows {
            return Err(argument(NAME, format!("{group} query heads over one in tiles of {rows}")));
        }
        let each = rows / group;
        let part_len = kv_heads * rows * (dim + 2);
        let (mut tiles, mut split, mut merges) = (Vec::new(), Vec::new(), Vec::new());
        let n_tiles: usize = spans.iter().map(|span| span.count.div_ceil(each)).sum();
        let mut parts = 0;
        for span in spans {
            for first in (0..span.count).step_by(each) {
                let tile = raw(NAME, span, first, each.min(span.count - first))?;
                let [.., end_chunk, _] = tile;
                let first_chunk = first_chunk(span.position + first, shape.window);
                let chunks = end_chunk - first_chunk;
                let is_full = (parts + chunks as usize) * part_len > MOST_PARTS;
                if n_tiles >= ENOUGH_TILES || chunks < 2 || is_full {
                    tiles.push(tile);
                    continue;
                }
                let part = count(NAME, parts)?;
                merges.push(with_chunks(tile, first_chunk, end_chunk, part));
                split.extend(
                    (first_chunk..end_chunk)
                        .zip(part..)
                        .map(|(chunk, part)| with_chunks(tile, chunk, chunk + 1, part)),
                );
                parts += chunks as usize;
            }
        }
        let split = match split.len() {
            0 => None,
            count => Some(Split {
                tiles: put(staging, &split)?,
                count,
                merges: put(staging, &merges)?,
                n_merges: merges.len(),
            }),
        };
        let tiles = Tiles { wide, list: put(staging, &tiles)?, count: tiles.len() };
        let parts = parts * part_len;
        Ok(Attention { shape, table: staging.put(table)?, tiles, split, parts })
    }

    /// Numbers that [`attend`] needs for chunks that are computed apart.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The most of them in any step over contexts of at most `positions`.
    pub fn most_parts(shape: &AttentionShape, positions: usize) -> usize {
        let HeadShape { kv_heads, dim, .. } = shape.heads;
        let chunks = positions.div_ceil(CHUNK);
        if chunks < 2 {
            0
        } else {
            MOST_PARTS.min(ENOUGH_TILES * chunks * kv_heads * WIDE * (dim + 2))
        }
    }
}

fn put(staging: &mut Staging, tiles: &[RawTile]) -> Result<DeviceSlice<u32>> {
    staging.put(tiles.as_flattened())
}

/// The first chunk of which a position sees a key.
fn first_chunk(position: usize, window: Option<usize>) -> u32 {
    let first = window.map_or(0, |window| (position + 1).saturating_sub(window));
    u32::try_from(first / CHUNK).expect("positions are 32 bits")
}

fn raw(name: &'static str, span: &QuerySpan, first: usize, n: usize) -> Result<RawTile> {
    let end = span.position + first + n;
    let all = span.position + span.count;
    Ok([
        count(name, span.row + first)?,
        count(name, n)?,
        count(name, span.position + first)?,
        count(name, all)?,
        count(name, span.table)?,
        0,
        count(name, end.div_ceil(CHUNK))?,
        NO_PART,
    ])
}

fn with_chunks(tile: RawTile, first: u32, end: u32, part: u32) -> RawTile {
    let [row, count, position, keys, table, ..] = tile;
    [row, count, position, keys, table, first, end, part]
}

/// The kernel instance for a head dimension.
fn instance(dim: usize) -> Option<usize> {
    [32, 64, 96, 128, 256].into_iter().find(|instance| dim <= *instance)
}

/// Most query heads over a key head of `dim` numbers that the card's tiles take.
pub fn most_group(gpu: &Gpu, dim: usize) -> usize {
    let (rows, name) = wide(dim);
    if gpu.has(&name) { rows } else { NARROW }
}

/// Rows and name of the wide instance.
fn wide(dim: usize) -> (usize, String) {
    let instance = instance(dim).unwrap_or(256);
    (if instance == 256 { 32 } else { 64 }, format!("attend_wide_{instance}"))
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawAttend {
    q: Address,
    keys: Address,
    values: Address,
    table: Address,
    queries: Address,
    y: Address,
    parts: Address,
    heads: u32,
    kv_heads: u32,
    dim: u32,
    window: u32,
    scale: f32,
    cap: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawMerge {
    parts: Address,
    queries: Address,
    y: Address,
    heads: u32,
    kv_heads: u32,
    dim: u32,
    rows: u32,
}

/// `y [rows, heads · dim]` of queries `q`, of the same shape, over the keys and values of a layer. `parts` has
/// [`Attention::parts`] numbers.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn attend(
    gpu: &Gpu,
    of: &Attention,
    q: &DeviceSlice<bf16>,
    kv: &KvLayer,
    (y, parts): (&DeviceSlice<bf16>, &DeviceSlice<f32>),
) -> Result<()> {
    const NAME: &str = "attend";
    let HeadShape { heads, kv_heads, dim } = of.shape.heads;
    kv.check(NAME, of.shape.heads)?;
    fits(NAME, "y", y, q.len())?;
    fits(NAME, "parts", parts, of.parts)?;
    let instance = instance(dim).expect("the plan has checked it");
    let (rows, name, threads) = if of.tiles.wide {
        let (rows, name) = wide(dim);
        (rows, name, if instance == 256 { 64 } else { 128 })
    } else {
        (NARROW, format!("attend_{instance}"), 32)
    };
    let warps = threads / 32;
    let width = count(NAME, instance)?;
    let shared = (warps * 16 + 128) * width * 2 + width / 8 * 4 * warps * 32 * 4;
    let params = RawAttend {
        q: q.into(),
        keys: (&kv.keys).into(),
        values: (&kv.values).into(),
        table: (&of.table).into(),
        queries: (&of.tiles.list).into(),
        y: y.into(),
        parts: parts.into(),
        heads: count(NAME, heads)?,
        kv_heads: count(NAME, kv_heads)?,
        dim: count(NAME, dim)?,
        window: count(NAME, of.shape.window.unwrap_or(0))?,
        scale: of.shape.scale,
        cap: of.shape.cap,
    };
    let grid =
        |tiles| Ok(Launch { blocks: [count(NAME, tiles)?, params.kv_heads, 1], threads, shared });
    gpu.launch(&name, grid(of.tiles.count)?, &params)?;
    let Some(split) = &of.split else {
        return Ok(());
    };
    let tiles = RawAttend { queries: (&split.tiles).into(), ..params };
    gpu.launch(&name, grid(split.count)?, &tiles)?;
    let merge = RawMerge {
        parts: parts.into(),
        queries: (&split.merges).into(),
        y: y.into(),
        heads: params.heads,
        kv_heads: params.kv_heads,
        dim: params.dim,
        rows: count(NAME, rows)?,
    };
    let blocks = [count(NAME, split.n_merges)?, params.kv_heads, 1];
    gpu.launch("attend_merge", Launch { blocks, threads: 128, shared: 0 }, &merge)
}
