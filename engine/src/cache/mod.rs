//! Which blocks hold whose keys and values, and which beginnings are computed already.
//!
//! A [`BlockManager`] gives sequences tables of blocks and remembers, token by token, what was
//! computed into them: the next sequence that begins alike takes the common part from cache,
//! wherever it ends. Whole blocks are shared; of a partly shared block the table gets a copy, which
//! is due before anything is computed into it ([`BlockCopy`]). What a table is opened for is known
//! from then on as being computed, so that nobody computes it a second time.
//!
//! It is plain data. It knows no tensor, step, clock or channel, and neither what tokens mean nor
//! what is read from them; when to wait, to pre-empt or to refuse is the scheduler's business.
//!
//! Three rules make sharing safe:
//!
//! - a block is written by the one table that took it from the free ones, at positions that it has
//!   not committed; nobody else reads those;
//! - nothing is opened below a part that is not computed;
//! - every block that no open table references can be had. So a table fits exactly if what open
//!   tables reference leaves room for it, and a sequence that is alone can always go on.

mod audit;
mod evict;
mod pool;
mod run;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use models::batch::BlockCopy;
use models::kv::{BLOCK, BlockId};

use pool::Pool;
use tree::{Descent, NodeId, Tree};

/// Tokens are shared only within one space. A change of the weights is told by
/// [`BlockManager::forget_all`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space {
    /// The adapter's digest, or none for the base model.
    pub adapter: Option<Arc<str>>,
    /// What callers that may share have in common.
    pub salt: u64,
}

/// A sequence's number, given by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(pub u64);

/// What the cache knows of a sequence's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Tokens at its start that are computed, at most the limit asked for.
    pub cached: usize,
    /// Who is computing more of it.
    pub awaited: Option<Awaited>,
}

/// A sequence that is computing more of a prefix: it pays to wait until it has computed `upto`
/// tokens, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Who.
    pub owner: SequenceId,
    /// Tokens at the start that can be shared then, at most the limit asked for.
    pub upto: usize,
}

/// What a table is opened for.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The sequence.
    pub owner: SequenceId,
    /// Whom it shares with.
    pub space: &'a Space,
    /// Its tokens, as far as they are known.
    pub token_ids: &'a [u32],
    /// At most so many tokens are taken from cache: what is read must be computed.
    pub limit: usize,
    /// Positions that the table has room for; not less than `token_ids`, where all of them are to
    /// be computed.
    pub room: usize,
}

/// A table, and what has to be done before anything is computed into it.
#[derive(Debug)]
pub struct Opened {
    /// The table.
    pub table: BlockTable,
    /// Blocks to copy, in this order and after those of tables that were opened earlier. Their
    /// sources stay as they are until the table's first commit.
    pub copies: Vec<BlockCopy>,
}

/// The blocks of one sequence. It goes back by [`BlockManager::release`] and in no other way; it
/// cannot be cloned, so a double free does not compile.
#[must_use = "blocks that are not released are lost"]
#[derive(Debug)]
pub struct BlockTable {
    blocks: Vec<BlockId>,
    cached: usize,
    computed: usize,
    /// The block that the first own block begins as a copy of, until the first commit.
    source: Option<BlockId>,
    footing: Footing,
    /// The cache that it shares with: the one since the last [`BlockManager::forget_all`].
    generation: u64,
}

/// Where an open table stands in the tree.
#[derive(Clone, Copy, Debug)]
enum Footing {
    /// On the leaf that it computes: others see what it commits.
    Own(NodeId),
    /// On the whole blocks that it shares: what it computes is its own affair until it is released.
    Shared(NodeId),
}

impl BlockTable {
    /// The blocks in order of position.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Tokens that were taken from cache when it was opened.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// Tokens that are in the blocks: cached ones and those committed since.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// Positions that it has room for.
    pub fn room(&self) -> usize {
        self.blocks.len() * BLOCK
    }
}

/// How many blocks there are of each kind; every block is of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nobody's.
    pub free: usize,
    /// Referenced by open tables.
    pub held: usize,
    /// Referenced by the cache alone; to be had when blocks are lacking.
    pub cached: usize,
    /// All of them.
    pub total: usize,
}

impl Counts {
    /// Blocks that a table can be given.
    pub fn available(&self) -> usize {
        self.free + self.cached
    }
}

/// The blocks, and what is computed in them.
#[derive(Debug)]
pub struct BlockManager {
    pool: Pool,
    tree: Tree,
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
        BlockManager {
            pool: Pool::new(n_blocks),
            tree: Tree::default(),
            generation: 0,
        }
    }

    /// How much of a sequence is computed, or is being computed, of at most `limit` tokens.
    pub fn match_prefix(&self, space: &Space, token_ids: &[u32], limit: usize) -> Prefix {
        let Some(found) = self.tree.find(space, token_ids) else {
            return Prefix {
                cached: 0,
                awaited: None,
            };
        };
        let (cached, upto) = (found.ready.min(limit), found.known.min(limit));
        let owner = self.tree.node(found.node).owner;
        let awaited = owner.filter(|_| upto > cached);
        Prefix {
            cached,
            awaited: awaited.map(|owner| Awaited { owner, upto }),
        }
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
        let Opening {
            owner,
            space,
            token_ids,
            limit,
            room,
        } = opening;
        let found = self.tree.find(space, token_ids);
        let n_blocks = room.div_ceil(BLOCK);
        let take = self.take(found, limit.min(room), n_blocks)?;
        for block in take.blocks.iter().chain(&take.source) {
            self.pool.hold(*block);
        }
        self.tree.tick();
        let node = match found {
            Some(found) => found.node,
            None => self.tree.root(space),
        };
        let known = found.map_or(0, |found| found.known);
        let footing = if known == take.cached && known < token_ids.len() {
            let above = self.tree.ending_at(node, known, &mut self.pool);
            let leaf = self.tree.add(above, &token_ids[known..], Some(owner));
            self.tree.touch(leaf);
            Footing::Own(leaf)
        } else {
            self.tree.touch(node);
            let whole = take.blocks.len() * BLOCK;
            Footing::Shared(self.tree.ending_at(node, whole, &mut self.pool))
        };
        let (Footing::Own(node) | Footing::Shared(node)) = footing;
        self.tree.stand(node);
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
        let copy = take.source.map(|from| BlockCopy {
            from,
            to: table.blocks[first_own],
        });
        Some(Opened {
            table,
            copies: copy.into_iter().collect(),
        })
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
                self.tree
                    .advance(leaf, computed, &table.blocks, &mut self.pool);
            }
            Footing::Own(_) | Footing::Shared(_) => {}
        }
    }

    /// Ends a table. What it committed of `token_ids` stays cached: these begin with the tokens that
    /// it was opened for, and generated ones may follow. Blocks that the cache has no use for are
    /// free again, and what was registered and not computed is registered no more.
    pub fn release(&mut self, table: BlockTable, token_ids: &[u32]) {
        if table.generation == self.generation {
            let computed = table.computed.min(token_ids.len());
            self.settle(table.footing, &token_ids[..computed], &table.blocks);
        }
        for block in table.blocks.into_iter().chain(table.source) {
            self.pool.let_go(block);
        }
    }

    /// Forgets every cached token, as after a change of the weights. Tables that are open are never
    /// shared from again: to release them only frees their blocks.
    pub fn forget_all(&mut self) {
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
        (source.is_some() || held(&blocks) <= total).then_some(Take {
            cached,
            blocks,
            source,
        })
    }

    /// Gives a table `n_blocks` in all, which are known to be there.
    fn grow(&mut self, table: &mut BlockTable, n_blocks: usize) {
        let lacking = n_blocks.saturating_sub(table.blocks.len());
        self.tree.reclaim(lacking, &mut self.pool);
        for _ in 0..lacking {
            let block = self.pool.take();
            table
                .blocks
                .push(block.expect("what is free and cached was held against the need"));
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
