mod resumed;

use std::path::Path;
use std::sync::Arc;

use chat::Tokenizer;
use models::kernels::readout::row_readout;
use proptest::prelude::{ProptestConfig, prop, proptest};
use serde_json::{Value, json};
use tempfile::TempDir;
use tiny_models::{Preset, TinySpec};

use super::{
    FinishReason, Grammar, Next, SampleError, SampledToken, Sampler, SamplingParams, StopStrings,
    TextStream, Vocabulary, random,
};

/// A new generation without a prompt.
fn sampler(sampling: SamplingParams, vocab_size: usize) -> Sampler {
    Sampler::new(sampling, &[], vocab_size).expect("it makes sense")
}

/// One token after `logits`.
fn first(sampling: SamplingParams, logits: &[f32]) -> Result<Next, SampleError> {
    sampler(sampling, logits.len()).next(&mut logits.to_vec())
}

/// Logits for every position, from a seed.
fn noise(seed: u64, position: usize, vocab_size: usize) -> Vec<f32> {
    let number = |id| {
        let bits = random::bits(seed, id, position as u64) >> 48;
        f32::from(u16::try_from(bits).expect("sixteen bits")) / 8192.0
    };
    (0..vocab_size as u64).map(number).collect()
}

/// A whole generation from such logits.
fn generate(
    sampling: SamplingParams,
    seed: u64,
    vocab_size: usize,
) -> (Vec<SampledToken>, FinishReason) {
    let mut sampler = sampler(sampling, vocab_size);
    let mut tokens = Vec::new();
    loop {
        let mut logits = noise(seed, tokens.len(), vocab_size);
        let next = sampler.next(&mut logits).expect("a token");
        tokens.push(next.sampled);
        if let Some(finish) = next.finish {
            return (tokens, finish);
        }
    }
}

fn ids(tokens: &[SampledToken]) -> Vec<u32> {
    tokens.iter().map(|token| token.token_id).collect()
}

#[test]
fn greedy_takes_smallest_id_of_equal_logits() {
    let check = |logits: &[f32], expected| {
        let next = first(SamplingParams::default(), logits).expect("a token");
        assert_eq!(next.sampled.token_id, expected, "{logits:?}");
    };
    check(&[1.0, 3.0, 2.0, 3.0], 1);
    check(&[0.0], 0);
    check(&[-0.0, 0.0], 0);
    check(&[f32::MIN, f32::MAX], 1);
    check(&[&[0.0; 700][..], &[1.0], &[1.0; 300]].concat(), 700);
}

#[test]
fn non_finite_logit_is_an_error() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for temperature in [0.0, 1.0] {
            let sampling = SamplingParams { temperature, ..SamplingParams::default() };
            match first(sampling, &[1.0, value, 2.0]) {
                Err(SampleError::NotFinite(found)) => assert_eq!(found.to_bits(), value.to_bits()),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn logprobs_ignore_sampling_parameters() {
    let logits = [0.5, 3.0, -1.0, 3.0];
    let sampling = SamplingParams {
        logprobs: Some(3),
        logit_bias: [(2, 50.0), (1, -7.0)].into(),
        repetition_penalty: 1.3,
        temperature: 0.2,
        ..SamplingParams::default()
    };
    let sampled = first(sampling, &logits).expect("a token").sampled;
    let readout = row_readout(&logits);
    let logprob = |id: u32| (id, readout.logprob(logits[id as usize]));
    assert_eq!((sampled.token_id, sampled.logprob), logprob(2));
    assert_eq!(sampled.top, [logprob(1), logprob(3), logprob(0)]);
    let sum: f32 = (0..4).map(|id| logprob(id).1.exp()).sum();
    assert!((sum - 1.0).abs() < 1e-6);
    let none = first(SamplingParams { logprobs: Some(0), ..SamplingParams::default() }, &logits);
    assert_eq!(none.expect("a token").sampled.top, []);
}

/// Those of training are of the distribution that tokens are drawn from.
#[test]
fn tempered_logprobs_are_those_of_scaled_logits() {
    let logits = [0.5, 3.0, -1.0, 2.5];
    for (temperature, scale) in [(0.5, 2.0), (1.0, 1.0), (4.0, 0.25), (0.0, 1.0)] {
        for top_p in [1.0, 0.6] {
            let sampling = SamplingParams {
                logprobs: Some(2),
                tempered_logprobs: true,
                temperature,
                top_p,
                ..SamplingParams::default()
            };
            let sampled = first(sampling, &logits).expect("a token").sampled;
            let scaled = logits.map(|logit| logit * scale);
            let readout = row_readout(&scaled);
            let logprob = |id: u32| readout.logprob(scaled[id as usize]);
            assert_eq!(sampled.logprob.to_bits(), logprob(sampled.token_id).to_bits());
            assert_eq!(sampled.top, [1, 3].map(|id| (id, logprob(id))));
        }
    }
}

#[test]
fn every_generation_ends() {
    let base = || SamplingParams { max_tokens: 5, temperature: 1.0, ..SamplingParams::default() };
    let (tokens, finish) = generate(base(), 1, 8);
    assert_eq!((tokens.len(), finish), (5, FinishReason::Length));
    let all = || (0..8).collect::<Arc<[u32]>>();
    let (tokens, finish) = generate(SamplingParams { stop_token_ids: all(), ..base() }, 1, 8);
    assert_eq!(finish, FinishReason::StopToken(tokens[0].token_id));
    assert_eq!(tokens.len(), 1);
    // A stop token is masked for the first tokens only.
    let stop_token_ids = [0, 1, 2, 3, 4, 5, 6, 6, 99].into();
    let late = SamplingParams { stop_token_ids, min_tokens: 3, ..base() };
    let (tokens, finish) = generate(late, 1, 8);
    assert_eq!(ids(&tokens)[..3], [7; 3]);
    assert!(tokens.len() == 5 || finish != FinishReason::Length, "{finish:?}");
    // It comes if no other token can.
    let only = SamplingParams { stop_token_ids: all(), min_tokens: 3, ..base() };
    assert_eq!(generate(only, 1, 8).0.len(), 1);
}

#[test]
fn tokens_depend_on_seed_stream_and_position() {
    let run = |seed, stream, prompt: &[u32]| {
        let sampling = SamplingParams {
            seed,
            stream,
            temperature: 1.0,
            max_tokens: 40,
            ..SamplingParams::default()
        };
        let mut sampler = Sampler::new(sampling, prompt, 64).expect("it makes sense");
        let next = |_| sampler.next(&mut vec![0.0; 64]).expect("a token").sampled.token_id;
        (prompt.len()..40).map(next).collect::<Vec<u32>>()
    };
    let base = run(7, 0, &[]);
    assert_eq!(run(7, 0, &[]), base);
    assert_ne!(run(8, 0, &[]), base);
    assert_ne!(run(7, 1, &[]), base);
    // The draw depends on the position in the sequence, not on the length of the prompt.
    assert_eq!(run(7, 0, &base[..11]), base[11..]);
}

/// A folder with a tokenizer of byte-level BPE.
fn tiny() -> Arc<Tokenizer> {
    let dir = TempDir::new().expect("a folder");
    let dir = dir.path().join("model");
    tiny_models::make(&dir, &TinySpec::from(Preset::ALL[0])).expect("a model");
    Arc::new(Tokenizer::load(&dir).expect("a tokenizer"))
}

/// All tokenizers that the models crate is tested with.
fn tokenizers() -> Vec<Arc<Tokenizer>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat/tests/fixtures/tokenizers");
    let kinds = ["qwen", "llama3", "gpt2", "llama2", "mistral", "gemma", "words"];
    let load = |kind| Arc::new(Tokenizer::load(&dir.join(kind)).expect("a tokenizer"));
    kinds.into_iter().map(load).chain([tiny()]).collect()
}

fn sampled(token_id: u32) -> SampledToken {
    SampledToken { token_id, logprob: 0.0, top: Vec::new(), revision: 0 }
}

/// Texts that a stop string is likely to meet, some across tokens.
const STOPS: [&str; 8] = ["a", "e ", "\n", "the", " t", "0", "\u{fffd}x", "é"];

#[test]
fn streamed_pieces_equal_the_full_text() {
    let tokenizers = tokenizers();
    let ids = prop::collection::vec(0_u32..320, 0..24);
    let stops = prop::collection::vec(prop::sample::select(&STOPS[..]), 0..3);
    proptest!(ProptestConfig::with_cases(150), |(ids in ids, stops in stops, include: bool)| {
        for tokenizer in &tokenizers {
            let stops: Vec<String> = stops.iter().map(|s| (*s).to_owned()).collect();
            let stop = StopStrings::new(tokenizer.clone(), stops.clone(), include).expect("none is empty");
            let sampling = SamplingParams { stop: Some(stop), ..SamplingParams::default() };
            let mut stream = TextStream::new(tokenizer.clone(), &sampling);
            let mut sampling = sampling;
            let mut text = String::new();
            let mut finish = FinishReason::Length;
            let mut n = 0;
            for id in &ids {
                n += 1;
                text += &stream.push(&sampled(*id)).expect("text");
                let found = sampling.stop.as_mut().expect("given").step(*id, true);
                if let Some(which) = found.expect("text") {
                    finish = FinishReason::StopText(which);
                    break;
                }
            }
            let ended = matches!(finish, FinishReason::StopText(_));
            text += &stream.finish(&finish).expect("text");
            // Decoding all at once, and searching the full text, give the same.
            let tokens: Vec<SampledToken> = ids[..n].iter().copied().map(sampled).collect();
            let whole = TextStream::new(tokenizer.clone(), &sampling);
            assert_eq!(whole.full_text(&tokens, &finish).expect("text"), text);
            let met = stops.iter().any(|s| text.contains(s.as_str()));
            assert!(!met || (include && ended), "{stops:?} in {text:?}");
            let decoded = tokenizer.decode(&ids, true).expect("text");
            // Decoding by byte fallback withdraws good characters beside broken ones; a stream has
            // returned them already.
            if decoded.contains('\u{fffd}') {
                continue;
            }
            assert!(decoded.starts_with(&text), "{text:?} of {decoded:?}");
            if let FinishReason::StopText(which) = &finish {
                let from = if include { text.len() - which.len() } else { text.len() };
                assert!(decoded[from..].starts_with(which.as_str()), "{decoded:?}");
            } else {
                assert_eq!(text, tokenizer.decode(&ids[..n], true).expect("text"));
            }
        }
    });
}

#[test]
fn stop_strings_end_a_generation_across_tokens() {
    let tokenizer = tiny();
    let check = |stops: &[&str], include, min_tokens, expected: (&str, &str)| {
        let stops = stops.iter().map(|s| (*s).to_owned()).collect();
        let stop = StopStrings::new(tokenizer.clone(), stops, include).expect("none is empty");
        let sampling = SamplingParams {
            max_tokens: 100,
            stop: Some(stop),
            min_tokens,
            ..SamplingParams::default()
        };
        let text = TextStream::new(tokenizer.clone(), &sampling);
        let mut sampler = sampler(sampling, 304);
        let script = tokenizer.encode("of the user: 12, of the end", false).expect("tokens");
        let mut tokens = Vec::new();
        for id in script {
            let mut logits = vec![0.0; 304];
            logits[id as usize] = 1.0;
            let next = sampler.next(&mut logits).expect("a token");
            tokens.push(next.sampled);
            if let Some(finish) = next.finish {
                assert_eq!(finish, FinishReason::StopText(expected.0.to_owned()));
                assert_eq!(text.full_text(&tokens, &finish).expect("text"), expected.1);
                return;
            }
        }
        panic!("{expected:?} did not come");
    };
    check(&["he us"], false, 0, ("he us", "of t"));
    check(&["he us"], true, 0, ("he us", "of the us"));
    check(&["zzz", "12, of"], false, 0, ("12, of", "of the user: "));
    check(&["12", "2", ": 12"], false, 0, (": 12", "of the user"));
    check(&["of"], false, 3, ("of", "of the user: 12, "));
}

#[test]
fn stop_token_has_no_text() {
    let tokenizer = tiny();
    let ids = tokenizer.encode("of the", false).expect("tokens");
    let last = *ids.last().expect("tokens");
    let sampling = SamplingParams { stop_token_ids: [last].into(), ..SamplingParams::default() };
    let tokens: Vec<SampledToken> = ids.iter().copied().map(sampled).collect();
    let stream = TextStream::new(tokenizer.clone(), &sampling);
    let text = stream.full_text(&tokens, &FinishReason::StopToken(last)).expect("text");
    let rest = &ids[..ids.len() - 1];
    assert_eq!(text, tokenizer.decode(rest, true).expect("text"));
}

#[test]
fn constrained_noise_is_valid_text() {
    let tokenizer = tiny();
    let vocab_size = tokenizer.vocab_size() + 8;
    let vocabulary = Vocabulary::new(&tokenizer, vocab_size).expect("a vocabulary");
    let json = |schema| Grammar::JsonSchema(schema);
    let verdict = json(json!({
        "type": "object",
        "properties": {"why": {"type": "string", "maxLength": 20}, "score": {"type": "integer", "minimum": 1, "maximum": 5}},
        "required": ["why", "score"],
        "additionalProperties": false,
    }));
    let is_verdict = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let why = value["why"].as_str().is_some_and(|why| why.chars().count() <= 20);
        why && value["score"].as_i64().is_some_and(|n| (1..=5).contains(&n))
    };
    let check = |grammar: Grammar, valid: &dyn Fn(&str) -> bool| {
        for seed in 0..30 {
            let sampling = SamplingParams {
                max_tokens: 300,
                temperature: if seed % 2 == 0 { 0.0 } else { 1.5 },
                top_p: 0.95,
                seed,
                stop_token_ids: tokenizer.eos_ids().into(),
                constraint: Some(vocabulary.compile(&grammar).expect("a grammar")),
                ..SamplingParams::default()
            };
            let stream = TextStream::new(tokenizer.clone(), &sampling);
            let (tokens, finish) = generate(sampling, seed, vocab_size);
            let text = stream.full_text(&tokens, &finish).expect("text");
            assert_ne!(finish, FinishReason::Length, "{text}");
            assert!(valid(&text), "{grammar:?}: {text:?}");
            let special = tokens.iter().filter(|t| tokenizer.is_special(t.token_id)).count();
            assert_eq!(special > 0, matches!(finish, FinishReason::StopToken(_)));
        }
    };
    check(verdict, &is_verdict);
    let choices = ["yes", "yes, but", "no"].map(str::to_owned);
    check(Grammar::Choice(choices.to_vec()), &|text| choices.iter().any(|c| c == text));
    check(Grammar::Regex("[0-9]{1,3}(\\.[0-9])?".into()), &|text| {
        text.len() <= 5 && text.parse::<f32>().is_ok_and(|x| x < 1000.0)
    });
    check(Grammar::Lark("start: \"(\" start \")\" | \"x\"".into()), &|text| {
        let depth = text.len() / 2;
        text == format!("{}x{}", "(".repeat(depth), ")".repeat(depth))
    });
}

#[test]
fn complete_constraint_ends_generation() {
    let tokenizer = tiny();
    let vocabulary = Vocabulary::new(&tokenizer, 304).expect("a vocabulary");
    let yes = Grammar::Choice(vec!["yes".to_owned()]);
    let sampling = |min_tokens| SamplingParams {
        max_tokens: 50,
        min_tokens,
        stop_token_ids: tokenizer.eos_ids().into(),
        constraint: Some(vocabulary.compile(&yes).expect("a grammar")),
        ..SamplingParams::default()
    };
    for min_tokens in [0, 40] {
        let (tokens, finish) = generate(sampling(min_tokens), 3, 304);
        assert_eq!(finish, FinishReason::Complete);
        assert_eq!(tokenizer.decode(&ids(&tokens), false).expect("text"), "yes");
    }
}
