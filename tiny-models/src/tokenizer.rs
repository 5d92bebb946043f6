//! A small byte-level BPE tokenizer and its chat template, as files of the Hugging Face layout.
//!
//! Every text can be encoded, because all 256 bytes are tokens; a few dozen merges make words
//! shorter than their bytes. Special tokens and template follow ChatML.

use serde_json::{Map, Value, json};

/// The token that ends a text and fills padding.
pub const END_OF_TEXT: u32 = 300;
/// The token that begins a message.
pub const IM_START: u32 = 301;
/// The token that ends a message.
pub const IM_END: u32 = 302;
/// The token at which process reward models are read.
pub const STEP: u32 = 303;

/// Special tokens by id, which follow the merged ones without a gap.
const SPECIAL: [(u32, &str); 4] = [
    (END_OF_TEXT, "<|endoftext|>"),
    (IM_START, "<|im_start|>"),
    (IM_END, "<|im_end|>"),
    (STEP, "<extra_0>"),
];

/// Merges by rank, `Ġ` for a space. With the 256 bytes before them they end at [`END_OF_TEXT`].
const MERGES: [(&str, &str); 44] = [
    ("Ġ", "t"),
    ("h", "e"),
    ("i", "n"),
    ("Ġ", "a"),
    ("r", "e"),
    ("o", "n"),
    ("e", "r"),
    ("Ġt", "he"),
    ("a", "t"),
    ("Ġ", "s"),
    ("o", "u"),
    ("e", "n"),
    ("Ġ", "w"),
    ("i", "s"),
    ("o", "r"),
    ("i", "t"),
    ("Ġ", "o"),
    ("e", "s"),
    ("a", "n"),
    ("l", "l"),
    ("in", "g"),
    ("Ġ", "c"),
    ("Ġ", "b"),
    ("e", "d"),
    ("Ġ", "f"),
    ("a", "r"),
    ("Ġ", "p"),
    ("Ġo", "f"),
    ("Ġ", "m"),
    ("an", "d"),
    ("Ġt", "o"),
    ("Ġ", "in"),
    ("Ġ", "="),
    ("Ġ", "+"),
    ("u", "s"),
    ("a", "s"),
    ("is", "t"),
    ("as", "s"),
    ("ass", "ist"),
    ("assist", "an"),
    ("assistan", "t"),
    ("us", "er"),
    ("s", "y"),
    ("l", "y"),
];

/// Merges of verdict words, so that a generated model has verdicts of one token, with and without a
/// space before them. They follow the special tokens, whose ids are in many configurations.
const VERDICTS: [(u32, &str, &str); 4] =
    [(304, "Y", "es"), (305, "N", "o"), (306, "Ġ", "Yes"), (307, "Ġ", "No")];

/// Qwen2's split into words: contractions, letters, single digits, punctuation, space.
const SPLIT: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// ChatML; refuses unknown roles.
const CHAT_TEMPLATE: &str = r"{%- for message in messages %}
{%- if message['role'] not in ['system', 'user', 'assistant'] %}
{{- raise_exception('unknown role ' + message['role']) }}
{%- endif %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}";

/// `tokenizer.json`.
pub(crate) fn tokenizer_json() -> Value {
    let byte_level = |regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": regex });
    let added: Vec<_> = SPECIAL
        .iter()
        .map(|(id, content)| {
            json!({
                "id": id, "content": content, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true,
            })
        })
        .collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": { "type": "NFC" },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                { "type": "Split", "pattern": { "Regex": SPLIT }, "behavior": "Isolated", "invert": false },
                byte_level(false),
            ],
        },
        "post_processor": byte_level(false),
        "decoder": byte_level(false),
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
            "vocab": vocabulary(),
            "merges": merges(),
        },
    })
}

/// `tokenizer_config.json` of a model with this many positions.
pub(crate) fn tokenizer_config_json(max_positions: usize) -> Value {
    let special: Map<String, Value> = SPECIAL
        .iter()
        .map(|(id, content)| {
            let token = json!({
                "content": content, "lstrip": false, "normalized": false, "rstrip": false,
                "single_word": false, "special": true,
            });
            (id.to_string(), token)
        })
        .collect();
    json!({
        "add_prefix_space": false,
        "added_tokens_decoder": special,
        "bos_token": null,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": false,
        "eos_token": "<|im_end|>",
        "model_max_length": max_positions,
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": null,
    })
}

fn vocabulary() -> Map<String, Value> {
    let bytes = alphabet().into_iter().map(String::from);
    let merged = MERGES.iter().map(|(a, b)| format!("{a}{b}"));
    let tokens = bytes.chain(merged).zip(0_u32..);
    let verdicts = VERDICTS.iter().map(|(id, a, b)| (format!("{a}{b}"), *id));
    // The library numbers added tokens after the vocabulary unless it contains them already.
    let special = SPECIAL.iter().map(|(id, content)| ((*content).to_owned(), *id));
    let tokens = tokens.chain(special).chain(verdicts);
    tokens.map(|(token, id)| (token, id.into())).collect()
}

fn merges() -> Vec<Value> {
    let verdicts = VERDICTS.iter().map(|(_, a, b)| (*a, *b));
    let all = MERGES.into_iter().chain(verdicts);
    all.map(|(a, b)| json!([a, b])).collect()
}

/// The character that represents each byte in byte-level BPE (GPT-2, Radford et al., 2019):
/// printable Latin-1 represents itself, the rest in order the characters from U+0100 on. Visible
/// bytes come first, as in the published vocabularies.
fn alphabet() -> Vec<char> {
    let visible = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let (shown, hidden): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(visible);
    let stand_ins = ('\u{100}'..).take(hidden.len());
    shown.into_iter().map(char::from).chain(stand_ins).collect()
}

#[cfg(test)]
mod tests {
    use tokenizers::Tokenizer;

    use super::{IM_END, IM_START, STEP, tokenizer_json};

    fn tokenizer() -> Tokenizer {
        let json = tokenizer_json().to_string();
        Tokenizer::from_bytes(json.as_bytes()).expect("a tokenizer")
    }

    #[test]
    fn texts_round_trip_and_common_words_are_short() {
        let tokenizer = tokenizer();
        let check = |text: &str, n_tokens: usize| {
            let encoding = tokenizer.encode(text, false).expect("bytes are tokens");
            assert_eq!(encoding.get_ids().len(), n_tokens, "{text:?}");
            let back = tokenizer.decode(encoding.get_ids(), false).expect("known");
            assert_eq!(back, text);
        };
        check("", 0);
        check("the", 2);
        check("of the", 3);
        check("assistant", 1);
        check("Yes No", 2);
        check(" Yes", 1);
        check("1 + 12 = 13\n", 10);
        check("λ→🦀\0\u{7f}", 11);
    }

    #[test]
    fn special_tokens_have_the_ids_that_the_configuration_names() {
        let encoding = tokenizer()
            .encode("<|im_start|>user<|im_end|><extra_0>", false)
            .expect("bytes are tokens");
        let user = tokenizer().token_to_id("user").expect("merged");
        assert_eq!(encoding.get_ids(), [IM_START, user, IM_END, STEP]);
    }
}
