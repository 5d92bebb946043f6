//! The card beside the processor.

use std::sync::Arc;

use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::weights::{Projection, Site};
use models::{Forward, Output};
use tiny_models::{Preset, TinyHead, random_adapter};

use crate::emulator;
use crate::subject::{CardSubject, item, numbers, sequences};

#[test]
fn outputs_are_near_those_of_a_processor() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    for subject in CardSubject::all() {
        gpu_kit::agreement::check(&gpu, &subject).expect("near");
    }
}

/// Adapters on gates or ways down of some experts alone.
#[test]
fn adapters_change_the_experts_that_they_name() {
    let Some(emulator) = emulator() else { return };
    let subject = CardSubject::new(Preset::Qwen3Moe, TinyHead::Vocab);
    let (config, mut card) = (&subject.config, subject.on_card(&emulator.open(0)));
    let mut processor = subject.on_processor();
    let all = random_adapter(config, 5, 8).expect("an adapter");
    let outputs = |runner: &mut dyn Forward, slot: Option<u32>| -> Vec<Vec<f32>> {
        // The fourth has a token that rounding sends to another expert.
        let sequences = sequences(config).into_iter().enumerate().filter(|(at, _)| *at != 3);
        let batch = sequences.map(|(_, mut sequence)| {
            sequence.adapter = slot.map(AdapterSlot);
            item(config, &sequence, 0..sequence.token_ids.len(), |row| row % 3 == 0)
        });
        let batch = models::pack(&batch.collect::<Vec<_>>()).expect("a batch");
        let outputs: Vec<Output> = runner.forward(&batch).expect("it runs").rows;
        outputs.iter().map(numbers).collect()
    };
    let plain = outputs(&mut card, None);
    let spread = plain.iter().flatten().fold(0.0, |most: f32, x| most.max(x.abs()));
    let mut check = |named: fn(Projection) -> bool| {
        let pairs = all
            .pairs
            .iter()
            .filter(|(site, _)| matches!(site, Site::Layer(_, projection) if named(*projection)));
        let adapter = Arc::new(Adapter {
            digest: "of some experts".to_owned(),
            pairs: pairs.map(|(site, pair)| (*site, pair.clone())).collect(),
            head: None,
            report: all.report.clone(),
            ..Adapter::default()
        });
        let inserted = [
            card.insert(adapter.clone()).expect("memory"),
            processor.insert(adapter).expect("memory"),
        ];
        assert_eq!(inserted, [AdapterSlot(2); 2]);
        let [found, expected] = [outputs(&mut card, Some(2)), outputs(&mut processor, Some(2))];
        let far = |others: &[Vec<f32>]| {
            let numbers = found.iter().flatten().zip(others.iter().flatten());
            numbers.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / spread
        };
        assert!(far(&expected) < 0.005, "{} of the spread", far(&expected));
        assert!(far(&plain) > 0.01, "the adapter changes {} of the spread", far(&plain));
        assert_eq!(outputs(&mut card, None), plain);
        card.remove(AdapterSlot(2)).expect("it is there");
        processor.remove(AdapterSlot(2)).expect("it is there");
    };
    check(|projection| matches!(projection, Projection::ExpertUp(1) | Projection::ExpertGate(0)));
    check(|projection| matches!(projection, Projection::ExpertDown(_)));
}
