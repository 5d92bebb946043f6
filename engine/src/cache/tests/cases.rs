//! Small cases, one concern each.

use models::BlockCopy;
use models::BlockId;

use super::super::{
    Allocated, Allocation, BlockCounts, BlockManager, BlockTable, CacheNamespace, PendingPrefix,
    PrefixMatch, SequenceId,
};

fn space(salt: u64) -> CacheNamespace {
    CacheNamespace { adapter: None, salt }
}

/// `n` tokens that are like any others up to `same`, and 7 from there on.
fn tokens(same: usize, n: usize) -> Vec<u32> {
    let common = (0..).take(same.min(n));
    common.chain(std::iter::repeat(7_000)).take(n).collect()
}

/// Opens with room for the tokens.
fn open(cache: &mut BlockManager, id: u64, tokens: &[u32], limit: usize) -> Option<Allocated> {
    cache.allocate(Allocation {
        owner: SequenceId(id),
        namespace: &space(0),
        token_ids: tokens,
        max_cached: limit,
        n_positions: tokens.len(),
    })
}

fn table(cache: &mut BlockManager, id: u64, tokens: &[u32], limit: usize) -> BlockTable {
    open(cache, id, tokens, limit).expect("it fits").table
}

/// Computes a sequence and leaves it in the cache.
fn compute(cache: &mut BlockManager, tokens: &[u32]) {
    let mut table = table(cache, 1000, tokens, usize::MAX);
    cache.commit(&mut table, tokens.len());
    cache.release(table, tokens);
    assert_eq!(cache.audit(), Ok(()));
}

fn cached(cache: &BlockManager, tokens: &[u32]) -> usize {
    cache.match_prefix(&space(0), tokens, usize::MAX).cached
}

fn prefix(cached: usize, awaited: Option<(u64, usize)>) -> PrefixMatch {
    let awaited =
        awaited.map(|(owner, n_tokens)| PendingPrefix { owner: SequenceId(owner), n_tokens });
    PrefixMatch { cached, pending: awaited }
}

fn counts(cache: &BlockManager) -> [usize; 3] {
    let BlockCounts { free, held, cached, total } = cache.counts();
    assert_eq!(free + held + cached, total);
    [free, held, cached]
}

#[test]
fn sharing_is_exact_to_the_token() {
    // Tokens computed; how many of them the next sequence has in common, its length, its limit;
    // tokens that it takes, and blocks that it shares whole.
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
        let found = cache.match_prefix(&space(0), &next, limit);
        assert_eq!(found, prefix(taken, None), "{line}");
        let Allocated { table, copies } = open(&mut cache, 2, &next, limit).expect("it fits");
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
fn what_is_being_computed_is_waited_for() {
    // Tokens committed of 40; the next sequence's tokens in common, length and limit; what it is
    // told.
    for (committed, (same, n, limit), told) in [
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
        let found = cache.match_prefix(&space(0), &next, limit);
        assert_eq!(found, told, "{committed}, {same} of {n}, at most {limit}");
        let other = cache.match_prefix(&space(1), &next, limit);
        assert_eq!(other, prefix(0, None), "another space");
        cache.release(first, &tokens(40, 40));
        let found = cache.match_prefix(&space(0), &next, limit);
        assert_eq!(found, prefix(told.cached, None), "nobody computes it now");
        assert_eq!(cache.audit(), Ok(()));
    }
}

#[test]
fn sequences_that_come_together_compute_each_token_once() {
    // One prompt, three responses, two questions on each: in any order, whoever waits goes on when
    // what it waits for is there.
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
            let found = cache.match_prefix(&space(0), tokens, tokens.len() - 1);
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
fn a_private_table_is_shared_from_its_release() {
    let mut cache = BlockManager::new(20);
    compute(&mut cache, &tokens(40, 40));
    let all = tokens(60, 60);
    // It reads from token 10 on, so it computes what is there too.
    let mut own = table(&mut cache, 2, &all, 10);
    cache.commit(&mut own, 60);
    assert_eq!(cached(&cache, &all), 40);
    cache.release(own, &all);
    assert_eq!(cached(&cache, &all), 60);
    // The blocks that were there stay; of the table's own, those of tokens 32 to 60 do.
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
    assert_eq!(cached(&cache, &all), 20, "not while it is generating");
    // The last token was sampled and never run.
    cache.release(own, &all);
    assert_eq!(cached(&cache, &all), 49);
    assert_eq!(counts(&cache), [16, 0, 4]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn a_release_keeps_what_was_committed_of_the_tokens_that_it_tells() {
    // Tokens opened for, committed, told; tokens cached then.
    for (opened, committed, told, left) in [
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
        let mut own = table(&mut cache, 1, &all[..opened], 60);
        assert!(cache.extend(&mut own, 60));
        cache.commit(&mut own, committed);
        cache.release(own, &all[..told]);
        assert_eq!(cached(&cache, &all), left, "{opened}, {committed}, {told}");
        let kept = left.div_ceil(16);
        assert_eq!(counts(&cache), [8 - kept, 0, kept]);
        assert_eq!(cache.audit(), Ok(()));
    }
}

#[test]
fn commits_only_go_forward() {
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
fn a_commit_beyond_the_room_is_a_fault() {
    let mut cache = BlockManager::new(8);
    let mut own = table(&mut cache, 1, &tokens(20, 20), 20);
    cache.commit(&mut own, 33);
}

#[test]
fn the_least_recently_used_goes_first_and_from_its_end() {
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
            namespace: &space(1),
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
fn what_an_open_table_shares_is_not_evicted() {
    let mut cache = BlockManager::new(8);
    compute(&mut cache, &tokens(40, 40));
    let shares = open(&mut cache, 1, &tokens(40, 40), 39).expect("it fits");
    let (shares, source) = (shares.table, shares.copies[0].from);
    compute(&mut cache, &[8; 32]);
    assert_eq!(counts(&cache), [2, 4 - 1 + 1, 2]);
    let all = cache.counts().available();
    let other = open(&mut cache, 2, &vec![9; all * 16], 0).expect("it fits");
    // What is shared whole stays. The copy is not made yet: its source is nobody else's, though
    // the cache had to forget it.
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    assert!(!other.table.blocks().contains(&source));
    assert_eq!(counts(&cache), [0, 8, 0]);
    assert!(open(&mut cache, 3, &[1], 0).is_none());
    assert_eq!(cache.audit(), Ok(()));
    cache.release(other.table, &[]);
    cache.release(shares, &[]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn a_copy_that_was_never_made_is_not_kept() {
    let mut cache = BlockManager::new(8);
    compute(&mut cache, &tokens(40, 40));
    let never = open(&mut cache, 1, &tokens(40, 40), 39).expect("it fits");
    compute(&mut cache, &[8; 32]);
    // Now the cache has to forget tokens 32 to 40 too; the table that begins with a copy of them
    // ends before any step.
    let other = open(&mut cache, 2, &[9; 64], 0).expect("it fits").table;
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    cache.release(never.table, &tokens(40, 40));
    assert_eq!(cached(&cache, &tokens(40, 40)), 32);
    assert_eq!(cache.audit(), Ok(()));
    cache.release(other, &[]);
}

#[test]
fn an_opening_does_not_evict_what_it_takes() {
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
fn a_copy_is_gone_without_where_it_takes_the_last_block() {
    // Blocks in all, tokens computed and wanted; tokens taken, or none where it does not fit.
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
        let opened = open(&mut cache, 2, &next, n);
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
fn a_table_that_is_alone_can_always_go_on() {
    // A chain of nodes that each end inside a block: each has a version of that block, and one
    // table can use but one.
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
        others.push(open(&mut cache, n as u64, &tokens(n, n + 1), n));
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
fn nothing_is_shared_across_a_change_of_weights() {
    let mut cache = BlockManager::new(20);
    let all = tokens(40, 40);
    compute(&mut cache, &tokens(20, 20));
    let mut before = table(&mut cache, 1, &all, 39);
    cache.invalidate();
    assert_eq!(cache.match_prefix(&space(0), &all, 39), prefix(0, None));
    let mut after = table(&mut cache, 2, &all, 39);
    assert_eq!(after.cached(), 0);
    cache.commit(&mut before, 40);
    assert_eq!(cache.match_prefix(&space(0), &all, 39), prefix(0, Some((2, 39))));
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
fn spaces_share_nothing() {
    let adapter = |digest: &str| CacheNamespace { adapter: Some(digest.into()), salt: 0 };
    let spaces = [space(0), space(1), adapter("a"), adapter("b")];
    let all = tokens(20, 20);
    let mut cache = BlockManager::new(20);
    for (n, space) in (0_u32..).zip(&spaces) {
        let opening = Allocation {
            owner: SequenceId(0),
            namespace: space,
            token_ids: &all,
            max_cached: 20,
            n_positions: 20,
        };
        let mut table = cache.allocate(opening).expect("it fits").table;
        assert_eq!(table.cached(), 0);
        cache.commit(&mut table, 10 + n as usize);
        cache.release(table, &all);
    }
    let found = spaces.map(|space| cache.match_prefix(&space, &all, 20).cached);
    assert_eq!(found, [10, 11, 12, 13]);
    assert_eq!(cache.audit(), Ok(()));
}

#[test]
fn no_room_and_no_blocks_are_room_and_blocks_like_any() {
    let mut none = BlockManager::new(0);
    assert!(open(&mut none, 1, &[1], 1).is_none());
    let empty = table(&mut none, 1, &[], 0);
    assert_eq!((empty.blocks().len(), empty.capacity()), (0, 0));
    none.release(empty, &[]);
    assert_eq!(none.audit(), Ok(()));

    let mut one = BlockManager::new(1);
    compute(&mut one, &tokens(16, 16));
    let space = space(0);
    let opening = |room| Allocation {
        owner: SequenceId(1),
        namespace: &space,
        token_ids: &[0, 1, 2, 9],
        max_cached: 4,
        n_positions: room,
    };
    assert!(one.allocate(opening(usize::MAX)).is_none());
    let mut table = one.allocate(opening(0)).expect("it needs nothing").table;
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
fn an_audit_finds_what_is_broken() {
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
        ("a space is not listed", |cache| {
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
