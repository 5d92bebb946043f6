//! The schedule as text: the tokens of each step.

use std::fmt::Write as _;

use crate::forward::{Fake, VOCAB};
use engine::cache::{CacheNamespace, SequenceId};
use engine::sampling::{Sampler, SamplingParams};
use engine::scheduler::{Scheduler, SchedulerConfig, SchedulerEvent, Sequence, TaskState};
use engine::{OutputSpec, Priority};
use models::Forward as _;

/// A scheduler over a fake, and a protocol of its steps.
struct Script {
    scheduler: Scheduler,
    fake: Fake,
    protocol: String,
    next_id: u64,
}

impl Script {
    fn new(n_blocks: usize, batch_tokens: usize, max_sequences: usize) -> Script {
        Script {
            scheduler: Scheduler::new(SchedulerConfig { n_blocks, batch_tokens, max_sequences }),
            fake: Fake::new(n_blocks),
            protocol: String::new(),
            next_id: 0,
        }
    }

    /// Adds a sequence with one token for each character: generates `max_tokens`, or scores it if
    /// 0.
    fn add(&mut self, text: &str, max_tokens: usize) -> SequenceId {
        self.add_as(text, max_tokens, Priority::Interactive, 0)
    }

    fn add_as(
        &mut self,
        text: &str,
        max_tokens: usize,
        priority: Priority,
        client: u64,
    ) -> SequenceId {
        let id = SequenceId(self.next_id);
        self.next_id += 1;
        let token_ids: Vec<u32> = text.bytes().map(|b| u32::from(b - b'a')).collect();
        let task = if max_tokens == 0 {
            TaskState::rows(vec![(token_ids.len() - 1, OutputSpec::Head)])
        } else {
            let sampling = SamplingParams { max_tokens, ..SamplingParams::default() };
            TaskState::generation(Sampler::new(sampling, &token_ids, VOCAB).unwrap())
        };
        self.scheduler.add(Sequence {
            id,
            token_ids,
            namespace: CacheNamespace { adapter: None, salt: 0 },
            slot: None,
            priority,
            client,
            task,
        });
        id
    }

    fn step(&mut self) -> bool {
        let Some(step) = self.scheduler.schedule() else {
            return false;
        };
        for (id, span) in step.spans() {
            write!(self.protocol, "{}:{}..{} ", id.0, span.start, span.end).unwrap();
        }
        let copies = step.batch.paging.as_ref().map_or(0, |paging| paging.copies.len());
        if copies > 0 {
            write!(self.protocol, "({copies} copied) ").unwrap();
        }
        let outputs = self.fake.forward(&step.batch).map_err(|e| e.to_string());
        let mut done = Vec::new();
        for event in self.scheduler.finish(step, outputs) {
            if let SchedulerEvent::Done { id, result, .. } = event {
                assert!(result.is_ok());
                done.push(id.0);
            }
        }
        let counts = self.scheduler.counts();
        writeln!(
            self.protocol,
            "-> done {done:?}; {} queued, {} running; blocks {} free, {} held, {} cached",
            self.scheduler.n_queued(),
            self.scheduler.n_running(),
            counts.free,
            counts.held,
            counts.cached
        )
        .unwrap();
        self.scheduler.audit().unwrap();
        true
    }

    fn run(mut self) -> String {
        while self.step() {}
        self.protocol
    }
}

/// `n` times the same letter.
fn text(letter: &str, n: usize) -> String {
    letter.repeat(n)
}

#[test]
fn common_prefix_is_computed_once() {
    let mut script = Script::new(16, 64, 8);
    script.add(&(text("a", 20) + "b"), 0);
    script.add(&(text("a", 20) + "c"), 0);
    script.add(&(text("a", 20) + "cd"), 0);
    insta::assert_snapshot!(script.run());
}

#[test]
fn decodes_go_first_and_long_prompts_in_chunks() {
    let mut script = Script::new(64, 16, 8);
    script.add("ab", 4);
    script.step();
    script.add(&text("b", 40), 0);
    script.add(&text("c", 5), 0);
    insta::assert_snapshot!(script.run());
}

#[test]
fn batch_sequences_keep_their_share() {
    let mut script = Script::new(64, 16, 8);
    script.add_as(&text("a", 10), 0, Priority::Batch, 0);
    for letter in ["b", "c", "d"] {
        script.add(&text(letter, 20), 0);
    }
    insta::assert_snapshot!(script.run());
}

#[test]
fn clients_take_turns() {
    let mut script = Script::new(64, 10, 2);
    for letter in ["ab", "ac", "ad", "ae"] {
        script.add_as(&text(letter, 5), 0, Priority::Interactive, 1);
    }
    script.add_as(&text("b", 10), 0, Priority::Interactive, 2);
    insta::assert_snapshot!(script.run());
}

#[test]
fn least_urgent_sequence_is_preempted_and_resumed() {
    let mut script = Script::new(3, 64, 8);
    script.add(&text("a", 15), 20);
    script.add(&text("b", 15), 4);
    insta::assert_snapshot!(script.run());
}

#[test]
fn waiter_proceeds_when_prefix_owner_is_cancelled() {
    let mut script = Script::new(16, 8, 8);
    let first = script.add(&text("a", 30), 0);
    script.add(&(text("a", 28) + "b"), 0);
    script.step();
    script.step();
    assert!(script.scheduler.cancel(first));
    assert!(!script.scheduler.cancel(first));
    insta::assert_snapshot!(script.run());
}

#[test]
fn prefix_owner_inherits_waiter_priority() {
    let mut script = Script::new(64, 16, 8);
    script.add_as(&text("a", 30), 0, Priority::Batch, 0);
    script.step();
    script.add(&text("b", 40), 0);
    script.add(&(text("a", 29) + "b"), 0);
    insta::assert_snapshot!(script.run());
}

/// The step in which a sequence was done.
fn done_step(protocol: &str, id: SequenceId) -> usize {
    let is_done = |line: &str| {
        let done = line.split(['[', ']']).nth(1).unwrap();
        done.split(", ").any(|done| done == id.0.to_string())
    };
    protocol.lines().position(is_done).unwrap()
}

#[test]
fn interactive_sequence_that_lacks_blocks_is_not_starved_by_batch() {
    let mut script = Script::new(4, 16, 8);
    // Each has one block, and they end at different times.
    let mut add = |(n, letter)| script.add_as(&text(letter, 4), n, Priority::Batch, 0);
    let letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let batch: Vec<SequenceId> = (2..).zip(letters).map(&mut add).collect();
    script.step();
    // It needs all blocks.
    let interactive = script.add(&text("h", 50), 0);
    let protocol = script.run();
    let done = |id| done_step(&protocol, id);
    assert!(done(batch[3]) < done(interactive), "{protocol}");
    assert!(done(interactive) < done(batch[4]), "{protocol}");
}

#[test]
fn batch_runs_one_at_a_time_while_interactive_sequences_lack_blocks() {
    let mut script = Script::new(4, 16, 8);
    // Three of four blocks each, so that there is always one that waits.
    let letters = ["a", "b", "c", "d", "e", "f"];
    let interactive = letters.map(|letter| script.add(&text(letter, 40), 0));
    let batch = ["gh", "hg"].map(|text| script.add_as(text, 3, Priority::Batch, 0));
    let protocol = script.run();
    let done = |id| done_step(&protocol, id);
    let last = done(interactive[5]);
    assert!(done(batch[0]) < done(batch[1]) && done(batch[1]) < last, "{protocol}");
}
