//! The tokens that both dialects share.

use crate::answer::Relation;
use crate::expr::{Constant, Function};

use super::literal::Literal;

/// A token with what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    /// The white space before it.
    pub(super) gap: Gap,
    /// The place of a bracket's partner; for other tokens their own place.
    pub(super) mate: usize,
}

/// White space, from none to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    /// `\,` and its kin.
    Thin,
    /// A blank, or the border of a formula.
    Blank,
    /// `\quad`.
    Wide,
}

/// Typesetting of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// In plain text, where words are words.
    Plain,
    /// In a formula, where letters are variables.
    Formula,
    /// In `\text{…}` and its kin, or outside the formulas of a text that has some.
    Upright,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Number(Literal<'a>),
    /// A run of letters.
    Word {
        text: &'a str,
        style: Style,
    },
    /// One variable, as the plain grammar spells it: `alpha`, `x`.
    Name(&'a str),
    Constant(Constant),
    Function(Function),
    /// `exp`.
    Exponential,
    /// `cis`, `cos + i sin`.
    Cis,
    /// `lg`, the logarithm to base 10.
    CommonLogarithm,
    /// `sqrt` or `\sqrt`.
    SquareRoot,
    /// `√` and `∛`, with the index.
    RootSign(u8),
    /// `\frac`.
    Fraction,
    /// `\binom`.
    Binomial,
    /// `\choose` between its operands.
    Choose,
    /// `\bar`, `\vec` and their kin, which make a name of a name.
    Accent(&'static str),
    /// `\det`.
    Determinant,
    /// `\top`, as an exponent of a matrix.
    Transposed,
    Big(Big),
    /// `Sum(…)` and its kin of the plain grammar.
    BigCall(Big),
    Plus,
    Minus,
    PlusMinus,
    MinusPlus,
    Times,
    Slash,
    Caret,
    Underscore,
    Bang,
    Prime,
    Percent,
    Degree,
    Comma,
    Semicolon,
    Colon,
    Bar,
    /// `\mid`.
    Mid,
    Ampersand,
    /// `\\`.
    NewRow,
    Open(Bracket),
    Close(Bracket),
    Relation(Relation),
    Approx,
    In,
    /// `≡`.
    Congruent,
    /// `\bmod`.
    Mod,
    /// `\pmod`, before its operand.
    PostfixMod,
    Union,
    Intersection,
    Without,
    Numbers(Numbers),
    Currency(&'static str),
    Ellipsis,
    Arrow,
}

/// Operators that take bounds and a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Big {
    Sum,
    Product,
    Integral,
    Limit,
    Derivative,
}

/// Kinds of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Round,
    Square,
    /// `]` that opens or `[` that shuts: the end does not belong to the interval.
    Reversed,
    /// `{`, which groups and is not seen.
    Group,
    /// `\{`.
    Brace,
    Angle,
    /// `\lvert` and `\left|`.
    Bar,
    Floor,
    Ceiling,
    Environment(Environment),
}

/// `\begin{…}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Environment {
    /// A matrix of whatever brackets, or an array.
    Matrix,
    /// A matrix between bars.
    Determinant,
    Cases,
}

/// Sets of numbers with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Empty,
    Integers,
    Naturals,
    Rationals,
    Reals,
    Complexes,
}

impl<'a> Token<'a> {
    /// Returns whether an operand may end with it, so that what follows is no operand of its own
    /// unless a product is meant.
    pub(super) fn ends_operand(self) -> bool {
        matches!(
            self,
            Token::Number(_)
                | Token::Word { .. }
                | Token::Name(_)
                | Token::Constant(_)
                | Token::Bang
                | Token::Prime
                | Token::Percent
                | Token::Degree
                | Token::Close(_)
                | Token::Bar
                | Token::Ellipsis
                | Token::Numbers(_)
        )
    }

    /// Returns the letters, if it is a word.
    pub(super) fn word(self) -> Option<&'a str> {
        match self {
            Token::Word { text, .. } => Some(text),
            _ => None,
        }
    }
}
