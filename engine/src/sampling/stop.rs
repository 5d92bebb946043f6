//! Incremental search for stop strings.

use std::collections::HashMap;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use chat::{DecodeState, Tokenizer};

use super::error::TextError;

/// Strings that end a generation, at any position relative to token borders. They are searched in
/// the decoded text without special tokens.
///
/// The first complete one ends the text; of several at the same place, the longest. The time per
/// token is proportional to its text, for any number of strings.
#[derive(Clone, Debug)]
pub struct StopStrings {
    tokenizer: Arc<Tokenizer>,
    decode: DecodeState,
    search: Search,
    include: bool,
}

impl StopStrings {
    /// A search before the first generated token. With `include` the text keeps the stop string.
    ///
    /// # Errors
    /// A message if a string is empty or all are too long together.
    pub fn new(
        tokenizer: Arc<Tokenizer>,
        stops: Vec<String>,
        include: bool,
    ) -> Result<StopStrings, String> {
        Ok(StopStrings {
            tokenizer,
            decode: DecodeState::new(true),
            search: Search::new(stops)?,
            include,
        })
    }

    /// Adds a token. With `match_stops`, returns the stop string that ends in it.
    pub(super) fn step(&mut self, id: u32, match_stops: bool) -> Result<Option<String>, TextError> {
        let text = self.decode.step(&self.tokenizer, id)?;
        if !match_stops {
            return Ok(None);
        }
        let found = self.search.feed(&text);
        Ok(found.map(|found| self.search.stop(found).to_owned()))
    }

    /// A new search from the beginning, and whether the text keeps the stop string.
    pub(super) fn search(&self) -> (Search, bool) {
        (self.search.restarted(), self.include)
    }
}

/// A stop string in a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopMatch {
    which: usize,
    /// Bytes of the piece up to the stop string's end.
    pub(super) end: usize,
}

/// A search in progress: the automaton of Aho and Corasick (1975) and its state.
#[derive(Clone, Debug)]
pub(super) struct Search {
    automaton: Arc<Stops>,
    state: StateID,
}

#[derive(Debug)]
struct Stops {
    nfa: NFA,
    start: StateID,
    /// By state: bytes of the longest prefix of a stop string that ends the text.
    held: HashMap<StateID, usize>,
    texts: Vec<String>,
}

impl Search {
    pub(super) fn new(stops: Vec<String>) -> Result<Search, String> {
        if stops.iter().any(String::is_empty) {
            return Err("a stop string is empty".to_owned());
        }
        let nfa = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&stops)
            .map_err(|e| format!("the stop strings are too long: {e}"))?;
        let start = nfa.start_state(Anchored::No).map_err(|e| format!("stop strings: {e}"))?;
        let mut held = HashMap::new();
        for stop in &stops {
            let mut at = start;
            for (before, byte) in stop.bytes().enumerate() {
                at = nfa.next_state(Anchored::No, at, byte);
                held.insert(at, before + 1);
            }
        }
        Ok(Search { state: start, automaton: Arc::new(Stops { nfa, start, held, texts: stops }) })
    }

    fn restarted(&self) -> Search {
        Search { automaton: self.automaton.clone(), state: self.automaton.start }
    }

    fn stop(&self, found: StopMatch) -> &str {
        &self.automaton.texts[found.which]
    }

    /// Length of a stop string in bytes.
    pub(super) fn len(&self, found: StopMatch) -> usize {
        self.stop(found).len()
    }

    /// Bytes at the end of the text that may become part of a stop string.
    pub(super) fn held(&self) -> usize {
        self.automaton.held.get(&self.state).copied().unwrap_or(0)
    }

    /// Searches a piece of text up to the first complete stop string.
    pub(super) fn feed(&mut self, text: &str) -> Option<StopMatch> {
        let Stops { nfa, texts, .. } = &*self.automaton;
        for (before, byte) in text.bytes().enumerate() {
            self.state = nfa.next_state(Anchored::No, self.state, byte);
            if nfa.is_match(self.state) {
                let ends = (0..nfa.match_len(self.state)).map(|i| nfa.match_pattern(self.state, i));
                let longest =
                    ends.max_by_key(|p| (texts[p.as_usize()].len(), usize::MAX - p.as_usize()));
                return Some(StopMatch {
                    which: longest.expect("a match has a pattern").as_usize(),
                    end: before + 1,
                });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop, proptest};

    use super::Search;

    /// By definition: the shortest prefix of the text that ends in a stop string.
    fn naive<'a>(text: &str, stops: &'a [String]) -> Option<(&'a str, usize)> {
        (0..=text.len()).find_map(|end| {
            let ends = stops.iter().filter(|s| text[..end].ends_with(*s));
            Some((ends.max_by_key(|s| s.len())?.as_str(), end))
        })
    }

    #[test]
    fn first_complete_stop_string_is_found_across_pieces() {
        let stops = prop::collection::vec("[ab]{1,5}", 0..5);
        let pieces = prop::collection::vec("[abc]{0,4}", 0..10);
        proptest!(ProptestConfig::with_cases(2000), |(stops in stops, pieces in pieces)| {
            let mut search = Search::new(stops.clone()).expect("none is empty");
            let (mut text, mut found) = (String::new(), None);
            for piece in &pieces {
                let before = text.len();
                text += piece;
                if let Some(hit) = search.feed(piece) {
                    found = Some((search.stop(hit).to_owned(), before + hit.end));
                    break;
                }
                let held = &text[text.len() - search.held()..];
                let longest = (0..=text.len()).map(|at| &text[at..]);
                let longest = longest.filter(|end| stops.iter().any(|s| s.starts_with(end)) || end.is_empty());
                assert_eq!(Some(held), longest.max_by_key(|end| end.len()));
            }
            let expected = naive(&pieces.concat(), &stops);
            assert_eq!(found.as_ref().map(|(s, end)| (s.as_str(), *end)), expected);
        });
    }

    #[test]
    fn empty_stop_string_is_refused() {
        assert!(Search::new(vec!["a".into(), String::new()]).is_err());
    }
}
