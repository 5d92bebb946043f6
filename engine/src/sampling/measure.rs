//! Cost of a token. Run with
//! `cargo test --release -p engine --lib measure -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use serde_json::json;

use super::constraint::vocabulary_of;
use super::{Grammar, Sampler, SamplingParams, random};

/// The vocabulary of Qwen2.5.
const VOCAB_SIZE: usize = 151_936;

/// Logits of the shape that language models have (a few far ahead of a broad bell), or all alike.
fn logits(seed: u64, peaked: bool) -> Vec<f32> {
    let unit = |id: u64| {
        let bits = random::bits(seed, id / 4, id % 4) >> 48;
        f32::from(u16::try_from(bits).expect("sixteen bits")) / 65536.0
    };
    let bell = |id: u64| (0..6).map(|i| unit(8 * id + i)).sum::<f32>() - 3.0;
    let logit = |id: u64| match (peaked, id % 5000) {
        (true, 17) => 8.0 + 12.0 * unit(8 * id + 7),
        _ => 2.0 * bell(id),
    };
    (0..VOCAB_SIZE as u64).map(logit).collect()
}

/// The median of a call's times.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn next(sampling: impl Fn() -> SamplingParams, peaked: bool) -> Duration {
    let rows: Vec<Vec<f32>> = (0..16).map(|seed| logits(seed, peaked)).collect();
    let mut buffer = vec![0.0; VOCAB_SIZE];
    let mut times = Vec::new();
    for row in rows.iter().cycle().take(200) {
        let mut sampler = Sampler::new(sampling(), &[1, 2, 3], VOCAB_SIZE).expect("sensible");
        buffer.copy_from_slice(row);
        let start = Instant::now();
        let next = sampler.next(&mut buffer);
        times.push(start.elapsed());
        assert!(next.is_ok());
    }
    median(times)
}

#[test]
#[ignore = "prints times"]
fn cost_of_sampling() {
    let warm = || SamplingParams { temperature: 1.0, ..SamplingParams::default() };
    for peaked in [true, false] {
        println!("{}", if peaked { "peaked" } else { "flat" });
        let print = |name: &str, sampling: &dyn Fn() -> SamplingParams| {
            println!("  {name:<28} {:>9.1?}", next(sampling, peaked));
        };
        print("greedy", &SamplingParams::default);
        print("greedy, logprobs 5", &|| SamplingParams {
            logprobs: Some(5),
            ..SamplingParams::default()
        });
        print("greedy, repetition 1.1", &|| SamplingParams {
            repetition_penalty: 1.1,
            ..SamplingParams::default()
        });
        print("temperature 1", &warm);
        print("temperature 1, logprobs 5", &|| SamplingParams { logprobs: Some(5), ..warm() });
        print("top_p 0.95", &|| SamplingParams { top_p: 0.95, ..warm() });
        print("top_k 50", &|| SamplingParams { top_k: Some(50), ..warm() });
        print("top_k 50, top_p 0.95", &|| SamplingParams {
            top_k: Some(50),
            top_p: 0.95,
            ..warm()
        });
        print("top_k 5000", &|| SamplingParams { top_k: Some(5000), ..warm() });
        print("min_p 0.05", &|| SamplingParams { min_p: 0.05, ..warm() });
    }
}

/// Words of small letters, most with a space before them, numbers, marks, and every byte.
fn words() -> Vec<Vec<u8>> {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let syllables = [
        "an", "be", "con", "de", "er", "fi", "ga", "he", "in", "jo", "ka", "lo", "mi", "no", "on",
        "pre", "qu", "re", "st", "th", "un", "ver", "wi", "x", "y", "zo", "1", "23", "\": \"",
        "\", \"", ".", ",", "é", "日", "_",
    ];
    let mut at = 0_u64;
    while tokens.len() < 150_000 {
        let bits = random::bits(1, 0, at);
        at += 1;
        let n_parts = 1 + bits % 4;
        let mut word = if bits & 16 == 0 { " ".to_owned() } else { String::new() };
        for part in 0..n_parts {
            let pick = (bits >> (8 * (part + 1))) % syllables.len() as u64;
            word += syllables[usize::try_from(pick).expect("small")];
        }
        word += &(bits >> 56).to_string();
        tokens.push(word.into_bytes());
    }
    tokens
}

#[test]
#[ignore = "prints times"]
fn cost_of_masks() {
    let start = Instant::now();
    let vocabulary = vocabulary_of(words());
    println!("vocabulary of 150,000 tokens: {:.1?}", start.elapsed());
    let verdict = json!({
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, "score": {"type": "integer", "minimum": 1, "maximum": 10}},
        "required": ["reasoning", "score"],
        "additionalProperties": false,
    });
    let text = "{\"reasoning\": \"the answer is 12, which is what the reference has. anber 23 zo\", \"score\": 7}";
    let run = |name: &str, grammar: Grammar, text: &str| {
        let start = Instant::now();
        let first = vocabulary.compile(&grammar).expect("a grammar");
        let compiled = start.elapsed();
        let (mut masks, mut accepts) = (Vec::new(), Vec::new());
        let mut constraint = first.fork();
        for byte in text.bytes() {
            let start = Instant::now();
            let mask = constraint.mask().expect("tokens");
            masks.push(start.elapsed());
            assert!(mask.allows(u32::from(byte)), "{text:?} at {byte}");
            let start = Instant::now();
            constraint.accept(u32::from(byte)).expect("allowed");
            accepts.push(start.elapsed());
        }
        let worst = masks.iter().max().copied().unwrap_or_default();
        let mean = masks.iter().sum::<Duration>() / u32::try_from(masks.len()).expect("few");
        println!(
            "  {name:<18} compile {compiled:>8.1?}; mask: median {:>8.1?}, mean {mean:>8.1?}, worst {worst:>8.1?}; accept {:>8.1?}",
            median(masks),
            median(accepts),
        );
    };
    run("verdict", Grammar::JsonSchema(verdict), text);
    run("object", Grammar::JsonObject, text);
    run("regex", Grammar::Regex("[a-z ]+: [0-9]{1,3}".into()), "the score is: 12");
    run("anything", Grammar::Regex("(?s).*".into()), text);
    run("bomb", Grammar::Regex("((a|b){100}){100}.*".into()), &"ab".repeat(60));
    run("choice", Grammar::Choice(vec!["yes".into(), "no".into(), "not sure".into()]), "not sur");
}
