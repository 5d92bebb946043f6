//! Subjects of answers: `x` of `x = 5`.

use std::borrow::Cow;

use crate::algebra;
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
    let (own_subjects, other_subjects) = (subjects(ws, gold), subjects(ws, candidate));
    let is_free = own_subjects.is_empty()
        || other_subjects.is_empty()
        || is_set_name(ws, gold)
        || is_set_name(ws, candidate);
    if is_free {
        return Relation::Same;
    }
    if let ([Subject::Several(own)], [Subject::Several(other)]) =
        (own_subjects.as_ref(), other_subjects.as_ref())
    {
        return several(own, other);
    }
    let own = names(ws, &own_subjects);
    let other = names(ws, &other_subjects);
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
    // `x_1 = x_2 = 3` is one x.
    let is_index_of = |name: &Expr, letter: &Expr| match (ws.node(*name), ws.node(*letter)) {
        (Node::Symbol(name), Node::Symbol(letter)) => {
            let (name, letter) = (bare(ws.spelling(*name)), bare(ws.spelling(*letter)));
            let rest = name.strip_prefix(letter);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        }
        (
            Node::Symbol(_)
            | Node::Number(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Apply(..)
            | Node::Bound(_),
            _,
        ) => false,
    };
    if let [(only, false)] = own.as_slice()
        && other.iter().all(|(name, _)| is_index_of(name, only))
    {
        return Relation::Same;
    }
    // `x = 3` may be any of the roots `x_1 = 3, x_2 = 5`.
    if let ([(indexed, false)], [(only, false)]) = (own.as_slice(), other.as_slice())
        && is_index_of(indexed, only)
    {
        return Relation::Same;
    }
    let is_shared = own.iter().any(|n| other.iter().any(|m| key(n) == key(m)));
    if is_shared { Relation::Same } else { Relation::Conflict }
}

/// Returns the subjects of an answer: of an inequality the variable that stands alone against
/// constants.
fn subjects<'a>(ws: &Workspace<'_>, answer: &'a Answer) -> Cow<'a, [Subject]> {
    let AnswerForm::Inequality(chain) = &answer.form else {
        return Cow::Borrowed(&answer.subjects);
    };
    let sides = || std::iter::once(chain.first).chain(chain.rest.iter().map(|(_, side)| *side));
    let mut open = sides().filter(|side| !algebra::variables(*side, ws).is_empty());
    match (open.next(), open.next()) {
        (Some(only), None) if matches!(ws.node(only), Node::Symbol(_)) => {
            Cow::Owned(vec![Subject::Expr(only)])
        }
        _ => Cow::Borrowed(&answer.subjects),
    }
}

/// Returns the members of a list that gives each of several things its value: in the order of
/// `subjects` where these name the same, else by name. `None` if a thing is named twice or not.
pub(super) fn assigned(
    ws: &Workspace<'_>,
    subjects: &[Subject],
    members: &[Answer],
) -> Option<Vec<Answer>> {
    let subject = |member: &Answer| match member.subjects.first() {
        Some(Subject::Expr(expr)) => Some(*expr),
        Some(Subject::Several(_) | Subject::Text(_)) | None => None,
    };
    let names: Vec<Expr> = members.iter().map(subject).collect::<Option<_>>()?;
    let is_distinct = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
    if !is_distinct || members.is_empty() {
        return None;
    }
    if let [Subject::Several(order)] = subjects {
        let place = |name: &Expr| names.iter().position(|own| own == name);
        let places: Vec<usize> = order.iter().map(place).collect::<Option<_>>()?;
        let is_whole = places.len() == members.len();
        return is_whole.then(|| places.iter().map(|place| members[*place].clone()).collect());
    }
    let spelling = |expr: &Expr| {
        if let Node::Symbol(name) = ws.node(*expr) { ws.spelling(*name) } else { "" }
    };
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|at| spelling(&names[*at]));
    Some(order.into_iter().map(|at| members[at].clone()).collect())
}

/// Returns `others` in the order of `members` where both sides name each of theirs by the same words:
/// `maximum 18, minimum -2`.
pub(super) fn by_names(members: &[Answer], others: &[Answer]) -> Option<Vec<Answer>> {
    let find = |member: &Answer| {
        let own = name(member)?;
        let mut named = others.iter().filter(|other| name(other) == Some(own));
        let only = named.next()?;
        named.next().is_none().then(|| only.clone())
    };
    let is_whole = members.len() == others.len() && members.len() > 1;
    is_whole.then(|| members.iter().map(find).collect())?
}

/// Returns the places of members of one name, where both sides name all of theirs by words, each once.
pub(super) fn shared_names(members: &[Answer], others: &[Answer]) -> Vec<(usize, usize)> {
    let names = |answers: &'_ [Answer]| -> Option<Vec<String>> {
        let all: Vec<String> =
            answers.iter().map(|answer| name(answer).map(str::to_owned)).collect::<Option<_>>()?;
        let is_new = |at: usize| !all[..at].contains(&all[at]) && !all[at].starts_with('(');
        (0..all.len()).all(is_new).then_some(all)
    };
    let (Some(own), Some(other)) = (names(members), names(others)) else {
        return Vec::new();
    };
    let place = |name: &String| other.iter().position(|known| known == name);
    let pairs = own.iter().enumerate();
    pairs.filter_map(|(at, name)| place(name).map(|other| (at, other))).collect()
}

/// Returns the name of an answer in words.
fn name(answer: &Answer) -> Option<&str> {
    match answer.subjects.as_slice() {
        [Subject::Text(name)] => Some(name),
        _ => None,
    }
}

/// Returns whether an answer gives `count` letters, at least two, one value.
pub(super) fn are_letters(ws: &Workspace<'_>, answer: &Answer, count: usize) -> bool {
    let is_letter = |subject: &Subject| matches!(subject, Subject::Expr(expr) if matches!(ws.node(*expr), Node::Symbol(_)));
    count > 1 && answer.subjects.len() == count && answer.subjects.iter().all(is_letter)
}

/// Returns the letter under the accent of an estimate: `y` of `hat{y}`.
fn bare(spelling: &str) -> &str {
    let Some((inner, index)) = spelling.strip_prefix("hat{").and_then(|rest| rest.split_once('}'))
    else {
        return spelling;
    };
    if index.is_empty() { inner } else { spelling }
}

/// Returns whether each of several members has a name in words that is no label.
pub(super) fn are_named(members: &[Answer]) -> bool {
    members.len() > 1
        && members.iter().all(|member| name(member).is_some_and(|name| !name.starts_with('(')))
}

/// Returns whether members answer the parts of a question, by their labels.
pub(super) fn are_labelled(members: &[Answer]) -> bool {
    let is_labelled = |member: &Answer| matches!(member.subjects.as_slice(), [Subject::Text(name)] if name.starts_with('('));
    !members.is_empty() && members.iter().all(is_labelled)
}

/// Returns whether the letter before `answer` is the name of a set, `L = \{1, 2\}`, and no variable.
fn is_set_name(ws: &Workspace<'_>, answer: &Answer) -> bool {
    let is_set = matches!(answer.form, AnswerForm::Set(_) | AnswerForm::Region(_));
    let [Subject::Expr(subject)] = answer.subjects.as_slice() else {
        return false;
    };
    let is_capital = matches!(ws.node(*subject), Node::Symbol(name)
        if ws.spelling(*name).bytes().all(|b| b.is_ascii_uppercase()));
    is_set && is_capital
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
