//! A verifier with tools over scripted models: its loop, its calls, its verdicts.

mod calls;
mod conversation;
mod running;

use crate::{Input, Passage};

/// A question whose answer is 4, and a response.
fn input_of(response: &str) -> Input {
    Input {
        prompt: Some(Passage::Text("What is 2 + 2?".to_owned()).into()),
        ..Input::of(response).against("4")
    }
}
