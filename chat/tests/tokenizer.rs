//! Tokenizers against transformers, their files, and streams of tokens.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

mod tokenizer_support;

use std::fs;
use std::path::Path;

use chat::Text;
use chat::{ChatError, Tokenizer};
use proptest::prelude::{ProptestConfig, prop, proptest};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use tokenizer_support::{
    chat, conversation, fixtures, folder, fragments, load, specials, user, with_family_template,
};

const KINDS: [&str; 7] = ["qwen", "llama3", "gpt2", "llama2", "mistral", "gemma", "words"];

fn goldens() -> Value {
    let text = fs::read_to_string(fixtures().join("tokenizer_goldens.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn texts_encode_and_decode_as_in_transformers() {
    let goldens = goldens();
    for kind in KINDS {
        let tokenizer = load(kind);
        let rows = goldens["encoded"][kind].as_array().unwrap();
        for (text, golden) in goldens["texts"].as_array().unwrap().iter().zip(rows) {
            let text = text.as_str().unwrap();
            let expected = ids(&golden["ids"]);
            assert_eq!(tokenizer.encode(text, false).unwrap(), expected, "{kind}: {text:?}");
            let trusted = tokenizer.encode_text(&Text::template(text)).unwrap();
            assert_eq!(trusted, expected, "{kind}: {text:?} stage by stage");
            let mut around = ids(&golden["with_special"]);
            around.extend(&expected);
            assert_eq!(tokenizer.encode(text, true).unwrap(), around, "{kind}: {text:?}");
            let decoded = |skip| tokenizer.decode(&expected, skip).unwrap();
            assert_eq!(decoded(false), golden["decoded"].as_str().unwrap(), "{kind}");
            assert_eq!(decoded(true), golden["skipped"].as_str().unwrap(), "{kind}");
        }
    }
}

#[test]
fn chats_encode_as_in_transformers() {
    let goldens = goldens();
    let mut compared = 0;
    for (name, chat) in goldens["chats"].as_object().unwrap() {
        let tokenizer = with_family_template(chat["tokenizer"].as_str().unwrap(), name);
        for (case, golden) in chat["renders"].as_object().unwrap() {
            let Some(expected) = golden.get("ids") else {
                continue;
            };
            let conversation = conversation(&goldens["conversations"][case]);
            let chat = tokenizer.encode_chat(&conversation).unwrap();
            assert_eq!(json!(chat.token_ids.len()), golden["count"], "{name}, {case}");
            let bytes: Vec<u8> = chat.token_ids.iter().flat_map(|id| id.to_le_bytes()).collect();
            let digest =
                Sha256::digest(&bytes)[..8].iter().fold(0u64, |d, b| d << 8 | u64::from(*b));
            let digest = format!("{digest:016x}");
            assert_eq!(json!(digest), *expected, "{name}, {case}");
            compared += 1;
        }
    }
    assert!(compared > 140, "{compared}");
}

#[test]
fn beginning_of_sequence_is_written_once() {
    let check = |kind: &str, name: &str, double: bool| {
        let tokenizer = with_family_template(kind, name);
        assert_eq!(tokenizer.report().unwrap().double_bos, double, "{kind}, {name}");
        if let Some(bos) = tokenizer.named_id("bos_token").filter(|_| double) {
            let ids = chat(&tokenizer, &user("hi"));
            assert_eq!(ids.iter().filter(|id| **id == bos).count(), 1, "{kind}, {name}");
            assert_eq!(ids[0], bos);
        }
    };
    check("llama3", "llama31", true);
    check("mistral", "mistral", true);
    check("gemma", "gemma", true);
    check("llama3", "chatml", false);
    check("gpt2", "olmo2", false);
    check("qwen", "qwen3", false);
}

#[test]
fn embedding_with_too_few_rows_is_refused() {
    let qwen = load("qwen");
    let size = qwen.vocab_size();
    qwen.check_against(size).unwrap();
    qwen.check_against(size + 100).unwrap();
    let error = qwen.check_against(size - 1).unwrap_err().to_string();
    assert!(error.contains("</think>") && error.contains(&(size - 1).to_string()), "{error}");
}

#[test]
fn token_roles_come_from_the_files() {
    let dir = folder("qwen");
    let write =
        |name: &str, json: &Value| fs::write(dir.path().join(name), json.to_string()).unwrap();
    write(
        "tokenizer_config.json",
        &json!({
            "bos_token": {"content": "<|im_start|>", "lstrip": false},
            "eos_token": "<|im_end|>",
            "pad_token": null,
            "add_bos_token": false,
            "extra_special_tokens": ["<new>"],
            "chat_template": [
                {"name": "default", "template": "a{{ bos_token }}"},
                {"name": "tool_use", "template": "b"},
            ],
        }),
    );
    write("generation_config.json", &json!({"eos_token_id": [7, 8]}));
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    assert_eq!(tokenizer.named("bos_token"), Some("<|im_start|>"));
    assert_eq!(tokenizer.named("pad_token"), None);
    let eos = tokenizer.id("<|im_end|>").unwrap();
    assert_eq!(tokenizer.eos_ids(), [7, 8, eos]);
    assert_eq!(tokenizer.declared().add_bos_token, Some(false));
    assert!(tokenizer.is_special(tokenizer.id("<new>").unwrap()));
    assert_eq!(
        tokenizer.template().render(&conversation(&user("x"))).unwrap().as_str(),
        "a<|im_start|>"
    );
    // A file of its own takes precedence over the field, and so does the older file.
    write("chat_template.json", &json!({"chat_template": "json"}));
    let rendered = |dir: &Path| {
        let tokenizer = Tokenizer::load(dir).unwrap();
        let rendered = tokenizer.template().render(&conversation(&user("x"))).unwrap();
        rendered.as_str().to_owned()
    };
    assert_eq!(rendered(dir.path()), "json");
    fs::write(dir.path().join("chat_template.jinja"), "jinja").unwrap();
    assert_eq!(rendered(dir.path()), "jinja");
}

#[test]
fn malformed_file_is_named_in_the_error() {
    let check = |file: &str, content: &str, expected: &[&str]| {
        let dir = folder("qwen");
        fs::write(dir.path().join(file), content).unwrap();
        let error = Tokenizer::load(dir.path()).unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{error}");
        }
    };
    check("tokenizer.json", "{", &["tokenizer.json"]);
    check("tokenizer.json", "{}", &["tokenizer.json"]);
    // The library panics on a merge that is shorter than the prefix of its second part.
    let merge = json!({
        "type": "BPE", "continuing_subword_prefix": "##",
        "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"],
    });
    check(
        "tokenizer.json",
        &json!({ "model": merge }).to_string(),
        &["tokenizer.json", "panicked"],
    );
    check("tokenizer_config.json", "[1]", &["tokenizer_config.json"]);
    check("tokenizer_config.json", r#"{"eos_token": 3}"#, &["tokenizer_config.json", "eos_token"]);
    check("tokenizer_config.json", r#"{"eos_token": {}}"#, &["eos_token.content"]);
    check("tokenizer_config.json", r#"{"add_bos_token": "yes"}"#, &["add_bos_token"]);
    check("tokenizer_config.json", r#"{"chat_template": 3}"#, &["chat_template"]);
    check("tokenizer_config.json", r#"{"chat_template": [{"name": "x"}]}"#, &["chat_template"]);
    check(
        "generation_config.json",
        r#"{"eos_token_id": -1}"#,
        &["generation_config.json", "eos_token_id"],
    );
    check("chat_template.json", "{}", &["chat_template.json", "chat_template"]);
    check("chat_template.jinja", "{% if x %}", &["template", "default"]);
    let empty = TempDir::new().unwrap();
    let error = Tokenizer::load(empty.path()).unwrap_err();
    assert!(matches!(&error, ChatError::Io { path, .. } if path.ends_with("tokenizer.json")));
    let error = load("qwen").encode_chat(&conversation(&user("x"))).unwrap_err().to_string();
    assert!(error.contains("no chat template"), "{error}");
}

/// Without the bounds, a prompt of a few bytes takes gigabytes.
#[test]
fn steps_that_multiply_a_text_are_refused() {
    let with = |field: &str, value: &Value| {
        let dir = folder("qwen");
        let path = dir.path().join("tokenizer.json");
        let mut state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        state[field] = value.clone();
        fs::write(&path, state.to_string()).unwrap();
        Tokenizer::load(dir.path())
    };
    let doubled = json!({ "type": "Replace", "pattern": { "String": "a" }, "content": "aa" });
    let doubled = |n| json!({ "type": "Sequence", "normalizers": vec![doubled.clone(); n] });
    let bytes = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false,
    });
    let bytes = |n| json!({ "type": "Sequence", "pretokenizers": vec![bytes.clone(); n] });
    for (field, value) in [("normalizer", doubled(11)), ("pre_tokenizer", bytes(5))] {
        let error = with(field, &value).unwrap_err().to_string();
        assert!(error.contains(field) && error.contains("times as long"), "{error}");
    }
    with("pre_tokenizer", &bytes(4)).unwrap();
    // Added tokens are normalized as the file is read: 2^60 bytes of this one.
    let state = |normalizer: Value, content: &str| {
        let token = json!({
            "id": 0, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": true, "special": true,
        });
        let model = json!({ "type": "BPE", "vocab": { content: 0 }, "merges": [] });
        let dir = TempDir::new().unwrap();
        let file = json!({ "normalizer": normalizer, "added_tokens": [token], "model": model });
        fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
        Tokenizer::load(dir.path()).unwrap_err().to_string()
    };
    let error = state(doubled(60), "<a>");
    assert!(error.contains("normalizer") && error.contains("times as long"), "{error}");
    let error = state(doubled(10), &"a".repeat(4_000));
    assert!(error.contains("16 times as long"), "{error}");
    let tokenizer = with("normalizer", &doubled(10)).unwrap();
    for text in ["a".repeat(4_000), "b".repeat(1_000) + &"a".repeat(1_000)] {
        for error in [
            tokenizer.encode(&text, false).unwrap_err(),
            tokenizer.encode_untrusted(&text, true).unwrap_err(),
            tokenizer.encode_text(&Text::template(text.as_str())).unwrap_err(),
        ] {
            assert!(error.to_string().contains("16 times as long"), "{error}");
        }
    }
    tokenizer.encode_untrusted("a", false).unwrap();
    let text = "b".repeat(1_000) + &"a".repeat(10);
    tokenizer.encode_untrusted(&text, false).unwrap();
}

#[test]
fn dropout_of_the_file_has_no_effect() {
    let check = |dropout: Value| {
        let merges = ["a a", "aa aa"];
        let vocabulary = json!({"a": 0, "aa": 1, "aaaa": 2});
        let model = json!({
            "type": "BPE", "dropout": dropout, "vocab": vocabulary, "merges": merges,
        });
        let dir = TempDir::new().unwrap();
        let file = json!({ "model": model }).to_string();
        fs::write(dir.path().join("tokenizer.json"), file).unwrap();
        let tokenizer = Tokenizer::load(dir.path()).unwrap();
        assert_eq!(tokenizer.encode_untrusted(&"aaaa".repeat(9), false).unwrap(), [2; 9]);
    };
    check(Value::Null);
    check(json!(0.5));
    check(json!(1.0));
}

#[test]
fn long_texts_are_encoded_completely_or_refused() {
    // Inputs that are hard for a regular expression: endless runs, and runs that almost match.
    let parts = ["a", " ", "\n", " a", "'s", "1", "é", "<|im_end|>", "<|im_", "  \n", ".!"];
    for kind in ["qwen", "llama3", "gemma"] {
        let tokenizer = load(kind);
        for part in parts {
            // So many spaces that a backtracking engine would give up, silently.
            let bytes = if part == " " { 1_500_000 } else { 100_000 };
            let text = part.repeat(bytes / part.len());
            let ids = tokenizer.encode_untrusted(&text, false).unwrap();
            assert!(tokenizer.decode(&ids, false).unwrap() == text, "{kind}: {part:?}");
            assert!(specials(&tokenizer, &ids).is_empty(), "{kind}: {part:?}");
        }
    }
    let long = "a".repeat(chat::MAX_TEXT_BYTES + 1);
    let tokenizer = load("qwen");
    for result in [tokenizer.encode(&long, false), tokenizer.encode_untrusted(&long, false)] {
        assert!(result.unwrap_err().to_string().contains("at most"));
    }
}

#[test]
fn untrusted_text_without_tokens_encodes_as_in_the_library() {
    let tokenizers = KINDS.map(load);
    proptest!(ProptestConfig::with_cases(200), |(text in fragments())| {
        for tokenizer in &tokenizers {
            let trusted = tokenizer.encode_text(&Text::template(text.as_str())).unwrap();
            assert_eq!(trusted, tokenizer.encode(&text, false).unwrap(), "{text:?}");
        }
    });
}

#[test]
fn byte_level_tokenizers_are_lossless() {
    let tokenizers = ["llama3", "gpt2"].map(load);
    proptest!(ProptestConfig::with_cases(200), |(text in ".{0,40}", hostile in fragments())| {
        for tokenizer in &tokenizers {
            for text in [&text, &hostile] {
                for ids in [tokenizer.encode(text, false), tokenizer.encode_untrusted(text, false)] {
                    assert_eq!(&tokenizer.decode(&ids.unwrap(), false).unwrap(), text);
                }
            }
        }
    });
}

/// The bytes of the tokens, one after the other.
fn bytes(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<u8> {
    let bytes = ids.iter().map(|id| tokenizer.token_bytes(*id).unwrap());
    bytes.collect::<Vec<_>>().concat()
}

#[test]
fn bytes_of_tokens_join_to_the_text() {
    let goldens = goldens();
    // Whether encoding keeps every character, and whether the first word carries a space.
    let check = |kind: &str, keeps: bool, space: &str| {
        let tokenizer = load(kind);
        for text in goldens["texts"].as_array().unwrap() {
            let text = text.as_str().unwrap();
            let ids = tokenizer.encode(text, false).unwrap();
            let bytes = String::from_utf8(bytes(&tokenizer, &ids)).unwrap();
            let decoded = tokenizer.decode(&ids, false).unwrap();
            let without = bytes.strip_prefix(space).unwrap_or(&bytes);
            assert!(bytes == decoded || without == decoded, "{kind}: {bytes:?}");
            assert!(!keeps || decoded == text, "{kind}: {text:?}");
        }
        let size = u32::try_from(tokenizer.vocab_size()).unwrap();
        assert_eq!(tokenizer.token_bytes(size), None, "{kind}");
    };
    check("gpt2", true, "");
    check("llama3", true, "");
    check("qwen", false, "");
    check("gemma", false, "");
    check("llama2", false, " ");
    check("mistral", false, " ");
    check("words", false, " ");
}

#[test]
fn special_tokens_spell_their_content() {
    let check = |kind: &str, token: &str| {
        let tokenizer = load(kind);
        let id = tokenizer.id(token).unwrap();
        assert_eq!(tokenizer.token_bytes(id).unwrap(), token.as_bytes());
    };
    check("qwen", "<|im_end|>");
    check("llama3", "<|eot_id|>");
    check("llama2", "</s>");
    check("gemma", "<end_of_turn>");
}

#[test]
fn byte_level_tokens_in_any_order_spell_the_decoded_text() {
    let tokenizer = load("gpt2");
    proptest!(ProptestConfig::with_cases(200), |(ids in prop::collection::vec(0u32..300, 0..24))| {
        let bytes = bytes(&tokenizer, &ids);
        assert_eq!(String::from_utf8_lossy(&bytes), tokenizer.decode(&ids, false).unwrap());
    });
}

fn streamed(tokenizer: &Tokenizer, ids: &[u32], skip: bool) -> String {
    let mut stream = tokenizer.decode_stream(skip);
    let mut text = String::new();
    for id in ids {
        text += &stream.step(*id).unwrap();
    }
    text + &stream.finish().unwrap()
}

#[test]
fn streamed_pieces_join_to_the_decoded_text() {
    let tokenizers = KINDS.map(load);
    proptest!(ProptestConfig::with_cases(100), |(text in ".{0,40}", hostile in fragments())| {
        for tokenizer in &tokenizers {
            for (text, skip) in [(&text, false), (&hostile, true), (&hostile, false)] {
                let ids = tokenizer.encode(text, true).unwrap();
                let whole = tokenizer.decode(&ids, skip).unwrap();
                assert_eq!(streamed(tokenizer, &ids, skip), whole, "{text:?}");
            }
        }
    });
}

#[test]
fn streamed_byte_level_tokens_in_any_order_join_to_the_decoded_text() {
    let tokenizer = load("gpt2");
    proptest!(ProptestConfig::with_cases(200), |(ids in prop::collection::vec(0u32..300, 0..24))| {
        let whole = tokenizer.decode(&ids, false).unwrap();
        assert_eq!(streamed(&tokenizer, &ids, false), whole);
    });
}

#[test]
fn character_is_streamed_when_complete() {
    let tokenizer = load("gpt2");
    let ids = tokenizer.encode("a🎉b", false).unwrap();
    let mut stream = tokenizer.decode_stream(false);
    let pieces: Vec<String> = ids.iter().map(|id| stream.step(*id).unwrap()).collect();
    assert!(pieces.contains(&"🎉".to_owned()), "{pieces:?}");
    assert!(pieces.iter().any(String::is_empty), "{pieces:?}");
    assert_eq!(pieces.concat(), "a🎉b");
}
