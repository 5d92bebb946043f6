//! The program in a response.

use sandbox::Language;

use crate::extract;

/// The program in `response`: its last fenced block marked as `language`, else its last fenced block,
/// else all visible text, with the indentation of its first line; `None` if no text is visible.
pub fn source(response: &str, language: Language) -> Option<String> {
    let found = extract::visible_response(response)?;
    let visible = found.text;
    let blocks = fenced(visible);
    let marked = blocks.iter().rev().find(|(word, _)| Language::from_word(word) == Some(language));
    if let Some((_, body)) = marked.or(blocks.last()) {
        return Some(body.clone());
    }
    // It may continue a function of the prompt.
    let start = line_start(response, found.span.start);
    Some(response[start..found.span.end].to_owned())
}

/// The start of the line that `at` is in, if nothing but white space is between.
fn line_start(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    if text[start..at].trim().is_empty() { start } else { at }
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
