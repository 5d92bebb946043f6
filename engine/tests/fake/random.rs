//! Random work against a model that remembers its prefixes: whatever is submitted, cancelled,
//! pre-empted or shared, every sequence gets what it would have got alone, exactly once, and
//! nothing is lost.

use std::collections::HashMap;

use crate::forward::{Fake, Fault, POISON, VOCAB, naive_under, silence_injected_panics};
use engine::cache::{CacheNamespace, SequenceId};
use engine::sampling::{Sampler, SamplingParams};
use engine::scheduler::{Scheduler, SchedulerConfig, SchedulerEvent, Sequence, TaskState};
use engine::{Priority, Read, RequestError, TaskOutput};
use models::BLOCK;
use models::batch::AdapterSlot;
use models::{Forward, Output};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng};

/// What was asked, to be held against what came.
#[derive(Clone, Debug)]
struct Asked {
    token_ids: Vec<u32>,
    slot: Option<AdapterSlot>,
    want: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Rows(Vec<(usize, Read)>),
    Greedy(usize),
}

#[derive(Clone, Debug)]
enum Move {
    Add(Asked, Priority, u64),
    Step,
    Cancel(usize),
    Fault(Fault),
    Change,
}

/// A scheduler over a fake, and what is still owed to whom.
struct World {
    scheduler: Scheduler,
    fake: Fake,
    owed: HashMap<SequenceId, Asked>,
    next_id: u64,
    answered: u64,
}

impl World {
    fn new(n_blocks: usize, batch_tokens: usize, max_sequences: usize) -> World {
        World {
            scheduler: Scheduler::new(SchedulerConfig { n_blocks, batch_tokens, max_sequences }),
            fake: Fake::new(n_blocks),
            owed: HashMap::new(),
            next_id: 0,
            answered: 0,
        }
    }

    fn make(&mut self, step: Move) {
        match step {
            Move::Add(asked, priority, client) => self.add(asked, priority, client),
            Move::Step => {
                self.step();
            }
            Move::Cancel(at) => {
                let mut ids: Vec<_> = self.owed.keys().copied().collect();
                ids.sort_unstable();
                if let Some(id) = ids.get(at % ids.len().max(1)) {
                    assert!(self.scheduler.cancel(*id));
                    self.owed.remove(id);
                }
            }
            Move::Fault(fault) => self.fake.faults.push((self.fake.steps, fault)),
            Move::Change => {
                self.fake.weights.set(self.scheduler.revision() + 1);
                self.scheduler.invalidate_cache();
            }
        }
    }

    fn add(&mut self, asked: Asked, priority: Priority, client: u64) {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let task = match &asked.want {
            Wanted::Rows(reads) => TaskState::rows(reads.clone()),
            Wanted::Greedy(max_tokens) => {
                let sampling =
                    SamplingParams { max_tokens: *max_tokens, ..SamplingParams::default() };
                let sampler = Sampler::new(sampling, &asked.token_ids, VOCAB);
                TaskState::generation(sampler.expect("greedy sampling is allowed"))
            }
        };
        self.scheduler.add(Sequence {
            id,
            token_ids: asked.token_ids.clone(),
            namespace: CacheNamespace {
                adapter: asked.slot.map(|slot| format!("{slot:?}").into()),
                salt: 0,
            },
            slot: asked.slot,
            priority,
            client,
            task,
        });
        self.owed.insert(id, asked);
    }

    fn step(&mut self) -> bool {
        let Some(step) = self.scheduler.schedule() else {
            assert!(self.owed.is_empty(), "nothing runs and {:?} is owed", self.owed);
            assert!(self.scheduler.is_empty());
            return false;
        };
        let fake = &mut self.fake;
        let run = std::panic::AssertUnwindSafe(|| fake.forward(&step.batch));
        let outcome = match std::panic::catch_unwind(run) {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err("panic".to_owned()),
        };
        for event in self.scheduler.finish(step, outcome) {
            self.hold_against(event);
        }
        true
    }

    fn hold_against(&mut self, event: SchedulerEvent) {
        let SchedulerEvent::Done { id, result, .. } = event else {
            return;
        };
        let asked = self.owed.remove(&id).expect("one answer for each sequence");
        self.answered += 1;
        let poisoned = asked.token_ids.contains(&POISON);
        match result {
            Ok((produced, usage)) => {
                assert_eq!(usage.input_tokens, asked.token_ids.len());
                check(&asked, &produced, self.scheduler.revision());
            }
            Err(RequestError::NotFinite { .. }) => {
                assert!(poisoned, "{asked:?}");
            }
            Err(RequestError::Model(_)) => assert!(!self.fake.faults.is_empty()),
            Err(other) => panic!("{other}"),
        }
    }

    fn drain(&mut self) {
        while self.step() {}
        let counts = self.scheduler.counts();
        assert_eq!(counts.held, 0);
        assert_eq!(counts.free + counts.cached, counts.total);
        self.scheduler.audit().unwrap();
    }
}

/// All rows are of the weights of now; of a generation each token is of its own, the last of now.
fn check(asked: &Asked, produced: &TaskOutput, now: u64) {
    match (&asked.want, produced) {
        (Wanted::Rows(reads), TaskOutput::Rows(outputs)) => {
            assert_eq!(reads.len(), outputs.len());
            for ((at, read), output) in reads.iter().zip(outputs) {
                let ids = &asked.token_ids[..=*at];
                let expected = naive_under(now, ids, asked.slot, read);
                assert_eq!(*output, expected, "row {at} of {asked:?}");
            }
        }
        (Wanted::Greedy(max_tokens), TaskOutput::Tokens { tokens, .. }) => {
            assert_eq!(tokens.len(), *max_tokens);
            let mut ids = asked.token_ids.clone();
            for token in tokens {
                let expected = greedy(token.revision, &ids, asked.slot);
                assert_eq!(token.token_id, expected, "{asked:?}");
                ids.push(token.token_id);
            }
            let revisions: Vec<u64> = tokens.iter().map(|token| token.revision).collect();
            assert!(revisions.is_sorted(), "{revisions:?}");
            assert_eq!(revisions.last(), Some(&now));
        }
        (want, produced) => panic!("{produced:?} for {want:?}"),
    }
}

fn greedy(weights: u64, ids: &[u32], slot: Option<AdapterSlot>) -> u32 {
    let Output::Vocab(logits) = naive_under(weights, ids, slot, &Read::Vocab) else {
        unreachable!("logits were asked for");
    };
    let mut best = 0;
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = at;
        }
    }
    u32::try_from(best).expect("few logits")
}

fn read() -> impl Strategy<Value = Read> {
    prop_oneof![
        Just(Read::Head),
        Just(Read::Hidden),
        (0..8_u32).prop_map(Read::Logprob),
        Just(Read::Labels { columns: [1, 3].into(), mass: true }),
    ]
}

/// Two tokens, so that sequences share beginnings; now and then one that gives no number.
fn tokens(longest: usize) -> impl Strategy<Value = Vec<u32>> {
    let token = prop_oneof![40 => Just(0_u32), 12 => Just(1), 1 => Just(POISON)];
    proptest::collection::vec(token, 1..=longest)
}

fn asked(longest: usize) -> impl Strategy<Value = Asked> {
    let slot = prop_oneof![3 => Just(None), 1 => (0..2_u32).prop_map(|at| Some(AdapterSlot(at)))];
    (
        tokens(longest),
        slot,
        any::<bool>(),
        1..20_usize,
        proptest::collection::vec((any::<prop::sample::Index>(), read()), 1..4),
    )
        .prop_map(|(token_ids, slot, generates, n, reads)| {
            let len = token_ids.len();
            let want = if generates {
                Wanted::Greedy(n)
            } else {
                Wanted::Rows(reads.into_iter().map(|(at, read)| (at.index(len), read)).collect())
            };
            Asked { token_ids, slot, want }
        })
}

fn step(longest: usize) -> impl Strategy<Value = Move> {
    let priority = prop_oneof![Just(Priority::Interactive), Just(Priority::Batch)];
    let fault = prop_oneof![Just(Fault::Error), Just(Fault::Panic), Just(Fault::TooFewOutputs)];
    prop_oneof![
        8 => (asked(longest), priority, 0..3_u64)
            .prop_map(|(asked, priority, client)| Move::Add(asked, priority, client)),
        24 => Just(Move::Step),
        2 => any::<usize>().prop_map(Move::Cancel),
        1 => fault.prop_map(Move::Fault),
        1 => Just(Move::Change),
    ]
}

/// The longest prompt that fits beside the longest generation.
fn longest(n_blocks: usize) -> usize {
    n_blocks * BLOCK - 20
}

proptest! {
    #![proptest_config(Config { cases: 2000, ..Config::default() })]

    #[test]
    fn everybody_gets_what_is_his_once(
        (n_blocks, batch_tokens, max_sequences, moves) in (2..12_usize, 1..80_usize, 1..10_usize)
            .prop_flat_map(|(n_blocks, batch_tokens, max_sequences)| {
                let moves = proptest::collection::vec(step(longest(n_blocks).min(70)), 1..120);
                (Just(n_blocks), Just(batch_tokens), Just(max_sequences), moves)
            })
    ) {
        silence_injected_panics();
        let mut world = World::new(n_blocks, batch_tokens, max_sequences);
        for step in moves {
            world.make(step);
            world.scheduler.audit().unwrap();
        }
        world.drain();
    }
}

/// A million steps of one world with little memory, audited as it goes.
#[test]
fn a_million_steps_audit_clean() {
    silence_injected_panics();
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
    );
    let moves = step(70);
    let mut world = World::new(7, 40, 8);
    for at in 0..1_000_000_u32 {
        let step = moves.new_tree(&mut runner).expect("moves can be made").current();
        world.make(step);
        world.fake.sizes.clear();
        world.fake.faults.retain(|(at, _)| *at >= world.fake.steps);
        if at % 4096 == 0 {
            world.scheduler.audit().unwrap();
        }
        let counts = world.scheduler.counts();
        assert_eq!(counts.free + counts.held + counts.cached, counts.total);
    }
    world.drain();
    let totals = world.scheduler.totals();
    assert!(world.answered > 100_000, "{}", world.answered);
    assert!(totals.preemptions > 1000, "{totals:?}");
    assert!(totals.cached_tokens > 100_000, "{totals:?}");
}
