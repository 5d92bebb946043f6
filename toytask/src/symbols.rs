//! The vocabulary of the toy task's models: one token per character.
//!
//! The ids of printable ASCII and of the line break are their codes. Below and between them are the
//! special tokens, which no text can spell: they begin messages and questions. A few words are one
//! token because judges are read for them at a single place. Every other character is the unknown
//! token.

use serde_json::{Map, Value, json};

/// Rows of the embedding: tokens, including reserved ones.
pub const VOCABULARY: usize = 144;

/// Fills padding.
pub const PAD: u32 = 0;
/// Begins every conversation.
pub const BEGIN: u32 = 2;
/// Ends the model's reply.
pub const END: u32 = 3;
/// Ends a step to be judged.
pub const STEP: u32 = 8;

/// The text of [`STEP`].
pub const STEP_TEXT: &str = "<|step|>";

/// Special tokens. The roles of messages and the questions of judges are those of the chat
/// template.
const SPECIAL: [(u32, &str); 26] = [
    (PAD, "<|pad|>"),
    (1, UNKNOWN),
    (BEGIN, "<|begin|>"),
    (END, "<|end|>"),
    (4, "<|system|>"),
    (5, "<|user|>"),
    (6, "<|assistant|>"),
    (7, "<|tool|>"),
    (STEP, STEP_TEXT),
    (9, "<|principle|>"),
    (11, "<|pointwise|>"),
    (12, "<|critic|>"),
    (13, "<|retrospective|>"),
    (14, "<|grade|>"),
    (15, "<|pair|>"),
    (16, "<|list|>"),
    (17, "<|reference|>"),
    (18, "<|verify|>"),
    (19, "<|tools|>"),
    (20, "<|document|>"),
    (21, "<|sentence|>"),
    (22, "<|faithful|>"),
    (23, "<|correct|>"),
    (24, "<|grounded|>"),
    (25, "<|context|>"),
    (26, "<|again|>"),
];

const UNKNOWN: &str = "<|unknown|>";

/// Words of one token.
const WORDS: [(u32, &str); 6] = [
    (127, "Yes"),
    (128, "No"),
    (129, " Yes"),
    (130, " No"),
    (131, "[Correct]"),
    (132, "[Incorrect]"),
];

/// The brackets of a call, which a model may write and a person may not.
const CALLS: [(u32, &str); 2] = [(133, "<tool_call>"), (134, "</tool_call>")];

/// The split into tokens: the words, otherwise single characters.
const SPLIT: &str = r" ?\b(?:Yes|No)\b|\[Correct\]|\[Incorrect\]|[\s\S]";

/// `tokenizer.json`.
pub fn tokenizer_json() -> Value {
    let added = added_tokens()
        .map(|(id, content, special)| {
            let mut fields = token(&content, special);
            fields.insert("id".to_owned(), id.into());
            Value::Object(fields)
        })
        .collect::<Vec<_>>();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Split", "pattern": { "Regex": SPLIT }, "behavior": "Isolated", "invert": false,
        },
        "post_processor": null,
        "decoder": { "type": "Fuse" },
        "model": { "type": "WordLevel", "vocab": vocabulary(), "unk_token": UNKNOWN },
    })
}

/// `tokenizer_config.json` of a model with this many positions. The chat template is a separate
/// file.
pub fn tokenizer_config_json(max_positions: usize) -> Value {
    let decoder: Map<String, Value> = added_tokens()
        .map(|(id, content, special)| (id.to_string(), token(&content, special).into()))
        .collect();
    json!({
        "added_tokens_decoder": decoder,
        "bos_token": special_text(BEGIN),
        "clean_up_tokenization_spaces": false,
        "eos_token": special_text(END),
        "model_max_length": max_positions,
        "pad_token": special_text(PAD),
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": UNKNOWN,
    })
}

/// The text of a special token.
fn special_text(id: u32) -> &'static str {
    let found = SPECIAL.iter().find(|(known, _)| *known == id);
    found.expect("it is one of the special tokens").1
}

/// Special tokens, reserved ones, and the brackets of calls, by id.
fn added_tokens() -> impl Iterator<Item = (u32, String, bool)> {
    let taken = |id: &u32| {
        matches!(id, 10 | 32..=126)
            || SPECIAL.iter().any(|(known, _)| known == id)
            || WORDS.iter().chain(&CALLS).any(|(known, _)| known == id)
    };
    let all = 0..u32::try_from(VOCABULARY).expect("a small number");
    let reserve = all.filter(move |id| !taken(id)).enumerate();
    let reserve = reserve.map(|(n, id)| (id, format!("<|reserved_{n}|>"), true));
    let own = SPECIAL.iter().map(|(id, text)| (*id, (*text).to_owned(), true));
    let calls = CALLS.iter().map(|(id, text)| (*id, (*text).to_owned(), false));
    let mut tokens: Vec<_> = own.chain(reserve).chain(calls).collect();
    tokens.sort_by_key(|(id, _, _)| *id);
    tokens.into_iter()
}

fn token(content: &str, special: bool) -> Map<String, Value> {
    let flags = ["lstrip", "normalized", "rstrip", "single_word"];
    let flags = flags.map(|flag| (flag.to_owned(), false.into()));
    let mut fields: Map<String, Value> = flags.into_iter().collect();
    fields.insert("content".to_owned(), content.into());
    fields.insert("special".to_owned(), special.into());
    fields
}

fn vocabulary() -> Map<String, Value> {
    let characters = (32_u8..127).chain([b'\n']);
    let characters = characters.map(|byte| (u32::from(byte), char::from(byte).to_string()));
    let words = WORDS.iter().map(|(id, text)| (*id, (*text).to_owned()));
    let added = added_tokens().map(|(id, content, _)| (id, content));
    let mut all: Vec<(u32, String)> = characters.chain(words).chain(added).collect();
    all.sort_unstable();
    all.into_iter().map(|(id, content)| (content, id.into())).collect()
}
