//! The task's folder compared with transformers: tokens, chats and logits are equal.
//!
//! `toytask/tests/goldens/task_folder.py` writes transformers' results for the folder, which this
//! test makes again from its seed.

use std::path::Path;

use chat::{Conversation, Tokenizer};
use models::batch::{Output, OutputSpec, PackItem, pack};
use models::{Forward as _, LoadOptions, Model, Runner};
use serde::Deserialize;
use serde_json::Value;
use toytask::{ModelSize, write_model_folder};

/// The results of transformers.
#[derive(Deserialize)]
struct Golden {
    weights: String,
    columns: Vec<usize>,
    texts: Vec<(String, Vec<u32>)>,
    conversations: Vec<Chat>,
}

#[derive(Deserialize)]
struct Chat {
    messages: Vec<Value>,
    rendered: String,
    token_ids: Vec<u32>,
    /// Some columns at the last token; empty if the chat is longer than the model's context.
    logits: Vec<f32>,
    /// At every sixteenth token.
    logsumexp: Vec<f32>,
}

/// The largest difference that rounding may cause.
const TOLERANCE: f32 = 1e-4;
/// The golden has the sum of one in this many tokens.
const EVERY: usize = 16;

fn golden() -> Golden {
    serde_json::from_str(include_str!("goldens/task_folder.json")).expect("the golden is JSON")
}

fn made(check: impl FnOnce(&Path)) {
    let parent = tempfile::tempdir().expect("a folder");
    let dir = parent.path().join("model");
    write_model_folder(&dir, ModelSize::SMOKE, 5).expect("it is written");
    check(&dir);
}

#[test]
fn tokens_and_chats_equal_transformers() {
    made(|dir| {
        let golden = golden();
        let tokenizer = Tokenizer::load(dir).expect("it loads");
        for (text, ids) in &golden.texts {
            let found = tokenizer.encode_untrusted(text, true).expect("it encodes");
            assert_eq!(&found, ids, "{text:?}");
        }
        for chat in &golden.conversations {
            let conversation = Conversation {
                messages: chat.messages.clone(),
                add_generation_prompt: true,
                ..Conversation::default()
            };
            let rendered = tokenizer.template().render(&conversation);
            let rendered = rendered.expect("it renders");
            assert_eq!(rendered.as_str(), chat.rendered);
            let ids = tokenizer.encode_text(&rendered.text).expect("it encodes");
            assert_eq!(ids, chat.token_ids, "{}", chat.rendered);
        }
    });
}

#[test]
fn logits_equal_transformers() {
    made(|dir| {
        let golden = golden();
        let weights = std::fs::read(dir.join("model.safetensors")).expect("there");
        let digest = base::digest::of(&weights);
        assert_eq!(digest, golden.weights, "the weights that transformers read");
        let model = Model::load(dir, &LoadOptions::default()).expect("it loads");
        let mut runner = Runner::new(model.decoder, model.head);
        let mut most = 0.0_f32;
        for chat in golden.conversations.iter().filter(|chat| !chat.logits.is_empty()) {
            let rows = all_logits(&mut runner, &chat.token_ids);
            for (found, expected) in rows.iter().step_by(EVERY).zip(&chat.logsumexp) {
                let sum: f32 = found.iter().map(|x| x.exp()).sum();
                most = most.max((sum.ln() - expected).abs());
            }
            let last = rows.last().expect("a chat has tokens");
            for (column, expected) in golden.columns.iter().zip(&chat.logits) {
                most = most.max((last[*column] - expected).abs());
            }
        }
        assert!(most < TOLERANCE, "they differ by {most}");
    });
}

/// The logits at every token.
fn all_logits(runner: &mut Runner, token_ids: &[u32]) -> Vec<Vec<f32>> {
    let item = PackItem {
        token_ids: token_ids.to_vec(),
        start: 0,
        adapter: None,
        outputs: (0..token_ids.len()).map(|at| (at, OutputSpec::Vocab)).collect(),
        blocks: Vec::new(),
    };
    let batch = pack(&[item]).expect("it packs");
    let outputs = runner.forward(&batch).expect("a forward");
    let rows = outputs.rows.into_iter().map(|row| match row {
        Output::Vocab(logits) => Some(logits),
        Output::Head(_) | Output::Labels { .. } | Output::Logprob { .. } | Output::Hidden(_) => {
            None
        }
    });
    let rows: Option<Vec<Vec<f32>>> = rows.collect();
    rows.expect("the vocabulary was requested")
}
