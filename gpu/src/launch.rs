//! One launch of a kernel, to be started or to be recorded.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::{self, KernelFunction};
use crate::error::Result;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: u32,
    /// Bytes of shared memory a block.
    pub(crate) shared: u32,
}

/// The structure that a kernel takes.
pub(crate) trait Params: Any + Copy + PartialEq + fmt::Debug + Send {}

impl<P: Any + Copy + PartialEq + fmt::Debug + Send> Params for P {}

/// A structure of any kernel.
trait AnyParams: Any + fmt::Debug + Send {
    fn equals(&self, other: &dyn AnyParams) -> bool;
    fn pointer(&self) -> *mut c_void;
    fn start(&self, function: &KernelFunction, grid: Launch) -> Result<()>;
}

impl<P: Params> AnyParams for P {
    fn equals(&self, other: &dyn AnyParams) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<P>() == Some(self)
    }

    fn pointer(&self) -> *mut c_void {
        driver::pointer(self)
    }

    fn start(&self, function: &KernelFunction, grid: Launch) -> Result<()> {
        function.launch(grid.blocks, grid.threads, grid.shared, self)
    }
}

/// A launch that was not started.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) kernel: &'static str,
    pub(crate) grid: Launch,
    params: Box<dyn AnyParams>,
}

impl Recorded {
    /// Whether it is the same launch of the same kernel.
    pub(crate) fn equals(&self, other: &Recorded) -> bool {
        let same = self.kernel == other.kernel && self.grid == other.grid;
        same && self.params.equals(&*other.params)
    }

    /// The kernel's structure, which is alive as long as this.
    pub(crate) fn params(&self) -> *mut c_void {
        self.params.pointer()
    }

    /// Starts it now; `function` is that of its kernel.
    pub(crate) fn start(&self, function: &KernelFunction) -> Result<()> {
        self.params.start(function, self.grid)
    }
}

/// Where launches go instead of to the card.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Recorded>>>);

impl Recorder {
    pub(crate) fn add(&self, kernel: &'static str, grid: Launch, params: &impl Params) {
        let recorded = Recorded { kernel, grid, params: Box::new(*params) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }

    /// The launches so far.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
