//! Stated equalities among expressions: the two sides of an equality sign, and whether the text
//! around them allows reading them as an equality.
//!
//! A false `wrong` is worse than a missed one, so everything that might change the meaning makes
//! the equality unreadable, or doubtful: a doubtful one is right when its numbers agree and is
//! unchecked when they do not.

mod doubt;
mod surroundings;

use std::ops::{ControlFlow, Range};

use crate::arithmetic::expr::{Expr, ExprForm, Parsed};
use crate::arithmetic::report::Why;
use crate::arithmetic::token::{Bound, Class, Lexed, Op, Relation, TokenKind, WordClass};

/// Words between a computation and an equality sign that make it unreadable rather than something
/// else.
const MAX_WORDS_BETWEEN: usize = 6;

/// Two sides of an equality sign, as positions in [`Parsed::exprs`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EqualitySides {
    pub(super) left: usize,
    pub(super) right: usize,
    /// `≈`, or a word such as `about` in the text.
    pub(super) approximate: bool,
    /// A reason not to trust the reading.
    pub(super) doubt: Option<Why>,
    /// Tokens after the right side that may name its unit.
    pub(super) trailing: Range<usize>,
    /// A dash that may be a sign stands before the left side.
    pub(super) after_dash: bool,
}

/// The meaning of an equality sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stated {
    /// An equality between two expressions.
    Pair(EqualitySides),
    /// An equality that cannot be read, with the byte range of what can be seen of it.
    Unreadable(Range<usize>, Why),
}

/// A side of an equality sign.
enum Side {
    /// A position in [`Parsed::exprs`].
    Expr(usize),
    /// Cannot be read; the byte where it starts (on the left) or ends (on the right).
    Unreadable(usize, Why),
    /// A name or nothing: an assignment and not an equality between expressions.
    Name,
}

/// Calls `found` for each equality that `lexed` states, in order, until it breaks off.
pub(super) fn find_equalities(
    lexed: &Lexed<'_>,
    parsed: &Parsed,
    mut found: impl FnMut(Stated) -> ControlFlow<()>,
) {
    let mut next = 0;
    for (at, token) in lexed.tokens.iter().enumerate() {
        let TokenKind::Relation(relation) = token.kind else {
            continue;
        };
        while parsed.exprs.get(next).is_some_and(|e| e.tokens.start < at) {
            next += 1;
        }
        let finder = Finder { lexed, parsed, at, relation, next };
        if finder.stated().is_some_and(|stated| found(stated).is_break()) {
            return;
        }
    }
}

struct Finder<'s, 'a> {
    lexed: &'s Lexed<'a>,
    parsed: &'s Parsed,
    /// The token of the equality sign.
    at: usize,
    relation: Relation,
    /// The first expression after it.
    next: usize,
}

impl Finder<'_, '_> {
    fn stated(&self) -> Option<Stated> {
        let (left, right) = (self.left(), self.right());
        if self.relation == Relation::Is {
            return self.stated_by_is(&left, &right);
        }
        match (left, right) {
            (Side::Name, _) => None,
            (Side::Expr(left), Side::Expr(right)) => Some(Stated::Pair(self.pair(left, right))),
            (Side::Expr(left), Side::Name) => {
                let expr = &self.parsed.exprs[left];
                let why = self.why_no_right_side()?;
                let span = self.start_of(expr)..self.lexed.tokens[self.at].end;
                (!expr.is_bare()).then_some(Stated::Unreadable(span, why))
            }
            (Side::Unreadable(start, why), right) => {
                Some(Stated::Unreadable(start..self.end_of(&right), why))
            }
            (Side::Expr(left), Side::Unreadable(end, why)) => {
                let start = self.start_of(&self.parsed.exprs[left]);
                Some(Stated::Unreadable(start..end, why))
            }
        }
    }

    /// Reads `is` as an equality only from something computed to a plain number. A share
    /// before it (`3/5 is 12`) is a proportion.
    fn stated_by_is(&self, left: &Side, right: &Side) -> Option<Stated> {
        let (Side::Expr(left), Side::Expr(right)) = (left, right) else {
            return None;
        };
        let computed = self.parsed.exprs[*left].form == ExprForm::Compound;
        let plain = self.parsed.exprs[*right].is_bare();
        (computed && plain).then(|| Stated::Pair(self.pair(*left, *right)))
    }

    fn start_of(&self, expr: &Expr) -> usize {
        self.lexed.tokens[expr.tokens.start].start
    }

    /// Returns the byte after the right side.
    fn end_of(&self, side: &Side) -> usize {
        match side {
            Side::Expr(index) => self.parsed.exprs[*index].end,
            Side::Unreadable(end, _) => *end,
            Side::Name => self.lexed.tokens[self.at].end,
        }
    }

    fn left(&self) -> Side {
        let index = self.next.checked_sub(1);
        let expr = index.map(|index| (index, &self.parsed.exprs[index]));
        if let Some((index, expr)) = expr
            && expr.tokens.end == self.at
        {
            return match self.before(expr.tokens.start) {
                Some(why) => Side::Unreadable(self.run_start(expr.tokens.start), why),
                None => Side::Expr(index),
            };
        }
        let Some(before) = self.at.checked_sub(1) else {
            return Side::Name;
        };
        let unreadable = |why| Side::Unreadable(self.run_start(self.at), why);
        match self.lexed.class(before) {
            Class::Variable => {
                let coefficient =
                    self.lexed.kind(before) == Some(TokenKind::Variable { coefficient: true });
                // In `$x = 5$` the dollar sign is a delimiter of LaTeX.
                let delimiter = self.lexed.kind_before(before) == Some(TokenKind::Currency);
                let start = before - usize::from(delimiter);
                if coefficient || self.before(start).is_some() {
                    unreadable(Why::Variable)
                } else {
                    Side::Name
                }
            }
            Class::Word(_) => match expr {
                Some((_, expr)) if self.only_words_between(expr) => {
                    Side::Unreadable(self.start_of(expr), Why::Words)
                }
                Some(_) | None => Side::Name,
            },
            Class::Broken(why) => unreadable(why),
            Class::Arithmetic => unreadable(self.culprit_before(self.at)),
            Class::Edge => Side::Name,
        }
    }

    /// Returns whether a computation stands before the sign with nothing but a few words between.
    fn only_words_between(&self, expr: &Expr) -> bool {
        let between = expr.tokens.end..self.at;
        !expr.is_bare()
            && between.len() <= MAX_WORDS_BETWEEN
            && between.into_iter().all(|at| {
                let kind = self.lexed.kind(at);
                matches!(kind, Some(TokenKind::Word(_) | TokenKind::Op(Op::Div | Op::Sub)))
            })
    }

    fn right(&self) -> Side {
        let first = self.first_on_right();
        if let Some(expr) = self.parsed.exprs.get(self.next)
            && expr.tokens.start == first
        {
            return match self.after(expr.tokens.end) {
                Some(why) => Side::Unreadable(self.run_end(expr.tokens.end), why),
                None => Side::Expr(self.next),
            };
        }
        let unreadable = |why| Side::Unreadable(self.run_end(first), why);
        match self.lexed.class(first) {
            Class::Variable => {
                let coefficient =
                    self.lexed.kind(first) == Some(TokenKind::Variable { coefficient: true });
                let goes_on =
                    matches!(self.lexed.class(first + 1), Class::Arithmetic | Class::Variable);
                if coefficient || goes_on { unreadable(Why::Variable) } else { Side::Name }
            }
            Class::Broken(why) => unreadable(why),
            Class::Arithmetic => unreadable(self.culprit_after(first)),
            Class::Word(_) | Class::Edge => Side::Name,
        }
    }

    /// Returns the first token of the right side, after `about`.
    fn first_on_right(&self) -> usize {
        let about = self.lexed.kind(self.at + 1) == Some(TokenKind::Word(WordClass::Approximate));
        self.at + 1 + usize::from(about)
    }

    /// Explains why a computation has no right side: words, or nothing at all. A name is defined by
    /// it.
    fn why_no_right_side(&self) -> Option<Why> {
        match self.lexed.class(self.at + 1) {
            Class::Word(_) => Some(Why::Words),
            Class::Variable => None,
            Class::Arithmetic | Class::Broken(_) | Class::Edge => Some(Why::Syntax),
        }
    }

    /// Pairs two readable sides with the doubts about them.
    fn pair(&self, left: usize, right: usize) -> EqualitySides {
        let (left_expr, right_expr) = (&self.parsed.exprs[left], &self.parsed.exprs[right]);
        let trailing = self.trailing_words(right_expr);
        let doubt = left_expr
            .traits
            .doubt
            .or(right_expr.traits.doubt)
            .or_else(|| {
                let words = right_expr.traits.wordy || self.lexed.cautious;
                words.then_some(Why::Words)
            })
            .or_else(|| self.doubt_before(left_expr))
            .or_else(|| self.doubt_after(right_expr, &trailing));
        let marker = self.lexed.kind_before(left_expr.tokens.start);
        EqualitySides {
            left,
            right,
            approximate: self.relation == Relation::Approx || self.lexed.approximate,
            doubt,
            trailing,
            after_dash: marker == Some(TokenKind::Boundary(Bound::ListMarker { minus: true })),
        }
    }
}
