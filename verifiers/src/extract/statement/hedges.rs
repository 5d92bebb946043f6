//! Sentences that leave open which of several values answers.

use std::ops::Range;

use super::pieces::pieces;
use super::sentences::sentences;
use super::{MAX_SENTENCES, Reader, window};

/// Words before values of which one is meant.
const EITHER: [&str; 4] = ["either", "entweder", "soit", "sea"];

/// Words of a sentence that has several readings.
const AMBIGUOUS: [&str; 10] = [
    "ambiguous",
    "ambiguity",
    "mehrdeutig",
    "ambigu",
    "ambiguë",
    "ambigua",
    "ambiguo",
    "ambígua",
    "неоднозначно",
    "unclear",
];

/// Returns the values between which `part` leaves the choice open after `answer`, a value that a phrase announced:
/// "so it is either $1/2$ or $1/3$", "but it could also be $1/3$", or a sentence that calls the question ambiguous
/// and gives two.
pub(in crate::extract) fn left_open(
    text: &str,
    part: &Range<usize>,
    answer: &Range<usize>,
) -> Option<Vec<Range<usize>>> {
    let window = window(text, part);
    let may_be = EITHER
        .iter()
        .chain(&AMBIGUOUS)
        .chain(&["could", "might", "may "])
        .any(|word| text[window.clone()].contains(word));
    if !may_be {
        return None;
    }
    let pieces = pieces(text, &window)?;
    let reader = Reader { text, window };
    let stated = sentences(&pieces, text);
    let stated = stated.iter().filter(|sentence| !reader.is_check(sentence));
    let last_ones: Vec<_> = stated.rev().take(MAX_SENTENCES).collect();
    let said = &text[answer.clone()];
    for (index, sentence) in last_ones.iter().enumerate() {
        let groups = reader.groups(sentence);
        let either = sentence.iter().find(|piece| reader.is_word(Some(piece), &EITHER));
        if let Some(either) = either.filter(|either| index == 0 && either.span.start >= answer.end)
        {
            let open =
                groups.iter().find(|group| group.len() > 1 && group[0].start > either.span.start);
            let is_answer = |span: &Range<usize>| said.contains(&text[span.clone()]);
            if let Some(open) = open.filter(|open| open.iter().any(is_answer)) {
                return Some(open.clone());
            }
        }
        // "But it could also be $4$."
        let may_be = sentence.windows(2).any(|two| {
            reader.is_word(two.first(), &["could", "might", "may"])
                && reader.is_word(two.last(), &["also", "equally", "instead", "possibly"])
        });
        let is_after = sentence.first().is_some_and(|first| first.span.start >= answer.end);
        if let (true, [group]) = (may_be && is_after && index == 0, groups.as_slice()) {
            return Some([std::slice::from_ref(answer), group.as_slice()].concat());
        }
        let is_ambiguous = sentence.iter().any(|piece| reader.is_word(Some(piece), &AMBIGUOUS));
        let holds_answer = sentence.last().is_some_and(|last| answer.start < last.span.end);
        if is_ambiguous && holds_answer {
            let values: Vec<Range<usize>> = groups.into_iter().flatten().collect();
            return (values.len() > 1).then_some(values);
        }
    }
    None
}
