//! Subjects of answers: `x` of `x = 5`.

use crate::answer::{Answer, AnswerForm, Subject};
use crate::expr::{Expr, Node, Workspace};

/// Relation of the subjects of two answers.
pub(super) enum Relation {
    /// Nothing speaks against comparing the answers as they are.
    Same,
    /// They are of different things.
    Conflict,
    /// Both are of the same several things in another order: the place of each of the gold answer's
    /// among the candidate's.
    Reordered(Vec<usize>),
}

/// Relates the subjects. They conflict only where both sides name variables or unknown functions
/// and share none; words and products of letters are as free as prose.
pub(super) fn relate(ws: &Workspace<'_>, gold: &Answer, candidate: &Answer) -> Relation {
    if gold.subjects.is_empty() || candidate.subjects.is_empty() {
        return Relation::Same;
    }
    if let ([Subject::Several(own)], [Subject::Several(other)]) =
        (gold.subjects.as_slice(), candidate.subjects.as_slice())
    {
        return several(own, other);
    }
    let own = names(ws, &gold.subjects);
    let other = names(ws, &candidate.subjects);
    let (Some(own), Some(other)) = (own, other) else {
        return Relation::Same;
    };
    // `y = x^2` and `f(x) = x^2` name the same thing in two ways.
    let are_functions = |names: &[(Expr, bool)]| names.iter().any(|(_, is_function)| *is_function);
    if are_functions(&own) != are_functions(&other) {
        return Relation::Same;
    }
    let key = |(expr, _): &(Expr, bool)| {
        if let Node::Apply(name, _) = ws.node(*expr) {
            (Some(*name), None)
        } else {
            (None, Some(*expr))
        }
    };
    let is_shared = own.iter().any(|n| other.iter().any(|m| key(n) == key(m)));
    if is_shared { Relation::Same } else { Relation::Conflict }
}

/// Returns the variables and unknown functions among `subjects`; `None` if one is neither.
fn names(ws: &Workspace<'_>, subjects: &[Subject]) -> Option<Vec<(Expr, bool)>> {
    let name = |subject: &Subject| match subject {
        Subject::Expr(expr) => match ws.node(*expr) {
            Node::Symbol(_) => Some((*expr, false)),
            Node::Apply(..) => Some((*expr, true)),
            Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Bound(_) => None,
        },
        Subject::Several(_) | Subject::Text(_) => None,
    };
    subjects.iter().map(name).collect()
}

fn several(own: &[Expr], other: &[Expr]) -> Relation {
    if own == other || own.len() != other.len() {
        return Relation::Same;
    }
    let places: Option<Vec<usize>> =
        own.iter().map(|expr| other.iter().position(|o| o == expr)).collect();
    match places {
        Some(places) => Relation::Reordered(places),
        None => Relation::Conflict,
    }
}

/// Returns `answer`, a tuple or list, with its members in the order `places`; anything else as it
/// is.
pub(super) fn reordered(answer: &Answer, places: &[usize]) -> Answer {
    let in_order = |members: &[Answer]| -> Option<Vec<Answer>> {
        let pick = |place: &usize| members.get(*place).cloned();
        (members.len() == places.len()).then(|| places.iter().map(pick).collect())?
    };
    let form = if let AnswerForm::Tuple(brackets, members) = &answer.form {
        in_order(members).map(|members| AnswerForm::Tuple(*brackets, members))
    } else if let AnswerForm::List(members) = &answer.form {
        in_order(members).map(AnswerForm::List)
    } else {
        None
    };
    Answer {
        subjects: answer.subjects.clone(),
        form: form.unwrap_or_else(|| answer.form.clone()),
        notes: answer.notes.clone(),
    }
}
