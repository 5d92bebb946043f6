//! Random operations against a fake model that records its prefixes: under any additions,
//! cancellations, preemptions and sharing, each sequence gets exactly one result, the one that it
//! would get alone, and no block is lost.

use std::collections::HashMap;

use crate::forward::{Fake, Fault, POISON, VOCAB, naive_under, silence_injected_panics};
use engine::cache::{CacheNamespace, CachedAdapter, SequenceId};
use engine::sampling::{Sampler, SamplingParams};
use engine::scheduler::{Scheduler, SchedulerConfig, SchedulerEvent, Sequence, TaskState};
use engine::{OutputSpec, Priority, RequestError, TaskOutput};
use models::BLOCK;
use models::batch::AdapterSlot;
use models::{Forward, Output};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng};

/// A request, kept to check its result.
#[derive(Clone, Debug)]
struct Expected {
    token_ids: Vec<u32>,
    slot: Option<AdapterSlot>,
    task: RandomTask,
}

#[derive(Clone, Debug)]
enum RandomTask {
    Rows(Vec<(usize, OutputSpec)>),
    Greedy(usize),
}

#[derive(Clone, Debug)]
enum Operation {
    Add(Expected, Priority, u64),
    Step,
    Cancel(usize),
    Fault(Fault),
    UpdateWeights,
}

/// A scheduler over a fake, and the sequences without a result.
struct World {
    scheduler: Scheduler,
    fake: Fake,
    pending: HashMap<SequenceId, Expected>,
    next_id: u64,
    answered: u64,
}

impl World {
    fn new(n_blocks: usize, batch_tokens: usize, max_sequences: usize) -> World {
        World {
            scheduler: Scheduler::new(SchedulerConfig { n_blocks, batch_tokens, max_sequences }),
            fake: Fake::new(n_blocks),
            pending: HashMap::new(),
            next_id: 0,
            answered: 0,
        }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Add(expected, priority, client) => self.add(expected, priority, client),
            Operation::Step => {
                self.step();
            }
            Operation::Cancel(at) => {
                let mut ids: Vec<_> = self.pending.keys().copied().collect();
                ids.sort_unstable();
                if let Some(id) = ids.get(at % ids.len().max(1)) {
                    assert!(self.scheduler.cancel(*id));
                    self.pending.remove(id);
                }
            }
            Operation::Fault(fault) => self.fake.faults.push((self.fake.steps, fault)),
            Operation::UpdateWeights => {
                self.fake.weights.set(self.scheduler.revision() + 1);
                self.scheduler.invalidate_cache();
            }
        }
    }

    fn add(&mut self, expected: Expected, priority: Priority, client: u64) {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let task = match &expected.task {
            RandomTask::Rows(reads) => TaskState::rows(reads.clone()),
            RandomTask::Greedy(max_tokens) => {
                let sampling =
                    SamplingParams { max_tokens: *max_tokens, ..SamplingParams::default() };
                let sampler = Sampler::new(sampling, &expected.token_ids, VOCAB);
                TaskState::generation(sampler.expect("greedy sampling is allowed"))
            }
        };
        self.scheduler.add(Sequence {
            id,
            token_ids: expected.token_ids.clone(),
            namespace: CacheNamespace {
                adapter: expected.slot.map(|slot| CachedAdapter::Live(u64::from(slot.0))),
                salt: 0,
            },
            slot: expected.slot,
            priority,
            client,
            task,
        });
        self.pending.insert(id, expected);
    }

    fn step(&mut self) -> bool {
        let Some(step) = self.scheduler.schedule() else {
            assert!(self.pending.is_empty(), "nothing runs and {:?} is pending", self.pending);
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
            self.check_event(event);
        }
        true
    }

    fn check_event(&mut self, event: SchedulerEvent) {
        let SchedulerEvent::Done { id, result, .. } = event else {
            return;
        };
        let expected = self.pending.remove(&id).expect("one answer for each sequence");
        self.answered += 1;
        let poisoned = expected.token_ids.contains(&POISON);
        match result {
            Ok((output, usage)) => {
                assert_eq!(usage.input_tokens, expected.token_ids.len());
                check(&expected, &output, self.scheduler.revision());
            }
            Err(RequestError::NotFinite { .. }) => {
                assert!(poisoned, "{expected:?}");
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

/// Checks the output: rows are of the current revision; each token is of its own, the last of the
/// current one.
fn check(expected: &Expected, output: &TaskOutput, revision: u64) {
    match (&expected.task, output) {
        (RandomTask::Rows(reads), TaskOutput::Rows(outputs)) => {
            assert_eq!(reads.len(), outputs.len());
            for ((at, read), output) in reads.iter().zip(outputs) {
                let ids = &expected.token_ids[..=*at];
                let row = naive_under(revision, ids, expected.slot, read);
                assert_eq!(*output, row, "row {at} of {expected:?}");
            }
        }
        (RandomTask::Greedy(max_tokens), TaskOutput::Tokens { tokens, .. }) => {
            assert_eq!(tokens.len(), *max_tokens);
            let mut ids = expected.token_ids.clone();
            for token in tokens {
                let id = greedy(token.revision, &ids, expected.slot);
                assert_eq!(token.token_id, id, "{expected:?}");
                ids.push(token.token_id);
            }
            let revisions: Vec<u64> = tokens.iter().map(|token| token.revision).collect();
            assert!(revisions.is_sorted(), "{revisions:?}");
            assert_eq!(revisions.last(), Some(&revision));
        }
        (task, output) => panic!("{output:?} for {task:?}"),
    }
}

fn greedy(weights: u64, ids: &[u32], slot: Option<AdapterSlot>) -> u32 {
    let Output::Vocab(logits) = naive_under(weights, ids, slot, &OutputSpec::Vocab) else {
        unreachable!("a vocabulary row has logits");
    };
    let mut best = 0;
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = at;
        }
    }
    u32::try_from(best).expect("few logits")
}

fn read() -> impl Strategy<Value = OutputSpec> {
    prop_oneof![
        Just(OutputSpec::Head),
        Just(OutputSpec::Hidden),
        (0..8_u32).prop_map(OutputSpec::Logprob),
        Just(OutputSpec::Labels { columns: [1, 3].into(), mass: true }),
    ]
}

/// Mostly two tokens, so that sequences share prefixes; now and then the poison token.
fn tokens(longest: usize) -> impl Strategy<Value = Vec<u32>> {
    let token = prop_oneof![40 => Just(0_u32), 12 => Just(1), 1 => Just(POISON)];
    proptest::collection::vec(token, 1..=longest)
}

fn request(longest: usize) -> impl Strategy<Value = Expected> {
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
            let task = if generates {
                RandomTask::Greedy(n)
            } else {
                RandomTask::Rows(
                    reads.into_iter().map(|(at, read)| (at.index(len), read)).collect(),
                )
            };
            Expected { token_ids, slot, task }
        })
}

fn operation(longest: usize) -> impl Strategy<Value = Operation> {
    let priority = prop_oneof![Just(Priority::Interactive), Just(Priority::Batch)];
    let fault = prop_oneof![Just(Fault::Error), Just(Fault::Panic), Just(Fault::TooFewOutputs)];
    prop_oneof![
        8 => (request(longest), priority, 0..3_u64)
            .prop_map(|(expected, priority, client)| Operation::Add(expected, priority, client)),
        24 => Just(Operation::Step),
        2 => any::<usize>().prop_map(Operation::Cancel),
        1 => fault.prop_map(Operation::Fault),
        1 => Just(Operation::UpdateWeights),
    ]
}

/// The longest prompt that fits beside the longest generation.
fn longest(n_blocks: usize) -> usize {
    n_blocks * BLOCK - 20
}

proptest! {
    #![proptest_config(Config { cases: 2000, ..Config::default() })]

    #[test]
    fn each_sequence_is_answered_once_as_if_alone(
        (n_blocks, batch_tokens, max_sequences, moves) in (2..12_usize, 1..80_usize, 1..10_usize)
            .prop_flat_map(|(n_blocks, batch_tokens, max_sequences)| {
                let moves = proptest::collection::vec(operation(longest(n_blocks).min(70)), 1..120);
                (Just(n_blocks), Just(batch_tokens), Just(max_sequences), moves)
            })
    ) {
        silence_injected_panics();
        let mut world = World::new(n_blocks, batch_tokens, max_sequences);
        for operation in moves {
            world.apply(operation);
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
    let moves = operation(70);
    let mut world = World::new(7, 40, 8);
    for at in 0..1_000_000_u32 {
        let operation = moves.new_tree(&mut runner).expect("moves can be made").current();
        world.apply(operation);
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
