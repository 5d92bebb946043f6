//! Critics over scripted and real models: the papers' arithmetic, broken outputs, hostile inputs.

mod broken;
mod company;
mod modes;

use crate::outcome::Score;
use crate::{Input, Passage, Responses};

/// A question, its answer 4, and a response.
fn input_of(response: &str) -> Input {
    Input {
        prompt: Some(Passage::Text("What is 2 + 2?".to_owned()).into()),
        ..Input::of(response).against("4")
    }
}

/// Builds an input with several responses.
fn group(responses: &[&str]) -> Input {
    let responses = responses.iter();
    Input {
        responses: Responses::Group(
            responses.map(|text| Passage::Text((*text).to_owned())).collect(),
        ),
        ..input_of("")
    }
}

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
}

fn labels(reward: &Score) -> Vec<&str> {
    let steps = reward.evidence.steps.as_ref().expect("it has steps");
    steps.iter().map(|step| &*step.label).collect()
}

/// The values of the spans with this name.
fn values(reward: &Score, label: &str) -> Vec<f64> {
    let spans = reward.evidence.spans.iter().flatten();
    let spans = spans.filter(|span| span.label == label);
    spans.map(|span| span.value.expect("a value")).collect()
}
