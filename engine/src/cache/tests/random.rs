//! Random operations on the cache, over two tokens so that sequences share prefixes.

use proptest::prelude::*;

use super::world::{Op, World};

fn tokens() -> impl Strategy<Value = Vec<u32>> {
    // Runs of one token with a few changes: long common prefixes that end anywhere.
    let pieces = prop::collection::vec((0_u32..2, 1_usize..24), 0..5);
    pieces.prop_map(|pieces| {
        let pieces = pieces.into_iter();
        pieces.flat_map(|(token, n)| vec![token; n]).collect()
    })
}

fn op() -> impl Strategy<Value = Op> {
    let salt = prop::sample::select(vec![0, 0, 0, 1]);
    let limit = prop::sample::select(vec![0, 5, 16, 17, 30, 1000, 1000, 1000]);
    let room = prop::sample::select(vec![-20, 0, 0, 0, 1, 40]);
    let opened = prop::sample::select(vec![3, 20, 1000, 1000]);
    let open = (salt, tokens(), opened, limit, room, any::<bool>());
    let open = open.prop_map(|(salt, tokens, opened, limit, room, ignore_pending)| Op::Open {
        salt,
        tokens,
        opened,
        limit,
        room,
        ignore_pending,
    });
    let step = (0_usize..8, prop::sample::select(vec![0, 1, 3, 16, 20, 100]));
    let step = step.prop_map(|(table, tokens)| Op::Step { table, tokens });
    let extend = (0_usize..8, 0_usize..140);
    let extend = extend.prop_map(|(table, positions)| Op::Extend { table, positions });
    let short = prop::sample::select(vec![None, None, Some(0), Some(33), Some(1000)]);
    let release = (0_usize..8, short);
    let release = release.prop_map(|(table, short)| Op::Release { table, short });
    prop_oneof![
        6 => open,
        8 => step,
        2 => extend,
        3 => release,
        1 => Just(Op::Invalidate),
    ]
}

fn run(mut world: World, ops: Vec<Op>) {
    for op in ops {
        world.apply(op);
        world.audit();
    }
    world.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Under any sharing and eviction, every position of every table holds its own tokens' content.
    #[test]
    fn blocks_hold_keys_of_their_own_tokens(
        n_blocks in 0_usize..24,
        ops in prop::collection::vec(op(), 1..80),
    ) {
        run(World::new(n_blocks, false), ops);
    }

    /// Without eviction, everything computed is found again, to the token.
    #[test]
    fn computed_prefixes_are_found_again(ops in prop::collection::vec(op(), 1..60)) {
        run(World::new(2000, true), ops);
    }
}

/// A random number generator whose state is a counter.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x >> 33) % n as u64).expect("below n")
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn op(&mut self) -> Op {
        let table = self.below(8);
        match self.below(2000) {
            0 => Op::Invalidate,
            1..500 => {
                let mut tokens = Vec::new();
                for _ in 0..self.below(5) {
                    let token = self.one_of(&[0, 1]);
                    tokens.resize(tokens.len() + self.below(30), token);
                }
                Op::Open {
                    salt: self.one_of(&[0, 0, 0, 1]),
                    tokens,
                    opened: self.one_of(&[3, 20, 1000, 1000]),
                    limit: self.one_of(&[0, 5, 16, 17, 30, 1000, 1000]),
                    room: self.one_of(&[-20, 0, 0, 0, 1, 40]),
                    ignore_pending: self.below(4) == 0,
                }
            }
            500..1300 => Op::Step { table, tokens: self.one_of(&[0, 1, 3, 16, 20, 100]) },
            1300..1500 => Op::Extend { table, positions: self.below(140) },
            _ => Op::Release {
                table,
                short: self.one_of(&[None, None, Some(0), Some(33), Some(1000)]),
            },
        }
    }
}

#[test]
fn a_million_operations_audit_clean() {
    for (n_blocks, seed) in [(5, 1), (16, 2), (40, 3), (300, 4)] {
        let (mut world, mut rng) = (World::new(n_blocks, false), Rng(seed));
        for i in 0..250_000 {
            world.apply(rng.op());
            if i % 1000 == 0 {
                world.audit();
            }
        }
        world.finish();
    }
}
