//! Expressions that the parser finds.

use std::ops::Range;

use super::report::Why;
use super::token::Op;

/// One step of a computation on a stack of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Pushes a numeral.
    Push(usize),
    /// Changes the sign.
    Neg,
    /// Divides by 100.
    Percent,
    /// Adds whole and fraction of a mixed number.
    Mixed,
    /// Applies a binary operation.
    Apply(Op),
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expr {
    /// Its tokens, with the unit words that were passed over at its end.
    pub(super) tokens: Range<usize>,
    /// Byte after its last token that is not a unit word.
    pub(super) end: usize,
    /// Its computation, in [`Parsed::code`].
    pub(super) code: Range<usize>,
    /// Its unit words, in [`Parsed::units`].
    pub(super) units: Range<usize>,
    /// The kind of expression.
    pub(super) form: ExprForm,
    /// Observations about the expression.
    pub(super) traits: Traits,
}

/// The kind of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExprForm {
    /// One number, perhaps with a sign.
    Bare {
        /// Digits after the point.
        decimals: Option<usize>,
        /// A percent sign follows it.
        percent: bool,
    },
    /// `3/4`, written without spaces, less than one: a share rather than a division.
    Share,
    /// Anything else.
    Compound,
}

/// Place of percent signs in an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Percent {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In a part of it.
    Within,
    /// Its value counts in percent: `100% - 20%`.
    Whole,
}

/// Observations about an expression.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Traits {
    /// A reason not to trust the reading, if there is one.
    pub(super) doubt: Option<Why>,
    /// Place of its percent signs.
    pub(super) percent: Percent,
    /// It has a currency sign.
    pub(super) currency: bool,
    /// An operator in it is a word: `of`, `times`.
    pub(super) wordy: bool,
    /// A number in it has so many digits that floating-point arithmetic must have written it.
    pub(super) float: bool,
}

impl Traits {
    /// Notes a reason not to trust the reading; the first one is kept.
    pub(super) fn doubt(&mut self, why: Why) {
        self.doubt.get_or_insert(why);
    }
}

impl Expr {
    /// Returns whether it has a percent sign.
    pub(super) fn has_percent(&self) -> bool {
        self.traits.percent != Percent::Nowhere
    }

    /// Returns whether nothing is computed in it.
    pub(super) fn is_bare(&self) -> bool {
        matches!(self.form, ExprForm::Bare { .. })
    }
}

/// The expressions of one text, with buffers that are used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// In the order of the text; they do not overlap.
    pub(super) exprs: Vec<Expr>,
    pub(super) code: Vec<Code>,
    /// Tokens that are unit words.
    pub(super) units: Vec<usize>,
}

impl Parsed {
    /// Empties the buffers.
    pub(super) fn restart(&mut self) {
        self.exprs.clear();
        self.code.clear();
        self.units.clear();
    }

    /// Returns the unit words of `expr`, as tokens.
    pub(super) fn units_of(&self, expr: &Expr) -> &[usize] {
        &self.units[expr.units.clone()]
    }

    /// Returns the computation of `expr`.
    pub(super) fn code_of(&self, expr: &Expr) -> &[Code] {
        &self.code[expr.code.clone()]
    }
}
