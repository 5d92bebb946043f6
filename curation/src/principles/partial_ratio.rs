//! Similarity of a text to the best part of another, `RapidFuzz`'s `partial_ratio`.
//!
//! The shorter text is held against every stretch of the longer one that is as long as it is, and
//! against the shorter stretches at both ends. A stretch's similarity is that of Indel: with the
//! longest common subsequence of length l, 100 · 2l / (both lengths together). The best one counts.
//! Lengths are in Unicode code points, and nothing is normalised: case and spaces count.

use std::collections::HashMap;

/// The greatest similarity, from 0 to 100, of the shorter text to a stretch of the longer one. Two
/// empty texts are alike; an empty one is like no other.
pub fn partial_ratio(a: &str, b: &str) -> f64 {
    // An exact quotation is found at once, at any length.
    if !a.is_empty() && !b.is_empty() && (a.contains(b) || b.contains(a)) {
        return 100.0;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return 100.0,
        (true, false) | (false, true) => return 0.0,
        (false, false) => {}
    }
    if a.len() == b.len() {
        // Neither is the shorter one: each is looked for in the other.
        return best(&a, &b).max(best(&b, &a)).percent();
    }
    if a.len() < b.len() { best(&a, &b).percent() } else { best(&b, &a).percent() }
}

/// A similarity as a fraction, so that comparisons are exact: twice the common subsequence, over
/// both lengths.
#[derive(Debug, Clone, Copy)]
struct Ratio {
    common: usize,
    lengths: usize,
}

impl Ratio {
    fn is_more_than(self, other: Self) -> bool {
        self.common * other.lengths > other.common * self.lengths
    }

    fn max(self, other: Self) -> Self {
        if other.is_more_than(self) { other } else { self }
    }

    #[expect(clippy::cast_precision_loss, reason = "texts have far fewer than 2^53 characters")]
    fn percent(self) -> f64 {
        200.0 * self.common as f64 / self.lengths as f64
    }
}

/// The best stretch of `hay` for `needle`, which is not longer.
fn best(needle: &[char], hay: &[char]) -> Ratio {
    let n = needle.len();
    let mut best = Ratio { common: 0, lengths: 1 };
    let ends = |needle: &Needle, hay: &[char]| {
        let mut found = Ratio { common: 0, lengths: 1 };
        for (at, common) in needle.beginnings(&needle.places(hay)).into_iter().enumerate() {
            let lengths = n + at + 1;
            found = found.max(Ratio { common, lengths });
        }
        found
    };
    let forwards = Needle::new(needle);
    best = best.max(ends(&forwards, &hay[..n]));
    let reversed = |text: &[char]| text.iter().rev().copied().collect::<Vec<char>>();
    let backwards = Needle::new(&reversed(needle));
    best = best.max(ends(&backwards, &reversed(&hay[hay.len() - n..])));
    let places = forwards.places(hay);
    let mut at = 0;
    while at + n <= hay.len() {
        let common = forwards.common(&places[at..at + n]);
        let lengths = 2 * n;
        best = best.max(Ratio { common, lengths });
        // A stretch that begins k later has at most k more in common. Those that cannot be better
        // are passed over.
        let needed = best.common * lengths / best.lengths + 1;
        at += (needed.saturating_sub(common)).max(1);
    }
    best
}

/// A text that is looked for: which of its places hold which character, as bits.
struct Needle {
    characters: HashMap<char, usize>,
    /// Bits of each character, one after the other.
    masks: Vec<u64>,
    n_words: usize,
}

impl Needle {
    fn new(needle: &[char]) -> Self {
        let n_words = needle.len().div_ceil(64);
        let mut characters = HashMap::new();
        let mut masks = Vec::new();
        for (at, c) in needle.iter().enumerate() {
            let begin = *characters.entry(*c).or_insert(masks.len());
            masks.resize(masks.len().max(begin + n_words), 0_u64);
            masks[begin + at / 64] |= 1 << (at % 64);
        }
        Self { characters, masks, n_words }
    }

    /// Returns where the bits of each character of a text begin; `None` for a character that the
    /// needle lacks.
    fn places(&self, hay: &[char]) -> Vec<Option<usize>> {
        hay.iter().map(|c| self.characters.get(c).copied()).collect()
    }

    /// The length of the longest common subsequence with a text.
    fn common(&self, hay: &[Option<usize>]) -> usize {
        let mut open = vec![u64::MAX; self.n_words];
        for place in hay {
            self.step(&mut open, *place);
        }
        self.closed(&open)
    }

    /// Returns the length for each prefix of a text.
    fn beginnings(&self, hay: &[Option<usize>]) -> Vec<usize> {
        let mut open = vec![u64::MAX; self.n_words];
        let one = |place: &Option<usize>| {
            self.step(&mut open, *place);
            self.closed(&open)
        };
        hay.iter().map(one).collect()
    }

    /// One more character of the text, by Hyyrö's bit-parallel algorithm: the places of the needle
    /// that are part of a common subsequence are the bits that become 0.
    fn step(&self, open: &mut [u64], place: Option<usize>) {
        let Some(begin) = place else {
            return;
        };
        let mut carry = false;
        for (word, mask) in open.iter_mut().zip(&self.masks[begin..begin + self.n_words]) {
            let matched = *word & mask;
            let (sum, first) = word.overflowing_add(matched);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *word = sum | (*word & !matched);
        }
    }

    /// The bits that are 0. Those beyond the needle's end are 1 for ever: nothing matches there.
    fn closed(&self, open: &[u64]) -> usize {
        let ones: usize = open.iter().map(|word| word.count_ones() as usize).sum();
        self.n_words * 64 - ones
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Made by `curation/tests/fixtures/make_partial_ratio.py` with `RapidFuzz`.
    const GOLDENS: &str = include_str!("../../tests/fixtures/partial_ratio.jsonl");

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn ratios_by_hand() {
        #[track_caller]
        fn check(a: &str, b: &str, expected: f64) {
            for (a, b) in [(a, b), (b, a)] {
                assert!(
                    near(partial_ratio(a, b), expected),
                    "{a:?} {b:?}: {}",
                    partial_ratio(a, b)
                );
            }
        }
        check("", "", 100.0);
        check("", "abc", 0.0);
        check("abc", "xxabcxx", 100.0);
        // Of "abcd" the stretch "xbcd" has 3 in common: 2 · 3 / 8.
        check("abcd", "xbcdy", 75.0);
        // One of "a" in common, at the end, of lengths 4 and 1: 2 / 5.
        check("abcd", "dcba", 40.0);
        // The beginning "bc" of the longer text: 2 · 2 / (4 + 2), and not 2 · 2 / 8.
        check("abc1", "bcxyzw", 200.0 * 2.0 / 6.0);
        check("ab", "xyz", 0.0);
        // Case counts: the end " B" of the longer text, 2 · 2 / (3 + 2).
        check("Ä B", "x ä b ä B", 80.0);
    }

    #[test]
    fn ratios_are_those_of_rapidfuzz() {
        let mut n = 0;
        for line in GOLDENS.lines() {
            let golden: Value = serde_json::from_str(line).expect("JSON");
            let (a, b) = (golden["a"].as_str().expect("text"), golden["b"].as_str().expect("text"));
            let expected = golden["partial_ratio"].as_f64().expect("a number");
            let found = partial_ratio(a, b);
            assert!(near(found, expected), "{a:?} {b:?}: {found} and not {expected}");
            n += 1;
        }
        assert!(n > 200, "{n}");
    }

    /// The definition, without bits and without passing anything over.
    fn slow(a: &[char], b: &[char]) -> f64 {
        if a.len() > b.len() {
            return slow(b, a);
        }
        let ratio = |window: &[char]| {
            let mut rows = vec![vec![0_usize; window.len() + 1]; a.len() + 1];
            for i in 0..a.len() {
                for j in 0..window.len() {
                    rows[i + 1][j + 1] = if a[i] == window[j] {
                        rows[i][j] + 1
                    } else {
                        rows[i][j + 1].max(rows[i + 1][j])
                    };
                }
            }
            let (common, lengths) = (rows[a.len()][window.len()], a.len() + window.len());
            Ratio { common, lengths }.percent()
        };
        let mut best: f64 = 0.0;
        for end in 1..=b.len() {
            best = best.max(ratio(&b[end.saturating_sub(a.len())..end]));
        }
        for start in b.len() - a.len()..b.len() {
            best = best.max(ratio(&b[start..]));
        }
        best
    }

    #[test]
    fn long_texts_do_not_take_long() {
        // Without passing anything over this would be some 2 · 10^10 steps.
        let mut draws = base::seeded::Draws::new(1);
        let mut text = |n: usize| -> String {
            let letter = |_| b"etaoin shrdlu"[draws.below(13)] as char;
            (0..n).map(letter).collect()
        };
        let (quote, feedback) = (text(4_000), text(100_000));
        let found = partial_ratio(&quote, &feedback);
        assert!((40.0..80.0).contains(&found), "{found}");
        assert!(near(partial_ratio(&feedback[50_000..53_000], &feedback), 100.0));
    }

    proptest! {
        #[test]
        fn nothing_is_passed_over_that_counts(a in "[abc ]{1,90}", b in "[abcd ]{1,120}") {
            let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            let expected = if x.len() == y.len() { slow(&x, &y).max(slow(&y, &x)) } else { slow(&x, &y) };
            prop_assert!(near(partial_ratio(&a, &b), expected));
            prop_assert!(near(partial_ratio(&a, &b), partial_ratio(&b, &a)));
        }
    }
}
