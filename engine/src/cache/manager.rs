//! Opening, filling and ending tables.

use models::batch::BlockCopy;
use models::kv::{BLOCK, BlockId};

use super::pool::Pool;
use super::tree::{Match, Tree};
use super::{
    Allocated, Allocation, BlockCounts, BlockTable, CacheNamespace, PendingPrefix, PrefixMatch,
    TreePosition, audit,
};

/// The blocks, and what is computed in them.
#[derive(Debug)]
pub struct BlockManager {
    pub(super) pool: Pool,
    pub(super) tree: Tree,
    generation: u64,
}

/// What an opening takes from cache.
struct CacheHit {
    cached: usize,
    /// Blocks that are shared whole.
    shared_blocks: Vec<BlockId>,
    /// The block that is shared in part.
    copy_source: Option<BlockId>,
}

impl BlockManager {
    /// Keeps account of blocks `0..n_blocks`, all of them free.
    ///
    /// # Panics
    /// Where there are 2^32 blocks or more.
    pub fn new(n_blocks: usize) -> BlockManager {
        BlockManager { pool: Pool::new(n_blocks), tree: Tree::default(), generation: 0 }
    }

    /// How much of a sequence is computed, or is being computed, of at most `limit` tokens.
    pub fn match_prefix(
        &self,
        space: &CacheNamespace,
        token_ids: &[u32],
        limit: usize,
    ) -> PrefixMatch {
        let Some(found) = self.tree.find(space, token_ids) else {
            return PrefixMatch { cached: 0, pending: None };
        };
        let (cached, upto) = (found.ready.min(limit), found.known.min(limit));
        let owner = self.tree.node(found.node).owner;
        let awaited = owner.filter(|_| upto > cached);
        PrefixMatch { cached, pending: awaited.map(|owner| PendingPrefix { owner, upto }) }
    }

    /// Opens a table: takes the cached part, gives it blocks for `room` positions (evicting if
    /// need be) and registers the rest of `token_ids` as being computed by `owner`.
    ///
    /// Nothing is registered where the cache knows more of the sequence than was taken: because of
    /// the limit, or because somebody else is computing it. What the table computes becomes
    /// shareable when it is released then.
    ///
    /// None, and nothing changes, where more blocks are needed than no open table references. A
    /// little less is taken from cache than [`match_prefix`](Self::match_prefix) found (the whole
    /// blocks alone) where only that fits.
    pub fn allocate(&mut self, opening: Allocation<'_>) -> Option<Allocated> {
        let found = self.tree.find(opening.namespace, opening.token_ids);
        let n_blocks = opening.n_positions.div_ceil(BLOCK);
        let take = self.plan_hit(found, opening.max_cached.min(opening.n_positions), n_blocks)?;
        for block in take.shared_blocks.iter().chain(&take.copy_source) {
            self.pool.add_table_ref(*block);
        }
        let footing = self.attach(opening, found, &take);
        let first_own = take.shared_blocks.len();
        let mut table = BlockTable {
            blocks: take.shared_blocks,
            cached: take.cached,
            computed: take.cached,
            copy_source: take.copy_source,
            position: footing,
            generation: self.generation,
        };
        self.grow(&mut table, n_blocks);
        let copy = take.copy_source.map(|from| BlockCopy { from, to: table.blocks[first_own] });
        Some(Allocated { table, copies: copy.into_iter().collect() })
    }

    /// Gives a table room for `n_tokens` positions in all, evicting if need be. False, and nothing
    /// changes, where more blocks are needed than no open table references.
    pub fn extend(&mut self, table: &mut BlockTable, n_tokens: usize) -> bool {
        let n_blocks = n_tokens.div_ceil(BLOCK);
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        let fits = lacking <= self.counts().available();
        if fits {
            self.grow(table, n_blocks);
        }
        fits
    }

    /// Says that the first `computed` positions are in the table's blocks. Those that the table was
    /// registered for can be shared from now on. Fewer than before changes nothing.
    ///
    /// # Panics
    /// Where the table has no room for so many.
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

    /// Ends a table. What it committed of `token_ids` stays cached: these begin with the tokens that
    /// it was opened for, and generated ones may follow. Blocks that the cache has no use for are
    /// free again, and what was registered and not computed is registered no more. Of a table that
    /// never committed only the whole blocks count that it shares: the copy of the next may not
    /// have been made.
    pub fn release(&mut self, table: BlockTable, token_ids: &[u32]) {
        if table.generation == self.generation {
            let computed = match table.copy_source {
                // The copy that it begins with was due, and may never have been made.
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

    /// Forgets every cached token, as after a change of the weights. Tables that are open are never
    /// shared from again: to release them only frees their blocks.
    pub fn invalidate(&mut self) {
        for (_, node) in self.tree.nodes() {
            for block in &node.blocks {
                self.pool.drop_node_ref(*block);
            }
        }
        self.tree = Tree::default();
        self.generation += 1;
    }

    /// How many blocks there are of each kind.
    pub fn counts(&self) -> BlockCounts {
        self.pool.counts()
    }

    /// Looks at every invariant; for tests, since it walks everything.
    ///
    /// # Errors
    /// What is broken.
    pub fn audit(&self) -> Result<(), String> {
        audit::audit(&self.tree, &self.pool)
    }

    /// What can be taken from cache and leaves room for `n_blocks` in all; none where nothing does.
    fn plan_hit(&self, found: Option<Match>, limit: usize, n_blocks: usize) -> Option<CacheHit> {
        let mut cached = found.map_or(0, |found| found.ready.min(limit));
        let mut blocks =
            found.map_or_else(Vec::new, |found| self.tree.blocks_of(found.node, cached));
        let whole = cached / BLOCK;
        // Blocks that open tables would reference, if this table were opened.
        let held = |shared: &[BlockId]| {
            let revived = shared.iter().filter(|block| !self.pool.is_held(**block));
            self.counts().held + revived.count() + (n_blocks - whole)
        };
        let total = self.counts().total;
        let mut source = None;
        if blocks.len() > whole {
            if held(&blocks) <= total {
                source = blocks.pop();
            } else {
                // The source of a copy takes a block more than the table has.
                blocks.pop();
                cached = whole * BLOCK;
            }
        }
        (source.is_some() || held(&blocks) <= total).then_some(CacheHit {
            cached,
            shared_blocks: blocks,
            copy_source: source,
        })
    }

    /// Puts a table into the tree.
    fn attach(
        &mut self,
        opening: Allocation<'_>,
        found: Option<Match>,
        take: &CacheHit,
    ) -> TreePosition {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let (node, known) = match found {
            Some(found) => (found.node, found.known),
            None => (tree.root(opening.namespace), 0),
        };
        let rest = &opening.token_ids[known..];
        if known == take.cached && !rest.is_empty() {
            let above = tree.ending_at(node, known, pool);
            let leaf = tree.add_leaf(above, rest, Some(opening.owner));
            tree.touch(leaf);
            tree.attach_table(leaf);
            TreePosition::Own(leaf)
        } else {
            tree.touch(node);
            let node = tree.ending_at(node, take.shared_blocks.len() * BLOCK, pool);
            tree.attach_table(node);
            TreePosition::Shared(node)
        }
    }

    /// Gives a table `n_blocks` in all, which are known to be there.
    fn grow(&mut self, table: &mut BlockTable, n_blocks: usize) {
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        self.tree.evict(lacking, &mut self.pool);
        for _ in 0..lacking {
            let block = self.pool.take_free();
            table.blocks.push(block.expect("what is free and cached was held against the need"));
        }
    }

    /// Leaves in the tree what a table has computed of a sequence.
    fn detach(&mut self, footing: TreePosition, computed: &[u32], table: &[BlockId]) {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let node = match footing {
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
