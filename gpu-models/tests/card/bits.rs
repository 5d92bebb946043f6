//! A row's bits depend on its own tokens, weights and adapter.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu::Gpu;
use gpu_emulated::STALE;
use gpu_kit::bits::{Trial, bits};
use models::Forward as _;
use models::{BlockCopy, BlockId, pack};
use tiny_models::{Preset, TinyHead, random_adapter};

use crate::emulator;
use crate::subject::{BLOCKS, CardSubject, item, run, sequences};

#[test]
fn rows_have_the_same_bits_alone_in_company_and_in_steps() {
    let Some(emulator) = emulator() else { return };
    let cards = [emulator.open(0), emulator.open(1)];
    for subject in CardSubject::all() {
        let name = &subject.name;
        let of = |gpu| trial(&subject, gpu).check(&[16, 1, 40, 0, 5, 17, 2]).expect(name);
        let [forwards, backwards] = [0, 1].map(|card| of(&cards[card]));
        assert!(forwards == backwards, "{name}: the order of lanes shows");
    }
}

fn trial<'a>(subject: &'a CardSubject, gpu: &Gpu) -> Trial<'a> {
    let config = &subject.config;
    let runner = subject.on_card(gpu);
    Trial { runner, n_blocks: BLOCKS, config, sequences: sequences(config), each: 4 }
}

#[test]
fn adapters_come_and_go() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    let subject = CardSubject::new(Preset::Qwen3, TinyHead::Vocab);
    let config = &subject.config;
    let mut trial = trial(&subject, &gpu);
    let before = trial.alone();
    let all = trial.sequences.clone();
    let under = |slot: u32| all.iter().position(|s| s.adapter.is_some_and(|a| a.0 == slot));
    let [first, second] = [0, 1].map(|slot| under(slot).expect("both are used"));
    let removed = trial.runner.remove(models::batch::AdapterSlot(0)).expect("it was there");
    let refused = pack(&[item(config, &all[first], 0..1, |_| true)]).expect("a batch");
    let refused = trial.runner.forward(&refused).expect_err("its slot is empty");
    assert!(refused.to_string().contains("slot 0 is empty"), "{refused}");
    trial.sequences = vec![all[second].clone()];
    let rest = trial.alone();
    assert!(rest[0] == before[second], "an adapter changed with one that left");
    trial.sequences = all;
    assert_eq!(trial.runner.insert(removed).expect("memory").0, 0);
    assert!(trial.alone() == before, "an adapter came back as another");
}

/// A sequence that starts with a copy of another's blocks continues as the other.
#[test]
fn copied_blocks_are_those_of_the_source() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    let subject = CardSubject::new(Preset::Gemma2, TinyHead::Vocab);
    let config = &subject.config;
    let sequence = &sequences(config)[3];
    let mut runner = subject.on_card(&gpu);
    let n = sequence.token_ids.len();
    let mut prefix = item(config, sequence, 0..n - 1, |_| true);
    prefix.blocks = [4, 9, 1].map(BlockId).to_vec();
    run(&mut runner, &[prefix]);
    let mut rest = item(config, sequence, n - 1..n, |_| true);
    rest.blocks = [4, 9, 1].map(BlockId).to_vec();
    let expected = bits(&run(&mut runner, &[rest.clone()]));
    // The second block of copies reads what the first wrote.
    rest.blocks = [4, 20, 22].map(BlockId).to_vec();
    let mut batch = pack(&[rest]).expect("a batch");
    let copies = [(9, 20), (1, 21), (21, 22)];
    let copy = |(from, to)| BlockCopy { from: BlockId(from), to: BlockId(to) };
    batch.paging.as_mut().expect("it has blocks").copies = copies.map(copy).to_vec();
    let found = runner.forward(&batch).expect("it runs");
    assert!(bits(&found.rows) == expected, "a copy is not its source");
}

/// Sequences that grow by a token each in every step: the layers are started as graphs, whose arguments change with adapters.
#[test]
fn graphs_of_decodes_have_the_bits_of_prompts() {
    let Some(emulator) = emulator() else { return };
    let check = |card| {
        let gpu = emulator.open(card);
        let subject = CardSubject::new(Preset::Qwen3, TinyHead::Vocab);
        let mut trial = trial(&subject, &gpu);
        trial.sequences.truncate(3);
        let before = trial.check(&[1])?;
        // Its factors join those of the others, in memory of their own.
        let third = random_adapter(&subject.config, 3, 8).expect("an adapter");
        assert_eq!(trial.runner.insert(third).expect("memory").0, 2);
        let after = trial.check(&[1])?;
        if before == after { Ok(()) } else { Err("a row changed with an adapter".to_owned()) }
    };
    assert_eq!(check(0), Ok(()));
    // A driver that keeps the arguments of an earlier step is found.
    let found = catch_unwind(AssertUnwindSafe(|| check(STALE)));
    assert!(!matches!(found, Ok(Ok(()))), "no row changed");
}
