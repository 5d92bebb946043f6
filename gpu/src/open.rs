//! A card that was opened.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::card::Card;
use crate::driver::{self, Context, KernelFunction, Memory, Module};
use crate::error::{GpuError, Result};
use crate::images;
use crate::memory::{DeviceNumber, DeviceSlice};
use crate::sources::SOURCES;

/// How a card is opened.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// The card's number, from 0.
    pub index: usize,
    /// Where compiled kernels are kept. Without a folder, or where it cannot be written, each start compiles them.
    pub cache: Option<PathBuf>,
    /// Libraries that are loaded before the driver and the compiler are looked for by their names: where these lie in
    /// places that the system's loader does not know.
    pub libraries: Vec<PathBuf>,
}

/// A card with its kernels. A clone is the same card.
#[derive(Clone, Debug)]
pub struct Gpu(Arc<OpenCard>);

#[derive(Debug)]
struct OpenCard {
    card: Card,
    // Before the context, which its functions need to the end.
    functions: HashMap<&'static str, KernelFunction>,
    context: Arc<Context>,
}

impl Gpu {
    /// Opens a card and loads its kernels, which takes some seconds if they must be compiled.
    ///
    /// # Errors
    /// [`GpuError::NoDriver`], [`GpuError::OldDriver`], [`GpuError::NoSuchCard`], [`GpuError::OldCard`],
    /// [`GpuError::NoCompiler`], [`GpuError::Compile`].
    pub fn open(options: &GpuOptions) -> Result<Gpu> {
        for library in &options.libraries {
            driver::load(library);
        }
        driver::version()?;
        let card = driver::card(options.index)?;
        if !card.is_usable() {
            let Card { index, name, capability, .. } = card;
            return Err(GpuError::OldCard { index, name, capability });
        }
        let context = Context::new(options.index)?;
        let images = images::images(card.capability, options.cache.as_deref())?;
        let room = driver::shared_bytes(options.index)?;
        let mut functions = HashMap::new();
        for (source, image) in SOURCES.iter().zip(images) {
            let module = Arc::new(Module::new(&context, &image)?);
            // Cards differ in shared memory; a kernel that needs more has a smaller one beside it.
            for entry in source.kernels.iter().filter(|entry| entry.shared <= room) {
                functions.insert(entry.name, module.function(entry.name, entry.shared)?);
            }
        }
        Ok(Gpu(Arc::new(OpenCard { card, functions, context })))
    }

    /// What the card is.
    pub fn card(&self) -> &Card {
        &self.0.card
    }

    /// Bytes that are free, and all bytes of its memory.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.0.context.memory()
    }

    /// Waits for all work so far.
    ///
    /// # Errors
    /// [`GpuError::Lost`] where a kernel failed.
    pub fn wait(&self) -> Result<()> {
        self.0.context.wait()
    }

    /// Allocates `len` numbers, whose content is undefined.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn allocate<T: DeviceNumber>(&self, len: usize) -> Result<DeviceSlice<T>> {
        let memory = Memory::new(&self.0.context, len * size_of::<T>())?;
        Ok(DeviceSlice::new(Arc::new(memory), 0, len))
    }

    /// Allocates memory for these numbers and copies them.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn upload<T: DeviceNumber>(&self, numbers: &[T]) -> Result<DeviceSlice<T>> {
        let slice = self.allocate(numbers.len())?;
        slice.write(numbers)?;
        Ok(slice)
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    /// Whether the card has shared memory enough for a kernel.
    pub(crate) fn has(&self, kernel: &str) -> bool {
        self.0.functions.contains_key(kernel)
    }

    /// Starts a kernel; a grid without blocks is no work.
    pub(crate) fn launch<P: Copy>(&self, kernel: &str, grid: Launch, params: &P) -> Result<()> {
        if grid.blocks.contains(&0) {
            return Ok(());
        }
        let function = self.0.functions.get(kernel).expect("kernels are named as in the table");
        function.launch(grid.blocks, grid.threads, grid.shared, params)
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: u32,
    /// Bytes of shared memory a block.
    pub(crate) shared: u32,
}
