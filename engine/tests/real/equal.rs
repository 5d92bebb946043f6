//! Scores and generations of real models have equal bits alone and batched, unchunked and in
//! chunks, with a cold and a warm cache, with and without preemption, as a tree and flat.

use engine::{OutputSpec, Priority, RequestParams, RequestTree, Task};
use models::BLOCK;
use models::weights::Compute;
use tiny_models::TinyHead;

use crate::subject::{
    Bits, MACHINES, Machine, RequestSpec, Subject, TaskSpec, WIDE, bits, emulator, requests, run,
};

/// Runs each request alone and with nothing cached.
fn alone(subject: &Subject, specs: &[RequestSpec]) -> Vec<Bits> {
    let each = specs.iter().enumerate().map(|(salt, spec)| {
        let params = RequestParams { salt: salt as u64, ..RequestParams::default() };
        (spec, params)
    });
    let engine = subject.engine(WIDE);
    each.map(|(spec, params)| run(&engine, std::slice::from_ref(spec), params).remove(0)).collect()
}

fn check(subject: &Subject) {
    check_on(subject, &requests(subject), &MACHINES);
    let tight = subject.engine(MACHINES[3]);
    run(&tight, &requests(subject), RequestParams::default());
    let preempted = tight.status().preemptions > 0;
    assert_eq!(preempted, subject.view.decoder.vocabulary().is_some());
}

fn check_on(subject: &Subject, specs: &[RequestSpec], machines: &[Machine]) {
    let expected = alone(subject, specs);
    let same = |found: Vec<Bits>, how: &str| {
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected, "{how}: {:?}", specs[at]);
        }
    };
    for machine in machines {
        let engine = subject.engine(*machine);
        let how = |what: &str| format!("{what} on {machine:?}");
        same(run(&engine, specs, RequestParams::default()), &how("cold"));
        same(run(&engine, specs, RequestParams::default()), &how("warm"));
        let batch =
            RequestParams { priority: Priority::Batch, client: 3, ..RequestParams::default() };
        // Many requests at once, of two priorities, half of them dropped.
        let tickets: Vec<_> = specs
            .iter()
            .map(|spec| {
                let gone = engine.submit(vec![spec.request()], RequestParams::default());
                let stays = engine.submit(vec![spec.request()], batch).expect("room");
                drop(gone);
                stays
            })
            .collect();
        let found = tickets.into_iter().map(|ticket| bits(&ticket.wait()[0]));
        same(found.collect(), &how("many requests"));
        // Once this is answered, the dropped requests are cancelled.
        run(&engine, &specs[..1], RequestParams::default());
        let status = engine.status();
        assert_eq!((status.running, status.held_blocks), (0, 0), "{machine:?}");
    }
}

#[test]
fn models_on_a_card_have_equal_bits() {
    let Some(emulator) = emulator() else { return };
    for head in [TinyHead::Vocab, TinyHead::Sequence] {
        let dir = tempfile::tempdir().unwrap();
        // Lanes, warps and blocks from the first to the last, and from the last to the first.
        let subject = Subject::make(dir.path(), head);
        let subject =
            subject.on(emulator.open(usize::from(head == TinyHead::Sequence)), dir.path());
        let specs: Vec<RequestSpec> = requests(&subject).into_iter().step_by(7).collect();
        check_on(&subject, &specs, &[MACHINES[2], MACHINES[4]]);
    }
}

#[test]
fn policy_with_adapters_has_equal_bits() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Vocab));
}

#[test]
fn reward_model_with_adapters_has_equal_bits() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Sequence));
}

#[test]
fn policy_with_a_value_head_has_equal_bits() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Value));
}

#[test]
fn models_in_bf16_have_equal_bits() {
    for head in [TinyHead::Vocab, TinyHead::Sequence] {
        let dir = tempfile::tempdir().unwrap();
        check(&Subject::make(dir.path(), head).computing(Compute::Bf16, dir.path()));
    }
}

#[test]
fn four_hundred_questions_are_equal_as_a_tree_and_flat() {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let labels = || OutputSpec::Labels { columns: [5, 9].into(), mass: true };
    let mut tree = RequestTree::default();
    let mut flat = Vec::new();
    let text = tree.add_node(None, &(0..50).collect::<Vec<u32>>());
    for question in 0..400_u32 {
        let node = tree.add_node(Some(text), &[question % 64, question / 64, 7]);
        tree.add_request(node, None, |ids| {
            flat.push(RequestSpec {
                token_ids: ids.to_vec(),
                adapter: None,
                task: TaskSpec::Rows(vec![(ids.len() - 1, labels())]),
            });
            Task::Rows(vec![(ids.len() - 1, labels())])
        });
    }
    let engine = subject.engine(WIDE);
    let outputs = engine.submit(tree.into_requests(), RequestParams::default()).unwrap().wait();
    let computed: usize =
        outputs.iter().map(|output| output.as_ref().unwrap().usage.computed_tokens).sum();
    // The text, 64 first tokens of the questions, and two more tokens for each question.
    let unique = 50 + 64 + 400 + 400;
    assert_eq!(computed, unique);
    let as_tree: Vec<Bits> = outputs.iter().map(bits).collect();
    assert!(as_tree == alone(&subject, &flat), "the tree changed a bit");
    assert!(engine.status().cached_blocks <= 1024 && BLOCK == 16);
}
