//! Eviction when blocks are lacking.
//!
//! First the least recently used leaves without tables lose blocks, from their ends. When there are
//! no such leaves, every node is on the path of an open table. Then the only blocks that no table
//! references are *duplicates*: the last, partly filled block of a node whose continuation has its
//! own version of it. The node takes that version instead. So every block that counts as cached can
//! be evicted, and whether a table fits follows from counts alone.

use models::{BLOCK, BlockId};

use super::pool::BlockPool;
use super::tree::{NodeId, Parent, Tree};

impl Tree {
    /// Evicts until `n` blocks are free. So many must be free or cached.
    pub(super) fn evict(&mut self, n: usize, pool: &mut BlockPool) {
        while pool.counts().free < n {
            let Some((_, leaf)) = self.idle.first().copied() else {
                return self.release_duplicates(pool);
            };
            self.evict_last_block(leaf, pool);
        }
    }

    /// Drops the last block of an idle leaf.
    fn evict_last_block(&mut self, leaf: NodeId, pool: &mut BlockPool) {
        let node = self.node(leaf);
        let last = node.first_block() + node.blocks.len() - 1;
        if last * BLOCK <= node.start {
            return self.remove(leaf, pool);
        }
        let block = self.update(leaf, |node| {
            node.tokens.truncate(last * BLOCK - node.start);
            node.ready = node.end();
            node.blocks.pop()
        });
        pool.drop_node_ref(block.expect("a node that starts before its last block has two"));
    }

    fn release_duplicates(&mut self, pool: &mut BlockPool) {
        for slot in 0..self.n_slots() {
            let Some((id, node)) = self.at_slot(slot) else {
                continue;
            };
            match node.blocks.first().copied() {
                Some(first) if pool.is_held(first) => self.replace_above(id, first, pool),
                Some(_) | None => {}
            }
        }
    }

    /// Node `id` starts inside a block of which a table holds a `version`. Replaces the versions of
    /// the nodes above, which no table holds, by it.
    fn replace_above(&mut self, mut id: NodeId, version: BlockId, pool: &mut BlockPool) {
        while let Parent::Node(above) = self.node(id).parent
            && !self.node(id).start.is_multiple_of(BLOCK)
        {
            let node = self.node_mut(above);
            let last = node.blocks.last_mut().expect("a node above is computed");
            if *last == version || pool.is_held(*last) {
                return;
            }
            pool.add_node_ref(version);
            pool.drop_node_ref(std::mem::replace(last, version));
            // Further up it is the same block only if the node above lies within it.
            if node.blocks.len() > 1 {
                return;
            }
            id = above;
        }
    }
}
