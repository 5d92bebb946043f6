//! Any `tokenizer.json`: it is refused, or encodes texts within its bound of growth.

use chat::Tokenizer;

use super::folder;

/// The most tokens of a byte of text: the limit of growth of a tokenizer.
const MOST_GROWTH: usize = 1024;

const TEXTS: [&str; 4] = [
    "",
    "What is 2 + 2?",
    "<|im_start|>é\u{301}\u{0}\t 中文 🎲",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Loads it, and encodes and decodes. A thread of its own, because the library keeps words of each
/// tokenizer as long as the thread that encoded them.
pub(crate) fn run(data: &[u8]) {
    std::thread::scope(|scope| scope.spawn(|| encode(data)).join().expect("no panic"));
}

fn encode(data: &[u8]) {
    let folder = folder::with(&[("tokenizer.json", data)]);
    let Ok(tokenizer) = Tokenizer::load(folder) else {
        return;
    };
    for text in TEXTS {
        let Ok(ids) = tokenizer.encode_untrusted(text, true) else {
            continue;
        };
        assert!(ids.len() <= (text.len() + 16) * MOST_GROWTH, "{} tokens of {text:?}", ids.len());
        assert_eq!(tokenizer.encode_untrusted(text, true).ok().as_ref(), Some(&ids));
        // A decoder may refuse.
        let _ = tokenizer.decode(&ids, false);
    }
}
