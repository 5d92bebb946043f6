//! Added tokens: the strings that a tokenizer cuts out of a text before any other stage.
//!
//! The search is that of the `tokenizers` library (leftmost, longest, with its strip flags), with
//! one difference: an occurrence counts only if the origin of its text permits the token. The ids
//! are therefore the library's unless a text contains a token that its origin forbids; such an
//! occurrence is skipped as if the string were no token.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use tokenizers::{AddedToken, NormalizedString, Normalizer};

use crate::error::{ChatError, Result};
use crate::text::Origin;

/// An added token.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags of tokenizer.json, independent of each other"
)]
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) special: bool,
    /// The content is white space alone, such as Gemma's tokens for blank lines: layout, which
    /// steers nothing.
    blank: bool,
    lstrip: bool,
    rstrip: bool,
    single_word: bool,
    /// The search pattern: the content, normalised if the token says so.
    pattern: String,
}

impl Added {
    /// Whether text of this origin may contain the token.
    pub(super) fn allowed_in(&self, origin: Origin) -> bool {
        match origin {
            Origin::Template => true,
            Origin::Reply => !self.special,
            Origin::Request => !self.special && self.blank,
        }
    }
}

/// A segment of text: an added token, or the text between two.
pub(super) type TextSegment = (Range<usize>, Option<u32>);

/// The tokens of one stage of the search: before normalisation, or after it.
#[derive(Debug)]
pub(super) struct Matcher {
    tokens: Vec<Added>,
    /// `None` if there are no tokens.
    automaton: Option<AhoCorasick>,
    /// Indices into `tokens`, longest pattern first.
    by_length: Vec<usize>,
}

/// The tokens of both stages.
#[derive(Debug)]
pub(super) struct AddedTokens {
    pub(super) raw: Matcher,
    pub(super) normalized: Matcher,
}

impl AddedTokens {
    /// Collects the added tokens of a tokenizer; `special` adds to those that it marks as special.
    pub(super) fn new(
        tokenizer: &tokenizers::Tokenizer,
        special: &[String],
    ) -> Result<AddedTokens> {
        let mut stages = [Vec::new(), Vec::new()];
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            let pattern = pattern(tokenizer, &token)?;
            if pattern.is_empty() {
                continue;
            }
            stages[usize::from(token.normalized)].push(Added {
                id,
                special: token.special || special.contains(&token.content),
                blank: token.content.chars().all(|c| c.is_whitespace() || c == '▁'),
                lstrip: token.lstrip,
                rstrip: token.rstrip,
                single_word: token.single_word,
                pattern,
            });
        }
        let [raw, normalized] = stages;
        Ok(AddedTokens { raw: Matcher::new(raw)?, normalized: Matcher::new(normalized)? })
    }

    /// Every token of both stages.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Added> {
        self.raw.tokens.iter().chain(&self.normalized.tokens)
    }
}

fn pattern(tokenizer: &tokenizers::Tokenizer, token: &AddedToken) -> Result<String> {
    let mut content = NormalizedString::from(token.content.as_str());
    if token.normalized
        && let Some(normalizer) = tokenizer.get_normalizer()
    {
        let outcome = normalizer.normalize(&mut content);
        outcome.map_err(|e| ChatError::Template(format!("normalising a token: {e}")))?;
    }
    Ok(content.get().to_owned())
}

impl Matcher {
    fn new(mut tokens: Vec<Added>) -> Result<Matcher> {
        // The decoder's map has no order of its own.
        tokens.sort_by_key(|t| t.id);
        let automaton = if tokens.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(tokens.iter().map(|t| &t.pattern));
            Some(built.map_err(|e| ChatError::Template(format!("added tokens: {e}")))?)
        };
        let mut by_length: Vec<usize> = (0..tokens.len()).collect();
        by_length.sort_by_key(|&i| std::cmp::Reverse(tokens[i].pattern.len()));
        Ok(Matcher { tokens, automaton, by_length })
    }

    /// Cuts a text at the tokens that `allowed` permits.
    pub(super) fn cut(
        &self,
        text: &str,
        allowed: impl Fn(&Added, Range<usize>) -> bool,
    ) -> Vec<TextSegment> {
        let mut pieces = Vec::new();
        let mut done = 0;
        let mut from = 0;
        while let Some((token, at)) = self.next(text, from, &allowed) {
            from = at.end;
            if token.single_word && inside_word(text, &at) {
                continue;
            }
            let mut range = at;
            if token.lstrip {
                let before = text[..range.start].trim_end();
                range.start = before.len();
            }
            if token.rstrip {
                let after = &text[range.end..];
                range.end += after.len() - after.trim_start().len();
            }
            range.start = range.start.max(done);
            if range.is_empty() {
                continue;
            }
            if done < range.start {
                pieces.push((done..range.start, None));
            }
            done = range.end;
            pieces.push((range, Some(token.id)));
        }
        if done < text.len() {
            pieces.push((done..text.len(), None));
        }
        pieces
    }

    /// The leftmost, longest allowed token that starts at `from` or later.
    fn next(
        &self,
        text: &str,
        mut from: usize,
        allowed: &impl Fn(&Added, Range<usize>) -> bool,
    ) -> Option<(&Added, Range<usize>)> {
        let automaton = self.automaton.as_ref()?;
        loop {
            let found = automaton.find(Input::new(text).span(from..text.len()))?;
            let longest = &self.tokens[found.pattern().as_usize()];
            if allowed(longest, found.range()) {
                return Some((longest, found.range()));
            }
            // A forbidden token must not hide a shorter one that starts at the same place.
            let start = found.start();
            let shorter = self.by_length.iter().map(|&i| &self.tokens[i]).find(|t| {
                t.pattern.len() < found.len()
                    && text[start..].starts_with(&t.pattern)
                    && allowed(t, start..start + t.pattern.len())
            });
            if let Some(token) = shorter {
                return Some((token, start..start + token.pattern.len()));
            }
            // Nor one that overlaps its end.
            from = start + text[start..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// Whether a letter, digit or underscore touches the match on either side.
fn inside_word(text: &str, at: &Range<usize>) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text[..at.start].chars().next_back().is_some_and(word)
        || text[at.end..].chars().next().is_some_and(word)
}
