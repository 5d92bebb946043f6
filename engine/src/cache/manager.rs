//! Block tables: allocate, extend, commit, release.

use models::BlockCopy;
use models::{BLOCK, BlockId};

use super::audit;
use super::pool::{BlockCounts, BlockPool};
use super::prefix::{CacheNamespace, PendingPrefix, PrefixMatch};
use super::table::{Allocated, Allocation, BlockTable, TreePosition};
use super::tree::{Match, Tree};

/// The blocks, and the tree of the tokens computed in them.
#[derive(Debug)]
pub struct BlockManager {
    pub(super) pool: BlockPool,
    pub(super) tree: Tree,
    /// Number of invalidations.
    generation: u64,
}

/// The part of an allocation that comes from cache.
struct CacheHit {
    cached: usize,
    /// Full blocks, which are shared.
    shared_blocks: Vec<BlockId>,
    /// The partly used block, which is copied.
    copy_source: Option<BlockId>,
}

impl BlockManager {
    /// A manager of blocks `0..n_blocks`, all of them free.
    ///
    /// # Panics
    /// If there are 2^32 blocks or more.
    pub fn new(n_blocks: usize) -> BlockManager {
        BlockManager { pool: BlockPool::new(n_blocks), tree: Tree::default(), generation: 0 }
    }

    /// Matches a sequence's first `limit` tokens against those computed or being computed.
    pub fn match_prefix(
        &self,
        namespace: &CacheNamespace,
        token_ids: &[u32],
        limit: usize,
    ) -> PrefixMatch {
        let Some(found) = self.tree.find(namespace, token_ids) else {
            return PrefixMatch { cached: 0, pending: None };
        };
        let (cached, n_tokens) = (found.ready.min(limit), found.known.min(limit));
        let owner = self.tree.node(found.node).owner.filter(|_| n_tokens > cached);
        PrefixMatch { cached, pending: owner.map(|owner| PendingPrefix { owner, n_tokens }) }
    }

    /// Allocates a table: takes the cached prefix, adds blocks for `n_positions` positions
    /// (evicting if necessary) and registers the rest of `token_ids` as being computed by `owner`.
    ///
    /// Nothing is registered if the tree knows more of the sequence than was taken, because of
    /// `max_cached` or because another sequence is computing it. Then the table's tokens can be
    /// shared only after its release.
    ///
    /// `None`, without effect, if too few blocks are free or evictable. If only that fits, the
    /// partly shared block is left out, so that less comes from cache than
    /// [`match_prefix`](Self::match_prefix) found.
    pub fn allocate(&mut self, allocation: Allocation<'_>) -> Option<Allocated> {
        let found = self.tree.find(allocation.namespace, allocation.token_ids);
        let n_blocks = allocation.n_positions.div_ceil(BLOCK);
        let hit =
            self.plan_hit(found, allocation.max_cached.min(allocation.n_positions), n_blocks)?;
        for block in hit.shared_blocks.iter().chain(&hit.copy_source) {
            self.pool.add_table_ref(*block);
        }
        let position = self.attach(allocation, found, &hit);
        let first_own = hit.shared_blocks.len();
        let mut table = BlockTable {
            blocks: hit.shared_blocks,
            cached: hit.cached,
            computed: hit.cached,
            copy_source: hit.copy_source,
            position,
            generation: self.generation,
        };
        self.grow(&mut table, n_blocks);
        let copy = hit.copy_source.map(|from| BlockCopy { from, to: table.blocks[first_own] });
        Some(Allocated { table, copies: copy.into_iter().collect() })
    }

    /// Extends a table to `n_tokens` positions, evicting if necessary. False, without effect, if
    /// too few blocks are free or evictable.
    pub fn extend(&mut self, table: &mut BlockTable, n_tokens: usize) -> bool {
        let n_blocks = n_tokens.div_ceil(BLOCK);
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        let fits = lacking <= self.counts().available();
        if fits {
            self.grow(table, n_blocks);
        }
        fits
    }

    /// Records that the first `computed` positions are in the table's blocks. Registered tokens
    /// among them can be shared from now on. A smaller number than before has no effect.
    ///
    /// # Panics
    /// If the table holds fewer positions.
    pub fn commit(&mut self, table: &mut BlockTable, computed: usize) {
        assert!(
            computed <= table.capacity(),
            "{computed} positions are committed to a table with room for {}",
            table.capacity()
        );
        if computed <= table.computed {
            return;
        }
        table.computed = computed;
        if let Some(source) = table.copy_source.take() {
            self.pool.drop_table_ref(source);
        }
        match table.position {
            TreePosition::Own(leaf) if table.generation == self.generation => {
                self.tree.mark_computed(leaf, computed, &table.blocks, &mut self.pool);
            }
            TreePosition::Own(_) | TreePosition::Shared(_) => {}
        }
    }

    /// Releases a table. Its committed part of `token_ids` (the tokens that it was allocated for
    /// and generated ones after them) stays cached; other blocks are free again, and registered
    /// tokens that were not computed are registered no more. If the table never committed, only the
    /// full blocks that it shares are kept, because the copy may not have been made.
    pub fn release(&mut self, table: BlockTable, token_ids: &[u32]) {
        if table.generation == self.generation {
            let computed = match table.copy_source {
                // The copy was due, and may never have been made.
                Some(_) => table.cached / BLOCK * BLOCK,
                None => table.computed,
            };
            let computed = computed.min(token_ids.len());
            self.detach(table.position, &token_ids[..computed], &table.blocks);
        }
        for block in table.blocks.into_iter().chain(table.copy_source) {
            self.pool.drop_table_ref(block);
        }
    }

    /// Invalidates every cached token, as after a weight update. Open tables are not shared from
    /// any more; their release only frees their blocks.
    pub fn invalidate(&mut self) {
        for (_, node) in self.tree.nodes() {
            for block in &node.blocks {
                self.pool.drop_node_ref(*block);
            }
        }
        self.tree = Tree::default();
        self.generation += 1;
    }

    /// Blocks by use.
    pub fn counts(&self) -> BlockCounts {
        self.pool.counts()
    }

    /// Checks every invariant; for tests, because it visits everything.
    ///
    /// # Errors
    /// The first broken invariant.
    pub fn audit(&self) -> Result<(), String> {
        audit::audit(&self.tree, &self.pool)
    }

    /// The part of the cache to take for a table of `n_blocks`; `None` if the table does not fit.
    fn plan_hit(&self, found: Option<Match>, limit: usize, n_blocks: usize) -> Option<CacheHit> {
        let mut cached = found.map_or(0, |found| found.ready.min(limit));
        let mut blocks =
            found.map_or_else(Vec::new, |found| self.tree.blocks_of(found.node, cached));
        let full_blocks = cached / BLOCK;
        // Blocks that open tables reference once this table is allocated.
        let held = |shared: &[BlockId]| {
            let revived = shared.iter().filter(|block| !self.pool.is_held(**block));
            self.counts().held + revived.count() + (n_blocks - full_blocks)
        };
        let total = self.counts().total;
        let mut source = None;
        if blocks.len() > full_blocks {
            if held(&blocks) <= total {
                source = blocks.pop();
            } else {
                // The copy's source would be one block more than the table has.
                blocks.pop();
                cached = full_blocks * BLOCK;
            }
        }
        (source.is_some() || held(&blocks) <= total).then_some(CacheHit {
            cached,
            shared_blocks: blocks,
            copy_source: source,
        })
    }

    /// Attaches a table to the tree.
    fn attach(
        &mut self,
        allocation: Allocation<'_>,
        found: Option<Match>,
        hit: &CacheHit,
    ) -> TreePosition {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let (node, known) = match found {
            Some(found) => (found.node, found.known),
            None => (tree.root(allocation.namespace), 0),
        };
        let rest = &allocation.token_ids[known..];
        if known == hit.cached && !rest.is_empty() {
            let above = tree.ending_at(node, known, pool);
            let leaf = tree.add_leaf(above, rest, Some(allocation.owner));
            tree.touch(leaf);
            tree.attach_table(leaf);
            TreePosition::Own(leaf)
        } else {
            tree.touch(node);
            let node = tree.ending_at(node, hit.shared_blocks.len() * BLOCK, pool);
            tree.attach_table(node);
            TreePosition::Shared(node)
        }
    }

    /// Grows a table to `n_blocks`, which must be free or evictable.
    fn grow(&mut self, table: &mut BlockTable, n_blocks: usize) {
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        self.tree.evict(lacking, &mut self.pool);
        for _ in 0..lacking {
            let block = self.pool.take_free();
            table.blocks.push(block.expect("free and evictable blocks were counted"));
        }
    }

    /// Detaches a table from the tree, which keeps its computed tokens.
    fn detach(&mut self, position: TreePosition, computed: &[u32], table: &[BlockId]) {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let node = match position {
            TreePosition::Own(leaf) => match tree.truncate_to_computed(leaf, pool) {
                Some(node) => node,
                None => return,
            },
            TreePosition::Shared(node) => node,
        };
        let found = tree.descend(node, computed);
        let last = if found.known == found.ready && found.ready < computed.len() {
            let above = tree.ending_at(found.node, found.ready, pool);
            let leaf = tree.add_leaf(above, &computed[found.ready..], None);
            tree.mark_computed(leaf, computed.len(), table, pool);
            leaf
        } else {
            found.node
        };
        tree.touch(last);
        tree.detach_table(node, pool);
    }
}
