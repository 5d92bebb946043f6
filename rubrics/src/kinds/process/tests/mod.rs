mod hostile;
mod labels;
mod methods;
mod options;

use engine::Host;
use testkit::fake::Script;
use tiny_models::TinyHead;

use crate::outcome::{Outcome, StepScore};
use crate::testing::Bench;
use crate::{Input, Passage};

/// A head of two outputs: at the n-th separator the second exceeds the first by the n-th of these
/// numbers; NaN at every other token.
struct AtSteps {
    separator: u32,
    raws: Vec<f32>,
}

impl AtSteps {
    fn new(host: &Host, raws: Vec<f32>) -> Self {
        let separator = host.tokenizer.id("<extra_0>").expect("a token");
        Self { separator, raws }
    }
}

impl Script for AtSteps {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        Vec::new()
    }

    fn head(&self, token_ids: &[u32]) -> Vec<f32> {
        let n = token_ids.iter().filter(|id| **id == self.separator).count();
        let at_step = token_ids.last() == Some(&self.separator);
        let raw = self.raws.get(n.wrapping_sub(1)).filter(|_| at_step);
        vec![0.25, raw.map_or(f32::NAN, |raw| raw + 0.25)]
    }
}

fn scorer(options: &str) -> String {
    format!("[[scorer]]\nname = 's'\nkind = 'process'\n{options}\n")
}

fn scripted(options: &str, raws: &[f32]) -> Bench {
    let raws = raws.to_vec();
    Bench::scripted(&scorer(options), TinyHead::Process, |host: &Host| AtSteps::new(host, raws))
}

fn input_of(response: &str) -> Input {
    Input { prompt: Some(Passage::Text("What?".to_owned()).into()), ..Input::of(response) }
}

fn with_steps(response: &str, steps: &[&str]) -> Input {
    Input { steps: Some(steps.iter().map(ToString::to_string).collect()), ..input_of(response) }
}

fn steps_of(outcome: &Outcome) -> &[StepScore] {
    let reward = outcome.as_ref().expect("a reward");
    reward.evidence.steps.as_deref().expect("steps")
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
}

/// The steps as texts of the response.
fn texts(outcome: &Outcome, response: &str) -> Vec<String> {
    let points: Vec<char> = response.chars().collect();
    let steps = steps_of(outcome).iter();
    steps.map(|step| points[step.span.clone()].iter().collect()).collect()
}
