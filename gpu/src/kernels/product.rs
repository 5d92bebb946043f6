//! Products, and the epilogue alone.

use half::bf16;

use super::epilogue::RawEpilogue;
use super::{Address, Epilogue, Store, argument, count, fits, in_eights, over};
use crate::error::Result;
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;

/// The part of a product that a block computes. A number's bits are the same in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductTile {
    /// 128 x 128.
    Large,
    /// 64 x 64.
    Middle,
    /// 16 rows x 64 columns: the weights are read once for few rows.
    Skinny,
}

impl ProductTile {
    /// The tile for a number of rows and columns: the largest that still gives each of a card's multiprocessors a block.
    pub fn of(rows: usize, columns: usize) -> ProductTile {
        match rows {
            0..=16 => ProductTile::Skinny,
            _ if rows.div_ceil(128) * columns.div_ceil(128) < 132 => ProductTile::Middle,
            _ => ProductTile::Large,
        }
    }

    /// Rows, columns, threads, and bytes of shared memory.
    fn shape(self) -> (usize, usize, u32, u32) {
        match self {
            ProductTile::Large => (128, 128, 256, 65_536),
            ProductTile::Middle => (64, 64, 128, 49_152),
            ProductTile::Skinny => (16, 64, 128, 40_960),
        }
    }

    fn name(self, store: &str) -> String {
        let tile = match self {
            ProductTile::Large => "large",
            ProductTile::Middle => "middle",
            ProductTile::Skinny => "skinny",
        };
        format!("product_{tile}_{store}")
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawProduct {
    x: Address,
    w: Address,
    columns: Address,
    epilogue: RawEpilogue,
    rows: u32,
    n: u32,
    k: u32,
}

/// The sums of `x [rows, k] · w [n, k]ᵀ` into an epilogue. With `columns`, column i is row `columns[i]` of `w`, each below
/// its rows.
///
/// # Errors
/// [`crate::GpuError::Argument`] for a `k` that is no multiple of 8 and operands that do not fit.
pub fn product(
    gpu: &Gpu,
    (x, w): (&DeviceSlice<bf16>, &DeviceSlice<bf16>),
    k: usize,
    columns: Option<&DeviceSlice<u32>>,
    epilogue: &Epilogue,
) -> Result<()> {
    let rows = x.len().checked_div(k).unwrap_or(0);
    let n = columns.map_or(w.len().checked_div(k).unwrap_or(0), DeviceSlice::len);
    product_by(gpu, ProductTile::of(rows, n), (x, w), k, (columns, epilogue))
}

/// [`product`] by a tile of choice: the same bits.
///
/// # Errors
/// As [`product`].
pub fn product_by(
    gpu: &Gpu,
    tile: ProductTile,
    (x, w): (&DeviceSlice<bf16>, &DeviceSlice<bf16>),
    k: usize,
    (columns, epilogue): (Option<&DeviceSlice<u32>>, &Epilogue),
) -> Result<()> {
    const NAME: &str = "product";
    in_eights(NAME, "k", k)?;
    let rows = x.len().checked_div(k).unwrap_or(0);
    let n = columns.map_or(w.len().checked_div(k).unwrap_or(0), DeviceSlice::len);
    fits(NAME, "x", x, rows * k)?;
    if columns.is_none() {
        fits(NAME, "w", w, n * k)?;
    }
    check_epilogue(NAME, epilogue, rows, n)?;
    let (of_rows, of_columns, threads, shared) = tile.shape();
    let params = RawProduct {
        x: x.into(),
        w: w.into(),
        columns: columns.into(),
        epilogue: epilogue.raw(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        k: count(NAME, k)?,
    };
    let blocks = [count(NAME, n.div_ceil(of_columns))?, count(NAME, rows.div_ceil(of_rows))?, 1];
    let name = tile.name(epilogue.kind().1);
    gpu.launch(&name, Launch { blocks, threads, shared }, &params)
}

fn check_epilogue(name: &'static str, epilogue: &Epilogue, rows: usize, n: usize) -> Result<()> {
    let (found, needed) = epilogue.lengths(rows * n);
    if found != needed {
        return Err(argument(name, format!("y has {found} numbers, and {needed} are needed")));
    }
    if let Some(bias) = &epilogue.bias {
        fits(name, "bias", bias, n)?;
    }
    if matches!(epilogue.store, Store::Gated { .. }) && !n.is_multiple_of(16) {
        return Err(argument(name, format!("{n} columns are not gate and up by 8")));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawFinish {
    sums: Address,
    epilogue: RawEpilogue,
    rows: u32,
    n: u32,
    store: u32,
}

/// The epilogue alone, over sums `[rows, n]`: the same bits as in the product's own kernel.
///
/// # Errors
/// [`crate::GpuError::Argument`] for operands that do not fit.
pub fn finish(gpu: &Gpu, sums: &DeviceSlice<f32>, n: usize, epilogue: &Epilogue) -> Result<()> {
    const NAME: &str = "finish_sums";
    let rows = sums.len().checked_div(n).unwrap_or(0);
    fits(NAME, "sums", sums, rows * n)?;
    check_epilogue(NAME, epilogue, rows, n)?;
    let params = RawFinish {
        sums: sums.into(),
        epilogue: epilogue.raw(),
        rows: count(NAME, rows)?,
        n: count(NAME, n)?,
        store: epilogue.kind().0,
    };
    gpu.launch(NAME, over(sums.len()), &params)
}
