mod hostile;
mod labels;
mod parsing;
mod served;
mod whole;

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Host, Tokenizer};
use serde_json::{Map, Value};
use testkit::fake::Script;
use tiny_models::TinyHead;

use crate::testing::Bench;
use crate::{Input, Outcome, Score};

/// A model that answers by its prompt, and records the prompts.
pub(super) struct Says<F> {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    answers: F,
    seen: SeenPrompts,
}

/// Prompts, as tokens, in the order in which they were read.
pub(super) type SeenPrompts = Arc<Mutex<Vec<Vec<u32>>>>;

/// Logit of labels that the script does not name.
const UNLIKELY: f32 = -30.0;

impl<F: Fn(&str) -> Vec<(&'static str, f32)> + Send> Script for Says<F> {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(token_ids.to_vec());
        let prompt = self.tokenizer.decode(token_ids, false).expect("known tokens");
        let mut logits = vec![UNLIKELY; self.vocab_size];
        for (label, logit) in (self.answers)(&prompt) {
            let ids = self.tokenizer.encode(label, false).expect("it is ASCII");
            logits[ids[0] as usize] = logit;
        }
        logits
    }
}

/// Over a model that answers with these logits of labels.
pub(super) fn saying(
    toml: &str,
    says: impl Fn(&str) -> Vec<(&'static str, f32)> + Send + 'static,
) -> (Bench, SeenPrompts) {
    let seen = SeenPrompts::default();
    let own = seen.clone();
    let bench = Bench::scripted(toml, TinyHead::Vocab, |host: &Host| Says {
        tokenizer: host.tokenizer.clone(),
        vocab_size: host.engine.limits().vocab_size,
        answers: says,
        seen: own,
    });
    (bench, seen)
}

/// A scorer with these options and a wording that is short, for the made models' short contexts.
pub(super) fn config(options: &str, rubric: &str) -> String {
    format!(
        "[[scorer]]\nname = 'r'\nkind = 'rubric'\n{options}\n\
         [[scorer.message]]\nrole = 'user'\ncontent = '''{{{{conversation|raw}}}}\n{{{{criterion}}}}\nMet?'''\n\
         [[scorer.tier_message]]\nrole = 'user'\ncontent = '''{{{{conversation|raw}}}}\n{{{{criterion}}}}\n{{{{tiers|raw}}}}\nWhich?'''\n\
         {rubric}"
    )
}

/// Three items: two merits and a fault.
pub(super) const THREE: &str = "
[[scorer.rubric.items]]
id = 'first'
criterion = 'one'
points = 5
[[scorer.rubric.items]]
id = 'second'
criterion = 'two'
points = 3
[[scorer.rubric.items]]
id = 'fault'
criterion = 'three'
points = -2
";

/// Logits of Yes and No, in both spellings.
pub(super) fn yes_no(yes: f32, no: f32) -> Vec<(&'static str, f32)> {
    vec![("Yes", yes), (" Yes", yes), ("No", no), (" No", no)]
}

/// The criterion that a prompt of [`config`] ends with.
pub(super) fn criterion(prompt: &str) -> &str {
    let before = prompt.rsplit_once("\nMet?").expect("the wording").0;
    before.rsplit_once("> ").expect("a quotation").1
}

pub(super) fn reward(outcome: Outcome) -> Score {
    outcome.expect("a reward")
}

#[track_caller]
pub(super) fn close(given: f64, expected: f64) {
    assert!((given - expected).abs() < 1e-5, "{given} is not {expected}");
}

/// An input with a rubric of its own.
pub(super) fn with_rubric(rubric: &Value) -> Input {
    let rubric: Map<String, Value> = rubric.as_object().expect("an object").clone();
    Input { rubric: Some(rubric), ..Input::of("the answer is \\boxed{42}") }
}
