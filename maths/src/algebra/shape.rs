//! The variables of expressions, substitution, and polynomials in one variable.

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::expr::{Bound, Expr, Name, Node, Workspace, children};
use crate::fuel::Exhausted;

/// Returns the free variables of `expr`, sorted by name's index.
pub(super) fn variables(expr: Expr, ws: &Workspace<'_>) -> Vec<Name> {
    let mut names = Vec::new();
    collect(expr, ws, &mut HashSet::new(), &mut names);
    names.sort_unstable();
    names.dedup();
    names
}

/// Parts that occur twice are visited once, in each scope of a bound variable.
fn collect(expr: Expr, ws: &Workspace<'_>, seen: &mut HashSet<Expr>, names: &mut Vec<Name>) {
    let node = ws.node(expr);
    if let Node::Symbol(name) = node {
        names.push(*name);
        return;
    }
    if children(node).len() == 0 || !seen.insert(expr) {
        return;
    }
    let Node::Bound(bound) = node else {
        for child in children(node) {
            collect(child, ws, seen, names);
        }
        return;
    };
    let before = names.len();
    collect(bound.body, ws, &mut HashSet::new(), names);
    // The variable of an indefinite integral stays free.
    if bound.from.is_some() {
        let own = names.split_off(before);
        names.extend(own.into_iter().filter(|name| *name != bound.variable));
    }
    for end in [bound.from, bound.to].into_iter().flatten() {
        collect(end, ws, seen, names);
    }
}

/// Returns `expr` with `by` in place of the free variable `name`.
pub(super) fn substitute(
    expr: Expr,
    name: Name,
    by: Expr,
    ws: &mut Workspace<'_>,
) -> Result<Expr, Exhausted> {
    let mut done = IndexMap::new();
    let mut substitution = Substitution { name, by, taken: variables(by, ws), done: &mut done };
    substitution.apply(expr, ws)
}

struct Substitution<'s> {
    name: Name,
    by: Expr,
    /// Variables of `by`, which no binder may capture.
    taken: Vec<Name>,
    done: &'s mut IndexMap<Expr, Expr>,
}

impl Substitution<'_> {
    fn apply(&mut self, expr: Expr, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
        if let Some(known) = self.done.get(&expr) {
            return Ok(*known);
        }
        ws.fuel.spend(1)?;
        let result = match ws.node(expr).clone() {
            Node::Number(_) | Node::Constant(_) => expr,
            Node::Symbol(name) => {
                if name == self.name {
                    self.by
                } else {
                    expr
                }
            }
            Node::Sum(terms) => {
                let terms = self.all(&terms, ws)?;
                ws.intern(Node::Sum(terms))?
            }
            Node::Product(factors) => {
                let factors = self.all(&factors, ws)?;
                ws.intern(Node::Product(factors))?
            }
            Node::Power(base, exponent) => {
                let base = self.apply(base, ws)?;
                let exponent = self.apply(exponent, ws)?;
                ws.power(base, exponent)?
            }
            Node::Call(function, arguments) => {
                let arguments = self.all(&arguments, ws)?;
                ws.intern(Node::Call(function, arguments))?
            }
            Node::Apply(name, arguments) => {
                let arguments = self.all(&arguments, ws)?;
                ws.intern(Node::Apply(name, arguments))?
            }
            Node::Bound(bound) => self.bound(&bound, ws)?,
        };
        self.done.insert(expr, result);
        Ok(result)
    }

    fn all(&mut self, exprs: &[Expr], ws: &mut Workspace<'_>) -> Result<Box<[Expr]>, Exhausted> {
        exprs.iter().map(|expr| self.apply(*expr, ws)).collect()
    }

    fn bound(&mut self, bound: &Bound, ws: &mut Workspace<'_>) -> Result<Expr, Exhausted> {
        let from = bound.from.map(|from| self.apply(from, ws)).transpose()?;
        let to = bound.to.map(|to| self.apply(to, ws)).transpose()?;
        let (mut variable, mut body) = (bound.variable, bound.body);
        let is_shadowed = variable == self.name && from.is_some();
        if !is_shadowed {
            if from.is_some() && self.taken.contains(&variable) {
                let fresh = fresh_name(ws, "t", &[body, self.by]);
                let symbol = ws.intern(Node::Symbol(fresh))?;
                body = substitute(body, variable, symbol, ws)?;
                variable = fresh;
            }
            body = self.apply(body, ws)?;
        }
        ws.intern(Node::Bound(Box::new(Bound { binder: bound.binder, variable, from, to, body })))
    }
}

/// Returns a name that occurs in none of `exprs`.
pub(super) fn fresh_name(ws: &mut Workspace<'_>, stem: &str, exprs: &[Expr]) -> Name {
    let taken: Vec<Name> = exprs.iter().flat_map(|expr| variables(*expr, ws)).collect();
    let mut spelling = format!("{stem}_");
    loop {
        let name = ws.name(&spelling);
        if !taken.contains(&name) {
            return name;
        }
        spelling.push('\'');
    }
}
