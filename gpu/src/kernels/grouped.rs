//! Products of groups of rows with a matrix each: the factors of adapters (Hu et al., 2021, "LoRA"), and experts.

use half::bf16;

use super::epilogue::RawEpilogue;
use super::{Address, Epilogue, Store, argument, count, fits, in_eights};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::{DeviceNumber, DeviceSlice};
use crate::open::Gpu;
use crate::staging::Staging;

/// Most rows of a piece.
const PIECE: usize = 64;

/// Consecutive places of a list of rows that belong to one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// First place.
    pub first: u32,
    /// Their number.
    pub rows: u32,
    /// The group.
    pub group: u32,
}

/// The rows of each group.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// `[3 · pieces]`: first place, rows, group; pieces without rows are no work.
    pub list: DeviceSlice<u32>,
    /// `[places]`: the row of each place.
    pub rows: DeviceSlice<u32>,
}

impl Pieces {
    /// Stages the rows of groups: `(group, rows)`, in any order.
    ///
    /// # Errors
    /// [`crate::GpuError::OutOfMemory`] where the room is full.
    pub fn stage(groups: &[(u32, &[u32])], staging: &mut Staging) -> Result<Pieces> {
        let (mut list, mut all) = (Vec::new(), Vec::new());
        for (group, rows) in groups {
            for rows in rows.chunks(PIECE) {
                let [first, rows_here] = [all.len(), rows.len()].map(|n| count("pieces", n));
                list.extend([first?, rows_here?, *group]);
                all.extend_from_slice(rows);
            }
        }
        Ok(Pieces { list: staging.put(&list)?, rows: staging.put(&all)? })
    }

    /// How many pieces.
    fn count(&self) -> usize {
        self.list.len() / 3
    }
}

/// A group's matrix `[n, k]`.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Row by row.
    pub w: DeviceSlice<bf16>,
    /// Numbers of a row, a multiple of 8.
    pub k: usize,
    /// On the expansion of an adapter.
    pub scale: f32,
}

/// The matrices of all groups at one place of a model.
#[derive(Clone, Debug)]
pub struct Factors {
    table: DeviceSlice<u32>,
    /// The matrices stay allocated as long as their table.
    held: Vec<Option<Factor>>,
    widest: usize,
}

impl Factors {
    /// The table of groups 0, 1, ...; a group without a matrix adds nothing.
    ///
    /// # Errors
    /// [`crate::GpuError::Argument`] for a matrix that is no `[n, k]` with `k` in eights.
    pub fn new(gpu: &Gpu, held: Vec<Option<Factor>>) -> Result<Factors> {
        const NAME: &str = "factors";
        let mut words = Vec::new();
        let mut widest = 0;
        for factor in &held {
            let Some(Factor { w, k, scale }) = factor else {
                words.extend([0; 6]);
                continue;
            };
            in_eights(NAME, "k", *k)?;
            let n = w.len().checked_div(*k).unwrap_or(0);
            fits(NAME, "w", w, n * k)?;
            widest = widest.max(n);
            let address = w.address().to_ne_bytes();
            let [low, high] = [0, 4].map(|at| {
                u32::from_ne_bytes([address[at], address[at + 1], address[at + 2], address[at + 3]])
            });
            words.extend([low, high, count(NAME, n)?, count(NAME, *k)?, scale.to_bits(), 0]);
        }
        Ok(Factors { table: gpu.upload(&words)?, held, widest })
    }

    /// The largest number of rows of a matrix.
    pub fn widest(&self) -> usize {
        self.widest
    }

    pub(super) fn address(&self) -> Address {
        (&self.table).into()
    }

    /// The largest number of columns of a matrix.
    pub fn deepest(&self) -> usize {
        self.held.iter().flatten().map(|factor| factor.k).max().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawGrouped {
    x: Address,
    pieces: Address,
    factors: Address,
    x_rows: Address,
    y_rows: Address,
    epilogue: RawEpilogue,
    x_stride: u32,
    y_stride: u32,
}

/// The operands of a grouped product.
struct GroupedOperands<'a> {
    x: &'a DeviceSlice<bf16>,
    x_stride: usize,
    y_stride: usize,
    /// Whether a place's row of x, and of y, is that of the list; else the place itself.
    x_listed: bool,
    y_listed: bool,
    epilogue: &'a Epilogue,
}

fn launch(
    gpu: &Gpu,
    kernel: &'static str,
    by: (&Pieces, &Factors),
    of: &GroupedOperands<'_>,
) -> Result<()> {
    let (pieces, factors) = by;
    let rows = Address::from(&pieces.rows);
    let listed = |yes| if yes { rows } else { Address(0) };
    if factors.deepest() > of.x_stride {
        let what = format!("rows of {} for matrices [n, {}]", of.x_stride, factors.deepest());
        return Err(argument(kernel, what));
    }
    in_eights(kernel, "a row", of.x_stride)?;
    let params = RawGrouped {
        x: of.x.into(),
        pieces: (&pieces.list).into(),
        factors: (&factors.table).into(),
        x_rows: listed(of.x_listed),
        y_rows: listed(of.y_listed),
        epilogue: of.epilogue.raw(),
        x_stride: count(kernel, of.x_stride)?,
        y_stride: count(kernel, of.y_stride)?,
    };
    // Pieces go first: that side of a grid alone takes more than 65,535.
    let blocks = [count(kernel, pieces.count())?, count(kernel, factors.widest.div_ceil(64))?, 1];
    gpu.launch(kernel, Launch { blocks, threads: 128, shared: 49_152 }, &params)
}

/// `t [places, stride]` = `x [rows, k] · Aᵀ` of the rows of each place; `stride` is at least the widest factor.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn shrink(
    gpu: &Gpu,
    (x, k): (&DeviceSlice<bf16>, usize),
    by: (&Pieces, &Factors),
    (t, stride): (&DeviceSlice<bf16>, usize),
) -> Result<()> {
    const NAME: &str = "grouped_shrink";
    room(NAME, t, by.0, stride)?;
    if stride < by.1.widest {
        return Err(argument(NAME, format!("rank {} in rows of {stride}", by.1.widest)));
    }
    let epilogue = Epilogue { bias: None, store: Store::Bf16(t.clone()) };
    let of = GroupedOperands {
        x,
        x_stride: k,
        y_stride: stride,
        x_listed: true,
        y_listed: false,
        epilogue: &epilogue,
    };
    launch(gpu, NAME, by, &of)
}

/// `y [rows, n] += scale · t [places, stride] · Bᵀ` in the rows of each place.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn expand(
    gpu: &Gpu,
    (t, stride): (&DeviceSlice<bf16>, usize),
    by: (&Pieces, &Factors),
    (y, n): (&DeviceSlice<f32>, usize),
) -> Result<()> {
    const NAME: &str = "grouped_expand";
    room(NAME, t, by.0, stride)?;
    if n < by.1.widest {
        return Err(argument(NAME, format!("{} columns in rows of {n}", by.1.widest)));
    }
    let epilogue = Epilogue { bias: None, store: Store::F32 { y: y.clone(), cap: 0.0 } };
    let of = GroupedOperands {
        x: t,
        x_stride: stride,
        y_stride: n,
        x_listed: false,
        y_listed: true,
        epilogue: &epilogue,
    };
    launch(gpu, NAME, by, &of)
}

/// The products of experts: from listed rows of `x [rows, k]` to gated `y [places, n / 2]`, with an activation, or from the
/// places of `x [places, k]` to `y [places, n]` in f32.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn grouped(
    gpu: &Gpu,
    x: (&DeviceSlice<bf16>, usize),
    by: (&Pieces, &Factors),
    store: &Store,
) -> Result<()> {
    match store {
        Store::Gated { y, .. } => {
            room("grouped_gated", y, by.0, by.1.widest / 2)?;
            launch_stored(gpu, "grouped_gated", by, (x, true, store))
        }
        Store::F32 { .. } => sums(gpu, by, (x, false, store)),
        Store::Bf16(_) | Store::Add(_) | Store::Relu(_) => {
            Err(argument("grouped", "experts are gated, or f32"))
        }
    }
}

/// The sums of [`grouped`] before what follows them: from listed rows of `x [rows, k]` to `y [places, n]`.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn grouped_sums(
    gpu: &Gpu,
    x: (&DeviceSlice<bf16>, usize),
    by: (&Pieces, &Factors),
    y: &DeviceSlice<f32>,
) -> Result<()> {
    sums(gpu, by, (x, true, &Store::F32 { y: y.clone(), cap: 0.0 }))
}

/// The input with the numbers of a row, whether its rows are listed, and what becomes of the sums.
type GroupedStore<'a> = ((&'a DeviceSlice<bf16>, usize), bool, &'a Store);

fn sums(gpu: &Gpu, by: (&Pieces, &Factors), of: GroupedStore<'_>) -> Result<()> {
    const NAME: &str = "grouped_f32";
    if let Store::F32 { y, .. } = of.2 {
        room(NAME, y, by.0, by.1.widest)?;
    }
    launch_stored(gpu, NAME, by, of)
}

fn launch_stored(
    gpu: &Gpu,
    kernel: &'static str,
    by: (&Pieces, &Factors),
    ((x, k), x_listed, store): GroupedStore<'_>,
) -> Result<()> {
    let epilogue = Epilogue { bias: None, store: store.clone() };
    let of = GroupedOperands {
        x,
        x_stride: k,
        y_stride: by.1.widest,
        x_listed,
        y_listed: false,
        epilogue: &epilogue,
    };
    launch(gpu, kernel, by, &of)
}

fn room<T: DeviceNumber>(
    name: &'static str,
    y: &DeviceSlice<T>,
    pieces: &Pieces,
    stride: usize,
) -> Result<()> {
    fits(name, "the result", y, pieces.rows.len() * stride)
}
