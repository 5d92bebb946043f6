//! The sides of a chain of relations, of which the question may ask for one: the bound of `T < 500`, the
//! ends of `4 < \sqrt[3]{100} < 5`.

use std::cmp::Ordering;
use std::ops::Range;

use super::question::{Question, bare};

/// Relations as they are written, longer ones before their starts.
const SIGNS: [(&str, Ordering); 14] = [
    ("\\leqslant", Ordering::Less),
    ("\\geqslant", Ordering::Greater),
    ("\\leq", Ordering::Less),
    ("\\geq", Ordering::Greater),
    ("\\le", Ordering::Less),
    ("\\ge", Ordering::Greater),
    ("\\lt", Ordering::Less),
    ("\\gt", Ordering::Greater),
    ("<=", Ordering::Less),
    (">=", Ordering::Greater),
    ("<", Ordering::Less),
    (">", Ordering::Greater),
    ("≤", Ordering::Less),
    ("≥", Ordering::Greater),
];

/// Returns the order relations of `text` with where they stand.
fn relations(text: &str) -> Vec<(Range<usize>, Ordering)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let sign = SIGNS.iter().find(|(sign, _)| {
            // `\left` is no relation.
            let is_whole = |after: &str| {
                !sign.starts_with('\\') || !after.starts_with(|c: char| c.is_ascii_alphabetic())
            };
            rest.strip_prefix(sign).is_some_and(is_whole)
        });
        let length = match sign {
            Some((sign, order)) => {
                found.push((at..at + sign.len(), *order));
                sign.len()
            }
            None => c.len_utf8(),
        };
        at += length;
    }
    found
}

/// Returns the side of an inequality that the question asks for: `3^{65}` of `3^{65} > 2^{100}` where the larger
/// one is wanted, and the `500 K` of `T < 500 K` where it asks below which temperature something holds.
pub(super) fn wanted_side<'t>(text: &'t str, question: &Question<'_>) -> Option<&'t str> {
    if !text.contains(['<', '>', '\\', '≤', '≥']) {
        return None;
    }
    let found = relations(text);
    let [(span, order)] = found.as_slice() else {
        return None;
    };
    let (left, right) = (&text[..span.start], &text[span.end..]);
    if left.contains('=') || right.contains('=') {
        return None;
    }
    if let Some(wanted) = question.wants_extreme()
        && question.names(left)
        && question.names(right)
    {
        return Some(if wanted == *order { left } else { right });
    }
    let is_reached = !matches!(&text[span.clone()], "<" | ">" | "\\lt" | "\\gt");
    let wanted = question.wants_bound(is_reached)?;
    if is_quantity(left) && wanted == *order {
        return Some(right);
    }
    (is_quantity(right) && wanted == order.reverse()).then_some(left)
}

/// Returns the right side of an equation whose left side, an expression, the question asks for: 0 of `a + d = 0` after
/// `Find $a + d$`.
pub(super) fn wanted_value<'t>(text: &'t str, question: &Question<'_>) -> Option<&'t str> {
    let (left, right) = text.split_once('=')?;
    let is_expression = left.contains(['+', '-', '−', '^', '²', '³', '(', '\\']);
    let is_closed = !right.contains('=') && !right.trim().is_empty();
    let spelled = || left.replace('²', "^2").replace('³', "^3").replace('−', "-");
    let is_asked = || question.names(left) || question.names(&spelled());
    (is_expression && is_closed && is_asked()).then_some(right)
}

/// Returns the ends of a chain in one order, `4 < \sqrt[3]{100} < 5`, where the question asks between which
/// numbers something lies.
pub(super) fn wanted_ends<'t>(text: &'t str, question: &Question<'_>) -> Option<[&'t str; 2]> {
    chain_ends(text).filter(|_| question.wants_ends())
}

/// Returns the ends of a chain of two relations in one order.
pub(super) fn chain_ends(text: &str) -> Option<[&str; 2]> {
    if !text.contains(['<', '>', '\\', '≤', '≥']) {
        return None;
    }
    let found = relations(text);
    let [(first, order), (last, other)] = found.as_slice() else {
        return None;
    };
    (order == other).then(|| [text[..first.start].trim(), text[last.end..].trim()])
}

/// Returns whether a side names a quantity and is no number: `T`, `\Delta t`, `f(x)`.
fn is_quantity(side: &str) -> bool {
    let side = bare(side);
    side.starts_with(|c: char| c.is_alphabetic() || c == '\\' || c == '|')
        && !side.contains(['/', '='])
        && !side.starts_with("\\frac")
        && !side.starts_with("\\sqrt")
}
