//! Independence of verdicts from other requests.

use engine::{Host, Tokenizer};
use std::sync::Arc;
use testkit::fake::Script;
use tiny_models::{Preset, TinyHead};

use super::{group, input_of};
use crate::testing::{Bench, verdicts};
use crate::{Input, ScoreOptions};

const CONFIG: &str = "
[[scorer]]
name = 'capo'
kind = 'critic'
mode = 'capo'
critiques = 3
max_tokens = 12
constrain = false

[[scorer.message]]
role = 'user'
content = 'Problem: {{problem}} Steps: {{steps}}'

[[scorer]]
name = 'best'
kind = 'critic'
mode = 'rerank'
min_label_mass = 0
";

/// Texts of the model and all.
const ASK: ScoreOptions = ScoreOptions {
    priority: crate::Priority::Interactive,
    deadline: None,
    explain: true,
    seed: 3,
    fuel: None,
    client: 0,
};

#[test]
fn critiques_do_not_depend_on_company() {
    let bench = Bench::real(CONFIG, Preset::Qwen2, TinyHead::Vocab, 7);
    assert_eq!(bench.check(), Ok(()));
    let check = |scorer: &str, inputs: &[Input]| {
        let together = bench.independent(scorer, inputs, ASK);
        let reversed: Vec<Input> = inputs.iter().rev().cloned().collect();
        let mut reversed = verdicts(bench.all(scorer, &reversed, ASK));
        reversed.reverse();
        assert_eq!(reversed, together);
    };
    let inputs: Vec<Input> = (0..4).map(|n| input_of(&format!("One.\n\nTwo {n}"))).collect();
    check("capo", &inputs);
    let groups: Vec<Input> =
        (0..3).map(|n| group(&["It is \\boxed{4}", &format!("It is \\boxed{{{n}}}")])).collect();
    check("best", &groups);
}

/// Says one of two critiques, both as likely.
struct Torn {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
}

impl Script for Torn {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let text = self.tokenizer.decode(token_ids, false).expect("known tokens");
        let said = text.rsplit("assistant\n").next().unwrap_or_default();
        let mut logits = vec![0.0; self.vocab_size];
        let mut may_follow = |whole: &str| {
            let Some(rest) = whole.strip_prefix(said) else {
                return;
            };
            let next = self.tokenizer.encode(rest, false).expect("bytes are tokens");
            let next = next.first().copied();
            let end = self.tokenizer.eos_ids().first().copied();
            logits[next.or(end).expect("a token") as usize] = 60.0;
        };
        may_follow("A\nWrong steps: [1]");
        may_follow("B\nWrong steps: [1, 2]");
        logits
    }
}

#[test]
fn a3_capo_critiques_vary_and_repeat_by_seed() {
    let config = "
[[scorer]]
name = 'capo'
kind = 'critic'
mode = 'capo'
critiques = 8
max_tokens = 40
";
    let bench = Bench::scripted(config, TinyHead::Vocab, |host: &Host| Torn {
        tokenizer: host.tokenizer.clone(),
        vocab_size: host.engine.limits().vocab_size,
    });
    let input = input_of("One.\n\nTwo.");
    let outcome = |seed| {
        let ask = ScoreOptions { seed, ..ASK };
        let outcomes = verdicts(bench.all("capo", std::slice::from_ref(&input), ask));
        outcomes.into_iter().next().expect("one").expect("a reward")
    };
    let first = outcome(1);
    assert_eq!(outcome(1), first);
    let outputs = first.evidence.outputs.expect("explained");
    let n_short = outputs.iter().filter(|o| o.text.starts_with('A')).count();
    assert!((1..8).contains(&n_short), "{n_short} of 8");
    // Only the first step is in every critique.
    super::close(first.score, 0.5);
}
