//! Devices that models compute on.

use std::fmt;
use std::path::PathBuf;

use gpu::{Gpu, GpuOptions};

use crate::device_name::DeviceName;
use crate::error::LoadError;

/// A device that was opened.
#[derive(Clone, Debug, Default)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// A CUDA card. Models on it share its memory.
    Gpu(Gpu),
}

impl DeviceName {
    /// Opens the device. `cache` is the folder where compiled kernels of a card are kept.
    ///
    /// # Errors
    /// [`LoadError::Device`]: no driver, an old one, no such card, one that is too old, no compiler.
    pub fn open(self, cache: Option<PathBuf>) -> Result<Device, LoadError> {
        let index = match self {
            DeviceName::Auto => return DeviceName::auto().0.open(cache),
            DeviceName::Cpu => return Ok(Device::Cpu),
            DeviceName::Cuda(index) => index,
        };
        let options = GpuOptions { index, cache, ..GpuOptions::default() };
        let opened = Gpu::open(&options).map(Device::Gpu);
        opened.map_err(|source| LoadError::Device { device: self, source })
    }
}

impl Device {
    /// Bytes of its own memory that are free; `None` for the processor, whose memory is the program's.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn free_memory(&self) -> Result<Option<u64>, LoadError> {
        let Device::Gpu(gpu) = self else {
            return Ok(None);
        };
        let memory = gpu.memory();
        let (free, _) =
            memory.map_err(|source| LoadError::Device { device: self.name(), source })?;
        Ok(Some(free as u64))
    }

    /// The name by which it is chosen.
    pub fn name(&self) -> DeviceName {
        match self {
            Device::Cpu => DeviceName::Cpu,
            Device::Gpu(gpu) => DeviceName::Cuda(gpu.card().index),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Gpu(gpu) => write!(f, "cuda:{} ({})", gpu.card().index, gpu.card().name),
        }
    }
}
