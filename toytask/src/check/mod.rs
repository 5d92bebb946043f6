//! Checks solutions, with parsers of its own.
//!
//! It shares no code with the generators of problems and solutions: a mistake in one would
//! otherwise be invisible to the other.
//!
//! A step has a *local* label, whether it is right given the lines before it; and it is *sound* if
//! no step up to it is wrong, so that it builds on nothing wrong.

pub mod chain;
pub mod countdown;
mod lines;

use std::fmt;

pub use lines::{SolutionLine, WrittenEquation};

/// Why a line is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// It is neither a step nor, at its place, the result.
    Unreadable,
    /// It starts with another number than the last result.
    Start {
        /// The last result.
        reached: i64,
    },
    /// It is not the next operation of the problem.
    Operation {
        /// The next one, such as `*4`; `None` if none is left.
        next: Option<String>,
    },
    /// It uses a number that is not available, or no longer.
    Missing {
        /// The number.
        number: i64,
    },
    /// Its stated result is wrong.
    Value {
        /// The operation in the text, such as `75*4`.
        operation: String,
        /// The right result.
        value: i64,
    },
    /// It states another result than the last step's.
    Result {
        /// The last step's result.
        reached: i64,
    },
    /// It states a result while operations are left.
    Early,
    /// It states the last step's result, which is not the target.
    Target {
        /// The target.
        target: i64,
    },
}

/// The critique of a line, one sentence.
impl fmt::Display for LineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFault::Unreadable => f.write_str("it is no step."),
            LineFault::Start { reached } => write!(f, "it goes on from {reached}."),
            LineFault::Operation { next: Some(next) } => write!(f, "the next one is {next}."),
            LineFault::Operation { next: None } => f.write_str("nothing is left to do."),
            LineFault::Missing { number } => write!(f, "there is no {number}."),
            LineFault::Value { operation, value } => write!(f, "{operation} is {value}."),
            LineFault::Result { reached } => write!(f, "the result is {reached}."),
            LineFault::Early => f.write_str("something is left to do."),
            LineFault::Target { target } => write!(f, "it is not {target}."),
        }
    }
}

/// A line of a solution and its fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The parsed line.
    pub line: SolutionLine,
    /// The first fault, given the lines before it; `None` if the line is right.
    pub fault: Option<LineFault>,
}

/// A parsed solution with at least one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedSolution {
    /// Its lines that are not blank, in order.
    pub lines: Vec<Checked>,
    /// The right result of the problem.
    pub gold: i64,
}

impl CheckedSolution {
    /// Whether each line is right given the lines before it.
    pub fn local(&self) -> Vec<bool> {
        self.lines.iter().map(|line| line.fault.is_none()).collect()
    }

    /// Whether each line and all lines before it are right.
    pub fn sound(&self) -> Vec<bool> {
        let first = self.first_error().unwrap_or(self.lines.len());
        (0..self.lines.len()).map(|at| at < first).collect()
    }

    /// The first wrong line, from 0; `None` if every line is right.
    pub fn first_error(&self) -> Option<usize> {
        self.lines.iter().position(|line| line.fault.is_some())
    }

    /// The result that the last line states; `None` if it states none.
    pub fn stated(&self) -> Option<i64> {
        match self.lines.last()?.line {
            SolutionLine::Answer(number) => Some(number),
            SolutionLine::Equation(_) | SolutionLine::Other => None,
        }
    }

    /// Whether the right result is stated, whatever the steps.
    pub fn is_final_right(&self) -> bool {
        self.stated() == Some(self.gold)
    }

    /// Whether every line is right, and so the result.
    pub fn is_right(&self) -> bool {
        self.first_error().is_none()
    }

    /// A grade from 0 to `best`: the share of lines before the first wrong one, rounded down.
    pub fn grade(&self, best: usize) -> usize {
        let first = self.first_error().unwrap_or(self.lines.len());
        first * best / self.lines.len()
    }

    /// The steps, without the line of the result.
    pub fn equations(&self) -> impl Iterator<Item = &WrittenEquation> {
        self.lines.iter().filter_map(|checked| match &checked.line {
            SolutionLine::Equation(equation) => Some(equation),
            SolutionLine::Answer(_) | SolutionLine::Other => None,
        })
    }
}

/// Checks a solution of a chain or of countdown, depending on the problem; `None` if the problem is
/// neither, or the solution is blank.
pub fn check_solution(problem: &str, solution: &str) -> Option<CheckedSolution> {
    chain::check_chain(problem, solution).or_else(|| countdown::check_countdown(problem, solution))
}

/// The right result of a problem.
pub fn gold(problem: &str) -> Option<i64> {
    let of_chain = chain::ChainProblem::read(problem).map(|problem| problem.result());
    of_chain.or_else(|| countdown::CountdownProblem::read(problem).map(|problem| problem.target()))
}
