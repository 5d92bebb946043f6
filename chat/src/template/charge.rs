//! Memory claimed by living values.

use std::cell::Cell;
use std::rc::Rc;

/// Bytes claimed by a living value; returned when it is dropped.
pub(super) struct Charge {
    live: Rc<Cell<usize>>,
    bytes: usize,
}

impl Charge {
    /// Adds `bytes` to the counter `live` until the charge is dropped.
    pub(super) fn new(live: &Rc<Cell<usize>>, bytes: usize) -> Charge {
        live.set(live.get() + bytes);
        Charge { live: Rc::clone(live), bytes }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.live.set(self.live.get() - self.bytes);
    }
}
