//! A simulated user of the cache, whose keys and values are digests of the tokens they came from.

use std::collections::BTreeSet;

use models::BLOCK;
use models::BlockCopy;

use super::super::pool::at;
use super::super::table::TreePosition;
use super::super::{
    Allocated, Allocation, BlockManager, BlockTable, CacheNamespace, PrefixMatch, SequenceId,
};

/// An operation. Indices are taken modulo the number of tables.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Open {
        salt: u64,
        tokens: Vec<u32>,
        /// Tokens known at allocation; the rest is generated.
        opened: usize,
        limit: usize,
        /// Positions beyond the known tokens; fewer if negative.
        room: isize,
        /// Allocates even if another sequence is computing the prefix.
        ignore_pending: bool,
    },
    /// Computes up to this many more tokens of a table.
    Step {
        table: usize,
        tokens: usize,
    },
    Extend {
        table: usize,
        positions: usize,
    },
    /// With `short`, passes only this many of its tokens, and a copy that is still due is not made.
    Release {
        table: usize,
        short: Option<usize>,
    },
    Invalidate,
}

struct Live {
    id: SequenceId,
    namespace: CacheNamespace,
    tokens: Vec<u32>,
    weights: u64,
    table: BlockTable,
}

/// A sequence that was computed or is being computed, in a cache without eviction.
struct Known {
    namespace: CacheNamespace,
    tokens: Vec<u32>,
    ready: usize,
    owner: Option<SequenceId>,
}

/// A manager, the contents of its blocks, and the open tables.
pub(super) struct World {
    pub(super) manager: BlockManager,
    kv: Vec<[u64; BLOCK]>,
    /// Copies due before the next step.
    due: Vec<BlockCopy>,
    live: Vec<Live>,
    weights: u64,
    next_id: u64,
    /// Everything that must be found; `None` if blocks may run out, so that eviction is allowed.
    known: Option<Vec<Known>>,
}

fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ (x >> 27)
}

fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Live {
    /// The expected content of each position: a digest of weights, namespace and tokens so far.
    fn contents(&self) -> impl Iterator<Item = u64> {
        let start = mix(self.weights) ^ mix(self.namespace.salt + 99);
        self.tokens.iter().scan(start, |state, token| {
            *state = mix(*state ^ u64::from(*token));
            Some(*state)
        })
    }
}

impl World {
    /// With `ample` there are blocks for everything, and every computed token must be found again.
    pub(super) fn new(n_blocks: usize, ample: bool) -> World {
        World {
            manager: BlockManager::new(n_blocks),
            kv: vec![[0; BLOCK]; n_blocks],
            due: Vec::new(),
            live: Vec::new(),
            weights: 0,
            next_id: 0,
            known: ample.then(Vec::new),
        }
    }

    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Op::Open { ignore_pending, room, opened, limit, salt, tokens } => {
                let opened = opened.min(tokens.len());
                let room = opened.saturating_add_signed(room);
                let namespace = CacheNamespace { adapter: None, salt };
                self.open(namespace, tokens, (opened, limit, room), ignore_pending);
            }
            Op::Step { table, tokens } => self.step(table, tokens),
            Op::Extend { table, positions } => self.extend(table, positions),
            Op::Release { table, short } => {
                if !self.live.is_empty() {
                    let index = table % self.live.len();
                    self.release(index, short);
                }
            }
            Op::Invalidate => {
                self.manager.invalidate();
                self.weights += 1;
                self.known.iter_mut().for_each(Vec::clear);
                assert_eq!(self.manager.counts().cached, 0);
            }
        }
        self.check_counts();
    }

    fn open(
        &mut self,
        namespace: CacheNamespace,
        tokens: Vec<u32>,
        (opened, limit, room): (usize, usize, usize),
        ignore_pending: bool,
    ) {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let known = &tokens[..opened];
        let prefix = self.manager.match_prefix(&namespace, known, limit);
        self.check_prefix(&namespace, known, limit, prefix);
        if prefix.pending.is_some() && !ignore_pending {
            return;
        }
        let before = self.manager.counts();
        let result = self.manager.allocate(Allocation {
            owner: id,
            namespace: &namespace,
            token_ids: known,
            max_cached: limit,
            n_positions: room,
        });
        let Some(Allocated { table, copies }) = result else {
            assert!(self.known.is_none(), "there are blocks for everything");
            assert!(before.held + room.div_ceil(BLOCK) > before.total, "it fits");
            assert_eq!(self.manager.counts(), before);
            assert_eq!(self.manager.match_prefix(&namespace, known, limit), prefix);
            return;
        };
        let cached = prefix.cached.min(room);
        assert!(table.capacity() >= room && table.capacity() < room + BLOCK);
        assert!(table.cached() == cached || table.cached() == cached / BLOCK * BLOCK);
        assert_eq!(copies.len(), usize::from(!table.cached().is_multiple_of(BLOCK)));
        self.record_allocation((id, &namespace), known, &table, limit.min(room));
        self.due.extend(copies);
        self.live.push(Live { id, namespace, weights: self.weights, table, tokens });
    }

    /// Checks that a match is the longest common prefix with anything computed before.
    fn check_prefix(
        &self,
        namespace: &CacheNamespace,
        tokens: &[u32],
        limit: usize,
        prefix: PrefixMatch,
    ) {
        assert!(prefix.cached <= limit.min(tokens.len()));
        if let Some(pending) = prefix.pending {
            assert!(
                prefix.cached < pending.n_tokens && pending.n_tokens <= limit.min(tokens.len())
            );
            assert!(self.live.iter().any(|live| live.id == pending.owner));
        }
        let Some((ready, known, owner)) = self.naive(namespace, tokens) else {
            return;
        };
        let (cached, n_tokens) = (ready.min(limit), known.min(limit));
        assert_eq!(prefix.cached, cached, "{tokens:?} of at most {limit}");
        let pending = prefix.pending.map(|pending| (Some(pending.owner), pending.n_tokens));
        assert_eq!(pending, (n_tokens > cached).then_some((owner, n_tokens)));
    }

    /// Tokens that are computed, those that are known, and the sequence that computes the rest.
    fn naive(
        &self,
        namespace: &CacheNamespace,
        tokens: &[u32],
    ) -> Option<(usize, usize, Option<SequenceId>)> {
        let entries = self.known.as_ref()?.iter().filter(|known| known.namespace == *namespace);
        let (mut ready, mut known, mut owner) = (0, 0, None);
        for entry in entries {
            let same = common(&entry.tokens, tokens);
            ready = ready.max(same.min(entry.ready));
            if same > known && same > entry.ready {
                owner = entry.owner;
            }
            known = known.max(same);
        }
        Some((ready, known, owner))
    }

    fn record_allocation(
        &mut self,
        (id, namespace): (SequenceId, &CacheNamespace),
        tokens: &[u32],
        table: &BlockTable,
        limit: usize,
    ) {
        let Some((ready, known, _)) = self.naive(namespace, tokens) else {
            return;
        };
        assert_eq!(table.cached(), ready.min(limit));
        let registered = known == table.cached() && known < tokens.len();
        assert_eq!(matches!(table.position, TreePosition::Own(_)), registered);
        if registered {
            self.record(Known {
                namespace: namespace.clone(),
                tokens: tokens.to_vec(),
                ready: table.cached(),
                owner: Some(id),
            });
        }
    }

    fn record(&mut self, entry: Known) {
        if let Some(known) = &mut self.known {
            known.push(entry);
        }
    }

    /// Runs a step: makes the due copies, checks the contents of every table, computes one table's
    /// next tokens.
    fn step(&mut self, table: usize, tokens: usize) {
        for BlockCopy { from, to } in self.due.drain(..) {
            self.kv[at(to)] = self.kv[at(from)];
        }
        for live in &self.live {
            let blocks = live.table.blocks();
            let contents = live.contents().take(live.table.computed());
            for (position, content) in contents.enumerate() {
                let found = self.kv[at(blocks[position / BLOCK])][position % BLOCK];
                assert_eq!(found, content, "{:?} at {position}", live.id);
            }
        }
        if self.live.is_empty() {
            return;
        }
        let index = table % self.live.len();
        let live = &mut self.live[index];
        let from = live.table.computed();
        let room = live.table.capacity().min(live.tokens.len());
        let to = from.saturating_add(tokens).min(room).max(from);
        for (position, content) in live.contents().enumerate().take(to).skip(from) {
            let block = live.table.blocks()[position / BLOCK];
            self.kv[at(block)][position % BLOCK] = content;
        }
        self.manager.commit(&mut live.table, to);
        let (id, computed) = (live.id, live.table.computed());
        for known in self.known.iter_mut().flatten() {
            if known.owner == Some(id) {
                known.ready = computed.min(known.tokens.len());
            }
        }
    }

    fn extend(&mut self, table: usize, positions: usize) {
        if self.live.is_empty() {
            return;
        }
        let index = table % self.live.len();
        let (before, table) = (self.manager.counts(), &mut self.live[index].table);
        let room = table.capacity();
        let lacking = positions.div_ceil(BLOCK).saturating_sub(room / BLOCK);
        if self.manager.extend(table, positions) {
            assert!(table.capacity() >= positions && table.capacity() == room + lacking * BLOCK);
        } else {
            assert!(lacking + before.held > before.total, "it fits");
            assert_eq!(table.capacity(), room);
            assert_eq!(self.manager.counts(), before);
        }
    }

    fn release(&mut self, index: usize, short: Option<usize>) {
        let live = self.live.swap_remove(index);
        let passed = short.map_or(live.tokens.len(), |short| short.min(live.tokens.len()));
        let computed = live.table.computed().min(passed);
        if short.is_some() && live.table.copy_source.is_some() {
            // Copies for a released table may be skipped.
            self.due.retain(|copy| !live.table.blocks().contains(&copy.to));
        }
        self.manager.release(live.table, &live.tokens[..passed]);
        if live.weights != self.weights {
            return;
        }
        for known in self.known.iter_mut().flatten() {
            if known.owner == Some(live.id) {
                known.owner = None;
                known.tokens.truncate(known.ready);
            }
        }
        let tokens = live.tokens[..computed].to_vec();
        // No node goes below a part that is still being computed.
        if let Some((ready, known, _)) = self.naive(&live.namespace, &tokens)
            && ready == known
        {
            let namespace = live.namespace;
            self.record(Known { namespace, ready: tokens.len(), tokens, owner: None });
        }
    }

    /// Checks that each block is of one kind, and that held blocks are those of the tables.
    fn check_counts(&self) {
        let counts = self.manager.counts();
        assert_eq!(counts.free + counts.held + counts.cached, counts.total);
        let tables = self.live.iter().map(|live| &live.table);
        let held: BTreeSet<_> =
            tables.flat_map(|table| table.blocks().iter().chain(&table.copy_source)).collect();
        assert_eq!(counts.held, held.len());
    }

    pub(super) fn audit(&self) {
        if let Err(what) = self.manager.audit() {
            panic!("{what}");
        }
        let standing: usize = self.manager.tree.nodes().map(|(_, node)| node.n_tables).sum();
        let current = |live: &&Live| live.weights == self.weights;
        assert_eq!(standing, self.live.iter().filter(current).count());
    }

    /// Releases everything and checks that all blocks are available and nothing is left.
    pub(super) fn finish(mut self) {
        self.step(0, 0);
        while !self.live.is_empty() {
            self.release(0, None);
            self.audit();
        }
        let total = self.manager.counts().total;
        assert_eq!(self.manager.counts().held, 0);
        let namespace = CacheNamespace { adapter: None, salt: u64::MAX };
        let allocation = Allocation {
            owner: SequenceId(u64::MAX),
            namespace: &namespace,
            token_ids: &[],
            max_cached: 0,
            n_positions: total * BLOCK,
        };
        let opened = self.manager.allocate(allocation).expect("every block is available");
        assert_eq!(opened.table.blocks().len(), total);
        self.manager.release(opened.table, &[]);
        assert_eq!(self.manager.counts().free, total);
        assert_eq!(self.manager.tree.nodes().count(), 0);
        self.audit();
    }
}
