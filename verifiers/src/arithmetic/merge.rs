//! One list from the equalities of the text and those of its annotations.

use dashu::rational::RBig;

use super::report::{Equality, EqualityCheck, EqualitySource};

/// An equality with the values of its sides, where both have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluatedEquality {
    pub(super) equality: Equality,
    pub(super) values: Option<(RBig, RBig)>,
}

/// Joins both lists, each in the order of the text. An annotation inside an equality of the text
/// that has the same two values is not listed again.
pub(super) fn merge(
    prose: &mut Vec<EvaluatedEquality>,
    annotations: &mut Vec<EvaluatedEquality>,
) -> Vec<Equality> {
    let mut at = 0;
    annotations.retain(|annotation| {
        let span = &annotation.equality.span;
        while prose.get(at).is_some_and(|p| p.equality.span.end < span.end) {
            at += 1;
        }
        let around = prose
            .get_mut(at)
            .filter(|prose| prose.equality.span.start <= span.start && same(prose, annotation));
        if let Some(around) = around {
            around.equality.source = EqualitySource::Both;
            return false;
        }
        true
    });
    let mut all: Vec<Equality> =
        prose.drain(..).chain(annotations.drain(..)).map(|judged| judged.equality).collect();
    all.sort_by_key(|equality| equality.span.start);
    all
}

/// Returns whether two equalities state the same, or cannot be read for the same reason.
fn same(a: &EvaluatedEquality, b: &EvaluatedEquality) -> bool {
    match (&a.values, &b.values) {
        (Some(a), Some(b)) => a == b,
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => match (&a.equality.check, &b.equality.check) {
            (EqualityCheck::Unchecked { why: a }, EqualityCheck::Unchecked { why: b }) => a == b,
            (a, b) => a == b,
        },
    }
}
