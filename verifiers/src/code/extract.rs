//! The program in a response.

use sandbox::Language;

use crate::extract;

/// The program in `response`: its last fenced block marked as `language`, else its last fenced block,
/// else all visible text; `None` if no text is visible.
pub fn source(response: &str, language: Language) -> Option<String> {
    let visible = extract::visible_response(response)?.text;
    let blocks = fenced(visible);
    let marked = blocks.iter().rev().find(|(word, _)| Language::from_word(word) == Some(language));
    match marked.or(blocks.last()) {
        Some((_, body)) => Some(body.clone()),
        None if visible.trim().is_empty() => None,
        None => Some(visible.to_owned()),
    }
}

/// The word after the fence of the last block that has one; `None` if no block has.
pub fn marked_language(response: &str) -> Option<String> {
    let visible = extract::visible_response(response)?.text;
    fenced(visible).into_iter().rev().map(|(word, _)| word).find(|word| !word.is_empty())
}

/// Fenced blocks with the word after their opening fence. A block that does not close ends with the
/// text, because a response may be cut.
pub(crate) fn fenced(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, String, String)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        match &mut open {
            None => {
                let ticks = bare.len() - bare.trim_start_matches('`').len();
                if ticks >= 3 {
                    let word = bare[ticks..].split_whitespace().next().unwrap_or_default();
                    open = Some((&bare[..ticks], word.to_owned(), String::new()));
                }
            }
            Some((fence, word, body)) => {
                if bare.starts_with(*fence) && bare.trim_matches('`').is_empty() {
                    blocks.push((std::mem::take(word), std::mem::take(body)));
                    open = None;
                } else {
                    body.push_str(line);
                }
            }
        }
    }
    if let Some((_, word, body)) = open {
        blocks.push((word, body));
    }
    blocks
}
