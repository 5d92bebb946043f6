//! Any constraint: the first byte says which, the rest is its text. It is refused, or each mask
//! allows a token that it then takes.

use std::sync::OnceLock;

use chat::Tokenizer;
use engine::{Grammar, Vocabulary};
use tiny_models::{Preset, TinySpec, make};

/// Tokens of the tiny models.
const VOCABULARY: u32 = 320;

/// Tokens of a text.
const MOST_TOKENS: usize = 24;

fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY_OF: OnceLock<Vocabulary> = OnceLock::new();
    VOCABULARY_OF.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model");
        make(&path, &TinySpec::from(Preset::Qwen2)).expect("a model");
        let tokenizer = Tokenizer::load(&path).expect("it was made");
        Vocabulary::new(&tokenizer, VOCABULARY as usize).expect("a vocabulary")
    })
}

fn grammar(kind: u8, text: &str) -> Option<Grammar> {
    Some(match kind {
        b'r' => Grammar::Regex(text.to_owned()),
        b'l' => Grammar::Lark(text.to_owned()),
        b'c' => Grammar::Choice(text.split('\n').map(str::to_owned).collect()),
        b'j' => Grammar::JsonSchema(serde_json::from_str(text).ok()?),
        _ => return None,
    })
}

/// Compiles, and walks along allowed tokens, which the bytes of the input choose.
pub(crate) fn run(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let text = std::str::from_utf8(text).ok();
    let Some(grammar) = text.and_then(|text| grammar(*kind, text)) else {
        return;
    };
    let Ok(mut constraint) = vocabulary().compile(&grammar) else {
        return;
    };
    for step in 0..MOST_TOKENS {
        if constraint.is_complete() {
            return;
        }
        // At its limits a constraint stops with an error.
        let Ok(mask) = constraint.mask() else {
            return;
        };
        let allowed: Vec<u32> = (0..VOCABULARY).filter(|id| mask.allows(*id)).collect();
        assert!(!allowed.is_empty(), "{grammar:?}: an empty mask is a dead end");
        let byte = data[step % data.len()];
        let token = allowed[usize::from(byte) % allowed.len()];
        let copy = step.is_multiple_of(8).then(|| constraint.fork());
        let taken = constraint.accept(token);
        if let Some(mut copy) = copy {
            assert_eq!(taken, copy.accept(token), "{grammar:?}: a copy decides alike");
        }
        if taken.is_err() {
            return;
        }
    }
}
