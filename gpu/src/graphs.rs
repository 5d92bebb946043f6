//! Graphs of recorded launches: many launches for the cost of one call of the driver.

use crate::driver::{GraphNode, KernelGraph};
use crate::error::Result;
use crate::launch::{Recorded, Recorder};
use crate::open::Gpu;

/// Launches in their order.
#[derive(Debug)]
pub struct Launches(Vec<Recorded>);

impl Launches {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Gpu {
    /// Collects the launches of `work` instead of starting them. The kernels' functions take the card that `work` is given;
    /// copies and allocations happen at once.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn record(&self, work: impl FnOnce(&Gpu) -> Result<()>) -> Result<Launches> {
        let recorder = Recorder::default();
        work(&self.with_recorder(recorder.clone()))?;
        Ok(Launches(recorder.take()))
    }
}

/// A graph with the launches that it starts.
#[derive(Debug)]
struct HeldGraph {
    key: u64,
    graph: KernelGraph,
    launches: Launches,
}

impl HeldGraph {
    fn has_kernels_of(&self, launches: &Launches) -> bool {
        let (own, other) = (&self.launches.0, &launches.0);
        own.iter().map(|launch| launch.kernel).eq(other.iter().map(|launch| launch.kernel))
    }
}

/// The graphs of the last different steps. A graph is started with the very launches of a step: what differs from those that it
/// was made of is set anew, so no graph runs with the arguments of another step.
#[derive(Debug)]
pub struct Graphs {
    /// The last one used is the last.
    held: Vec<HeldGraph>,
    most: usize,
}

/// What [`Graphs::start`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Made a graph.
    Made,
    /// Set this many launches of a graph anew.
    Changed(usize),
}

impl Graphs {
    /// At most this many graphs are held.
    pub fn new(most: usize) -> Graphs {
        Graphs { held: Vec::new(), most }
    }

    /// Starts launches as a graph: one with the same kernels that was started under the same key, or a new one. Steps under one
    /// key should differ in few launches, each of which costs a call of the driver.
    ///
    /// # Errors
    /// [`crate::GpuError::Launch`]; [`crate::GpuError::Lost`].
    pub fn start(&mut self, gpu: &Gpu, key: u64, launches: Launches) -> Result<Started> {
        let fits = |held: &HeldGraph| held.key == key && held.has_kernels_of(&launches);
        let started = if let Some(at) = self.held.iter().position(fits) {
            // A graph whose change failed half way is not put back.
            let mut held = self.held.remove(at);
            let mut changed = 0;
            for (at, (old, new)) in held.launches.0.iter().zip(&launches.0).enumerate() {
                if !old.equals(new) {
                    held.graph.set(at, &node(gpu, new))?;
                    changed += 1;
                }
            }
            held.launches = launches;
            self.held.push(held);
            Started::Changed(changed)
        } else {
            let nodes = launches.0.iter().map(|launch| node(gpu, launch));
            let graph = KernelGraph::new(gpu.context(), nodes)?;
            if self.held.len() == self.most {
                self.held.remove(0);
            }
            self.held.push(HeldGraph { key, graph, launches });
            Started::Made
        };
        let last = self.held.last().expect("it was just put there");
        last.graph.start()?;
        Ok(started)
    }
}

fn node<'a>(gpu: &'a Gpu, launch: &Recorded) -> GraphNode<'a> {
    GraphNode {
        function: gpu.function(launch.kernel),
        blocks: launch.grid.blocks,
        threads: launch.grid.threads,
        shared: launch.grid.shared,
        params: launch.params(),
    }
}
