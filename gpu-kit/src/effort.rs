//! How much is measured.

use std::time::Instant;

use gpu::Gpu;

use crate::lines::Trouble;

/// The sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// For a card.
    Full,
    /// For the emulated driver: everything once, at sizes that take milliseconds.
    Small,
}

/// Seconds that a measurement takes at least.
const LONG_ENOUGH: f64 = 0.15;

impl Effort {
    /// One of two sizes.
    pub(crate) fn of<T>(self, full: T, small: T) -> T {
        match self {
            Effort::Full => full,
            Effort::Small => small,
        }
    }

    /// Seconds of one `work`, of which many are under way at a time: the first is not counted.
    pub(crate) fn time(
        self,
        gpu: &Gpu,
        mut work: impl FnMut() -> Result<(), Trouble>,
    ) -> Result<f64, Trouble> {
        work()?;
        gpu.wait()?;
        let mut count = 1_u32;
        loop {
            let start = Instant::now();
            for _ in 0..count {
                work()?;
            }
            gpu.wait()?;
            let seconds = start.elapsed().as_secs_f64();
            if seconds >= self.of(LONG_ENOUGH, 0.0) {
                return Ok(seconds / f64::from(count));
            }
            count *= 2;
        }
    }
}
