//! Cost of the bookkeeping: a measurement, run by hand.

use std::time::{Duration, Instant};

use super::super::{Allocation, BlockManager, CacheNamespace, SequenceId};

/// Nanoseconds of match, allocate, commit and release for one sequence among `n_cached`.
fn measure(n_cached: u32, n_blocks: usize) -> [u128; 4] {
    let namespace = CacheNamespace { adapter: None, salt: 0 };
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
            cache.match_prefix(&namespace, &token_ids, limit);
            Instant::now()
        }];
        let allocated = cache.allocate(Allocation {
            owner,
            namespace: &namespace,
            token_ids: &token_ids,
            max_cached: limit,
            n_positions: room,
        });
        let mut table = allocated.expect("it fits").table;
        let allocated = Instant::now();
        cache.commit(&mut table, token_ids.len());
        let committed = Instant::now();
        cache.release(table, &token_ids);
        let released = Instant::now();
        if index >= n_cached {
            spent[0] += times[1] - times[0];
            spent[1] += allocated - times[1];
            spent[2] += committed - allocated;
            spent[3] += released - committed;
        }
    }
    spent.map(|spent| spent.as_nanos() / u128::from(rounds))
}

#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
fn cost_of_a_sequence() {
    for (n_cached, n_blocks) in [(10, 100_000), (10_000, 100_000), (10, 60), (10_000, 40_000)] {
        let [find, allocate, commit, release] = measure(n_cached, n_blocks);
        println!(
            "{n_cached} cached in {n_blocks} blocks: match {find} ns, allocate {allocate} ns, commit \
             {commit} ns, release {release} ns"
        );
    }
}
