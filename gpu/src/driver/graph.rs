//! Launches that are started together: the driver's graphs, each a chain of kernels.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{DriverError, sys};

use super::{Context, KernelFunction, check_start};
use crate::error::Result;

/// A kernel with the shape of its grid and the structure that it takes.
#[derive(Debug)]
pub(crate) struct GraphNode<'a> {
    pub(crate) function: &'a KernelFunction,
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) shared: u32,
    /// Of the kernel's structure, which lives to the end of the call.
    pub(crate) params: *mut c_void,
}

/// Kernels that run one after the other, ready to be started by one call.
#[derive(Debug)]
pub(crate) struct KernelGraph {
    context: Arc<Context>,
    graph: sys::CUgraph,
    started: sys::CUgraphExec,
    nodes: Vec<sys::CUgraphNode>,
}

// SAFETY: as for the context.
unsafe impl Send for KernelGraph {}

impl KernelGraph {
    /// Makes a graph of these launches; `None` where there is no memory for it.
    pub(crate) fn new<'a>(
        context: &Arc<Context>,
        launches: impl Iterator<Item = GraphNode<'a>>,
    ) -> Result<Option<KernelGraph>> {
        context.bind()?;
        let mut made = KernelGraph {
            context: context.clone(),
            graph: std::ptr::null_mut(),
            started: std::ptr::null_mut(),
            nodes: Vec::new(),
        };
        // SAFETY: the handle is a field of a value that destroys it.
        let created = unsafe { sys::cuGraphCreate(&raw mut made.graph, 0) };
        if !has_memory("cuGraphCreate", created.result())? {
            return Ok(None);
        }
        for launch in launches {
            let before: &[sys::CUgraphNode] = made.nodes.last().map_or(&[], std::slice::from_ref);
            let mut pointers = [launch.params];
            let params = raw(&launch, &mut pointers);
            let mut node = std::ptr::null_mut();
            // SAFETY: the graph and the node before are those of this value, and the driver copies the kernel's structure in
            // the call. What it points to is as for a launch.
            let added = unsafe {
                sys::cuGraphAddKernelNode_v2(
                    &raw mut node,
                    made.graph,
                    before.as_ptr(),
                    before.len(),
                    &raw const params,
                )
            };
            if !has_memory("cuGraphAddKernelNode", added.result())? {
                return Ok(None);
            }
            made.nodes.push(node);
        }
        // SAFETY: as above.
        let ready =
            unsafe { sys::cuGraphInstantiateWithFlags(&raw mut made.started, made.graph, 0) };
        Ok(has_memory("cuGraphInstantiate", ready.result())?.then_some(made))
    }

    /// Gives kernel `at`, which stays the same, another grid and another structure.
    pub(crate) fn set(&self, at: usize, launch: &GraphNode<'_>) -> Result<()> {
        self.context.bind()?;
        let mut pointers = [launch.params];
        let params = raw(launch, &mut pointers);
        // SAFETY: the node is of the graph that `started` was made from; the structure is copied in the call, and what has been
        // started keeps the one that it had.
        let set = unsafe {
            sys::cuGraphExecKernelNodeSetParams_v2(self.started, self.nodes[at], &raw const params)
        };
        check_start("cuGraphExecKernelNodeSetParams", set.result())
    }

    /// Starts all kernels.
    pub(crate) fn start(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: graph and stream are alive; what the kernels' structures point to is as for a launch.
        let started = unsafe { sys::cuGraphLaunch(self.started, self.context.stream()) };
        check_start("cuGraphLaunch", started.result())
    }
}

impl Drop for KernelGraph {
    fn drop(&mut self) {
        // The card may be running it; errors are those of a card that is lost.
        let _ = self.context.wait();
        // SAFETY: both were made with this value and are not used again.
        unsafe {
            if !self.started.is_null() {
                let _ = sys::cuGraphExecDestroy(self.started).result();
            }
            if !self.graph.is_null() {
                let _ = sys::cuGraphDestroy(self.graph).result();
            }
        }
    }
}

/// Whether a call that makes a part of a graph found memory for it.
fn has_memory(call: &str, result: Result<(), DriverError>) -> Result<bool> {
    if result == Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) {
        return Ok(false);
    }
    check_start(call, result).map(|()| true)
}

/// A node as the driver takes it; `pointers` is alive to the end of the driver's call.
fn raw(launch: &GraphNode<'_>, pointers: &mut [*mut c_void; 1]) -> sys::CUDA_KERNEL_NODE_PARAMS_v2 {
    let [x, y, z] = launch.blocks;
    sys::CUDA_KERNEL_NODE_PARAMS_v2 {
        func: launch.function.handle(),
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: launch.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: launch.shared,
        kernelParams: pointers.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    }
}
