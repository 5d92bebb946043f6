//! Bounds on how much longer the steps of tokenizer.json may make a text.
//!
//! Each step may make a text a few times longer, and so a few dozen steps, each harmless, would fill
//! any memory with a short text. The bound is the product of the steps' largest factors. Unicode
//! normal forms count once: a second one changes nothing.

//!
//! A character map lists replacements whose keys the check does not read, so that the bound on the
//! normalizer's rules is far above what it makes of any real text. Where its rules may pass the
//! bound on texts, each text is measured before it is normalized as a whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokenizers::utils::SysRegex;
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizedString, Normalizer, NormalizerWrapper,
    PostProcessorWrapper, PreTokenizerWrapper,
};

/// Largest factor of the normalizer's rules; those of published models are below 700.
const MAX_RULE_GROWTH: f64 = 1024.0;

/// Largest factor of another part; those of published models are below 9.
const MAX_PART_GROWTH: f64 = 16.0;

/// Largest factor by which a text may grow when it is normalized; the longest replacement in
/// Unicode's compatibility forms has 11.
const MAX_TEXT_GROWTH: usize = 16;

/// Bytes that any text may grow by.
const SHORT_GROWTH: usize = 1 << 10;

/// Bytes of a text that are normalized at a time to measure it.
const PART_BYTES: usize = 256;

/// Most steps of a part.
const MAX_STEPS: usize = 256;

/// The parts of tokenizer.json with steps, and the texts that are normalized as the file is read.
#[derive(Deserialize)]
struct Parts {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
    decoder: Option<DecoderWrapper>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

/// Checks the normalizer, the pre-tokenizer, the post-processor and the decoder of a tokenizer.json, before
/// the library reads it: it normalizes added tokens as it does. Returns whether each text is to be measured
/// with [`check_text`].
///
/// # Errors
/// The part that exceeds a bound, and the bound, or a part that the library does not know.
pub(super) fn check_rules(bytes: &[u8]) -> tokenizers::Result<bool> {
    let parts: Parts = serde_json::from_slice(bytes)?;
    let measures_texts = check_steps(&parts)?;
    if let (true, Some(normalizer)) = (measures_texts, &parts.normalizer) {
        for token in parts.added_tokens.iter().filter(|token| token.normalized) {
            check_text(normalizer, &token.content)?;
        }
    }
    Ok(measures_texts)
}

fn check_steps(parts: &Parts) -> Result<bool, String> {
    let mut measures_texts = false;
    for (part, steps) in [
        ("normalizer", json(parts.normalizer.as_ref())?),
        ("pre_tokenizer", json(parts.pre_tokenizer.as_ref())?),
        ("post_processor", json(parts.post_processor.as_ref())?),
        ("decoder", json(parts.decoder.as_ref())?),
    ] {
        let mut total = Growth::new();
        total.add(&steps);
        if total.steps > MAX_STEPS {
            return Err(format!("field `{part}`: more than {MAX_STEPS} steps"));
        }
        // After such a step the library panics on almost every text; a decoder has no offsets to lose.
        if part == "normalizer" && total.replaces_nothing {
            return Err(format!(
                "field `{part}`: a pattern of a replacement matches the empty text"
            ));
        }
        // An infinite factor is refused too.
        let most = if part == "normalizer" { MAX_RULE_GROWTH } else { MAX_PART_GROWTH };
        if total.factor > most {
            return Err(format!(
                "field `{part}`: its steps may make a text more than {most} times as long"
            ));
        }
        measures_texts |= part == "normalizer" && total.factor > as_f64(MAX_TEXT_GROWTH);
    }
    Ok(measures_texts)
}

/// Refuses a text that `normalizer` makes too long. It is normalized in parts, so that measuring
/// takes little memory; rules that span two parts change its length by little.
///
/// # Errors
/// The bound, or a failure of the library.
pub(super) fn check_text(normalizer: &impl Normalizer, text: &str) -> tokenizers::Result<()> {
    let most = text.len().saturating_mul(MAX_TEXT_GROWTH) + SHORT_GROWTH;
    let (mut rest, mut bytes) = (text, 0);
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        let mut part = NormalizedString::from(part);
        normalizer.normalize(&mut part)?;
        bytes += part.get().len();
        if bytes > most {
            let text = text.len();
            return Err(format!(
                "the normalizer makes a text of {text} bytes more than {MAX_TEXT_GROWTH} times as long"
            )
            .into());
        }
        rest = after;
    }
    Ok(())
}

fn json(part: Option<&impl Serialize>) -> Result<Value, String> {
    serde_json::to_value(part).map_err(|error| error.to_string())
}

struct Growth {
    factor: f64,
    steps: usize,
    has_unicode_form: bool,
    /// Whether a replacement's pattern matches the empty text.
    replaces_nothing: bool,
}

impl Growth {
    fn new() -> Growth {
        Growth { factor: 1.0, steps: 0, has_unicode_form: false, replaces_nothing: false }
    }

    fn add(&mut self, step: &Value) {
        self.steps += 1;
        self.factor *= match step["type"].as_str().unwrap_or_default() {
            "Sequence" => {
                let lists = ["normalizers", "pretokenizers", "processors", "decoders"];
                let steps = lists.iter().filter_map(|list| step[*list].as_array()).flatten();
                steps.for_each(|step| self.add(step));
                1.0
            }
            // U+FDFA: 3 bytes become 33.
            "NFC" | "NFD" | "NFKC" | "NFKD" => {
                if std::mem::replace(&mut self.has_unicode_form, true) { 1.0 } else { 11.0 }
            }
            // Spaces around an ideograph, canonical decomposition, lower case.
            "BertNormalizer" => 8.0,
            // U+0130: 2 bytes become 3.
            "Lowercase" => 1.5,
            "Precompiled" => longest_replacement(&step["precompiled_charsmap"]),
            "Replace" => {
                self.replaces_nothing |= matches_nothing(&step["pattern"]);
                replacement(&step["pattern"], &step["content"])
            }
            // Before each text between two added tokens, of one byte at least.
            "Prepend" => 1.0 + length(&step["prepend"]),
            "ByteLevel" => 2.0,
            "Metaspace" => 4.0,
            "TemplateProcessing" => {
                let pieces = step["single"].as_array().into_iter().flatten();
                as_f64(pieces.filter(|piece| !piece["Sequence"].is_null()).count()).max(1.0)
            }
            _ => 1.0,
        };
    }
}

/// The factor of a replacement. A regular expression may match the empty text before every byte.
fn replacement(pattern: &Value, content: &Value) -> f64 {
    match length(&pattern["String"]) {
        0.0 => 1.0 + length(content),
        shortest => (length(content) / shortest).max(1.0),
    }
}

/// Whether a pattern matches the empty text.
fn matches_nothing(pattern: &Value) -> bool {
    let expression = pattern["Regex"].as_str().map(SysRegex::new);
    match expression {
        Some(expression) => expression.is_ok_and(|regex| regex.find_iter("").next().is_some()),
        None => pattern["String"] == "",
    }
}

fn length(text: &Value) -> f64 {
    as_f64(text.as_str().map_or(0, str::len))
}

#[expect(clippy::cast_precision_loss, reason = "a bound on lengths that memory holds")]
fn as_f64(length: usize) -> f64 {
    length as f64
}

/// The longest text that a character map has in place of one byte or more: the map is the size of a
/// trie, the trie, and texts that end with a zero byte.
fn longest_replacement(map: &Value) -> f64 {
    let map = base64(map.as_str().unwrap_or_default());
    let trie = map.first_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    let texts = map.get(4_usize.saturating_add(trie)..).unwrap_or(&map);
    let longest = texts.split(|byte| *byte == 0).map(<[u8]>::len).max();
    as_f64(longest.unwrap_or(0)).max(1.0)
}

/// The bytes of a base64 text that a library wrote.
fn base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter_map(|byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    });
    let (mut bytes, mut bits, mut n_bits) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for digit in digits {
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.extend_from_slice(&(bits >> n_bits).to_le_bytes()[..1]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(steps: &Value, expected: f64) {
        let mut total = Growth::new();
        total.add(steps);
        assert!((total.factor - expected).abs() < 1e-9, "{steps}: {}", total.factor);
    }

    fn replace(pattern: &Value, content: &str) -> Value {
        json!({ "type": "Replace", "pattern": pattern, "content": content })
    }

    #[test]
    fn factors_of_steps() {
        for (kind, expected) in [("NFKC", 11.0), ("Strip", 1.0), ("ByteLevel", 2.0)] {
            check(&json!({ "type": kind }), expected);
        }
        check(&Value::Null, 1.0);
        for (pattern, content, expected) in [
            (json!({ "String": " " }), "▁", 3.0),
            (json!({ "String": "aaaa" }), "b", 1.0),
            (json!({ "String": "" }), "bb", 3.0),
            (json!({ "Regex": " {2,}" }), "▁", 4.0),
        ] {
            check(&replace(&pattern, content), expected);
        }
        // A trie of no bytes, and the texts "a" and "abcdef".
        let map = json!({ "type": "Precompiled", "precompiled_charsmap": "AAAAAGEAYWJjZGVmAA==" });
        check(&map, 6.0);
    }

    #[test]
    fn patterns_of_the_empty_text_are_found() {
        for (pattern, expected) in [
            (json!({ "String": "" }), true),
            (json!({ "Regex": "" }), true),
            (json!({ "Regex": "a*" }), true),
            (json!({ "String": " " }), false),
            (json!({ "Regex": " {2,}" }), false),
            (json!({ "Regex": "^ " }), false),
        ] {
            let mut total = Growth::new();
            let step = replace(&pattern, "x");
            total.add(&json!({ "type": "Sequence", "normalizers": [step] }));
            assert_eq!(total.replaces_nothing, expected, "{pattern}");
        }
    }

    #[test]
    fn factors_multiply_and_unicode_forms_count_once() {
        let unicode = ["NFD", "NFKC", "NFKD"].map(|kind| json!({ "type": kind }));
        check(&json!({ "type": "Sequence", "normalizers": unicode }), 11.0);
        let twice = replace(&json!({ "String": "a" }), "aa");
        let inner = json!({ "type": "Sequence", "normalizers": vec![twice.clone(); 5] });
        let outer = json!({ "type": "Sequence", "normalizers": [inner, twice] });
        check(&outer, 64.0);
    }
}
