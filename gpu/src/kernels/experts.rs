//! Experts: which of them a row goes to, and the sum of what they give.

use super::{Address, Pieces, argument, count, fits, over, row_a_warp};
use crate::arena::Arena;
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;
use crate::sources::MAX_EXPERTS;

/// A layer's experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertShape {
    /// Their number, at most 1,024.
    pub experts: usize,
    /// Experts of a row.
    pub per_row: usize,
    /// Whether the weights of a row's experts are scaled to a sum of 1.
    pub normalise: bool,
}

/// Where rows go.
#[derive(Clone, Debug)]
pub struct Routed {
    /// The rows of each expert.
    pub pieces: Pieces,
    /// `[rows, per_row]`: experts in ascending order.
    pub chosen: DeviceSlice<u32>,
    /// `[rows, per_row]`: their weights.
    pub weights: DeviceSlice<f32>,
    /// `[rows, per_row]`: the place of each choice among the rows of the experts.
    pub places: DeviceSlice<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawRoute {
    logits: Address,
    chosen: Address,
    weights: Address,
    rows: u32,
    experts: u32,
    per_row: u32,
    normalise: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawSort {
    chosen: Address,
    adapters: Address,
    rows_of: Address,
    place_of: Address,
    places: Address,
    pieces: Address,
    choices: u32,
    experts: u32,
    per_row: u32,
    n_pieces: u32,
}

/// Chooses the most probable experts of each row of `logits [rows, experts]`, the first of equal ones, and sorts the rows
/// by expert, on the card.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit; [`crate::GpuError::OutOfMemory`] of the arena.
pub fn route(
    gpu: &Gpu,
    logits: &DeviceSlice<f32>,
    shape: ExpertShape,
    arena: &mut Arena,
) -> Result<Routed> {
    const NAME: &str = "route";
    let ExpertShape { experts, per_row, normalise } = shape;
    if experts > MAX_EXPERTS as usize || per_row == 0 || per_row > experts {
        return Err(argument(NAME, format!("{per_row} of {experts} experts")));
    }
    let rows = logits.len() / experts;
    fits(NAME, "logits", logits, rows * experts)?;
    let choices = rows * per_row;
    let n_pieces = choices / 64 + experts;
    let routed = Routed {
        pieces: Pieces { list: arena.take(3 * n_pieces)?, rows: arena.take(choices)? },
        chosen: arena.take(choices)?,
        weights: arena.take(choices)?,
        places: arena.take(choices)?,
    };
    let params = RawRoute {
        logits: logits.into(),
        chosen: (&routed.chosen).into(),
        weights: (&routed.weights).into(),
        rows: count(NAME, rows)?,
        experts: count(NAME, experts)?,
        per_row: count(NAME, per_row)?,
        normalise: u32::from(normalise),
    };
    let shared = 4 * params.experts * 4;
    gpu.launch(NAME, Launch { shared, ..row_a_warp(NAME, rows)? }, &params)?;
    let sort = RawSort {
        chosen: params.chosen,
        adapters: Address::default(),
        rows_of: (&routed.pieces.rows).into(),
        place_of: (&routed.places).into(),
        places: Address::default(),
        pieces: (&routed.pieces.list).into(),
        choices: count(NAME, choices)?,
        experts: params.experts,
        per_row: params.per_row,
        n_pieces: count(NAME, n_pieces)?,
    };
    sort_choices(gpu, &sort, params.experts)?;
    Ok(routed)
}

fn sort_choices(gpu: &Gpu, sort: &RawSort, groups: u32) -> Result<()> {
    let grid = Launch { blocks: [groups, 1, 1], threads: 256, shared: 2 * 256 * 4 };
    gpu.launch("sort_choices", grid, sort)
}

/// What [`route_adapted`] takes for a row without an adapter.
pub const NO_ADAPTER: u32 = u32::MAX;

/// The choices of rows under adapters, sorted by adapter and then by expert: group `adapter · experts + expert`.
#[derive(Clone, Debug)]
pub struct RoutedAdapters {
    /// As rows.
    pub by_row: Pieces,
    /// As places among the rows of the experts.
    pub by_place: Pieces,
}

impl RoutedAdapters {
    /// Numbers of 32 bits that it takes, in three slices, for so many choices and groups.
    pub fn len(choices: usize, groups: usize) -> usize {
        3 * (choices / 64 + groups) + 2 * choices
    }
}

/// Sorts the choices of rows by `adapters [rows]`, each below `count` or [`NO_ADAPTER`].
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit; [`crate::GpuError::OutOfMemory`] of the arena.
pub fn route_adapted(
    gpu: &Gpu,
    (routed, shape): (&Routed, ExpertShape),
    (adapters, n_adapters): (&DeviceSlice<u32>, usize),
    arena: &mut Arena,
) -> Result<RoutedAdapters> {
    const NAME: &str = "sort_choices";
    let choices = routed.chosen.len();
    fits(NAME, "adapters", adapters, choices / shape.per_row)?;
    let groups = n_adapters * shape.experts;
    let n_pieces = choices / 64 + groups;
    let by_row = Pieces { list: arena.take(3 * n_pieces)?, rows: arena.take(choices)? };
    let by_place = Pieces { list: by_row.list.clone(), rows: arena.take(choices)? };
    let sort = RawSort {
        chosen: (&routed.chosen).into(),
        adapters: adapters.into(),
        rows_of: (&by_row.rows).into(),
        place_of: (&routed.places).into(),
        places: (&by_place.rows).into(),
        pieces: (&by_row.list).into(),
        choices: count(NAME, choices)?,
        experts: count(NAME, shape.experts)?,
        per_row: count(NAME, shape.per_row)?,
        n_pieces: count(NAME, n_pieces)?,
    };
    sort_choices(gpu, &sort, count(NAME, groups)?)?;
    Ok(RoutedAdapters { by_row, by_place })
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawCombine {
    results: Address,
    place_of: Address,
    weights: Address,
    y: Address,
    rows: u32,
    n: u32,
    per_row: u32,
}

/// `y [rows, n]` = the weighted sum of `results [rows · per_row, n]` of each row's experts, in ascending order of expert.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn combine(
    gpu: &Gpu,
    results: &DeviceSlice<f32>,
    (routed, per_row): (&Routed, usize),
    y: &DeviceSlice<f32>,
) -> Result<()> {
    const NAME: &str = "combine";
    let rows = routed.chosen.len().checked_div(per_row).unwrap_or(0);
    let n = y.len().checked_div(rows).unwrap_or(0);
    fits(NAME, "y", y, rows * n)?;
    fits(NAME, "results", results, rows * per_row * n)?;
    let params = RawCombine {
        results: results.into(),
        place_of: (&routed.places).into(),
        weights: (&routed.weights).into(),
        y: y.into(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        per_row: count(NAME, per_row)?,
    };
    gpu.launch(NAME, over(y.len()), &params)
}
