//! A fault of the card is an error of the step, never a number.

use gpu_emulated::Fault;
use gpu_kit::bits::bits;
use models::{BlockId, Forward as _, ModelError, pack, pack_shared};
use tiny_models::{Preset, TinyHead, random_adapter};

use crate::emulator;
use crate::subject::{CardSubject, item, numbers, run, sequences};

/// Cards of one test each, since a fault disturbs all work on one.
const CARD: usize = 4;
const CARD_WITHOUT_GRAPHS: usize = 5;

#[test]
fn faults_end_a_step_and_never_give_numbers() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(CARD);
    let subject = CardSubject::new(Preset::Qwen3, TinyHead::Vocab);
    let is = |error: &ModelError, expected: bool| {
        assert!(matches!(error, ModelError::Device { lost, .. } if *lost == expected), "{error}");
    };
    for n in [0, 1, 9] {
        emulator.fail(CARD, Fault::Allocation, n);
        is(&subject.without_adapters(&gpu).expect_err("an allocation fails"), false);
    }
    let config = &subject.config;
    let sequence = &sequences(config)[0];
    let batch = pack(&[item(config, sequence, 0..9, |_| true)]).expect("a batch");
    let good: Vec<_> = {
        let outputs = subject.on_card(&gpu).forward(&batch).expect("it runs");
        outputs.rows.iter().map(numbers).collect()
    };
    let mut runner = subject.without_adapters(&gpu).expect("it fits");
    let adapter = random_adapter(config, 1, 4).expect("an adapter");
    emulator.fail(CARD, Fault::Allocation, 5);
    is(&runner.insert(adapter.clone()).expect_err("an allocation fails"), false);
    assert_eq!(runner.insert(adapter).expect("there is memory").0, 0);
    // The first step enlarges its memory.
    emulator.fail(CARD, Fault::Allocation, 0);
    is(&runner.forward(&batch).expect_err("an allocation fails"), false);
    let mut check = || {
        let outputs = runner.forward(&batch)?;
        let found: Vec<_> = outputs.rows.iter().map(numbers).collect();
        assert!(found == good, "a step after a fault has other numbers");
        Ok(())
    };
    check().expect("it runs");
    for n in [0, 7, 20] {
        emulator.fail(CARD, Fault::Launch, n);
        is(&check().expect_err("a launch fails"), false);
        check().expect("it runs");
    }
    emulator.fail(CARD, Fault::Loss, 11);
    is(&check().expect_err("the card is lost"), true);
    is(&check().expect_err("it stays lost"), true);
}

#[test]
fn decode_without_memory_for_a_graph_has_the_same_bits() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(CARD_WITHOUT_GRAPHS);
    let subject = CardSubject::new(Preset::Qwen3, TinyHead::Vocab);
    let config = &subject.config;
    let sequence = &sequences(config)[0];
    let n = sequence.token_ids.len();
    let [prefix, last] = [0..n - 1, n - 1..n].map(|range| {
        let mut item = item(config, sequence, range, |_| true);
        item.blocks = [4, 9].map(BlockId).to_vec();
        [item]
    });
    let after_prefix = || {
        let runner = subject.without_adapters(&gpu).expect("it fits");
        // No step of so few tokens allocates.
        let mut runner = runner.with_steps_of(32).expect("it fits");
        run(&mut runner, &prefix);
        runner
    };
    let expected = bits(&run(&mut after_prefix(), &last));
    let mut runner = after_prefix();
    let mut check = || assert!(bits(&run(&mut runner, &last)) == expected, "other bits");
    // Each room of the staging has a graph of its own.
    for _ in 0..2 {
        emulator.fail(CARD_WITHOUT_GRAPHS, Fault::Allocation, 0);
        check();
    }
    assert!(gpu.allocate::<u8>(1).is_ok(), "no graph was tried");
    // None is tried again: the failure is left to the next allocation.
    emulator.fail(CARD_WITHOUT_GRAPHS, Fault::Allocation, 0);
    check();
    check();
    assert!(gpu.allocate::<u8>(1).is_err(), "a graph was tried again");
}

#[test]
fn batches_that_share_rows_are_refused() {
    let Some(emulator) = emulator() else { return };
    let subject = CardSubject::new(Preset::Qwen3, TinyHead::Vocab);
    let config = &subject.config;
    let mut runner = subject.on_card(&emulator.open(0));
    let sequence = &sequences(config)[0];
    let items = [5, 7].map(|n| item(config, sequence, 0..n, |_| true));
    let error = runner.forward(&pack_shared(&items).expect("a batch")).expect_err("it shares rows");
    assert!(error.to_string().contains("shared"), "{error}");
}
