//! The cache in use, with keys and values that say which tokens they were computed from.

use std::collections::BTreeSet;

use models::BLOCK;
use models::BlockCopy;

use super::super::pool::at;
use super::super::table::TreePosition;
use super::super::{
    Allocated, Allocation, BlockManager, BlockTable, CacheNamespace, PrefixMatch, SequenceId,
};

/// What happens next. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Open {
        salt: u64,
        tokens: Vec<u32>,
        /// Tokens that are known from the start; the rest is generated.
        opened: usize,
        limit: usize,
        /// Positions of room beyond the known tokens, or fewer.
        room: isize,
        /// Opens also where somebody else is computing what it needs.
        rude: bool,
    },
    /// Runs up to so many more tokens of a table.
    Step {
        table: usize,
        tokens: usize,
    },
    Extend {
        table: usize,
        positions: usize,
    },
    /// `short`: only so many of its tokens are told, and a copy that is still due is not made.
    Release {
        table: usize,
        short: Option<usize>,
    },
    Forget,
}

struct Live {
    id: SequenceId,
    space: CacheNamespace,
    tokens: Vec<u32>,
    weights: u64,
    table: BlockTable,
}

/// What anybody has computed or is computing, where nothing is ever evicted.
struct Known {
    space: CacheNamespace,
    tokens: Vec<u32>,
    ready: usize,
    owner: Option<SequenceId>,
}

/// A manager, the contents of its blocks, and its users.
pub(super) struct World {
    pub(super) manager: BlockManager,
    kv: Vec<[u64; BLOCK]>,
    /// Copies that the next step begins with.
    due: Vec<BlockCopy>,
    live: Vec<Live>,
    weights: u64,
    next_id: u64,
    /// Everything that should be known; none where blocks run out, since it may be forgotten.
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
    /// What each position's key and value should be: a digest of weights, space and tokens so far.
    fn contents(&self) -> impl Iterator<Item = u64> {
        let start = mix(self.weights) ^ mix(self.space.salt + 99);
        self.tokens.iter().scan(start, |state, token| {
            *state = mix(*state ^ u64::from(*token));
            Some(*state)
        })
    }
}

impl World {
    /// `ample`: there are blocks for everything that will be opened, and every token that was
    /// computed must be found again.
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
            Op::Open { rude, room, opened, limit, salt, tokens } => {
                let opened = opened.min(tokens.len());
                let room = opened.saturating_add_signed(room);
                let space = CacheNamespace { adapter: None, salt };
                self.open(space, tokens, (opened, limit, room), rude);
            }
            Op::Step { table, tokens } => self.step(table, tokens),
            Op::Extend { table, positions } => self.extend(table, positions),
            Op::Release { table, short } => {
                if !self.live.is_empty() {
                    let index = table % self.live.len();
                    self.release(index, short);
                }
            }
            Op::Forget => {
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
        space: CacheNamespace,
        tokens: Vec<u32>,
        (opened, limit, room): (usize, usize, usize),
        rude: bool,
    ) {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let known = &tokens[..opened];
        let prefix = self.manager.match_prefix(&space, known, limit);
        self.check_prefix(&space, known, limit, prefix);
        if prefix.pending.is_some() && !rude {
            return;
        }
        let before = self.manager.counts();
        let result = self.manager.allocate(Allocation {
            owner: id,
            namespace: &space,
            token_ids: known,
            max_cached: limit,
            n_positions: room,
        });
        let Some(Allocated { table, copies }) = result else {
            assert!(self.known.is_none(), "there are blocks for everything");
            assert!(before.held + room.div_ceil(BLOCK) > before.total, "it fits");
            assert_eq!(self.manager.counts(), before);
            assert_eq!(self.manager.match_prefix(&space, known, limit), prefix);
            return;
        };
        let cached = prefix.cached.min(room);
        assert!(table.capacity() >= room && table.capacity() < room + BLOCK);
        assert!(table.cached() == cached || table.cached() == cached / BLOCK * BLOCK);
        assert_eq!(copies.len(), usize::from(!table.cached().is_multiple_of(BLOCK)));
        self.note_opening((id, &space), known, &table, limit.min(room));
        self.due.extend(copies);
        self.live.push(Live { id, space, weights: self.weights, table, tokens });
    }

    /// What is to be found is the longest common beginning with anything computed before.
    fn check_prefix(
        &self,
        space: &CacheNamespace,
        tokens: &[u32],
        limit: usize,
        prefix: PrefixMatch,
    ) {
        assert!(prefix.cached <= limit.min(tokens.len()));
        if let Some(awaited) = prefix.pending {
            assert!(
                prefix.cached < awaited.n_tokens && awaited.n_tokens <= limit.min(tokens.len())
            );
            assert!(self.live.iter().any(|live| live.id == awaited.owner));
        }
        let Some((ready, known, owner)) = self.naive(space, tokens) else {
            return;
        };
        let (cached, n_tokens) = (ready.min(limit), known.min(limit));
        assert_eq!(prefix.cached, cached, "{tokens:?} of at most {limit}");
        let awaited = prefix.pending.map(|awaited| (Some(awaited.owner), awaited.n_tokens));
        assert_eq!(awaited, (n_tokens > cached).then_some((owner, n_tokens)));
    }

    /// Tokens that are ready, those that are known, and who computes the difference.
    fn naive(
        &self,
        space: &CacheNamespace,
        tokens: &[u32],
    ) -> Option<(usize, usize, Option<SequenceId>)> {
        let entries = self.known.as_ref()?.iter().filter(|known| known.space == *space);
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

    fn note_opening(
        &mut self,
        (id, space): (SequenceId, &CacheNamespace),
        tokens: &[u32],
        table: &BlockTable,
        limit: usize,
    ) {
        let Some((ready, known, _)) = self.naive(space, tokens) else {
            return;
        };
        assert_eq!(table.cached(), ready.min(limit));
        let registered = known == table.cached() && known < tokens.len();
        assert_eq!(matches!(table.position, TreePosition::Own(_)), registered);
        if registered {
            self.note(Known {
                space: space.clone(),
                tokens: tokens.to_vec(),
                ready: table.cached(),
                owner: Some(id),
            });
        }
    }

    fn note(&mut self, entry: Known) {
        self.known.iter_mut().for_each(|known| known.truncate(usize::MAX));
        if let Some(known) = &mut self.known {
            known.push(entry);
        }
    }

    /// Runs a step: what is due is copied, every table's tokens are looked at, one table's next
    /// tokens are computed.
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
        let told = short.map_or(live.tokens.len(), |short| short.min(live.tokens.len()));
        let computed = live.table.computed().min(told);
        if short.is_some() && live.table.copy_source.is_some() {
            // What a step begins with may be left out for those who are gone by then.
            self.due.retain(|copy| !live.table.blocks().contains(&copy.to));
        }
        self.manager.release(live.table, &live.tokens[..told]);
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
        // Nothing goes below what somebody else is computing.
        if let Some((ready, known, _)) = self.naive(&live.space, &tokens)
            && ready == known
        {
            let space = live.space;
            self.note(Known { space, ready: tokens.len(), tokens, owner: None });
        }
    }

    /// Each block is of one kind, and those of tables are what the tables say.
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

    /// Ends everything; all blocks can be had then, and nothing else is left.
    pub(super) fn finish(mut self) {
        self.step(0, 0);
        while !self.live.is_empty() {
            self.release(0, None);
            self.audit();
        }
        let total = self.manager.counts().total;
        assert_eq!(self.manager.counts().held, 0);
        let space = CacheNamespace { adapter: None, salt: u64::MAX };
        let opening = Allocation {
            owner: SequenceId(u64::MAX),
            namespace: &space,
            token_ids: &[],
            max_cached: 0,
            n_positions: total * BLOCK,
        };
        let opened = self.manager.allocate(opening).expect("every block can be had");
        assert_eq!(opened.table.blocks().len(), total);
        self.manager.release(opened.table, &[]);
        assert_eq!(self.manager.counts().free, total);
        assert_eq!(self.manager.tree.nodes().count(), 0);
        self.audit();
    }
}
