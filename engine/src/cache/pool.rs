//! The blocks: a free list and reference counts.

use models::BlockId;

/// Numbers of blocks of each kind; every block is of exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Not referenced.
    pub free: usize,
    /// Referenced by open tables.
    pub held: usize,
    /// Referenced by the prefix tree alone; evictable.
    pub cached: usize,
    /// All blocks.
    pub total: usize,
}

impl BlockCounts {
    /// Blocks that a table can get.
    pub fn available(&self) -> usize {
        self.free + self.cached
    }
}

/// Reference counts of a block.
#[derive(Clone, Copy, Debug, Default)]
struct RefCounts {
    /// By open tables.
    tables: u32,
    /// By nodes of the tree.
    nodes: u32,
}

impl RefCounts {
    fn none(self) -> bool {
        self.tables == 0 && self.nodes == 0
    }
}

/// All blocks.
#[derive(Debug)]
pub(super) struct BlockPool {
    /// Last freed, first taken: it is the most likely to be in a processor's cache.
    free: Vec<BlockId>,
    refs: Vec<RefCounts>,
    /// Blocks that an open table references.
    held: usize,
}

impl BlockPool {
    pub(super) fn new(n_blocks: usize) -> BlockPool {
        let n = u32::try_from(n_blocks).expect("a block's number is 32 bits wide");
        BlockPool {
            free: (0..n).rev().map(BlockId).collect(),
            refs: vec![RefCounts::default(); n_blocks],
            held: 0,
        }
    }

    pub(super) fn counts(&self) -> BlockCounts {
        BlockCounts {
            free: self.free.len(),
            held: self.held,
            cached: self.refs.len() - self.free.len() - self.held,
            total: self.refs.len(),
        }
    }

    /// Whether an open table references the block.
    pub(super) fn is_held(&self, block: BlockId) -> bool {
        self.refs[at(block)].tables > 0
    }

    /// Takes a free block for a table.
    pub(super) fn take_free(&mut self) -> Option<BlockId> {
        let block = self.free.pop()?;
        self.add_table_ref(block);
        Some(block)
    }

    /// Adds a table's reference.
    pub(super) fn add_table_ref(&mut self, block: BlockId) {
        let refs = &mut self.refs[at(block)];
        self.held += usize::from(refs.tables == 0);
        refs.tables += 1;
    }

    /// Drops a table's reference.
    pub(super) fn drop_table_ref(&mut self, block: BlockId) {
        let refs = &mut self.refs[at(block)];
        refs.tables -= 1;
        self.held -= usize::from(refs.tables == 0);
        self.free_if_unused(block);
    }

    /// Adds a node's reference.
    pub(super) fn add_node_ref(&mut self, block: BlockId) {
        self.refs[at(block)].nodes += 1;
    }

    /// Drops a node's reference.
    pub(super) fn drop_node_ref(&mut self, block: BlockId) {
        self.refs[at(block)].nodes -= 1;
        self.free_if_unused(block);
    }

    fn free_if_unused(&mut self, block: BlockId) {
        if self.refs[at(block)].none() {
            self.free.push(block);
        }
    }

    /// Checks the counts, given how often the tree's nodes reference each block.
    pub(super) fn audit(&self, nodes: &[u32]) -> Result<(), String> {
        let mut is_free = vec![false; self.refs.len()];
        for block in &self.free {
            if std::mem::replace(&mut is_free[at(*block)], true) {
                return Err(format!("block {} is free twice", block.0));
            }
        }
        for (index, refs) in self.refs.iter().enumerate() {
            if refs.nodes != nodes[index] {
                return Err(format!(
                    "block {index} counts {} nodes of {}",
                    refs.nodes, nodes[index]
                ));
            }
            if refs.none() != is_free[index] {
                return Err(format!("block {index} has {refs:?}; free: {}", is_free[index]));
            }
        }
        let held = self.refs.iter().filter(|refs| refs.tables > 0).count();
        if held != self.held {
            return Err(format!("{held} blocks are held and not {}", self.held));
        }
        Ok(())
    }
}

/// Index of a block.
pub(super) fn at(block: BlockId) -> usize {
    block.0 as usize
}
