//! Scores and generations of real models are equal, bit for bit: alone and among others, in whole
//! and in pieces, with the cache cold and warm, pre-empted and not, as a tree and flat.

use engine::{Priority, Read, RequestParams, RequestTree, Task};
use models::BLOCK;
use tiny_models::TinyHead;

use crate::subject::{Asked, Bits, MACHINES, Subject, WIDE, Wanted, asked, bits, run};

/// Each in an engine of its own state: nothing cached, nobody beside it.
fn alone(subject: &Subject, asked: &[Asked]) -> Vec<Bits> {
    let each = asked.iter().enumerate().map(|(salt, asked)| {
        let terms = RequestParams { salt: salt as u64, ..RequestParams::default() };
        (asked, terms)
    });
    let engine = subject.engine(WIDE);
    each.map(|(asked, terms)| run(&engine, std::slice::from_ref(asked), terms).remove(0)).collect()
}

fn check(subject: &Subject) {
    let asked = asked(subject);
    let expected = alone(subject, &asked);
    let same = |found: Vec<Bits>, how: &str| {
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected, "{how}: {:?}", asked[at]);
        }
    };
    for machine in MACHINES {
        let engine = subject.engine(machine);
        let how = |what: &str| format!("{what} on {machine:?}");
        same(run(&engine, &asked, RequestParams::default()), &how("cold"));
        same(run(&engine, &asked, RequestParams::default()), &how("warm"));
        let batch =
            RequestParams { priority: Priority::Batch, client: 3, ..RequestParams::default() };
        // Many requests at once, of two priorities, some of whom leave.
        let tickets: Vec<_> = asked
            .iter()
            .map(|asked| {
                let gone = engine.submit(vec![asked.work()], RequestParams::default());
                let stays = engine.submit(vec![asked.work()], batch).expect("room");
                drop(gone);
                stays
            })
            .collect();
        let found = tickets.into_iter().map(|ticket| bits(&ticket.wait()[0]));
        same(found.collect(), &how("many requests"));
        // When this is answered, those who left have been looked at.
        run(&engine, &asked[..1], RequestParams::default());
        let status = engine.status();
        assert_eq!((status.running, status.held_blocks), (0, 0), "{machine:?}");
    }
    let tight = subject.engine(MACHINES[3]);
    run(&tight, &asked, RequestParams::default());
    let gave_way = tight.status().preemptions > 0;
    assert_eq!(gave_way, subject.view.decoder.vocabulary().is_some());
}

#[test]
fn a_policy_with_adapters() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Vocab));
}

#[test]
fn a_reward_model_with_adapters() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Sequence));
}

#[test]
fn a_policy_with_a_value_head() {
    let dir = tempfile::tempdir().unwrap();
    check(&Subject::make(dir.path(), TinyHead::Value));
}

#[test]
fn four_hundred_questions_as_a_tree_and_flat() {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let labels = || Read::Labels { columns: [5, 9].into(), mass: true };
    let mut group = RequestTree::default();
    let mut flat = Vec::new();
    let text = group.add_node(None, &(0..50).collect::<Vec<u32>>());
    for question in 0..400_u32 {
        let node = group.add_node(Some(text), &[question % 64, question / 64, 7]);
        group.add_request(node, None, |ids| {
            flat.push(Asked {
                token_ids: ids.to_vec(),
                adapter: None,
                want: Wanted::Rows(vec![(ids.len() - 1, labels())]),
            });
            Task::Rows(vec![(ids.len() - 1, labels())])
        });
    }
    let engine = subject.engine(WIDE);
    let answers = engine.submit(group.into_requests(), RequestParams::default()).unwrap().wait();
    let computed: usize =
        answers.iter().map(|answer| answer.as_ref().unwrap().usage.computed_tokens).sum();
    // The text once; the first tokens of the questions, of which there are 64 and those 64 again.
    let unique = 50 + 64 + 400 + 400;
    assert_eq!(computed, unique);
    let tree: Vec<Bits> = answers.iter().map(bits).collect();
    assert!(tree == alone(&subject, &flat), "the tree changed a bit");
    assert!(engine.status().cached_blocks <= 1024 && BLOCK == 16);
}
