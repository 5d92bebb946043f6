//! A radix tree over token ids for each namespace, with the blocks of each node's tokens.
//!
//! A node covers positions `start..end` of every sequence on its path, of which `start..ready` are
//! computed. Its blocks are those of indices `start / BLOCK` up to the one that `ready` ends in. A
//! node that starts inside a block has its own version of it, in which the positions before `start`
//! are filled too; on a path, the deepest version is the one to use.
//!
//! A split makes a new node of the upper part. The lower part keeps its id, its children and its
//! tables.

use std::collections::{BTreeSet, HashMap};

use models::{BLOCK, BlockId};

use super::pool::BlockPool;
use super::prefix::{CacheNamespace, SequenceId};
use super::token_span::TokenSpan;

/// Index of a node's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(u32);

impl NodeId {
    /// As an index.
    pub(super) fn slot(self) -> usize {
        self.0 as usize
    }
}

/// A node's parent.
#[derive(Clone, Debug)]
pub(super) enum Parent {
    /// None: the node is a namespace's root and has no tokens.
    Root(CacheNamespace),
    /// Another node.
    Node(NodeId),
}

#[derive(Clone, Debug)]
pub(super) struct PrefixNode {
    pub(super) parent: Parent,
    /// Position of the first token.
    pub(super) start: usize,
    pub(super) tokens: TokenSpan,
    /// Position after the last computed token.
    pub(super) ready: usize,
    pub(super) blocks: Vec<BlockId>,
    pub(super) n_children: usize,
    /// Open tables attached to the node.
    pub(super) n_tables: usize,
    /// The sequence that computes the tokens from `ready` on.
    pub(super) owner: Option<SequenceId>,
    /// Time of last use. Its parent's is not earlier.
    pub(super) used: u64,
}

impl PrefixNode {
    /// Position after the last token.
    pub(super) fn end(&self) -> usize {
        self.start + self.tokens.len()
    }

    /// Index of the first block.
    pub(super) fn first_block(&self) -> usize {
        self.start / BLOCK
    }

    /// Whether it has neither tables nor children, so that it can be evicted.
    fn is_idle(&self) -> bool {
        self.n_tables == 0 && self.n_children == 0
    }
}

/// The part of a sequence that is in the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    /// The deepest node with a token of the sequence.
    pub(super) node: NodeId,
    /// Tokens of the sequence that are computed.
    pub(super) ready: usize,
    /// Those, and the following ones that are being computed.
    pub(super) known: usize,
}

/// The trees of all namespaces.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) slots: Vec<Option<PrefixNode>>,
    pub(super) vacant: Vec<NodeId>,
    pub(super) roots: HashMap<CacheNamespace, NodeId>,
    /// By parent and first token. One map for all nodes, so that a node with a million children
    /// costs no more than its children, and a split moves none of them.
    pub(super) children: HashMap<(NodeId, u32), NodeId>,
    /// Leaves without tables, the least recently used first.
    pub(super) idle: BTreeSet<(u64, NodeId)>,
    /// Counts allocations and releases.
    pub(super) clock: u64,
}

impl Tree {
    pub(super) fn node(&self, id: NodeId) -> &PrefixNode {
        self.slots[id.slot()].as_ref().expect("a node in use")
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut PrefixNode {
        self.slots[id.slot()].as_mut().expect("a node in use")
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &PrefixNode)> {
        let ids = (0..).map(NodeId);
        ids.zip(&self.slots).filter_map(|(id, node)| Some((id, node.as_ref()?)))
    }

    /// Number of slots, vacant ones included.
    pub(super) fn n_slots(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("a node's number is 32 bits wide")
    }

    /// The node of a slot; `None` if the slot is vacant.
    pub(super) fn at_slot(&self, slot: u32) -> Option<(NodeId, &PrefixNode)> {
        Some((NodeId(slot), self.slots[slot as usize].as_ref()?))
    }

    /// Changes a node and updates the list of idle leaves.
    pub(super) fn update<R>(&mut self, id: NodeId, change: impl FnOnce(&mut PrefixNode) -> R) -> R {
        let key = |node: &PrefixNode| match node.parent {
            Parent::Node(_) if node.is_idle() => Some((node.used, id)),
            Parent::Node(_) | Parent::Root(_) => None,
        };
        let node = self.node_mut(id);
        let before = key(node);
        let result = change(node);
        let after = key(node);
        if before != after {
            if let Some(before) = before {
                self.idle.remove(&before);
            }
            self.idle.extend(after);
        }
        result
    }

    /// Advances the clock.
    pub(super) fn tick(&mut self) {
        self.clock += 1;
    }

    /// Marks a node and its ancestors as used now.
    pub(super) fn touch(&mut self, mut id: NodeId) {
        let now = self.clock;
        loop {
            self.update(id, |node| node.used = now);
            match self.node(id).parent {
                Parent::Node(above) => id = above,
                Parent::Root(_) => return,
            }
        }
    }

    /// Matches a sequence against a namespace's tree; `None` if the namespace has none.
    pub(super) fn find(&self, namespace: &CacheNamespace, token_ids: &[u32]) -> Option<Match> {
        let root = self.roots.get(namespace)?;
        Some(self.descend(*root, token_ids))
    }

    /// Matches a sequence in the tree that has `node`, whose tokens are all computed, on its path.
    pub(super) fn descend(&self, mut node: NodeId, token_ids: &[u32]) -> Match {
        let mut at = self.node(node).end();
        while let Some(next) = token_ids.get(at) {
            let Some(below) = self.children.get(&(node, *next)) else {
                break;
            };
            node = *below;
            let below = self.node(node);
            let known = at + below.tokens.common_prefix(&token_ids[at..]);
            if known < below.end() || below.ready < below.end() {
                let ready = known.min(below.ready);
                return Match { node, ready, known };
            }
            at = known;
        }
        Match { node, ready: at, known: at }
    }

    /// The blocks of the first `n_tokens` positions on the path to `node`, all of them computed.
    pub(super) fn blocks_of(&self, mut node: NodeId, n_tokens: usize) -> Vec<BlockId> {
        let mut blocks = vec![BlockId(0); n_tokens.div_ceil(BLOCK)];
        // From the bottom up: the first block found for an index is the deepest version.
        let mut left = blocks.len();
        while left > 0 {
            let from = self.node(node);
            if from.start < n_tokens {
                let first = from.first_block();
                let n = left.saturating_sub(first);
                blocks[left - n..left].copy_from_slice(&from.blocks[..n]);
                left -= n;
            }
            match from.parent {
                Parent::Node(above) => node = above,
                Parent::Root(_) => break,
            }
        }
        blocks
    }

    /// The root of a namespace; creates it if there is none.
    pub(super) fn root(&mut self, namespace: &CacheNamespace) -> NodeId {
        if let Some(root) = self.roots.get(namespace) {
            return *root;
        }
        let root = self.insert(PrefixNode {
            parent: Parent::Root(namespace.clone()),
            start: 0,
            tokens: TokenSpan::new(&[]),
            ready: 0,
            blocks: Vec::new(),
            n_children: 0,
            n_tables: 0,
            owner: None,
            used: self.clock,
        });
        self.roots.insert(namespace.clone(), root);
        root
    }

    /// Adds a leaf of tokens that are yet to be computed. No child of `above` may begin with the
    /// same token.
    pub(super) fn add_leaf(
        &mut self,
        above: NodeId,
        token_ids: &[u32],
        owner: Option<SequenceId>,
    ) -> NodeId {
        let start = self.node(above).end();
        let leaf = self.insert(PrefixNode {
            parent: Parent::Node(above),
            start,
            tokens: TokenSpan::new(token_ids),
            ready: start,
            blocks: Vec::new(),
            n_children: 0,
            n_tables: 0,
            owner,
            used: self.clock,
        });
        self.idle.insert((self.clock, leaf));
        self.children.insert((above, token_ids[0]), leaf);
        self.update(above, |above| above.n_children += 1);
        leaf
    }

    fn insert(&mut self, node: PrefixNode) -> NodeId {
        if let Some(id) = self.vacant.pop() {
            self.slots[id.slot()] = Some(node);
            return id;
        }
        let id = NodeId(self.n_slots());
        self.slots.push(Some(node));
        id
    }

    /// The node that ends at position `at` of the path to `node`; splits a node if necessary.
    pub(super) fn ending_at(
        &mut self,
        mut node: NodeId,
        at: usize,
        pool: &mut BlockPool,
    ) -> NodeId {
        loop {
            let here = self.node(node);
            match here.parent {
                Parent::Node(above) if here.start >= at => node = above,
                Parent::Node(above) if here.end() > at => {
                    return self.split(above, node, at, pool);
                }
                Parent::Node(_) | Parent::Root(_) => return node,
            }
        }
    }

    /// Splits node `id`, a child of `above`, inside its computed tokens or at their end. Returns
    /// the new upper part.
    fn split(&mut self, above: NodeId, id: NodeId, at: usize, pool: &mut BlockPool) -> NodeId {
        let node = self.node_mut(id);
        let first = node.first_block();
        let upper = PrefixNode {
            parent: Parent::Node(above),
            start: node.start,
            tokens: node.tokens.split_front(at - node.start),
            ready: at,
            blocks: node.blocks[..at.div_ceil(BLOCK) - first].to_vec(),
            n_children: 1,
            n_tables: 0,
            owner: None,
            used: node.used,
        };
        node.start = at;
        if node.ready > at {
            // Both parts have the block that `at` is inside.
            node.blocks.drain(..at / BLOCK - first);
            if !at.is_multiple_of(BLOCK) {
                pool.add_node_ref(node.blocks[0]);
            }
        } else {
            node.blocks.clear();
        }
        let (lower_first, upper_first) = (node.tokens.token_ids()[0], upper.tokens.token_ids()[0]);
        let upper = self.insert(upper);
        self.node_mut(id).parent = Parent::Node(upper);
        self.children.insert((above, upper_first), upper);
        self.children.insert((upper, lower_first), id);
        upper
    }

    /// Records that a leaf's tokens up to position `computed` are in the blocks of a table.
    pub(super) fn mark_computed(
        &mut self,
        leaf: NodeId,
        computed: usize,
        table: &[BlockId],
        pool: &mut BlockPool,
    ) {
        let node = self.node_mut(leaf);
        let ready = computed.min(node.end());
        if ready <= node.ready {
            return;
        }
        let first = node.first_block();
        for block in &table[first + node.blocks.len()..ready.div_ceil(BLOCK)] {
            pool.add_node_ref(*block);
            node.blocks.push(*block);
        }
        node.ready = ready;
    }

    /// Truncates a leaf to its computed tokens. If there are none, removes it with its table and
    /// returns `None`.
    pub(super) fn truncate_to_computed(
        &mut self,
        leaf: NodeId,
        pool: &mut BlockPool,
    ) -> Option<NodeId> {
        let node = self.node_mut(leaf);
        node.owner = None;
        if node.ready == node.start {
            self.remove(leaf, pool);
            return None;
        }
        if node.ready < node.end() {
            node.tokens.truncate(node.ready - node.start);
        }
        Some(leaf)
    }

    /// Removes a node without children.
    pub(super) fn remove(&mut self, leaf: NodeId, pool: &mut BlockPool) {
        let node = self.slots[leaf.0 as usize].take().expect("a node in use");
        self.idle.remove(&(node.used, leaf));
        self.vacant.push(leaf);
        for block in node.blocks {
            pool.drop_node_ref(block);
        }
        match node.parent {
            Parent::Root(namespace) => {
                self.roots.remove(&namespace);
            }
            Parent::Node(above) => {
                self.children.remove(&(above, node.tokens.token_ids()[0]));
                self.update(above, |above| above.n_children -= 1);
                self.remove_idle_root(above, pool);
            }
        }
    }

    /// Attaches an open table to the node.
    pub(super) fn attach_table(&mut self, id: NodeId) {
        self.update(id, |node| node.n_tables += 1);
    }

    /// Detaches an open table from the node.
    pub(super) fn detach_table(&mut self, id: NodeId, pool: &mut BlockPool) {
        self.update(id, |node| node.n_tables -= 1);
        self.remove_idle_root(id, pool);
    }

    /// Removes a namespace's root once it has nothing: there may be as many namespaces as tenants.
    fn remove_idle_root(&mut self, id: NodeId, pool: &mut BlockPool) {
        let node = self.node(id);
        if matches!(node.parent, Parent::Root(_)) && node.is_idle() {
            self.remove(id, pool);
        }
    }
}
