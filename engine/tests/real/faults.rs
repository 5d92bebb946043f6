//! Random steps of a scheduler over a card whose calls fail now and then: each sequence is answered
//! once, with the bits that it has alone or with an error, and no block is lost.

use std::collections::HashMap;

use engine::cache::{CacheNamespace, CachedAdapter, SequenceId};
use engine::sampling::Sampler;
use engine::scheduler::{Scheduler, SchedulerConfig, SchedulerEvent, Sequence, TaskState};
use engine::{OutputSpec, Priority, RequestError};
use gpu_emulated::{Emulator, Fault};
use gpu_models::GpuRunner;
use models::batch::AdapterSlot;
use models::{Forward as _, ModelError};
use tiny_models::TinyHead;

use crate::subject::{Bits, RequestSpec, Subject, TaskSpec, bits_of, emulator, sampling};

/// Cards of these tests' own, since a fault disturbs all work on them.
const CARDS: [usize; 2] = [5, 4];
const N_BLOCKS: usize = 6;
/// Those of a narrow tile, whose steps are quick.
const BATCH_TOKENS: usize = 16;

/// Requests with common beginnings: a few outputs each, since a step takes milliseconds here.
fn specs() -> Vec<RequestSpec> {
    let spec = |i: usize| {
        let salt = u32::try_from(i).unwrap();
        let prompt = (0..20 + 13 * (salt % 2)).map(|at| (at * 7919 + salt % 2) % 300);
        let token_ids: Vec<u32> = prompt.chain((0..=salt % 7).map(|at| at + salt)).collect();
        let last = token_ids.len() - 1;
        let columns = [3, 60, 17].into();
        let task = match i % 4 {
            0 => TaskSpec::Rows(vec![(last, OutputSpec::Head), (2, OutputSpec::Hidden)]),
            1 => TaskSpec::Rows(vec![(last, OutputSpec::Labels { columns, mass: false })]),
            _ => TaskSpec::Tokens { max_tokens: 4 * (i % 4), temperature: [0.0, 0.7][i / 4 % 2] },
        };
        RequestSpec { token_ids, adapter: i.is_multiple_of(5).then_some(i % 2), task }
    };
    (0..16).map(spec).collect()
}

/// A scheduler over a card, and the sequences without a result, with the indexes of their requests.
struct World<'a> {
    emulator: &'a Emulator,
    card: usize,
    subject: &'a Subject,
    specs: Vec<RequestSpec>,
    scheduler: Scheduler,
    runner: GpuRunner,
    /// An adapter that no sequence uses, while it is in service.
    unused: Option<AdapterSlot>,
    pending: HashMap<SequenceId, usize>,
    next_id: u64,
    random: u64,
    answered: usize,
    failed: usize,
}

impl<'a> World<'a> {
    fn new((emulator, card): (&'a Emulator, usize), subject: &'a Subject) -> World<'a> {
        let mut runner = subject.gpu_runner(N_BLOCKS, BATCH_TOKENS);
        for adapter in &subject.adapters {
            runner.insert(adapter.clone()).unwrap();
        }
        let config =
            SchedulerConfig { n_blocks: N_BLOCKS, batch_tokens: BATCH_TOKENS, max_sequences: 5 };
        World {
            emulator,
            card,
            subject,
            specs: specs(),
            scheduler: Scheduler::new(config).drawing(true),
            runner,
            unused: None,
            pending: HashMap::new(),
            next_id: 0,
            random: 1,
            answered: 0,
            failed: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % end
    }

    fn add(&mut self, at: usize) {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let spec = &self.specs[at];
        let task = match &spec.task {
            TaskSpec::Rows(rows) => TaskState::rows(rows.clone()),
            TaskSpec::Tokens { max_tokens, temperature } => {
                let params = sampling(*max_tokens, *temperature);
                let vocab_size = self.subject.config.vocab_size;
                TaskState::generation(Sampler::new(params, &spec.token_ids, vocab_size).unwrap())
            }
        };
        let slot = spec.adapter.map(|at| AdapterSlot(u32::try_from(at).unwrap()));
        let priority = if id.0.is_multiple_of(3) { Priority::Batch } else { Priority::Interactive };
        self.scheduler.add(Sequence {
            id,
            token_ids: spec.token_ids.clone(),
            namespace: CacheNamespace {
                adapter: slot.map(|slot| CachedAdapter::Live(u64::from(slot.0))),
                salt: 0,
            },
            slot,
            priority,
            client: id.0 % 2,
            task,
        });
        self.pending.insert(id, at);
    }

    /// One step; `None` if there was nothing to do. `expected` has the bits of each request.
    fn step(&mut self, expected: &mut [Option<Bits>]) -> Option<Result<(), ModelError>> {
        let step = self.scheduler.schedule()?;
        let outcome = self.runner.forward_drawing(&step.batch, &step.draws);
        let (outputs, result) = match outcome {
            Ok(outputs) => (Ok(outputs), Ok(())),
            Err(error) => (Err(error.to_string()), Err(error)),
        };
        for event in self.scheduler.finish(step, outputs) {
            let SchedulerEvent::Done { id, result: answer, .. } = event else { continue };
            let at = self.pending.remove(&id).expect("one answer for each sequence");
            self.answered += 1;
            match answer {
                Ok((output, _)) => {
                    let found = bits_of(&output);
                    let expected = expected[at].get_or_insert_with(|| found.clone());
                    assert!(*expected == found, "{:?} has other bits", self.specs[at]);
                }
                Err(error) => {
                    let is_of_step = matches!(error, RequestError::Model(_)) && result.is_err();
                    assert!(is_of_step, "{error} after {result:?}");
                    self.failed += 1;
                }
            }
        }
        Some(result)
    }

    /// An adapter comes or goes; where memory fails, neither it nor a part of it is there.
    fn change_adapter(&mut self) {
        match self.unused.take() {
            Some(slot) => {
                self.runner.remove(slot).expect("it is in service");
            }
            None => match self.runner.insert(self.subject.adapters[0].clone()) {
                Ok(slot) => self.unused = Some(slot),
                Err(error) => {
                    assert!(matches!(error, ModelError::Device { lost: false, .. }), "{error}");
                }
            },
        }
    }

    fn check_blocks(&self) {
        self.scheduler.audit().unwrap();
        let counts = self.scheduler.counts();
        assert_eq!(counts.free + counts.held + counts.cached, counts.total);
    }

    fn check_idle(&self) {
        self.check_blocks();
        assert!(self.pending.is_empty() && self.scheduler.counts().held == 0);
    }
}

#[test]
fn each_sequence_is_answered_once_whatever_fails() {
    check(CARDS[0], 2_500);
}

/// Some eighteen thousand moves, of which ten thousand are steps.
#[test]
#[ignore = "takes minutes"]
fn each_of_ten_thousand_steps_may_fail() {
    let steps = check(CARDS[1], 18_000);
    assert!(steps >= 10_000, "{steps}");
}

/// Makes this many random moves on a card, then loses it; returns how many of them were steps.
fn check(card: usize, moves: usize) -> usize {
    let Some(emulator) = emulator() else { return usize::MAX };
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Value).on(emulator.open(card), dir.path());
    let mut world = World::new((emulator, card), &subject);
    let mut expected = vec![None; world.specs.len()];
    // Each alone.
    for at in 0..expected.len() {
        world.add(at);
        while let Some(step) = world.step(&mut expected) {
            step.unwrap();
        }
    }
    assert!(expected.iter().all(Option::is_some));
    let (mut steps, mut failed_steps) = (0, 0);
    for at in 0..moves {
        match world.below(40) {
            0..10 => {
                let spec = world.below(world.specs.len());
                world.add(spec);
            }
            10 => {
                let mut ids: Vec<_> = world.pending.keys().copied().collect();
                ids.sort_unstable();
                if !ids.is_empty() {
                    let id = ids[world.below(ids.len())];
                    assert!(world.scheduler.cancel(id));
                    world.pending.remove(&id);
                }
            }
            11 => {
                let calls = world.below(100);
                world.emulator.fail(world.card, Fault::Launch, calls);
            }
            12 => {
                let calls = world.below(40);
                world.emulator.fail(world.card, Fault::Allocation, calls);
            }
            13 => world.change_adapter(),
            _ => {
                let Some(step) = world.step(&mut expected) else { continue };
                steps += 1;
                if let Err(error) = step {
                    assert!(matches!(error, ModelError::Device { lost: false, .. }), "{error}");
                    failed_steps += 1;
                }
            }
        }
        if at % 64 == 0 {
            world.check_blocks();
        }
    }
    while world.step(&mut expected).is_some() {
        steps += 1;
    }
    world.check_idle();
    println!(
        "{steps} steps, {failed_steps} of them failed; {} sequences were answered, {} by an error",
        world.answered, world.failed
    );
    assert!(
        failed_steps > 30 && world.failed > 30,
        "{failed_steps} steps, {} failed",
        world.failed
    );
    assert!(world.answered > 10 * expected.len(), "{}", world.answered);
    assert!(world.scheduler.totals().preemptions > 0 && world.scheduler.totals().cached_tokens > 0);
    // From the loss on every step fails, and still each sequence is answered.
    for at in 0..expected.len() {
        world.add(at);
    }
    emulator.fail(card, Fault::Loss, 200);
    let mut is_lost = false;
    while let Some(step) = world.step(&mut expected) {
        let lost = matches!(step, Err(ModelError::Device { lost: true, .. }));
        assert!(lost || (step.is_ok() && !is_lost), "{step:?}");
        is_lost = lost;
    }
    assert!(is_lost);
    world.check_idle();
    steps
}
