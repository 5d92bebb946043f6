//! METEOR: alignment of words.

use std::collections::HashMap;

use super::porter::stem;
use super::ratio;

/// Weight of precision against recall.
const ALPHA: f64 = 0.9;
/// Exponent of the penalty.
const BETA: i32 = 3;
/// The largest penalty.
const GAMMA: f64 = 0.5;

pub(super) fn meteor(input: &[&str], reference: &[&str]) -> f64 {
    let mut unmatched = Unmatched {
        input: (0..input.len()).collect(),
        reference: (0..reference.len()).collect(),
        matches: Vec::new(),
    };
    unmatched.align(|at| input[at].to_owned(), |at| reference[at].to_owned());
    unmatched.align(|at| stem(input[at]), |at| stem(reference[at]));
    let mut matches = unmatched.matches;
    matches.sort_unstable();
    let n = matches.len();
    if n == 0 {
        return 0.0;
    }
    let (precision, recall) = (ratio(n, input.len()), ratio(n, reference.len()));
    let mean = precision * recall / (ALPHA * precision + (1.0 - ALPHA) * recall);
    let penalty = GAMMA * ratio(pieces(&matches), n).powi(BETA);
    (1.0 - penalty) * mean
}

/// Counts runs of words that are in the same order in both.
fn pieces(matches: &[(usize, usize)]) -> usize {
    let breaks = matches.windows(2).filter(|pair| {
        let (before, after) = (pair[0], pair[1]);
        (before.0 + 1, before.1 + 1) != after
    });
    1 + breaks.count()
}

/// Unmatched words, as indices in order, and the pairs found.
struct Unmatched {
    input: Vec<usize>,
    reference: Vec<usize>,
    matches: Vec<(usize, usize)>,
}

impl Unmatched {
    /// Aligns words from the last of the input to its first: each takes the last equal one that is
    /// left.
    fn align(&mut self, input: impl Fn(usize) -> String, reference: impl Fn(usize) -> String) {
        let mut left: HashMap<String, Vec<usize>> = HashMap::new();
        for &at in &self.reference {
            left.entry(reference(at)).or_default().push(at);
        }
        let mut rest = Vec::new();
        for &at in self.input.iter().rev() {
            match left.get_mut(&input(at)).and_then(Vec::pop) {
                Some(found) => self.matches.push((at, found)),
                None => rest.push(at),
            }
        }
        rest.reverse();
        self.input = rest;
        self.reference = left.into_values().flatten().collect();
        self.reference.sort_unstable();
    }
}
