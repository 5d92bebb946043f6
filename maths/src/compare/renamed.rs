//! Expressions that are equal when letters take other names: constants of integration, parameters.

use super::{Comparer, Comparison};
use crate::algebra;
use crate::answer::{Answer, AnswerForm, Subject, Value};
use crate::expr::{Expr, Name, Node, Workspace};
use crate::fuel::Exhausted;

impl Comparer<'_, '_> {
    /// Returns the candidate `f(y) = 2y` with the letter of the gold answer's `f(x)` for its argument,
    /// which is free.
    pub(super) fn with_argument(
        &mut self,
        gold: &Answer,
        candidate: &Answer,
    ) -> Result<Option<Answer>, Exhausted> {
        let ([Subject::Expr(own)], [Subject::Expr(other)], AnswerForm::Value(value)) =
            (gold.subjects.as_slice(), candidate.subjects.as_slice(), &candidate.form)
        else {
            return Ok(None);
        };
        let (Node::Apply(own_name, own), Node::Apply(name, other)) =
            (self.ws.node(*own), self.ws.node(*other))
        else {
            return Ok(None);
        };
        let ([own], [other]) = (own.as_ref(), other.as_ref()) else {
            return Ok(None);
        };
        let (own, other, is_same) = (*own, *other, own_name == name);
        let are_letters = [own, other].iter().all(|e| matches!(self.ws.node(*e), Node::Symbol(_)));
        let Node::Symbol(letter) = *self.ws.node(own) else {
            return Ok(None);
        };
        let is_taken = algebra::variables(value.expr, self.ws).contains(&letter);
        if own == other || !is_same || !are_letters || is_taken {
            return Ok(None);
        }
        let old = self.ws.node(other).clone();
        let expr =
            self.ws.replaced(value.expr, &mut |_, node| Ok((*node == old).then_some(own)))?;
        let form = AnswerForm::Value(Value { expr, ..value.clone() });
        Ok(Some(Answer { form, ..candidate.clone() }))
    }

    /// Returns `found`, unless renaming the variables that only one side has makes the sides equal:
    /// that is equal under its flag, of the constants of integration, and of the parameters of a family
    /// of functions, and else no proof of a difference.
    pub(super) fn renamed_or(
        &mut self,
        found: Comparison,
        (gold, candidate): (Expr, Expr),
        (are_parameters, are_named): (bool, bool),
    ) -> Result<Comparison, Exhausted> {
        if !matches!(found, Comparison::Different(_)) {
            return Ok(found);
        }
        let (own, other) =
            (algebra::variables(gold, self.ws), algebra::variables(candidate, self.ws));
        if self.is_renamed(gold, candidate, (&own, &other), are_named)? {
            return Ok(Comparison::equal("renamed_equal"));
        }
        if are_named && self.is_reparametrised((gold, &own), (candidate, &other))? {
            return Ok(Comparison::equal("renamed_equal"));
        }
        let only_own: Vec<_> = own.iter().copied().filter(|n| !other.contains(n)).collect();
        let only_other: Vec<_> = other.iter().copied().filter(|n| !own.contains(n)).collect();
        if only_own.is_empty() || only_own.len() != only_other.len() || only_own.len() > 3 {
            return Ok(found);
        }
        // `R` for `r`, and `\bar{z}` for `z`, is another quantity, not another name.
        let letter = |name: &Name| {
            let spelling = self.ws.spelling(*name);
            let bare = spelling.split_once('{').map_or(spelling, |(_, inner)| inner);
            bare.trim_end_matches('}').to_ascii_lowercase()
        };
        let same_letter = |a: &Name, b: &Name| letter(a) == letter(b);
        if only_own.iter().any(|own| only_other.iter().any(|other| same_letter(own, other))) {
            return Ok(found);
        }
        for order in orders(only_other.len()) {
            let mut renamed = candidate;
            for (from, to) in order.iter().zip(&only_own) {
                let to = self.ws.intern(Node::Symbol(*to))?;
                renamed = algebra::substitute(renamed, only_other[*from], to, self.ws)?;
            }
            if self.exprs(gold, renamed)?.is_equal() {
                // What grows as `\Theta(n)` is `O(n)`.
                let is_bound = matches!((only_own.as_slice(), only_other.as_slice()), ([own], [other])
                    if self.ws.spelling(*own) == "O" && self.ws.spelling(*other) == "Theta");
                return Ok(if self.policy.renamed_constants || are_parameters || is_bound {
                    Comparison::equal("renamed_equal")
                } else {
                    Comparison::incomparable("variables_renamed")
                });
            }
        }
        Ok(found)
    }

    /// Decides whether both sides are the same family over one free constant each: `\frac{x}{2} + \frac{C}{x}` and
    /// `\frac{x^2 + K}{2x}`.
    fn is_reparametrised(
        &mut self,
        (gold, own): (Expr, &[Name]),
        (candidate, other): (Expr, &[Name]),
    ) -> Result<bool, Exhausted> {
        let mut lines = Vec::with_capacity(2);
        for (expr, names) in [(gold, own), (candidate, other)] {
            let free: Vec<Name> = names
                .iter()
                .copied()
                .filter(|name| names_constant(self.ws.spelling(*name)))
                .collect();
            let [only] = free.as_slice() else {
                return Ok(false);
            };
            // A letter of both sides is a quantity: `Q = CV` is not `Q = 2CV`.
            let is_alone = names.len() < 2 || own.contains(only) && other.contains(only);
            let Some(line) = algebra::linear(expr, *only, self.ws)?.filter(|_| !is_alone) else {
                return Ok(false);
            };
            lines.push(line);
        }
        let [(step, start), (other_step, other_start)] = lines.as_slice() else {
            return Ok(false);
        };
        let is_zero = |value: Option<dashu::rational::RBig>| value.is_some_and(|v| v.is_zero());
        if is_zero(algebra::rational(*step, self.ws)?)
            || is_zero(algebra::rational(*other_step, self.ws)?)
            || !self.proportional(*step, *other_step)?.is_equal()
        {
            return Ok(false);
        }
        let between = self.ws.difference(*start, *other_start)?;
        let zero = self.ws.integer(0)?;
        Ok(self.exprs(between, zero)?.is_equal() || self.proportional(between, *step)?.is_equal())
    }

    /// Returns the letters that are usual for free constants and only the gold answer has, where the candidate
    /// has as many of its own and both sides share a variable: `A \cos x + B \sin x` and `C_1 \cos x + C_2
    /// \sin x`.
    fn other_constants(&self, own: &[Name], other: &[Name]) -> Vec<Name> {
        let only = |names: &[Name], others: &[Name]| -> Vec<Name> {
            names.iter().copied().filter(|name| !others.contains(name)).collect()
        };
        let (free, names) = (only(own, other), only(other, own));
        let is_constant = |name: &Name| names_constant(self.ws.spelling(*name));
        let is_shared = free.len() < own.len();
        let are_free =
            is_shared && free.len() == names.len() && free.iter().chain(&names).all(is_constant);
        if are_free { free } else { Vec::new() }
    }

    /// Decides whether the sides are equal when the constants of integration, by their usual names `C_1` and
    /// `c_2`, take the names of the candidate's, in whatever order.
    fn is_renamed(
        &mut self,
        gold: Expr,
        candidate: Expr,
        (own, other): (&[Name], &[Name]),
        are_named: bool,
    ) -> Result<bool, Exhausted> {
        /// Constants that are renamed.
        const MAX_CONSTANTS: usize = 3;
        let is_free = |name: &&Name| {
            let spelling = self.ws.spelling(**name);
            let index = spelling.strip_prefix(['C', 'c']).and_then(|rest| rest.strip_prefix('_'));
            // Beside two variables or more, as in `2xy + C`, a lone `C` is one, too.
            index.is_some_and(|index| index.parse::<u8>().is_ok())
                || spelling == "C" && own.len() > 2 && is_added(gold, **name, self.ws)
        };
        let mut free: Vec<Name> = own.iter().filter(is_free).copied().collect();
        if free.is_empty() && are_named {
            free = self.other_constants(own, other);
        }
        let is_bound = |name: &&Name| own.contains(*name) && !free.contains(*name);
        let names: Vec<Name> = other.iter().filter(|name| !is_bound(name)).copied().collect();
        if free.is_empty() || free.len() != names.len() || free.len() > MAX_CONSTANTS {
            return Ok(false);
        }
        // Through names of their own, so that two may change places.
        let mut apart = candidate;
        let mut places = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            let place = self.ws.symbol(&format!("constant {at}"))?;
            apart = algebra::substitute(apart, *name, place, self.ws)?;
            places.push(self.ws.name(&format!("constant {at}")));
        }
        for order in orders(names.len()) {
            let mut renamed = apart;
            for (place, to) in order.iter().zip(&free) {
                let to = self.ws.intern(Node::Symbol(*to))?;
                renamed = algebra::substitute(renamed, places[*place], to, self.ws)?;
            }
            if self.exprs(gold, renamed)?.is_equal() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns whether a name is usual for a free constant: `A`, `C`, `k`, `C_1`.
pub(super) fn names_constant(spelling: &str) -> bool {
    let (letter, index) = spelling.split_once('_').unwrap_or((spelling, ""));
    matches!(letter, "A" | "B" | "C" | "D" | "K" | "c" | "k")
        && index.bytes().all(|b| b.is_ascii_digit())
}

/// Returns whether `name` is a term of the sum that `expr` is.
fn is_added(expr: Expr, name: Name, ws: &Workspace<'_>) -> bool {
    matches!(ws.node(expr), Node::Sum(terms)
        if terms.iter().any(|term| *ws.node(*term) == Node::Symbol(name)))
}

/// Returns whether both answers are values of one unknown function, so that the letters of only one side
/// are parameters of a family of functions: `f(x) = x^2 + cx`.
pub(super) fn are_of_one_function(gold: &Answer, candidate: &Answer, ws: &Workspace<'_>) -> bool {
    let name = |answer: &Answer| match answer.subjects.as_slice() {
        [Subject::Expr(subject)] => match ws.node(*subject) {
            Node::Apply(name, _) => Some(*name),
            Node::Number(_)
            | Node::Symbol(_)
            | Node::Constant(_)
            | Node::Sum(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Call(..)
            | Node::Bound(_) => None,
        },
        _ => None,
    };
    name(gold).is_some_and(|own| name(candidate) == Some(own))
}

/// Returns the orders of `n` things, for small `n`.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            all.push(order);
        }
    }
    all
}
