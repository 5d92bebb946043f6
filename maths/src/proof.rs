//! Proofs that two expressions are equal or different.

use super::expr::Expr;

/// Whether two expressions have the same value for all values of their variables (where both are
/// defined).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// Proven.
    Equal(Rule),
    /// Proven, with something that shows it where there is.
    Different(Rule, Option<Witness>),
    /// Neither was proven.
    Undecided(Doubt),
}

/// The rule that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Both were written alike.
    Identical,
    /// Exact rational numbers.
    Rational,
    /// Normal forms of polynomials and rational functions.
    RationalFunction,
    /// Algebraic numbers: radicals and the imaginary unit.
    Algebraic,
    /// Normal forms of trigonometric, exponential and logarithmic expressions.
    Elementary,
    /// Sums, products, limits and integrals with a value in closed form.
    Calculus,
    /// Disjoint enclosures by interval arithmetic.
    Enclosure,
    /// One side has no value, or is infinite, and the other is not.
    Definedness,
}

/// A point at which two expressions differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// Values of variables; none where both sides are constant.
    pub at: Vec<(Expr, dashu::rational::RBig)>,
    /// Both sides there, a few digits each, for people.
    pub values: Option<(String, String)>,
}

/// Reason why nothing was proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// They agree to many digits wherever they were tried: likely equal, not certain.
    LikelyEqual,
    /// Something in them has no rule here.
    NoRule,
    /// They have no value where they were tried.
    NoValue,
    /// The fuel for the attempt ran out.
    Costly,
}

/// Assumptions about variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumptions {
    /// Every variable is a positive real number; else it is real, and nothing more.
    pub positive: bool,
}
