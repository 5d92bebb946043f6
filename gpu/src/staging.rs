//! A step's host data on its way to the card: collected in pinned memory, sent by one copy.

use std::sync::Arc;

use crate::driver::{Event, Memory, Pinned};
use crate::error::{GpuError, Result};
use crate::memory::{DeviceNumber, DeviceSlice};
use crate::open::Gpu;

/// Two rooms in turn, so that a step is collected while the copy of the one before may be under way.
#[derive(Debug)]
pub struct Staging {
    rooms: [Room; 2],
    turn: usize,
    used: usize,
}

#[derive(Debug)]
struct Room {
    host: Pinned,
    device: Arc<Memory>,
    sent: Event,
}

const ALIGNMENT: usize = 16;

impl Staging {
    /// Rooms of `bytes` each.
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`].
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Staging> {
        let room = || {
            let context = gpu.context();
            Ok(Room {
                host: Pinned::new(context, bytes)?,
                device: Arc::new(Memory::new(context, bytes)?),
                sent: Event::new(context)?,
            })
        };
        Ok(Staging { rooms: [room()?, room()?], turn: 0, used: 0 })
    }

    /// Turns to the other room, after the card has read it.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn begin(&mut self) -> Result<()> {
        self.turn = 1 - self.turn;
        self.used = 0;
        self.rooms[self.turn].sent.wait()
    }

    /// The room that is filled now, of two: what is staged in one order has the same addresses in a room.
    pub fn turn(&self) -> usize {
        self.turn
    }

    /// Adds numbers, which are on the card after [`Staging::send`].
    ///
    /// # Errors
    /// [`GpuError::OutOfMemory`] with the room's figures.
    pub fn put<T: DeviceNumber>(&mut self, numbers: &[T]) -> Result<DeviceSlice<T>> {
        let room = &mut self.rooms[self.turn];
        let (start, wanted) = (self.used.next_multiple_of(ALIGNMENT), size_of_val(numbers));
        let total = room.device.bytes();
        if start + wanted > total {
            return Err(GpuError::OutOfMemory { wanted, free: total.saturating_sub(start), total });
        }
        room.host.put(start, numbers);
        self.used = start + wanted;
        Ok(DeviceSlice::new(room.device.clone(), start, numbers.len()))
    }

    /// Copies what was added, before any later work of the card.
    ///
    /// # Errors
    /// Those of a lost card.
    pub fn send(&mut self) -> Result<()> {
        let room = &self.rooms[self.turn];
        room.device.write_pinned(&room.host, self.used)?;
        room.sent.record()
    }
}
