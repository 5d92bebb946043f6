//! Tokens that are drawn on the card.

use gpu_models::GpuRunner;
use models::{DrawnToken, Forward as _, Output, OutputSpec, PackItem, RowOutput, TokenDraw, pack};
use tiny_models::{Preset, TinyHead};

use crate::emulator;
use crate::subject::{CardSubject, item, run, sequences};

fn argmax(logits: &[f32], allowed: impl Fn(usize) -> bool) -> usize {
    let ids = (0..logits.len()).filter(|id| allowed(*id));
    ids.reduce(|a, b| if logits[b] > logits[a] { b } else { a }).expect("one is allowed")
}

/// Checks models with a vocabulary, also under an adapter that changes its head, and with capped logits.
fn for_vocabularies(check: impl Fn(&CardSubject, GpuRunner)) {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    for preset in [Preset::Qwen3, Preset::Gemma2] {
        let subject = CardSubject::new(preset, TinyHead::Vocab);
        check(&subject, subject.on_card(&gpu));
    }
}

#[test]
fn drawn_tokens_are_those_of_the_logits() {
    for_vocabularies(|subject, mut runner| {
        let config = &subject.config;
        let items = sequences(config).into_iter().flat_map(|sequence| {
            let n = sequence.token_ids.len();
            let mut item = item(config, &sequence, 0..n, |_| false);
            item.outputs = vec![(n - 1, OutputSpec::Vocab)];
            [item.clone(), item]
        });
        let batch = pack(&items.collect::<Vec<_>>()).expect("a batch");
        let logits: Vec<Vec<f32>> = runner
            .forward(&batch)
            .expect("it runs")
            .rows
            .into_iter()
            .map(|output| {
                let Output::Vocab(logits) = output else { unreachable!("logits were requested") };
                logits
            })
            .collect();
        // In every second row the most likely token is not allowed, and the third has no draw.
        let draws: Vec<Option<TokenDraw>> = logits
            .iter()
            .enumerate()
            .map(|(row, logits)| {
                let mut mask = vec![u32::MAX; logits.len().div_ceil(32)];
                let most = argmax(logits, |_| true);
                mask[most / 32] &= !(1 << (most % 32));
                let allowed = (row % 2 == 1).then(|| mask.into());
                (row != 2).then_some(TokenDraw { random: None, allowed, logprob: row % 3 != 1 })
            })
            .collect();
        let drawn = runner.forward_drawing(&batch, &draws).expect("it runs");
        assert_eq!(drawn.len(), logits.len());
        for (row, (drawn, logits)) in drawn.iter().zip(&logits).enumerate() {
            let most = argmax(logits, |_| true);
            let token = match drawn {
                RowOutput::Output(output) => {
                    assert_eq!((row, output), (2, &Output::Vocab(logits.clone())));
                    continue;
                }
                RowOutput::Token(token) => token,
            };
            let expected = argmax(logits, |id| row % 2 == 0 || id != most);
            let DrawnToken::Token { token_id, logprob } = *token else {
                panic!("{}: {token:?} in row {row}", subject.name)
            };
            assert_eq!(token_id as usize, expected, "{} in row {row}", subject.name);
            let sum: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
            let exact = f64::from(logits[expected]) - sum.ln();
            let is_near = logprob.map(|found| (f64::from(found) - exact).abs() < 1e-5);
            assert_eq!(is_near, (row % 3 != 1).then_some(true), "{logprob:?} and {exact}");
        }
        let refused = |draws: &[Option<TokenDraw>], runner: &mut GpuRunner| {
            runner.forward_drawing(&batch, draws).expect_err("it is refused").to_string()
        };
        assert!(refused(&draws[1..], &mut runner).contains("draws for"));
        let mut short = draws.clone();
        short[1].as_mut().expect("a draw").allowed = Some([1].into());
        assert!(refused(&short, &mut runner).contains("its mask has another size"));
    });
}

#[test]
fn logprobs_of_drawn_tokens_have_the_bits_of_read_ones() {
    for_vocabularies(|subject, mut runner| {
        let config = &subject.config;
        let items = sequences(config).into_iter().map(|sequence| {
            let n = sequence.token_ids.len();
            let mut item = item(config, &sequence, 0..n, |_| false);
            item.outputs = (0..n).map(|row| (row, OutputSpec::Vocab)).collect();
            item
        });
        let mut items: Vec<PackItem> = items.collect();
        let batch = pack(&items).expect("a batch");
        let greedy = Some(TokenDraw { random: None, allowed: None, logprob: true });
        let draws = vec![greedy; batch.rows.len()];
        let drawn = runner.forward_drawing(&batch, &draws).expect("it runs").into_iter();
        let drawn = drawn.map(|output| {
            let RowOutput::Token(DrawnToken::Token { token_id, logprob: Some(logprob) }) = output
            else {
                panic!("{}: {output:?}", subject.name)
            };
            (token_id, logprob.to_bits())
        });
        let (ids, expected): (Vec<u32>, Vec<u32>) = drawn.unzip();
        let specs = items.iter_mut().flat_map(|item| &mut item.outputs).map(|(_, spec)| spec);
        for (spec, id) in specs.zip(&ids) {
            *spec = OutputSpec::Logprob(*id);
        }
        let read = run(&mut runner, &items).into_iter().map(|output| {
            let Output::Logprob { logprob, .. } = output else {
                panic!("{}: {output:?}", subject.name)
            };
            logprob.to_bits()
        });
        assert_eq!(read.collect::<Vec<_>>(), expected, "{}", subject.name);
    });
}
