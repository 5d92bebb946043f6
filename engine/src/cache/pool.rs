//! The blocks and who uses them: a free list and two counts for each block.

use models::kv::BlockId;

use super::BlockCounts;

/// How often a block is referenced, and by what.
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
pub(super) struct Pool {
    /// The last freed goes out first: it is the likeliest to be in a processor's cache.
    free: Vec<BlockId>,
    uses: Vec<RefCounts>,
    /// Blocks that an open table references.
    held: usize,
}

impl Pool {
    pub(super) fn new(n_blocks: usize) -> Pool {
        let n = u32::try_from(n_blocks).expect("a block's number is 32 bits wide");
        Pool {
            free: (0..n).rev().map(BlockId).collect(),
            uses: vec![RefCounts::default(); n_blocks],
            held: 0,
        }
    }

    pub(super) fn counts(&self) -> BlockCounts {
        BlockCounts {
            free: self.free.len(),
            held: self.held,
            cached: self.uses.len() - self.free.len() - self.held,
            total: self.uses.len(),
        }
    }

    /// Whether an open table references the block.
    pub(super) fn is_held(&self, block: BlockId) -> bool {
        self.uses[at(block)].tables > 0
    }

    /// A free block, which is the table's that asks.
    pub(super) fn take_free(&mut self) -> Option<BlockId> {
        let block = self.free.pop()?;
        self.add_table_ref(block);
        Some(block)
    }

    /// One more table references it.
    pub(super) fn add_table_ref(&mut self, block: BlockId) {
        let uses = &mut self.uses[at(block)];
        self.held += usize::from(uses.tables == 0);
        uses.tables += 1;
    }

    /// One table fewer references it.
    pub(super) fn drop_table_ref(&mut self, block: BlockId) {
        let uses = &mut self.uses[at(block)];
        uses.tables -= 1;
        self.held -= usize::from(uses.tables == 0);
        self.free_if_unused(block);
    }

    /// One more node references it.
    pub(super) fn add_node_ref(&mut self, block: BlockId) {
        self.uses[at(block)].nodes += 1;
    }

    /// One node fewer references it.
    pub(super) fn drop_node_ref(&mut self, block: BlockId) {
        self.uses[at(block)].nodes -= 1;
        self.free_if_unused(block);
    }

    fn free_if_unused(&mut self, block: BlockId) {
        if self.uses[at(block)].none() {
            self.free.push(block);
        }
    }

    /// What is wrong, given how often the tree's nodes reference each block.
    pub(super) fn audit(&self, nodes: &[u32]) -> Result<(), String> {
        let mut is_free = vec![false; self.uses.len()];
        for block in &self.free {
            if std::mem::replace(&mut is_free[at(*block)], true) {
                return Err(format!("block {} is free twice", block.0));
            }
        }
        for (index, uses) in self.uses.iter().enumerate() {
            if uses.nodes != nodes[index] {
                return Err(format!(
                    "block {index} counts {} nodes of {}",
                    uses.nodes, nodes[index]
                ));
            }
            if uses.none() != is_free[index] {
                return Err(format!("block {index} has {uses:?}; free: {}", is_free[index]));
            }
        }
        let held = self.uses.iter().filter(|uses| uses.tables > 0).count();
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
