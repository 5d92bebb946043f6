//! Graphs of recorded launches: many launches for the cost of one call of the driver.

use std::collections::HashSet;

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
    /// Keys under which the card had no memory for a graph. None is made under them again: each try would hold up its step.
    without: HashSet<u64>,
}

/// What [`Graphs::start`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// Made a graph.
    Made,
    /// Set this many launches of a graph anew.
    Changed(usize),
    /// Started the kernels one by one, since the card has no memory for a graph.
    OneByOne,
}

impl Graphs {
    /// At most this many graphs are held.
    pub fn new(most: usize) -> Graphs {
        Graphs { held: Vec::new(), most, without: HashSet::new() }
    }

    /// Starts launches as a graph: one with the same kernels that was started under the same key, or a new one. Steps under one
    /// key should differ in few launches, each of which costs a call of the driver. Where the card has no memory for a new
    /// graph, the kernels of this step, and of later ones under the key that fit no other graph, are started one by one.
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
        } else if let Some(graph) = self.make(gpu, key, &launches)? {
            if self.held.len() == self.most {
                self.held.remove(0);
            }
            self.held.push(HeldGraph { key, graph, launches });
            Started::Made
        } else {
            for launch in &launches.0 {
                launch.start(gpu.function(launch.kernel))?;
            }
            return Ok(Started::OneByOne);
        };
        let last = self.held.last().expect("it was just put there");
        last.graph.start()?;
        Ok(started)
    }

    /// Makes a graph; `None` where the card has no memory for it, or had none under this key.
    fn make(&mut self, gpu: &Gpu, key: u64, launches: &Launches) -> Result<Option<KernelGraph>> {
        if self.without.contains(&key) {
            return Ok(None);
        }
        let nodes = launches.0.iter().map(|launch| node(gpu, launch));
        let graph = KernelGraph::new(gpu.context(), nodes)?;
        if graph.is_none() {
            if self.without.is_empty() {
                let kernels = launches.len();
                tracing::warn!(kernels, "no memory for a graph: kernels are started one by one");
            }
            self.without.insert(key);
        }
        Ok(graph)
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
