//! Sequences that are chosen to be expensive.

use super::super::{Allocation, BlockManager, BlockTable, CacheNamespace, SequenceId};

const NAMESPACE: CacheNamespace = CacheNamespace { adapter: None, salt: 0 };

fn open(cache: &mut BlockManager, token_ids: &[u32], limit: usize) -> BlockTable {
    let allocation = Allocation {
        owner: SequenceId(0),
        namespace: &NAMESPACE,
        token_ids,
        max_cached: limit,
        n_positions: token_ids.len(),
    };
    cache.allocate(allocation).expect("it fits").table
}

fn compute(cache: &mut BlockManager, token_ids: &[u32]) -> usize {
    let mut table = open(cache, token_ids, token_ids.len() - 1);
    cache.commit(&mut table, token_ids.len());
    let computed = token_ids.len() - table.cached();
    cache.release(table, token_ids);
    computed
}

#[test]
fn a_million_sequences_of_one_token() {
    let mut cache = BlockManager::new(1_000_000);
    for token in 0..1_000_000 {
        compute(&mut cache, &[token]);
    }
    assert_eq!(cache.counts().cached, 1_000_000);
    assert_eq!(cache.audit(), Ok(()));
    // A million more, each of which evicts an old one.
    for token in 1_000_000..2_000_000 {
        compute(&mut cache, &[token]);
    }
    assert_eq!(cache.counts().cached, 1_000_000);
    assert_eq!(cache.match_prefix(&NAMESPACE, &[999_999], 1).cached, 0);
    assert_eq!(cache.match_prefix(&NAMESPACE, &[1_000_000], 1).cached, 1);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn long_sequences_that_differ_at_the_last_token() {
    let mut cache = BlockManager::new(8_000);
    let mut token_ids: Vec<u32> = (0..100_001).collect();
    let mut computed = 0;
    for last in 0..500 {
        token_ids[100_000] = 200_000 + last;
        computed += compute(&mut cache, &token_ids);
    }
    assert_eq!(computed, 100_001 + 499);
    // Sequences that diverge ever earlier, and so split the node everywhere.
    for at in (0..100_000).rev().step_by(97) {
        let mut other = token_ids[..=at].to_vec();
        other[at] = 300_000;
        compute(&mut cache, &other);
    }
    assert_eq!(cache.audit(), Ok(()));
    let found = cache.match_prefix(&NAMESPACE, &token_ids, usize::MAX);
    assert_eq!(found.cached, 100_001);
}

#[test]
fn repeated_sequences_leave_no_memory_behind() {
    let mut cache = BlockManager::new(64);
    let token_ids: Vec<u32> = (0..200).collect();
    compute(&mut cache, &token_ids);
    compute(&mut cache, &token_ids);
    let (nodes, counts) = (cache.tree.nodes().count(), cache.counts());
    for limit in 0..10_000 {
        let table = open(&mut cache, &token_ids, 199);
        cache.release(table, &token_ids);
        compute(&mut cache, &token_ids);
        let private = open(&mut cache, &token_ids, limit % 200);
        cache.release(private, &token_ids);
    }
    assert_eq!(cache.counts(), counts);
    // A table that shares only part of a node splits it at a block boundary, each at most once.
    assert!(cache.tree.nodes().count() <= nodes + 200 / 16);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn roots_of_idle_namespaces_are_removed() {
    let mut cache = BlockManager::new(4);
    for salt in 0..10_000 {
        let namespace = CacheNamespace { adapter: None, salt };
        let allocation = Allocation {
            owner: SequenceId(salt),
            namespace: &namespace,
            token_ids: &[1, 2, 3],
            max_cached: 2,
            n_positions: 3,
        };
        let mut table = cache.allocate(allocation).expect("it fits").table;
        cache.commit(&mut table, 3);
        cache.release(table, &[1, 2, 3]);
        assert!(cache.tree.roots.len() <= 4 && cache.tree.slots.len() <= 10);
    }
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn evicted_tokens_free_their_memory() {
    let mut cache = BlockManager::new(1_000);
    let long: Vec<u32> = (0..16_000).collect();
    compute(&mut cache, &long);
    // All but its first block is evicted again and again.
    for turn in 0..50 {
        let table = open(&mut cache, &vec![99_999; 15_984], 0);
        cache.release(table, &[]);
        let mut next = long.clone();
        next[16 + turn] = 77_777;
        let mut table = open(&mut cache, &next, 15_999);
        cache.commit(&mut table, 16 + turn + 1);
        cache.release(table, &next);
    }
    let kept: usize = cache.tree.nodes().map(|(_, node)| node.tokens.capacity()).sum();
    assert!(kept <= 4 * 16 * cache.counts().cached, "{kept} tokens");
    assert_eq!(cache.audit(), Ok(()));
}
