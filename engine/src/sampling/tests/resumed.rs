//! A generation that is resumed at any of its tokens continues as if it had not been stopped.

use super::{
    FinishReason, Grammar, SampledToken, Sampler, SamplingParams, StopStrings, Vocabulary, ids,
    noise, tiny,
};

const PROMPT: [u32; 3] = [7, 1, 7];

/// The tokens that follow, after those that are resumed.
fn rest(
    sampling: SamplingParams,
    resumed: &[u32],
    seed: u64,
    vocab_size: usize,
) -> (Vec<SampledToken>, FinishReason) {
    let sampling = SamplingParams { resumed: resumed.len(), ..sampling };
    let token_ids = [&PROMPT, resumed].concat();
    let mut sampler = Sampler::new(sampling, &token_ids, vocab_size).expect("it makes sense");
    if let Some(finish) = sampler.ended() {
        return (Vec::new(), finish.clone());
    }
    let mut tokens = Vec::new();
    loop {
        let mut logits = noise(seed, resumed.len() + tokens.len(), vocab_size);
        let next = sampler.next(&mut logits).expect("a token");
        tokens.push(next.sampled);
        if let Some(finish) = next.finish {
            return (tokens, finish);
        }
    }
}

/// Resumes at every token, and counts how the generations ended.
fn check(sampling: &dyn Fn(u64) -> SamplingParams, vocab_size: usize) -> Vec<FinishReason> {
    let mut ends = Vec::new();
    for seed in 0..20 {
        let (tokens, finish) = rest(sampling(seed), &[], seed, vocab_size);
        for at in 0..=tokens.len() {
            let resumed = rest(sampling(seed), &ids(&tokens[..at]), seed, vocab_size);
            assert_eq!(resumed, (tokens[at..].to_vec(), finish.clone()), "at {at}");
        }
        ends.push(finish);
    }
    ends
}

#[test]
fn resumed_tokens_count_for_penalties_lengths_and_stops() {
    let sampling = |seed| SamplingParams {
        max_tokens: 7,
        min_tokens: 4,
        temperature: 1.0,
        repetition_penalty: 1.5,
        presence_penalty: 1.0,
        frequency_penalty: 0.5,
        stop_token_ids: [3].into(),
        logprobs: Some(2),
        seed,
        ..SamplingParams::default()
    };
    let ends = check(&sampling, 8);
    assert!(ends.contains(&FinishReason::StopToken(3)) && ends.contains(&FinishReason::Length));
}

#[test]
fn stop_string_is_found_across_resumption() {
    let tokenizer = tiny();
    let sampling = |seed| {
        let stops = ["e ", "th", "0", "a", "\u{fffd}\u{fffd}"].map(str::to_owned);
        let stop = StopStrings::new(tokenizer.clone(), stops.to_vec(), false);
        SamplingParams {
            max_tokens: 60,
            min_tokens: 2,
            temperature: 1.0,
            stop: Some(stop.expect("none is empty")),
            seed,
            ..SamplingParams::default()
        }
    };
    let ends = check(&sampling, 304);
    let texts = ends.iter().filter(|end| matches!(end, FinishReason::StopText(_)));
    assert!(texts.count() > 5, "{ends:?}");
}

#[test]
fn resumed_tokens_advance_the_constraint() {
    let tokenizer = tiny();
    let vocab_size = tokenizer.vocab_size();
    let vocabulary = Vocabulary::new(&tokenizer, vocab_size).expect("a vocabulary");
    let lark = Grammar::Lark("start: \"(\" start \")\" | \"x\"".into());
    let sampling = |grammar: &Grammar, seed| SamplingParams {
        max_tokens: 12,
        temperature: 1.0,
        stop_token_ids: tokenizer.eos_ids().into(),
        constraint: Some(vocabulary.compile(grammar).expect("a grammar")),
        seed,
        ..SamplingParams::default()
    };
    for grammar in [
        Grammar::Choice(vec!["yes".into(), "yes, but".into()]),
        Grammar::Regex("[0-9]{1,3}(\\.[0-9])?".into()),
        lark.clone(),
    ] {
        check(&|seed| sampling(&grammar, seed), vocab_size);
    }
    // Tokens that the grammar does not allow were not generated under it.
    let wrong = tokenizer.encode(")", false).expect("a byte");
    let sampling = SamplingParams { resumed: wrong.len(), ..sampling(&lark, 0) };
    let token_ids = [&PROMPT[..], &wrong].concat();
    let error = Sampler::new(sampling, &token_ids, vocab_size).expect_err("it cannot come");
    assert!(error.starts_with("resumed: token 0 cannot come"), "{error}");
}
