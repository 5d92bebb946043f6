//! Numbers on the card: slices of allocations.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use crate::driver::Memory;
use crate::error::Result;

/// A type of number on the card, of which any bits are valid.
pub trait DeviceNumber: Copy + Default + Send + Sync + 'static {}

impl DeviceNumber for u8 {}
impl DeviceNumber for u32 {}
impl DeviceNumber for f32 {}
impl DeviceNumber for half::bf16 {}
impl DeviceNumber for half::f16 {}

/// Consecutive numbers on a card. A clone is the same memory. All work on a card is in one order, so a slice may be
/// written while earlier work that reads it has not finished.
pub struct DeviceSlice<T> {
    memory: Arc<Memory>,
    /// In bytes.
    start: usize,
    len: usize,
    of: PhantomData<T>,
}

impl<T> Clone for DeviceSlice<T> {
    fn clone(&self) -> Self {
        DeviceSlice {
            memory: self.memory.clone(),
            start: self.start,
            len: self.len,
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.len, std::any::type_name::<T>())
    }
}

impl<T: DeviceNumber> DeviceSlice<T> {
    pub(crate) fn new(memory: Arc<Memory>, start: usize, len: usize) -> DeviceSlice<T> {
        assert!(start + len * size_of::<T>() <= memory.bytes(), "a slice lies in its memory");
        DeviceSlice { memory, start, len, of: PhantomData }
    }

    /// How many numbers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Some of them.
    ///
    /// # Panics
    /// If the range is not within.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> DeviceSlice<T> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {self:?}");
        let start = self.start + range.start * size_of::<T>();
        DeviceSlice { memory: self.memory.clone(), start, len: range.len(), of: PhantomData }
    }

    /// Copies numbers to the card.
    ///
    /// # Errors
    /// Those of a lost card.
    ///
    /// # Panics
    /// If their number is another.
    pub fn write(&self, from: &[T]) -> Result<()> {
        assert_eq!(from.len(), self.len, "{} numbers for {self:?}", from.len());
        self.memory.write(self.start, from)
    }

    /// Waits for the work that is under way, and copies the numbers to the host.
    ///
    /// # Errors
    /// Those of a lost card; a kernel that failed shows here.
    pub fn read(&self) -> Result<Vec<T>> {
        let mut numbers = vec![T::default(); self.len];
        self.memory.read(self.start, &mut numbers)?;
        Ok(numbers)
    }

    /// Fills them with zeros.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn clear(&self) -> Result<()> {
        self.memory.clear(self.start, self.len * size_of::<T>())
    }

    pub(crate) fn address(&self) -> u64 {
        self.memory.address() + self.start as u64
    }
}
