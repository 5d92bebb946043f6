use std::collections::BTreeMap;
use std::path::Path;

use models::save::Stage;
use models::{Output, OutputSpec};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use super::{Asserted, Grad, Gradients, Packing, Policy, PolicySequence, Workers};
use crate::item::{Observation, Rollout, Token};
use crate::judge_data::fixtures::none;
use crate::optimiser::{AdamW, AdamWConfig};

fn folder(dir: &Path, preset: Preset, head: TinyHead) -> TinySpec {
    let spec = TinySpec { head, ..TinySpec::from(preset) };
    make(dir, &spec).expect("a made model");
    spec
}

/// Some sequences of different lengths, whose last tokens are read.
fn sequences(n: usize) -> Vec<PolicySequence> {
    let token =
        |at: usize, i: usize| u32::try_from((at * 31 + i * 17 + i * i) % 300).expect("small");
    (0..n)
        .map(|at| {
            let prompt: Vec<u32> = (0..3 + at * 5 % 11).map(|i| token(at, i)).collect();
            let answer: Vec<u32> = (0..2 + at * 3 % 7).map(|i| token(at + 50, i)).collect();
            PolicySequence::continued(&prompt, &answer)
        })
        .collect()
}

/// The log-probability of a sampled token is read before it, behind a result where one stands there;
/// nothing is read of results.
#[test]
fn observations_are_computed_and_not_read() {
    let token = |id| Token { id, logprob: -1.0, revision: 0 };
    let observation = |at, ids: &[u32]| Observation {
        at,
        token_ids: ids.into(),
        text: String::new(),
        calls: 1,
        failed: 0,
    };
    let rollout = Rollout {
        tokens: [10, 11, 12].map(token).to_vec(),
        observations: vec![observation(2, &[90, 91]), observation(3, &[92])],
        ..none()
    };
    let sequence = PolicySequence::rollout(&[1, 2], &rollout, None);
    assert_eq!(sequence.token_ids, [1, 2, 10, 11, 90, 91, 12, 92]);
    let read = [(1, 10), (2, 11), (5, 12)].map(|(at, id)| (at, OutputSpec::Logprob(id)));
    assert_eq!(sequence.reads, read);
    let plain = Rollout { observations: Vec::new(), ..rollout };
    let one_turn = PolicySequence::continued(&[1, 2], &[10, 11, 12]);
    assert_eq!(PolicySequence::rollout(&[1, 2], &plain, None).reads, one_turn.reads);
}

/// Gradients that differ from read to read: by index of the sequence and place.
fn output_grads(indices: &[usize], outputs: &[Vec<Output>]) -> Vec<Vec<Grad>> {
    let number = |at: usize, place: usize| 0.1 + ((at * 7 + place * 3) % 10) as f32 / 10.0;
    let grad = |at: usize, place: usize, output: &Output| match output {
        Output::Logprob { .. } => {
            Grad::Logprob { logprob: -number(at, place), entropy: 0.01 * number(place, at) }
        }
        Output::Head(values) => Grad::Head(vec![number(at, place); values.len()]),
        Output::Labels { logits, .. } => Grad::Labels(vec![-number(at, place); logits.len()]),
        Output::Vocab(_) | Output::Hidden(_) => panic!("not requested"),
    };
    let all = indices.iter().zip(outputs);
    all.map(|(at, outputs)| {
        let places = outputs.iter().enumerate();
        places.map(|(place, output)| grad(*at, place, output)).collect()
    })
    .collect()
}

fn gradients(policy: &Policy, sequences: &[PolicySequence], budget: usize) -> Gradients {
    let mut gradients = Gradients::new(policy);
    policy
        .gradients(sequences, Packing::of(budget), &mut gradients, |at, outputs| {
            Ok(output_grads(at, outputs))
        })
        .expect("a backward");
    gradients
}

fn assert_close(got: &Gradients, want: &Gradients, what: &str) {
    for (index, (got, want)) in got.parts.iter().zip(&want.parts).enumerate() {
        let (Some(got), Some(want)) = (got, want) else {
            assert_eq!(got, want, "{what}: {index}");
            continue;
        };
        let scale = want.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
        for (a, b) in got.iter().zip(want) {
            assert!((a - b).abs() <= 1e-4 * scale, "{what}: {index}: {a} for {b}");
        }
    }
}

#[test]
fn every_parameter_has_a_gradient_and_checkpointing_agrees() {
    for preset in [Preset::Qwen2, Preset::Qwen3, Preset::Gemma2] {
        let dir = tempfile::tempdir().expect("a folder");
        folder(dir.path(), preset, TinyHead::Vocab);
        let mut policy = Policy::full(dir.path()).expect("it loads");
        let sequences = sequences(6);
        let whole = gradients(&policy, &sequences, 64);
        policy.assert_reached(&whole, &mut Asserted::default()).expect("all are reached");
        policy.checkpointing = true;
        let again = gradients(&policy, &sequences, 64);
        assert_close(&again, &whole, preset.name());
    }
}

#[test]
fn sums_are_independent_of_order_and_nearly_of_the_budget() {
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen3, TinyHead::Vocab);
    let policy = Policy::full(dir.path()).expect("it loads");
    let all = sequences(9);
    let plain = |at: &[usize], outputs: &[Vec<Output>]| {
        // By content, so that a shuffled batch has the same gradients.
        let _ = at;
        let grad = |output: &Output| match output {
            Output::Logprob { logprob, .. } => Grad::Logprob { logprob: *logprob, entropy: 0.0 },
            Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => {
                panic!("not requested")
            }
        };
        let all = outputs.iter();
        Ok(all.map(|outputs| outputs.iter().map(grad).collect()).collect())
    };
    let sum = |sequences: &[PolicySequence], budget| {
        let mut gradients = Gradients::new(&policy);
        let done = policy.gradients(sequences, Packing::of(budget), &mut gradients, plain);
        done.expect("a backward");
        gradients
    };
    let want = sum(&all, 40);
    let mut shuffled = all.clone();
    shuffled.reverse();
    shuffled.swap(0, 4);
    assert_eq!(sum(&shuffled, 40).parts, want.parts, "order");
    for budget in [1, 25, 1000] {
        assert_close(&sum(&all, budget), &want, "budget");
    }
}

#[test]
fn number_of_workers_changes_no_bit() {
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen3, TinyHead::Vocab);
    let mut policy = Policy::full(dir.path()).expect("it loads");
    let all = sequences(9);
    let alone = (gradients(&policy, &all, 25), policy.read(&all, 25));
    for count in [2, 3, 8] {
        policy.workers = Workers::new(count).expect("threads");
        assert_eq!(gradients(&policy, &all, 25).parts, alone.0.parts, "{count}");
        let read = policy.read(&all, 25).expect("it is read");
        assert_eq!(&read, alone.1.as_ref().expect("it is read"), "{count}");
    }
    // The error returned is the first in the batch's order.
    let mut failing = all.clone();
    failing[4].reads = vec![(0, OutputSpec::Vocab)];
    let mut sums = Gradients::new(&policy);
    let loss = |at: &[usize], outputs: &[Vec<Output>]| Ok(output_grads(at, outputs));
    let failed = policy.gradients(&failing, Packing::of(25), &mut sums, loss);
    assert!(failed.is_err());
}

#[test]
fn reading_has_the_bits_of_training() {
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen3, TinyHead::Vocab);
    let policy = Policy::full(dir.path()).expect("it loads");
    let all = sequences(8);
    let read = policy.read(&all, 30).expect("it is read");
    let mut seen = vec![Vec::new(); all.len()];
    let mut gradients = Gradients::new(&policy);
    policy
        .gradients(&all, Packing::of(1000), &mut gradients, |at, outputs| {
            for (at, outputs) in at.iter().zip(outputs) {
                seen[*at] = outputs.clone();
            }
            Ok(output_grads(at, outputs))
        })
        .expect("a backward");
    assert_eq!(seen, read);
}

/// Answers to a few prompts: some of one token more, one twice, one that is a prefix of another.
fn groups() -> Vec<PolicySequence> {
    let prompts: [&[u32]; 3] = [&[7, 8, 9, 10, 11], &[7, 8, 9], &[200; 9]];
    let answers: [&[u32]; 5] = [&[1, 2, 3], &[1, 2], &[4, 5, 6, 7], &[1, 2, 3], &[9]];
    let pairs = answers.iter().flat_map(|answer| prompts.map(|prompt| (prompt, *answer)));
    pairs.map(|(prompt, answer)| PolicySequence::continued(prompt, answer)).collect()
}

#[test]
fn shared_prefix_is_computed_once_and_changes_no_bit() {
    for (preset, checkpointing) in
        [(Preset::Qwen2, false), (Preset::Qwen3, true), (Preset::Gemma2, false)]
    {
        let dir = tempfile::tempdir().expect("a folder");
        folder(dir.path(), preset, TinyHead::Vocab);
        let mut policy = Policy::full(dir.path()).expect("it loads");
        policy.checkpointing = checkpointing;
        let all = groups();
        let alone = gradients(&policy, &all, 1);
        let read = policy.read(&all, 1).expect("it is read");
        for (budget, most) in [(20, 20), (1000, 29)] {
            let micros = super::micro_batches(&all, Packing::of(budget)).expect("they fit");
            let rows = micros.iter().map(|micro| micro.batch.n_tokens());
            assert!(rows.clone().all(|rows| rows <= most), "{budget}: {rows:?}");
            assert_eq!(policy.read(&all, budget).expect("it is read"), read, "{budget}");
            assert_close(&gradients(&policy, &all, budget), &alone, preset.name());
        }
    }
}

#[test]
fn rows_are_counted_once() {
    let check = |budget: usize, expected: &[usize]| {
        let micros = super::micro_batches(&groups(), Packing::of(budget)).expect("they fit");
        let rows: Vec<usize> = micros.iter().map(|micro| micro.batch.n_tokens()).collect();
        assert_eq!(rows, expected, "{budget}");
        let seen: usize = micros.iter().map(|micro| micro.sequences.len()).sum();
        assert_eq!(seen, groups().len());
    };
    let mut read: Vec<Vec<u32>> = groups().into_iter().map(|all| all.token_ids).collect();
    for token_ids in &mut read {
        token_ids.pop();
    }
    read.sort();
    let alone: Vec<usize> = read.iter().map(Vec::len).collect();
    check(1, &alone);
    // 7 8 9 (1 2 | 4 5 6 | 10 11 (1 2 | 4 5 6)) and 200 nine times (1 2 | 4 5 6).
    check(1000, &[3 + 2 + 3 + 2 + 2 + 3 + 9 + 2 + 3]);
}

#[test]
fn batch_is_cut_into_an_even_number_of_similar_parts() {
    for (n, budget, parts) in [(40, 1000, 1), (40, 400, 2), (40, 210, 4), (40, 100, 6)] {
        let all = sequences(n);
        let micros = super::micro_batches(&all, Packing::of(budget)).expect("they fit");
        let rows: Vec<usize> = micros.iter().map(|micro| micro.batch.n_tokens()).collect();
        assert_eq!(rows.len(), parts, "{budget}: {rows:?}");
        let longest = all.iter().map(|sequence| sequence.token_ids.len()).max();
        let (least, most) = (rows.iter().min(), rows.iter().max());
        let apart = most.expect("a part") - least.expect("a part");
        assert!(apart <= 2 * longest.expect("a sequence"), "{budget}: {rows:?}");
        assert!(most <= Some(&budget), "{budget}: {rows:?}");
    }
}

#[test]
fn heads_and_labels_are_read_and_trained() {
    for head in [TinyHead::Sequence, TinyHead::Process, TinyHead::Value] {
        let dir = tempfile::tempdir().expect("a folder");
        folder(dir.path(), Preset::Qwen2, head);
        let policy = Policy::full(dir.path()).expect("it loads");
        let mut all = sequences(4);
        for sequence in &mut all {
            let last = sequence.token_ids.len() - 1;
            sequence.reads = vec![(0, OutputSpec::Head), (last, OutputSpec::Head)];
        }
        let got = gradients(&policy, &all, 64);
        let faults = got.faults(&policy);
        assert!(faults.iter().all(|(_, fault)| fault.contains("lm_head")), "{head}: {faults:?}");
    }
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen2, TinyHead::Vocab);
    let policy = Policy::full(dir.path()).expect("it loads");
    let mut all = sequences(4);
    for sequence in &mut all {
        let columns = vec![5, 9].into();
        sequence.reads = vec![(2, OutputSpec::Labels { columns, mass: false })];
    }
    policy
        .assert_reached(&gradients(&policy, &all, 64), &mut Asserted::default())
        .expect("all are reached");
}

#[test]
fn step_changes_served_and_saved_weights() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = dir.path().join("base");
    folder(&base, Preset::Qwen3, TinyHead::Vocab);
    let policy = Policy::full(&base).expect("it loads");
    let all = sequences(5);
    let before = policy.read(&all, 100).expect("it is read");
    let mut optimiser = AdamW::new(AdamWConfig::default(), &policy);
    let mut gradients = gradients(&policy, &all, 100);
    optimiser.step(&policy, &mut gradients, 1e-2).expect("a step");
    let after = policy.read(&all, 100).expect("it is read");
    assert_ne!(before, after);

    let target = dir.path().join("saved");
    let stage = Stage::begin(&target).expect("a free place");
    policy.save(&stage).expect("it is saved");
    stage.finish().expect("renamed");
    let again = Policy::full(&target).expect("it loads");
    assert_eq!(again.read(&all, 17).expect("it is read"), after);
}

/// An adapter, with or without a head of its own, changes by a step and is read back with its bits.
#[test]
fn adapter_is_trained_alone_and_saved() {
    for score_labels in [None, Some(2)] {
        check_adapter(score_labels);
    }
}

fn check_adapter(score_labels: Option<usize>) {
    let dir = tempfile::tempdir().expect("a folder");
    let (base, peft) = (dir.path().join("base"), dir.path().join("peft"));
    let spec = folder(&base, Preset::Qwen3, TinyHead::Vocab);
    let adapter = AdapterSpec {
        seed: 3,
        r: 4,
        alpha: 8,
        targets: ["q_proj", "v_proj", "down_proj"].map(str::to_owned).to_vec(),
        rank_pattern: BTreeMap::default(),
        alpha_pattern: BTreeMap::default(),
        rslora: false,
        score_labels,
    };
    make_adapter(&peft, &spec, &adapter).expect("a made adapter");
    let load = |folder: &Path| {
        let config = std::sync::Arc::new(models::ModelConfig::read(&base).expect("it is read"));
        models::adapter::Adapter::load(folder, &models::adapter::Base::of(&config))
            .expect("it loads")
    };
    let policy = Policy::adapted(&base, &[("a".into(), load(&peft))]).expect("it loads");
    let mut all = sequences(5);
    for sequence in &mut all[1..] {
        sequence.adapter = Some(0);
        if score_labels.is_some() {
            sequence.reads.push((sequence.token_ids.len() - 1, OutputSpec::Head));
        }
    }
    let before = policy.read(&all, 100).expect("it is read");
    let mut gradients = gradients(&policy, &all, 100);
    policy.assert_reached(&gradients, &mut Asserted::default()).expect("all are reached");
    let mut optimiser = AdamW::new(AdamWConfig::default(), &policy);
    optimiser.step(&policy, &mut gradients, 1e-2).expect("a step");
    let after = policy.read(&all, 100).expect("it is read");
    assert_eq!(before[0], after[0], "the base stays");
    assert_ne!(before[1..], after[1..]);

    let target = dir.path().join("saved");
    let stage = Stage::begin(&target).expect("a free place");
    policy.save_adapter("a", &stage).expect("it is saved");
    stage.finish().expect("renamed");
    let again = Policy::adapted(&base, &[("b".into(), load(&target))]).expect("it loads");
    assert_eq!(again.read(&all, 17).expect("it is read"), after);
}

#[test]
fn gradients_are_asserted_at_first_use() {
    let dir = tempfile::tempdir().expect("a folder");
    let base = dir.path().join("base");
    let spec = folder(&base, Preset::Qwen3, TinyHead::Vocab);
    let config = std::sync::Arc::new(models::ModelConfig::read(&base).expect("it is read"));
    let adapter = |name: &str| {
        let peft = dir.path().join(name);
        let adapter = AdapterSpec {
            seed: 3,
            r: 4,
            alpha: 8,
            targets: vec!["q_proj".to_owned()],
            rank_pattern: BTreeMap::default(),
            alpha_pattern: BTreeMap::default(),
            rslora: false,
            score_labels: None,
        };
        make_adapter(&peft, &spec, &adapter).expect("a made adapter");
        let base = models::adapter::Base::of(&config);
        let adapter = models::adapter::Adapter::load(&peft, &base).expect("it loads");
        (std::sync::Arc::from(name), adapter)
    };
    let policy = Policy::adapted(&base, &[adapter("a"), adapter("b")]).expect("it loads");
    let under = |adapter: usize| {
        let mut all = sequences(3);
        for sequence in &mut all {
            sequence.adapter = Some(adapter);
        }
        gradients(&policy, &all, 100)
    };
    let mut asserted = Asserted::default();
    let (a, mut b) = (under(0), under(1));
    policy.assert_reached(&a, &mut asserted).expect("all of a");
    let place = b.parts.iter().position(Option::is_some).expect("b is used");
    let kept = b.parts[place].take();
    let error = policy.assert_reached(&b, &mut asserted).expect_err("a hole");
    assert!(error.to_string().contains("`b."), "{error}");
    assert!(!error.to_string().contains("`a."), "{error}");
    b.parts[place] = kept;
    policy.assert_reached(&b, &mut asserted).expect("all of b");
    // A gradient that was complete once may be missing later, as a router leaves out an expert.
    b.parts[place] = None;
    policy.assert_reached(&b, &mut asserted).expect("known");
    let nothing = Gradients::new(&policy);
    let error = policy.assert_reached(&nothing, &mut Asserted::default());
    assert!(error.is_err(), "nothing is reached at all");
}

#[test]
fn untrainable_policies_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen2, TinyHead::Sequence);
    let policy = Policy::full(dir.path()).expect("it loads");
    let error = policy.read(&sequences(1), 10).expect_err("no vocabulary");
    assert!(error.to_string().contains("vocabulary"), "{error}");
    let past = PolicySequence {
        reads: vec![(2, OutputSpec::Head)],
        ..PolicySequence::continued(&[1], &[2])
    };
    let error = policy.read(&[past], 10).expect_err("past its end");
    assert!(error.to_string().contains("2 tokens"), "{error}");
}

#[test]
fn non_finite_norm_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    folder(dir.path(), Preset::Qwen3, TinyHead::Vocab);
    let policy = Policy::full(dir.path()).expect("it loads");
    let all = sequences(3);
    let before = policy.read(&all, 100).expect("it is read");
    let mut optimiser = AdamW::new(AdamWConfig::default(), &policy);
    let fresh = optimiser.clone();
    let mut gradients = gradients(&policy, &all, 100);
    gradients.parts[1].as_mut().expect("reached")[0] = f32::NAN;
    let error = optimiser.step(&policy, &mut gradients, 1e-2).expect_err("refused");
    assert!(error.to_string().contains(&policy.parameters()[1].name), "{error}");
    assert_eq!(optimiser, fresh);
    assert_eq!(policy.read(&all, 100).expect("it is read"), before);
}
