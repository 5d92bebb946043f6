//! Tests of journals and lines, and a disk that fails at any step.

mod journal;
mod lines;

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disk::{DiskStep, Faults};

/// Lets a number of steps pass, and then a number of steps fail.
#[derive(Debug)]
pub(crate) struct FaultPlan {
    passing: usize,
    failing: usize,
    kind: ErrorKind,
    seen: AtomicUsize,
}

impl FaultPlan {
    pub(crate) fn new(passing: usize, failing: usize, kind: ErrorKind) -> FaultPlan {
        FaultPlan { passing, failing, kind, seen: AtomicUsize::new(0) }
    }

    /// Returns whether a step has failed.
    pub(crate) fn tripped(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.passing
    }
}

impl Faults for FaultPlan {
    fn before(&self, _step: DiskStep) -> io::Result<()> {
        let seen = self.seen.fetch_add(1, Ordering::SeqCst);
        let fails = seen >= self.passing && seen - self.passing < self.failing;
        if fails { Err(self.kind.into()) } else { Ok(()) }
    }
}
