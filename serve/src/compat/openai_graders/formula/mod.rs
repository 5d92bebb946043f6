//! Formulas over named rewards, as graders combine them: `0.8 * exact + 0.2 * min(style, tone)`.
//!
//! A formula has numbers, names, `+ - * / ^`, parentheses and the functions `min`, `max`, `abs`,
//! `floor`, `ceil`, `exp`, `sqrt` and `log`. `^` binds tightest and to the right; a sign binds less
//! tightly than `^`. There are no loops or calls, so that evaluation is linear in length.

mod parse;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

/// Longest formula in bytes.
pub(crate) const MAX_FORMULA_BYTES: usize = 4096;

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    root: FormulaNode,
}

/// A syntax error of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FormulaError {
    /// Offset in bytes.
    pub(crate) at: usize,
    /// Message.
    pub(crate) what: String,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for FormulaError {}

/// Why a formula has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoValue {
    /// A name without a value.
    Unknown(String),
    /// A value that is not finite: a division by zero, a logarithm of zero, an overflow.
    NotFinite,
}

#[derive(Debug, Clone, PartialEq)]
enum FormulaNode {
    Number(f64),
    Name(String),
    Negated(Box<FormulaNode>),
    Both(Operator, Box<(FormulaNode, FormulaNode)>),
    Call(Function, Vec<FormulaNode>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Abs,
    Floor,
    Ceil,
    Exp,
    Sqrt,
    Log,
}

const FUNCTIONS: [(&str, Function); 8] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
    ("exp", Function::Exp),
    ("sqrt", Function::Sqrt),
    ("log", Function::Log),
];

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// The first syntax error.
    pub(crate) fn parse(text: &str) -> Result<Formula, FormulaError> {
        parse::parse(text).map(|root| Formula { root })
    }

    /// Returns the names in the formula.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.root.collect(&mut names);
        names
    }

    /// Evaluates the formula with the values of its names.
    ///
    /// # Errors
    /// A name without a value, or a value that is not finite.
    pub(crate) fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, NoValue> {
        self.root.value(of)
    }
}

impl FormulaNode {
    fn collect<'n>(&'n self, names: &mut BTreeSet<&'n str>) {
        match self {
            FormulaNode::Number(_) => {}
            FormulaNode::Name(name) => {
                names.insert(name);
            }
            FormulaNode::Negated(inner) => inner.collect(names),
            FormulaNode::Both(_, both) => {
                both.0.collect(names);
                both.1.collect(names);
            }
            FormulaNode::Call(_, given) => given.iter().for_each(|inner| inner.collect(names)),
        }
    }

    fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, NoValue> {
        let value = match self {
            FormulaNode::Number(number) => *number,
            FormulaNode::Name(name) => of(name).ok_or_else(|| NoValue::Unknown(name.clone()))?,
            FormulaNode::Negated(inner) => -inner.value(of)?,
            FormulaNode::Both(operator, both) => {
                operator.apply(both.0.value(of)?, both.1.value(of)?)
            }
            FormulaNode::Call(function, given) => {
                let given: Result<Vec<f64>, NoValue> =
                    given.iter().map(|inner| inner.value(of)).collect();
                function.apply(&given?)
            }
        };
        // Checked at every operation, so that `1 / (1 / 0)` has no value either.
        if value.is_finite() { Ok(value) } else { Err(NoValue::NotFinite) }
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Power => left.powf(right),
        }
    }
}

impl Function {
    /// Returns whether the function takes one or more arguments; the others take exactly one.
    fn takes_many(self) -> bool {
        match self {
            Function::Min | Function::Max => true,
            Function::Abs
            | Function::Floor
            | Function::Ceil
            | Function::Exp
            | Function::Sqrt
            | Function::Log => false,
        }
    }

    /// Applies the function to at least one finite value.
    fn apply(self, given: &[f64]) -> f64 {
        let first = given[0];
        match self {
            Function::Min => given.iter().copied().fold(first, f64::min),
            Function::Max => given.iter().copied().fold(first, f64::max),
            Function::Abs => first.abs(),
            Function::Floor => first.floor(),
            Function::Ceil => first.ceil(),
            Function::Exp => first.exp(),
            Function::Sqrt => first.sqrt(),
            Function::Log => first.ln(),
        }
    }
}
