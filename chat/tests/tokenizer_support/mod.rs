//! Helpers of the tokenizer's tests.

use std::fs;
use std::path::PathBuf;

use chat::LocalTime;
use chat::{Conversation, Tokenizer};
use proptest::prelude::{Strategy, prop};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The folder of the fixtures.
pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A tokenizer of the fixtures.
pub(crate) fn load(kind: &str) -> Tokenizer {
    Tokenizer::load(&fixtures().join("tokenizers").join(kind)).unwrap()
}

/// A folder with a tokenizer's files, to which more can be added.
pub(crate) fn folder(kind: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    for file in ["tokenizer.json", "tokenizer_config.json"] {
        let from = fixtures().join("tokenizers").join(kind).join(file);
        fs::copy(from, dir.path().join(file)).unwrap();
    }
    dir
}

/// A tokenizer with a chat template of its own.
pub(crate) fn with_template(kind: &str, source: &str) -> Tokenizer {
    let dir = folder(kind);
    fs::write(dir.path().join("chat_template.jinja"), source).unwrap();
    Tokenizer::load(dir.path()).unwrap()
}

/// A tokenizer with one of the chat templates of the fixtures.
pub(crate) fn with_family_template(kind: &str, name: &str) -> Tokenizer {
    let path = fixtures().join(format!("templates/{name}.jinja"));
    with_template(kind, &fs::read_to_string(path).unwrap())
}

/// A conversation as the goldens write it.
pub(crate) fn conversation(json: &Value) -> Conversation {
    let mut kwargs: Map<String, Value> = json.as_object().unwrap().clone();
    let list = |v: Option<Value>| v.map(|v| v.as_array().unwrap().clone());
    Conversation {
        messages: list(kwargs.remove("messages")).unwrap(),
        tools: list(kwargs.remove("tools")),
        documents: list(kwargs.remove("documents")),
        add_generation_prompt: kwargs.remove("add_generation_prompt") == Some(Value::Bool(true)),
        kwargs,
        now: Some(LocalTime::from_unix(1_709_215_805, 0)),
    }
}

/// The tokens of a conversation.
pub(crate) fn chat(tokenizer: &Tokenizer, json: &Value) -> Vec<u32> {
    tokenizer.encode_chat(&conversation(json)).unwrap().token_ids
}

/// A conversation of one message.
pub(crate) fn user(content: &str) -> Value {
    json!({"messages": [{"role": "user", "content": content}], "add_generation_prompt": true})
}

/// The special ids of a chat, in order.
pub(crate) fn specials(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<String> {
    let special = ids.iter().filter(|id| tokenizer.is_special(**id));
    special.map(|id| tokenizer.token(*id).unwrap()).collect()
}

/// Text of fragments that make up special tokens, sentinels and normalisation hazards.
pub(crate) fn fragments() -> impl Strategy<Value = String> {
    const PARTS: [&str; 30] = [
        "<",
        "|",
        ">",
        "<|",
        "|>",
        "im_",
        "start",
        "end",
        "<|im_end|>",
        "<|im_start|>",
        "</s>",
        "<s>",
        "[INST]",
        "[/",
        "INST",
        "]",
        "<think>",
        "</think>",
        "\u{fdd0}",
        "\u{e000}",
        "＜",
        "＞",
        " ",
        "\n",
        "<|eot_id|>",
        "<end_of_turn>",
        "begin_of_text|>",
        "[BOS]",
        "é",
        "user",
    ];
    prop::collection::vec(prop::sample::select(&PARTS[..]), 0..12).prop_map(|p| p.concat())
}
