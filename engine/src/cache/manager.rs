//! Opening, filling and ending tables.

use models::batch::BlockCopy;
use models::kv::{BLOCK, BlockId};

use super::pool::Pool;
use super::tree::{Descent, Tree};
use super::{Awaited, BlockTable, Counts, Footing, Opened, Opening, Prefix, Space, audit};

/// The blocks, and what is computed in them.
#[derive(Debug)]
pub struct BlockManager {
    pub(super) pool: Pool,
    pub(super) tree: Tree,
    generation: u64,
}

/// What an opening takes from cache.
struct Take {
    cached: usize,
    /// Blocks that are shared whole.
    blocks: Vec<BlockId>,
    /// The block that is shared in part.
    source: Option<BlockId>,
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
    pub fn match_prefix(&self, space: &Space, token_ids: &[u32], limit: usize) -> Prefix {
        let Some(found) = self.tree.find(space, token_ids) else {
            return Prefix { cached: 0, awaited: None };
        };
        let (cached, upto) = (found.ready.min(limit), found.known.min(limit));
        let owner = self.tree.node(found.node).owner;
        let awaited = owner.filter(|_| upto > cached);
        Prefix { cached, awaited: awaited.map(|owner| Awaited { owner, upto }) }
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
    pub fn open(&mut self, opening: Opening<'_>) -> Option<Opened> {
        let found = self.tree.find(opening.space, opening.token_ids);
        let n_blocks = opening.room.div_ceil(BLOCK);
        let take = self.take(found, opening.limit.min(opening.room), n_blocks)?;
        for block in take.blocks.iter().chain(&take.source) {
            self.pool.hold(*block);
        }
        let footing = self.stand(opening, found, &take);
        let first_own = take.blocks.len();
        let mut table = BlockTable {
            blocks: take.blocks,
            cached: take.cached,
            computed: take.cached,
            source: take.source,
            footing,
            generation: self.generation,
        };
        self.grow(&mut table, n_blocks);
        let copy = take.source.map(|from| BlockCopy { from, to: table.blocks[first_own] });
        Some(Opened { table, copies: copy.into_iter().collect() })
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
            computed <= table.room(),
            "{computed} positions are committed to a table with room for {}",
            table.room()
        );
        if computed <= table.computed {
            return;
        }
        table.computed = computed;
        if let Some(source) = table.source.take() {
            self.pool.let_go(source);
        }
        match table.footing {
            Footing::Own(leaf) if table.generation == self.generation => {
                self.tree.advance(leaf, computed, &table.blocks, &mut self.pool);
            }
            Footing::Own(_) | Footing::Shared(_) => {}
        }
    }

    /// Ends a table. What it committed of `token_ids` stays cached: these begin with the tokens that
    /// it was opened for, and generated ones may follow. Blocks that the cache has no use for are
    /// free again, and what was registered and not computed is registered no more. Of a table that
    /// never committed only the whole blocks count that it shares: the copy of the next may not
    /// have been made.
    pub fn release(&mut self, table: BlockTable, token_ids: &[u32]) {
        if table.generation == self.generation {
            let computed = match table.source {
                // The copy that it begins with was due, and may never have been made.
                Some(_) => table.cached / BLOCK * BLOCK,
                None => table.computed,
            };
            let computed = computed.min(token_ids.len());
            self.settle(table.footing, &token_ids[..computed], &table.blocks);
        }
        for block in table.blocks.into_iter().chain(table.source) {
            self.pool.let_go(block);
        }
    }

    /// Forgets every cached token, as after a change of the weights. Tables that are open are never
    /// shared from again: to release them only frees their blocks.
    pub fn invalidate(&mut self) {
        for (_, node) in self.tree.nodes() {
            for block in &node.blocks {
                self.pool.forget(*block);
            }
        }
        self.tree = Tree::default();
        self.generation += 1;
    }

    /// How many blocks there are of each kind.
    pub fn counts(&self) -> Counts {
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
    fn take(&self, found: Option<Descent>, limit: usize, n_blocks: usize) -> Option<Take> {
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
        (source.is_some() || held(&blocks) <= total).then_some(Take { cached, blocks, source })
    }

    /// Puts a table into the tree.
    fn stand(&mut self, opening: Opening<'_>, found: Option<Descent>, take: &Take) -> Footing {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let (node, known) = match found {
            Some(found) => (found.node, found.known),
            None => (tree.root(opening.space), 0),
        };
        let rest = &opening.token_ids[known..];
        if known == take.cached && !rest.is_empty() {
            let above = tree.ending_at(node, known, pool);
            let leaf = tree.add(above, rest, Some(opening.owner));
            tree.touch(leaf);
            tree.stand(leaf);
            Footing::Own(leaf)
        } else {
            tree.touch(node);
            let node = tree.ending_at(node, take.blocks.len() * BLOCK, pool);
            tree.stand(node);
            Footing::Shared(node)
        }
    }

    /// Gives a table `n_blocks` in all, which are known to be there.
    fn grow(&mut self, table: &mut BlockTable, n_blocks: usize) {
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        self.tree.reclaim(lacking, &mut self.pool);
        for _ in 0..lacking {
            let block = self.pool.take();
            table.blocks.push(block.expect("what is free and cached was held against the need"));
        }
    }

    /// Leaves in the tree what a table has computed of a sequence.
    fn settle(&mut self, footing: Footing, computed: &[u32], table: &[BlockId]) {
        let (tree, pool) = (&mut self.tree, &mut self.pool);
        tree.tick();
        let node = match footing {
            Footing::Own(leaf) => match tree.settle(leaf, pool) {
                Some(node) => node,
                None => return,
            },
            Footing::Shared(node) => node,
        };
        let found = tree.descend(node, computed);
        let last = if found.known == found.ready && found.ready < computed.len() {
            let above = tree.ending_at(found.node, found.ready, pool);
            let leaf = tree.add(above, &computed[found.ready..], None);
            tree.advance(leaf, computed.len(), table, pool);
            leaf
        } else {
            found.node
        };
        tree.touch(last);
        tree.leave(node, pool);
    }
}
