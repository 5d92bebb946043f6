//! A card that was opened.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::card::Card;
use crate::driver::{self, Context, KernelFunction, Memory, Module};
use crate::error::{GpuError, Result};
use crate::images::{self, Origin};
use crate::launch::{Launch, Params, Recorder};
use crate::memory::{DeviceNumber, DeviceSlice};
use crate::sources::{SOURCES, Source};

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
pub struct Gpu {
    open: Arc<OpenCard>,
    /// Where launches go instead of to the card.
    recorder: Option<Recorder>,
}

#[derive(Debug)]
struct OpenCard {
    card: Card,
    cache: Option<PathBuf>,
    origin: Origin,
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
        Gpu::load(card, context, options.cache.clone(), SOURCES)
    }

    /// The same card with the kernels of these sources.
    pub(crate) fn with_kernels(&self, sources: &'static [Source]) -> Result<Gpu> {
        let OpenCard { card, context, cache, .. } = &*self.open;
        Gpu::load(card.clone(), context.clone(), cache.clone(), sources)
    }

    fn load(
        card: Card,
        context: Arc<Context>,
        cache: Option<PathBuf>,
        sources: &'static [Source],
    ) -> Result<Gpu> {
        let images = images::images(sources, card.capability, cache.as_deref())?;
        let room = driver::shared_bytes(card.index)?;
        let mut origin = Origin::Embedded;
        let mut functions = HashMap::new();
        for (source, (image, from)) in sources.iter().zip(images) {
            let (module, from) = match Module::new(&context, &image) {
                // It was made by another compiler than the one that is installed beside this driver.
                Err(refused @ GpuError::Driver { .. }) if from != Origin::Compiled => {
                    match images::recompiled(source, card.capability, cache.as_deref()) {
                        Err(GpuError::NoCompiler) => return Err(refused),
                        image => (Module::new(&context, &image?)?, Origin::Compiled),
                    }
                }
                module => (module?, from),
            };
            origin = origin.max(from);
            let module = Arc::new(module);
            // Cards differ in shared memory; a kernel that needs more has a smaller one beside it.
            for entry in source.kernels.iter().filter(|entry| entry.shared <= room) {
                functions.insert(entry.name, module.function(entry.name, entry.shared)?);
            }
        }
        let open = OpenCard { card, cache, origin, functions, context };
        Ok(Gpu { open: Arc::new(open), recorder: None })
    }

    /// Where the kernels are from; of several places the slowest.
    pub fn origin(&self) -> Origin {
        self.open.origin
    }

    /// What the card is.
    pub fn card(&self) -> &Card {
        &self.open.card
    }

    /// Bytes that are free, and all bytes of its memory.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.open.context.memory()
    }

    /// Waits for all work so far.
    ///
    /// # Errors
    /// [`GpuError::Lost`] where a kernel failed.
    pub fn wait(&self) -> Result<()> {
        self.open.context.wait()
    }

    /// Allocates `len` numbers, whose content is undefined.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn allocate<T: DeviceNumber>(&self, len: usize) -> Result<DeviceSlice<T>> {
        let memory = Memory::new(&self.open.context, len * size_of::<T>())?;
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
        &self.open.context
    }

    /// Whether the card has shared memory enough for a kernel.
    pub(crate) fn has(&self, kernel: &str) -> bool {
        self.open.functions.contains_key(kernel)
    }

    pub(crate) fn with_recorder(&self, recorder: Recorder) -> Gpu {
        Gpu { open: self.open.clone(), recorder: Some(recorder) }
    }

    pub(crate) fn function(&self, kernel: &str) -> &KernelFunction {
        self.named(kernel).1
    }

    fn named(&self, kernel: &str) -> (&'static str, &KernelFunction) {
        let named = self.open.functions.get_key_value(kernel);
        let (name, function) = named.expect("kernels are named as in the table");
        (name, function)
    }

    /// Starts a kernel, or records its launch; a grid without blocks is no work.
    pub(crate) fn launch(&self, kernel: &str, grid: Launch, params: &impl Params) -> Result<()> {
        if grid.blocks.contains(&0) {
            return Ok(());
        }
        let (name, function) = self.named(kernel);
        match &self.recorder {
            Some(recorder) => {
                recorder.add(name, grid, params);
                Ok(())
            }
            None => function.launch(grid.blocks, grid.threads, grid.shared, params),
        }
    }
}
