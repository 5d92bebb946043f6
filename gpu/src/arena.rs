//! The memory of a step.

use std::sync::Arc;

use crate::driver::Memory;
use crate::error::{GpuError, Result};
use crate::memory::{DeviceNumber, DeviceSlice};
use crate::open::Gpu;

/// Memory that is given out piece by piece and taken back as a whole: what a step needs beside weights and blocks. A
/// step allocates nothing, so it cannot run out of memory where the arena has the size of the largest step.
#[derive(Debug)]
pub struct Arena {
    memory: Arc<Memory>,
    used: usize,
}

/// What copies and vectors of the kernels need.
const ALIGNMENT: usize = 256;

impl Arena {
    /// An arena of `bytes`.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Arena> {
        Ok(Arena { memory: Arc::new(Memory::new(gpu.context(), bytes)?), used: 0 })
    }

    /// `len` numbers, whose content is undefined.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] with the arena's figures.
    pub fn take<T: DeviceNumber>(&mut self, len: usize) -> Result<DeviceSlice<T>> {
        let wanted = len * size_of::<T>();
        let start = self.used.next_multiple_of(ALIGNMENT);
        let total = self.memory.bytes();
        if start + wanted > total {
            return Err(GpuError::OutOfMemory { wanted, free: total.saturating_sub(start), total });
        }
        self.used = start + wanted;
        Ok(DeviceSlice::new(self.memory.clone(), start, len))
    }

    /// Takes everything back.
    ///
    /// # Panics
    /// If a slice of it is still held: it would be given out twice.
    pub fn reset(&mut self) {
        assert_eq!(Arc::strong_count(&self.memory), 1, "a slice of the last step is still held");
        self.used = 0;
    }
}
