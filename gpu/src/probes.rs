//! Kernels that measure a card and compute nothing that is used: [`crate::kernels`] has those that do.

use half::bf16;

use crate::error::{GpuError, Result};
use crate::kernels::{Address, argument, count, fits};
use crate::launch::Launch;
use crate::memory::DeviceSlice;
use crate::open::Gpu;
use crate::sources::{HOPPER_PROBES, PROBES};

/// The measuring kernels of a card.
#[derive(Debug)]
pub struct Probes {
    gpu: Gpu,
    /// Those of `sm_90a`, or why there are none.
    hopper: Result<Gpu>,
}

/// Its compute capability.
const HOPPER: (u32, u32) = (9, 0);
/// Threads of a block of the probes.
const THREADS: u32 = 256;
/// Blocks of the probes that go over memory.
const BLOCKS: u32 = 2048;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawNothing {
    y: Address,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawWords {
    x: Address,
    y: Address,
    n: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawRate {
    y: Address,
    rounds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct RawChain {
    x: Address,
    w: Address,
    y: Address,
    k: u32,
}

impl Probes {
    /// Loads the kernels.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn load(gpu: &Gpu) -> Result<Probes> {
        let hopper = match gpu.card().capability {
            HOPPER => gpu.with_kernels(HOPPER_PROBES),
            _ => Err(argument("wgmma", "only cards of compute capability 9.0 have it")),
        };
        Ok(Probes { gpu: gpu.with_kernels(PROBES)?, hopper })
    }

    /// Whether the kernels of Hopper were loaded.
    ///
    /// # Errors
    /// Why they were not.
    pub fn has_wgmma(&self) -> Result<()> {
        self.hopper.as_ref().map(|_| ()).map_err(GpuError::clone)
    }

    /// Starts a kernel without work.
    ///
    /// # Errors
    /// [`GpuError::Launch`]; [`GpuError::Lost`].
    pub fn nothing(&self) -> Result<()> {
        self.nothing_on(&self.gpu)
    }

    /// `n` kernels without work, as one graph can start them.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn nothings(&self, n: usize) -> Result<crate::Launches> {
        self.gpu.record(|gpu| (0..n).try_for_each(|_| self.nothing_on(gpu)))
    }

    #[expect(clippy::unused_self, reason = "the kernel is one of the probes")]
    fn nothing_on(&self, gpu: &Gpu) -> Result<()> {
        let grid = Launch { blocks: [1, 1, 1], threads: 32, shared: 0 };
        gpu.launch("probe_nothing", grid, &RawNothing { y: Address::default() })
    }

    /// The card that starts graphs of [`Probes::nothings`].
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Reads `x`, whose length is a multiple of 16; `y` is a word for the sum.
    ///
    /// # Errors
    /// [`GpuError::Argument`] for operands that do not fit.
    pub fn read(&self, x: &DeviceSlice<u8>, y: &DeviceSlice<u32>) -> Result<()> {
        const NAME: &str = "probe_read";
        fits(NAME, "y", y, 1)?;
        let params = RawWords { x: x.into(), y: y.into(), n: words(NAME, x)? };
        self.gpu.launch(NAME, over_memory(), &params)
    }

    /// Copies `x` to `y`, of the same length.
    ///
    /// # Errors
    /// As [`Probes::read`].
    pub fn copy(&self, x: &DeviceSlice<u8>, y: &DeviceSlice<u8>) -> Result<()> {
        const NAME: &str = "probe_copy";
        fits(NAME, "y", y, x.len())?;
        let params = RawWords { x: x.into(), y: y.into(), n: words(NAME, x)? };
        self.gpu.launch(NAME, over_memory(), &params)
    }

    /// Multiplies on tensor cores by `mma.sync`, a block for each 256 numbers of `y`; returns the operations.
    ///
    /// # Errors
    /// [`GpuError::Launch`]; [`GpuError::Lost`].
    pub fn mma(&self, y: &DeviceSlice<f32>, rounds: u32) -> Result<f64> {
        // Eight warps, each eight products of 16 x 8 x 16 a round.
        rate((&self.gpu, "probe_mma", 0), y, (rounds, 8.0 * 8.0 * 2.0 * 16.0 * 8.0 * 16.0))
    }

    /// The same by Hopper's `wgmma`.
    ///
    /// # Errors
    /// As [`Probes::mma`]; on other cards those of loading the kernels.
    pub fn wgmma(&self, y: &DeviceSlice<f32>, rounds: u32) -> Result<f64> {
        let gpu = self.hopper.as_ref().map_err(GpuError::clone)?;
        // Two groups of warps, each four products of 64 x 128 x 16 a round.
        let kernel = (gpu, "probe_wgmma", 4 * (64 + 128) * 16 * 2);
        rate(kernel, y, (rounds, 2.0 * 4.0 * 2.0 * 64.0 * 128.0 * 16.0))
    }

    /// `y [64, 64] = x [64, k] · w [64, k]ᵀ` by `wgmma` in ascending steps of 16.
    ///
    /// # Errors
    /// As [`Probes::wgmma`]; [`GpuError::Argument`] for operands that do not fit.
    pub fn wgmma_chain(
        &self,
        (x, w): (&DeviceSlice<bf16>, &DeviceSlice<bf16>),
        k: usize,
        y: &DeviceSlice<f32>,
    ) -> Result<()> {
        const NAME: &str = "probe_wgmma_chain";
        let gpu = self.hopper.as_ref().map_err(GpuError::clone)?;
        if !k.is_multiple_of(16) {
            return Err(argument(NAME, format!("k is {k}, which is no multiple of 16")));
        }
        fits(NAME, "x", x, 64 * k)?;
        fits(NAME, "w", w, 64 * k)?;
        fits(NAME, "y", y, 64 * 64)?;
        let params = RawChain { x: x.into(), w: w.into(), y: y.into(), k: count(NAME, k)? };
        let grid = Launch { blocks: [1, 1, 1], threads: 128, shared: 64 * 16 * 2 };
        gpu.launch(NAME, grid, &params)
    }
}

fn rate(
    (gpu, name, shared): (&Gpu, &'static str, u32),
    y: &DeviceSlice<f32>,
    (rounds, each): (u32, f64),
) -> Result<f64> {
    let blocks = count(name, y.len() / THREADS as usize)?;
    let params = RawRate { y: y.into(), rounds };
    gpu.launch(name, Launch { blocks: [blocks, 1, 1], threads: THREADS, shared }, &params)?;
    Ok(f64::from(blocks) * f64::from(rounds) * each)
}

fn over_memory() -> Launch {
    Launch { blocks: [BLOCKS, 1, 1], threads: THREADS, shared: 0 }
}

/// Pieces of 16 bytes.
fn words(name: &'static str, x: &DeviceSlice<u8>) -> Result<u64> {
    if x.len().is_multiple_of(16) {
        return Ok(x.len() as u64 / 16);
    }
    Err(argument(name, format!("{} bytes are no multiple of 16", x.len())))
}
