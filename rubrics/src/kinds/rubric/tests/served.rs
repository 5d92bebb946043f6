use tiny_models::{Preset, TinyHead};

use super::{THREE, config, saying, yes_no};
use crate::testing::{Bench, verdicts};
use crate::{Input, ScoreOptions};

const DEFAULT_WORDING: &str = "
[[scorer]]
name = 'r'
kind = 'rubric'
min_label_mass = 0.0
soft = true
[[scorer.rubric.items]]
criterion = 'It is short.'
points = 2
[[scorer.rubric.items]]
criterion = 'It is rude.'
points = -1
[[scorer.rubric.items]]
criterion = 'It ends in 3.'
points = 1
verifier = { scorer = 'exact', reference = '3' }

[[scorer]]
name = 'written'
kind = 'rubric'
ask = 'json'
max_tokens = 12
temperature = 1.0
retries = 1
on_item_error = 'unmet'
[[scorer.rubric.items]]
criterion = 'It is short.'
points = 2
";

#[test]
fn verdicts_do_not_depend_on_company() {
    let bench = Bench::real(DEFAULT_WORDING, Preset::Phi3Long, TinyHead::Vocab, 3);
    assert_eq!(bench.check(), Ok(()));
    let inputs: Vec<Input> =
        (0..6).map(|n| Input::of(format!("the same beginning, and then {n}"))).collect();
    for scorer in ["r", "written"] {
        let alone = inputs.iter().flat_map(|input| {
            let one = std::slice::from_ref(input);
            bench.all(scorer, one, ScoreOptions::default())
        });
        let alone = verdicts(alone.collect());
        assert!(alone.iter().all(Result::is_ok), "{alone:?}");
        let again = verdicts(bench.all(scorer, &inputs, ScoreOptions::default()));
        assert_eq!(alone, again, "cached");
        let fresh = Bench::real(DEFAULT_WORDING, Preset::Phi3Long, TinyHead::Vocab, 3);
        let together = verdicts(fresh.all(scorer, &inputs, ScoreOptions::default()));
        assert_eq!(alone, together, "batched");
    }
}

/// Tokens of these prompts when what they begin with alike is counted once.
fn unique(mut prompts: Vec<Vec<u32>>) -> usize {
    prompts.sort();
    prompts.dedup();
    let mut before: &[u32] = &[];
    let mut total = 0;
    for prompt in &prompts {
        let same = prompt.iter().zip(before).take_while(|(a, b)| a == b).count();
        total += prompt.len() - same;
        before = prompt;
    }
    total
}

#[test]
fn conversation_is_computed_once() {
    let item = |n| format!("[[scorer.rubric.items]]\ncriterion = 'it has {n}'\npoints = 1\n");
    let items = (0..40).map(item).collect::<Vec<_>>().concat();
    let (bench, seen) = saying(&config("", &items), |_: &str| yes_no(1.0, 0.0));
    let long = "a response of some length ".repeat(8);
    let judged = bench.one("r", Input::of(long)).expect("a reward");
    let usage = judged.evidence.trace.expect("a model was called").usage;
    let unique = unique(seen.lock().expect("no thread panicked").clone());
    #[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
    let ratio = usage.computed_tokens as f64 / unique as f64;
    assert!(ratio <= 1.05, "{} computed, {unique} unique", usage.computed_tokens);
    assert!(usage.input_tokens > 4 * usage.computed_tokens, "much is shared");
}

#[test]
fn three_items_are_three_questions() {
    let (bench, seen) = saying(&config("", THREE), |_: &str| yes_no(1.0, 0.0));
    bench.one("r", Input::of("x")).expect("a reward");
    assert_eq!(seen.lock().expect("no thread panicked").len(), 3);
}
