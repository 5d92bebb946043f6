//! What the bookkeeping costs: a measurement, run by hand.

use std::time::{Duration, Instant};

use super::super::{Allocation, BlockManager, CacheNamespace, SequenceId};

/// Nanoseconds of match, open, commit and release for one sequence among `n_cached`.
fn measure(n_cached: u32, n_blocks: usize) -> [u128; 4] {
    let space = CacheNamespace { adapter: None, salt: 0 };
    let mut cache = BlockManager::new(n_blocks);
    let sequence = |index: u32| -> Vec<u32> {
        // 256 tokens in common, 128 shared by four, 16 of its own.
        let own = 1_000_000 + index;
        let parts = [vec![1; 256], vec![10_000 + index / 4; 128], vec![own; 16]];
        parts.concat()
    };
    let mut spent = [Duration::ZERO; 4];
    let rounds = 4_000;
    for index in 0..n_cached + rounds {
        let token_ids = sequence(index);
        let (owner, limit, room) = (SequenceId(0), token_ids.len() - 1, token_ids.len());
        let times = [Instant::now(), {
            cache.match_prefix(&space, &token_ids, limit);
            Instant::now()
        }];
        let opened = cache.allocate(Allocation {
            owner,
            namespace: &space,
            token_ids: &token_ids,
            max_cached: limit,
            n_positions: room,
        });
        let mut table = opened.expect("it fits").table;
        let opened = Instant::now();
        cache.commit(&mut table, token_ids.len());
        let committed = Instant::now();
        cache.release(table, &token_ids);
        let released = Instant::now();
        if index >= n_cached {
            spent[0] += times[1] - times[0];
            spent[1] += opened - times[1];
            spent[2] += committed - opened;
            spent[3] += released - committed;
        }
    }
    spent.map(|spent| spent.as_nanos() / u128::from(rounds))
}

#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
fn what_a_sequence_costs() {
    for (n_cached, n_blocks) in [(10, 100_000), (10_000, 100_000), (10, 60), (10_000, 40_000)] {
        let [find, open, commit, release] = measure(n_cached, n_blocks);
        println!(
            "{n_cached} cached in {n_blocks} blocks: match {find} ns, open {open} ns, commit \
             {commit} ns, release {release} ns"
        );
    }
}
