//! What the members of a list say of the letters of another one: `y = Ce^x, C \in \mathbb{R}`.

use crate::algebra;
use crate::answer::{Answer, AnswerForm, Region, Relation, Subject};
use crate::expr::{Constant, Expr, Name, Node, Workspace};

/// Returns whether a region holds all integers, or all from one on.
pub(super) fn counts(region: &Region, ws: &Workspace<'_>) -> bool {
    match region {
        Region::Integers | Region::Naturals => true,
        Region::Intersection(parts) => {
            let is_ray = |part: &Region| {
                matches!(part, Region::Interval { to, .. }
                    if *ws.node(*to) == Node::Constant(Constant::Infinity))
            };
            matches!(parts.as_slice(), [Region::Integers, ray] if is_ray(ray))
        }
        Region::Interval { .. }
        | Region::Points(_)
        | Region::Empty
        | Region::Rationals
        | Region::Reals
        | Region::Complexes
        | Region::Union(_)
        | Region::Difference(..)
        | Region::Where(..)
        | Region::Joined(_) => false,
    }
}

/// Returns the only member that states something, where all others say of its parameters that they are any real
/// or complex numbers, or not zero.
pub(super) fn only_stated<'a>(ws: &Workspace<'_>, members: &'a [Answer]) -> Option<&'a Answer> {
    if !members.iter().any(|member| parameter(ws, member).is_some()) {
        return None;
    }
    // `A, B \in \mathbb{R}` declares both letters.
    let is_letter = |member: &Answer| {
        member.subjects.is_empty()
            && matches!(&member.form, AnswerForm::Value(value) if ws.is_name(value.expr))
    };
    let is_declared = |at: usize| {
        let rest = &members[at..];
        let letters = rest.iter().take_while(|member| is_letter(member)).count();
        rest.get(letters).is_some_and(|member| parameter(ws, member).is_some())
    };
    let mut stated = (0..members.len()).filter(|at| !is_declared(*at));
    let only = &members[stated.next().filter(|_| members.len() > 1)?];
    let mut names = Vec::new();
    if let AnswerForm::Matrix(rows) = &only.form {
        names.extend(rows.iter().flatten().flat_map(|entry| algebra::variables(*entry, ws)));
    }
    if let AnswerForm::Equation(left, right) = &only.form {
        names.extend([*left, *right].into_iter().flat_map(|side| algebra::variables(side, ws)));
    }
    let parts = if let AnswerForm::Tuple(_, parts) = &only.form {
        parts.as_slice()
    } else {
        std::slice::from_ref(only)
    };
    for part in parts {
        if let AnswerForm::Value(value) = &part.form {
            names.extend(algebra::variables(value.expr, ws));
        }
    }
    let declared = || members.iter().filter_map(|member| parameter(ws, member));
    // `x + 3, x \ne 3` states a domain, and `c(1, 1), c \ne 0` all multiples but one.
    let is_vector = matches!(only.form, AnswerForm::Tuple(..) | AnswerForm::Matrix(_));
    let is_domain = declared().any(|(_, is_domain)| is_domain);
    let are_declared = declared().all(|(name, _)| names.contains(&name));
    (stated.next().is_none() && are_declared && (is_vector || !is_domain)).then_some(only)
}

/// Returns the parameter of which a member says that it is any number of a set, and whether it says of a value that
/// it is another one.
fn parameter(ws: &Workspace<'_>, member: &Answer) -> Option<(Name, bool)> {
    let symbol = |expr: Expr| ws.symbol_name(expr);
    match (member.subjects.as_slice(), &member.form) {
        ([Subject::Expr(expr)], AnswerForm::Region(Region::Reals | Region::Complexes)) => {
            Some((symbol(*expr)?, false))
        }
        ([Subject::Expr(expr)], AnswerForm::Region(Region::Difference(all, _)))
            if **all == Region::Reals =>
        {
            Some((symbol(*expr)?, true))
        }
        ([], AnswerForm::Inequality(chain)) => match chain.rest.as_slice() {
            [(Relation::NotEqual, _)] => Some((symbol(chain.first)?, true)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the members of two points have the same subjects, in order.
pub(super) fn have_same_names(own: &Answer, other: &Answer) -> bool {
    match (&own.form, &other.form) {
        (AnswerForm::Tuple(_, own), AnswerForm::Tuple(_, other)) => {
            let names = |members: &'_ [Answer]| -> Vec<Vec<Subject>> {
                members.iter().map(|member| member.subjects.clone()).collect()
            };
            names(own) == names(other)
        }
        _ => false,
    }
}
