//! Small cases of the cache, one concern each.

use models::BlockCopy;
use models::BlockId;

use super::super::{
    Allocated, Allocation, BlockCounts, BlockManager, BlockTable, CacheNamespace, CachedAdapter,
    PendingPrefix, PrefixMatch, SequenceId,
};

fn namespace(salt: u64) -> CacheNamespace {
    CacheNamespace { adapter: None, salt }
}

/// `n` tokens that agree with any other such list up to `same`, and are 7000 from there on.
fn tokens(same: usize, n: usize) -> Vec<u32> {
    let common = (0..).take(same.min(n));
    common.chain(std::iter::repeat(7_000)).take(n).collect()
}

/// Allocates a table for the tokens.
fn allocate(cache: &mut BlockManager, id: u64, tokens: &[u32], limit: usize) -> Option<Allocated> {
    cache.allocate(Allocation {
        owner: SequenceId(id),
        namespace: &namespace(0),
        token_ids: tokens,
        max_cached: limit,
        n_positions: tokens.len(),
    })
}

fn table(cache: &mut BlockManager, id: u64, tokens: &[u32], limit: usize) -> BlockTable {
    allocate(cache, id, tokens, limit).expect("it fits").table
}

/// Computes a sequence and leaves it in the cache.
fn compute(cache: &mut BlockManager, tokens: &[u32]) {
    let mut table = table(cache, 1000, tokens, usize::MAX);
    cache.commit(&mut table, tokens.len());
    cache.release(table, tokens);
    assert_eq!(cache.audit(), Ok(()));
}

fn cached(cache: &BlockManager, tokens: &[u32]) -> usize {
    cache.match_prefix(&namespace(0), tokens, usize::MAX).cached
}

fn prefix(cached: usize, pending: Option<(u64, usize)>) -> PrefixMatch {
    let pending =
        pending.map(|(owner, n_tokens)| PendingPrefix { owner: SequenceId(owner), n_tokens });
    PrefixMatch { cached, pending }
}

fn counts(cache: &BlockManager) -> [usize; 3] {
    let BlockCounts { free, held, cached, total } = cache.counts();
    assert_eq!(free + held + cached, total);
    [free, held, cached]
}

#[test]
fn sharing_is_exact_to_the_token() {
    // Tokens computed; the next sequence's common tokens, length and limit; tokens taken from cache
    // and full blocks shared.
    for (computed, (same, n, limit), taken, whole) in [
        (40, (40, 50, 49), 40, 2),
        (40, (40, 40, 39), 39, 2),
        (40, (40, 40, 40), 40, 2),
        (40, (40, 30, 30), 30, 1),
        (40, (33, 50, 49), 33, 2),
        (40, (32, 50, 49), 32, 2),
        (40, (31, 50, 49), 31, 1),
        (40, (15, 50, 49), 15, 0),
        (40, (1, 50, 49), 1, 0),
        (40, (0, 50, 49), 0, 0),
        (40, (40, 50, 20), 20, 1),
        (40, (40, 50, 16), 16, 1),
        (40, (40, 50, 0), 0, 0),
        (48, (48, 48, 48), 48, 3),
        (1, (1, 1, 1), 1, 0),
        (0, (0, 1, 1), 0, 0),
        (40, (0, 0, 0), 0, 0),
    ] {
        let line = format!("{computed}, {same} of {n}, at most {limit}");
        let mut cache = BlockManager::new(20);
        let first = tokens(computed, computed);
        compute(&mut cache, &first);
        let next = tokens(same, n);
        let found = cache.match_prefix(&namespace(0), &next, limit);
        assert_eq!(found, prefix(taken, None), "{line}");
        let Allocated { table, copies } = allocate(&mut cache, 2, &next, limit).expect("it fits");
        assert_eq!(table.cached(), taken, "{line}");
        assert_eq!(table.computed(), taken, "{line}");
        assert_eq!(table.capacity(), n.div_ceil(16) * 16, "{line}");
        let shared =
            table.blocks().iter().take_while(|block| (block.0 as usize) < computed.div_ceil(16));
        assert_eq!(shared.count(), whole, "{line}");
        let copy = (taken % 16 > 0).then(|| BlockCopy {
            from: BlockId(u32::try_from(whole).expect("few")),
            to: table.blocks()[whole],
        });
        assert_eq!(copies, copy.into_iter().collect::<Vec<_>>(), "{line}");
        assert_eq!(cache.audit(), Ok(()), "{line}");
        cache.release(table, &next);
        assert_eq!(cached(&cache, &first), computed, "{line}");
        assert_eq!(cache.audit(), Ok(()), "{line}");
    }
}

#[test]
fn pending_prefix_is_awaited() {
    // Tokens committed of 40; the next sequence's common tokens, length and limit; its match.
    for (committed, (same, n, limit), expected) in [
        (0, (40, 50, 49), prefix(0, Some((1, 40)))),
        (0, (40, 40, 39), prefix(0, Some((1, 39)))),
        (0, (3, 50, 49), prefix(0, Some((1, 3)))),
        (0, (0, 50, 49), prefix(0, None)),
        (0, (40, 50, 0), prefix(0, None)),
        (20, (40, 50, 49), prefix(20, Some((1, 40)))),
        (20, (21, 50, 49), prefix(20, Some((1, 21)))),
        (20, (20, 50, 49), prefix(20, None)),
        (20, (10, 50, 49), prefix(10, None)),
        (20, (40, 50, 20), prefix(20, None)),
        (20, (40, 50, 25), prefix(20, Some((1, 25)))),
        (40, (40, 50, 49), prefix(40, None)),
    ] {
        let mut cache = BlockManager::new(20);
        let mut first = table(&mut cache, 1, &tokens(40, 40), 39);
        cache.commit(&mut first, committed);
        let next = tokens(same, n);
        let found = cache.match_prefix(&namespace(0), &next, limit);
        assert_eq!(found, expected, "{committed}, {same} of {n}, at most {limit}");
        let other = cache.match_prefix(&namespace(1), &next, limit);
        assert_eq!(other, prefix(0, None), "in another namespace");
        cache.release(first, &tokens(40, 40));
        let found = cache.match_prefix(&namespace(0), &next, limit);
        assert_eq!(found, prefix(expected.cached, None), "after the release");
        assert_eq!(cache.audit(), Ok(()));
    }
}

#[test]
fn concurrent_sequences_compute_each_token_once() {
    // One prompt, three responses, two questions on each; a sequence starts when its prefix is not
    // pending.
    let prompt = tokens(100, 100);
    let mut sequences = Vec::new();
    for response in 0..3 {
        for question in 0..2 {
            let tail = [vec![5_000 + response; 37], vec![6_000 + question; 11]].concat();
            sequences.push([prompt.clone(), tail].concat());
        }
    }
    let unique = 100 + 3 * 37 + 6 * 11;
    let mut cache = BlockManager::new(100);
    let (mut computed, mut waiting) = (0, sequences.clone());
    let mut running: Vec<(Vec<u32>, BlockTable)> = Vec::new();
    while !waiting.is_empty() || !running.is_empty() {
        waiting.retain(|tokens| {
            let id = tokens.iter().map(|token| u64::from(*token)).sum();
            let found = cache.match_prefix(&namespace(0), tokens, tokens.len() - 1);
            if found.pending.is_none() {
                let table = table(&mut cache, id, tokens, tokens.len() - 1);
                running.push((tokens.clone(), table));
            }
            found.pending.is_some()
        });
        let steps = std::mem::take(&mut running);
        for (tokens, mut table) in steps {
            let n_tokens = tokens.len().min(table.computed() + 30);
            computed += n_tokens - table.computed();
            cache.commit(&mut table, n_tokens);
            if n_tokens == tokens.len() {
                cache.release(table, &tokens);
            } else {
                running.push((tokens, table));
            }
        }
        assert_eq!(cache.audit(), Ok(()));
    }
    assert_eq!(computed, unique);
    for tokens in sequences {
        assert_eq!(cached(&cache, &tokens), tokens.len());
    }
}

#[test]
fn unregistered_table_is_shared_after_release() {
    let mut cache = BlockManager::new(20);
    compute(&mut cache, &tokens(40, 40));
    let all = tokens(60, 60);
    // Only 10 tokens may come from cache, so it computes cached tokens again.
    let mut own = table(&mut cache, 2, &all, 10);
    cache.commit(&mut own, 60);
    assert_eq!(cached(&cache, &all), 40);
    cache.release(own, &all);
    assert_eq!(cached(&cache, &all), 60);
    // The cached blocks stay; of the table's own, those of tokens 32 to 60 are kept.
    assert_eq!(counts(&cache), [20 - 5, 0, 5]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn generated_tokens_are_kept_and_shared() {
    let mut cache = BlockManager::new(20);
    let all = tokens(50, 50);
    let mut own = table(&mut cache, 1, &all[..20], 19);
    cache.commit(&mut own, 20);
    assert!(cache.extend(&mut own, 50));
    cache.commit(&mut own, 49);
    assert_eq!(cached(&cache, &all), 20, "generated tokens are not shared yet");
    // The last token was sampled and never run.
    cache.release(own, &all);
    assert_eq!(cached(&cache, &all), 49);
    assert_eq!(counts(&cache), [16, 0, 4]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn release_keeps_committed_tokens() {
    // Tokens allocated for, committed, passed at release; tokens cached then.
    for (known, committed, passed, left) in [
        (40, 40, 40, 40),
        (40, 25, 40, 25),
        (40, 16, 40, 16),
        (40, 0, 40, 0),
        (40, 40, 60, 40),
        (40, 55, 60, 55),
        (40, 55, 40, 40),
        (40, 40, 40, 40),
        (0, 30, 40, 30),
        (0, 0, 0, 0),
    ] {
        let mut cache = BlockManager::new(8);
        let all = tokens(60, 60);
        let mut own = table(&mut cache, 1, &all[..known], 60);
        assert!(cache.extend(&mut own, 60));
        cache.commit(&mut own, committed);
        cache.release(own, &all[..passed]);
        assert_eq!(cached(&cache, &all), left, "{known}, {committed}, {passed}");
        let kept = left.div_ceil(16);
        assert_eq!(counts(&cache), [8 - kept, 0, kept]);
        assert_eq!(cache.audit(), Ok(()));
    }
}

#[test]
fn commit_never_goes_back() {
    let mut cache = BlockManager::new(8);
    let all = tokens(40, 40);
    let mut own = table(&mut cache, 1, &all, 40);
    for (computed, seen) in [(5, 5), (3, 5), (0, 5), (17, 17), (17, 17), (40, 40), (1, 40)] {
        cache.commit(&mut own, computed);
        assert_eq!((own.computed(), cached(&cache, &all)), (seen, seen));
        assert_eq!(cache.audit(), Ok(()));
    }
    cache.release(own, &all);
}

#[test]
#[should_panic(expected = "33 positions are committed to a table with room for 32")]
fn commit_beyond_the_capacity_panics() {
    let mut cache = BlockManager::new(8);
    let mut own = table(&mut cache, 1, &tokens(20, 20), 20);
    cache.commit(&mut own, 33);
}

#[test]
fn least_recently_used_leaf_is_evicted_from_its_end() {
    let text = |first: u32| [vec![first; 40], vec![0; 8]].concat();
    let mut cache = BlockManager::new(9);
    for first in [1, 2, 3] {
        compute(&mut cache, &text(first));
    }
    let left = |cache: &BlockManager| [1, 2, 3].map(|first| cached(cache, &text(first)));
    // 1 is used again, so 2 goes before 3, and 3 before 1.
    let used = table(&mut cache, 7, &text(1), 48);
    cache.release(used, &text(1));
    for expected in [
        [48, 32, 48],
        [48, 16, 48],
        [48, 0, 48],
        [48, 0, 32],
        [48, 0, 16],
        [48, 0, 0],
        [32, 0, 0],
        [16, 0, 0],
        [0, 0, 0],
    ] {
        let n_free = 9 - expected.iter().sum::<usize>() / 16;
        let room = n_free * 16;
        let opened = cache.allocate(Allocation {
            owner: SequenceId(5),
            namespace: &namespace(1),
            token_ids: &[],
            max_cached: 0,
            n_positions: room,
        });
        let table = opened.expect("it fits").table;
        assert_eq!(left(&cache), expected);
        assert_eq!(cache.audit(), Ok(()));
        cache.release(table, &[]);
    }
}

#[test]
fn shared_blocks_of_open_tables_are_not_evicted() {
    let mut cache = BlockManager::new(8);
    compute(&mut cache, &tokens(40, 40));
    let shares = allocate(&mut cache, 1, &tokens(40, 40), 39).expect("it fits");
    let (shares, source) = (shares.table, shares.copies[0].from);
    compute(&mut cache, &[8; 32]);
    assert_eq!(counts(&cache), [2, 4 - 1 + 1, 2]);
    let all = cache.counts().available();
    let other = allocate(&mut cache, 2, &vec![9; all * 16], 0).expect("it fits");
    // Full shared blocks stay. The copy is not made yet: its source is still held, though the tree
    // has evicted it.
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    assert!(!other.table.blocks().contains(&source));
    assert_eq!(counts(&cache), [0, 8, 0]);
    assert!(allocate(&mut cache, 3, &[1], 0).is_none());
    assert_eq!(cache.audit(), Ok(()));
    cache.release(other.table, &[]);
    cache.release(shares, &[]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn copy_that_was_never_made_is_not_cached() {
    let mut cache = BlockManager::new(8);
    compute(&mut cache, &tokens(40, 40));
    let never = allocate(&mut cache, 1, &tokens(40, 40), 39).expect("it fits");
    compute(&mut cache, &[8; 32]);
    // Tokens 32 to 40 are evicted too, and the table that needs a copy of them is released before
    // any step.
    let other = allocate(&mut cache, 2, &[9; 64], 0).expect("it fits").table;
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    cache.release(never.table, &tokens(40, 40));
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    assert_eq!(cache.audit(), Ok(()));
    cache.release(other, &[]);
}

#[test]
fn allocation_does_not_evict_its_own_prefix() {
    let mut cache = BlockManager::new(4);
    compute(&mut cache, &tokens(32, 32));
    compute(&mut cache, &[9; 32]);
    // The first is the least recently used, and half of what this needs.
    let own = table(&mut cache, 1, &tokens(32, 64), 63);
    assert_eq!(own.cached(), 32);
    assert_eq!(cached(&cache, &[9; 32]), 0);
    assert_eq!(cache.audit(), Ok(()));
    cache.release(own, &tokens(32, 64));
}

#[test]
fn copy_is_skipped_when_it_needs_the_last_block() {
    // Blocks, tokens computed, tokens of the next sequence; tokens taken from cache, `None` if it
    // does not fit.
    for (n_blocks, computed, n, taken) in [
        (5, 40, 64, Some(40)),
        (4, 40, 64, Some(32)),
        (3, 40, 64, None),
        (3, 40, 48, Some(32)),
        (4, 40, 48, Some(40)),
        (3, 48, 48, Some(48)),
        (1, 10, 16, Some(0)),
        (2, 10, 16, Some(10)),
        (1, 16, 16, Some(16)),
    ] {
        let mut cache = BlockManager::new(n_blocks);
        compute(&mut cache, &tokens(100, computed));
        let before = counts(&cache);
        let next = tokens(100, n);
        let opened = allocate(&mut cache, 2, &next, n);
        let line = format!("{n_blocks} blocks, {computed}, {n}");
        assert_eq!(opened.as_ref().map(|o| o.table.cached()), taken, "{line}");
        assert_eq!(cache.audit(), Ok(()), "{line}");
        let Some(Allocated { mut table, .. }) = opened else {
            assert_eq!(counts(&cache), before, "{line}");
            assert_eq!(cached(&cache, &next), computed, "{line}");
            continue;
        };
        cache.commit(&mut table, n);
        cache.release(table, &next);
        assert_eq!(cached(&cache, &next), n, "{line}");
        assert_eq!(cache.audit(), Ok(()), "{line}");
    }
}

#[test]
fn single_table_can_always_be_extended() {
    // A chain of nodes that end inside one block: each has a version of it, and a table uses one.
    let mut cache = BlockManager::new(12);
    for n in [20, 27, 50, 51] {
        compute(&mut cache, &tokens(n, n));
        compute(&mut cache, &tokens(n - 2, n + 1));
    }
    let all = tokens(200, 192);
    let mut own = table(&mut cache, 1, &all[..60], 59);
    assert_eq!(own.cached(), 51);
    let mut others = Vec::new();
    for n in [19, 25, 40] {
        others.push(allocate(&mut cache, n as u64, &tokens(n, n + 1), n));
    }
    cache.commit(&mut own, 52);
    for other in others.into_iter().flatten() {
        cache.release(other.table, &[]);
    }
    assert!(cache.extend(&mut own, 192), "{:?}", cache.counts());
    assert_eq!(counts(&cache), [0, 12, 0]);
    assert!(!cache.extend(&mut own, 193));
    assert_eq!(own.capacity(), 192);
    assert_eq!(cache.audit(), Ok(()));
    assert_eq!(cached(&cache, &all), 52);
    cache.commit(&mut own, 192);
    cache.release(own, &all);
    assert_eq!(cached(&cache, &all), 192);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn nothing_is_shared_across_invalidation() {
    let mut cache = BlockManager::new(20);
    let all = tokens(40, 40);
    compute(&mut cache, &tokens(20, 20));
    let mut before = table(&mut cache, 1, &all, 39);
    cache.invalidate();
    assert_eq!(cache.match_prefix(&namespace(0), &all, 39), prefix(0, None));
    let mut after = table(&mut cache, 2, &all, 39);
    assert_eq!(after.cached(), 0);
    cache.commit(&mut before, 40);
    assert_eq!(cache.match_prefix(&namespace(0), &all, 39), prefix(0, Some((2, 39))));
    assert!(cache.extend(&mut before, 60));
    cache.release(before, &all);
    assert_eq!(cached(&cache, &all), 0);
    cache.commit(&mut after, 40);
    cache.release(after, &all);
    assert_eq!(cached(&cache, &all), 40);
    assert_eq!(counts(&cache), [17, 0, 3]);
    cache.invalidate();
    cache.invalidate();
    assert_eq!(counts(&cache), [20, 0, 0]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn namespaces_share_nothing() {
    let adapter = |adapter| CacheNamespace { adapter: Some(adapter), salt: 0 };
    let frozen = |digest: &str| adapter(CachedAdapter::Frozen(digest.into()));
    let live = |insertion| adapter(CachedAdapter::Live(insertion));
    let namespaces = [namespace(0), namespace(1), frozen("a"), frozen("b"), live(1), live(2)];
    let all = tokens(20, 20);
    let mut cache = BlockManager::new(20);
    for (n, namespace) in (0_u32..).zip(&namespaces) {
        let allocation = Allocation {
            owner: SequenceId(0),
            namespace,
            token_ids: &all,
            max_cached: 20,
            n_positions: 20,
        };
        let mut table = cache.allocate(allocation).expect("it fits").table;
        assert_eq!(table.cached(), 0);
        cache.commit(&mut table, 10 + n as usize);
        cache.release(table, &all);
    }
    let found = namespaces.map(|namespace| cache.match_prefix(&namespace, &all, 20).cached);
    assert_eq!(found, [10, 11, 12, 13, 14, 15]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn zero_positions_and_zero_blocks_are_valid() {
    let mut none = BlockManager::new(0);
    assert!(allocate(&mut none, 1, &[1], 1).is_none());
    let empty = table(&mut none, 1, &[], 0);
    assert_eq!((empty.blocks().len(), empty.capacity()), (0, 0));
    none.release(empty, &[]);
    assert_eq!(none.audit(), Ok(()));

    let mut one = BlockManager::new(1);
    compute(&mut one, &tokens(16, 16));
    let namespace = namespace(0);
    let allocation = |room| Allocation {
        owner: SequenceId(1),
        namespace: &namespace,
        token_ids: &[0, 1, 2, 9],
        max_cached: 4,
        n_positions: room,
    };
    assert!(one.allocate(allocation(usize::MAX)).is_none());
    let mut table = one.allocate(allocation(0)).expect("it needs nothing").table;
    assert_eq!((table.cached(), table.capacity()), (0, 0));
    assert!(!one.extend(&mut table, usize::MAX));
    assert!(one.extend(&mut table, 4));
    assert_eq!(cached(&one, &tokens(16, 16)), 0);
    one.commit(&mut table, 4);
    one.release(table, &[0, 1, 2, 9]);
    assert_eq!(cached(&one, &[0, 1, 2, 9]), 4);
    assert_eq!(one.audit(), Ok(()));
}

#[test]
fn audit_finds_broken_invariants() {
    type Spoil = fn(&mut BlockManager);
    let faults: [(&str, Spoil); 6] = [
        ("a block is counted twice", |cache| {
            cache.pool.add_node_ref(BlockId(0));
        }),
        ("a block is free and used", |cache| {
            cache.pool.drop_node_ref(BlockId(0));
        }),
        ("an idle leaf is not listed", |cache| {
            cache.tree.idle.clear();
        }),
        ("a child is not listed", |cache| {
            cache.tree.children.clear();
        }),
        ("a namespace is not listed", |cache| {
            cache.tree.roots.clear();
        }),
        ("the clock went back", |cache| {
            cache.tree.clock = 0;
        }),
    ];
    for (what, spoil) in faults {
        let mut cache = BlockManager::new(8);
        compute(&mut cache, &tokens(40, 40));
        compute(&mut cache, &tokens(30, 40));
        spoil(&mut cache);
        assert!(cache.audit().is_err(), "{what}");
    }
}
