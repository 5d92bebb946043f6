//! Checks solutions, with parsers of its own.
//!
//! It shares no code with the generators of problems and solutions: a mistake in one would otherwise be
//! invisible to the other.
//!
//! A step has a *local* label, whether it is right given what is written before it; and it is
//! *sound* where no step up to it is wrong, so that it builds on nothing wrong.

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
    /// It begins with another number than the one that was reached.
    Start {
        /// The number that was reached.
        reached: i64,
    },
    /// It is not the next operation of the problem.
    Operation {
        /// The next one, such as `*4`; `None` if none is left.
        next: Option<String>,
    },
    /// It uses a number that is not there, or not any more.
    Missing {
        /// The number.
        number: i64,
    },
    /// Another number comes out.
    Value {
        /// The operation as it is written, such as `75*4`.
        operation: String,
        /// What comes out.
        value: i64,
    },
    /// It states another result than the last one that was reached.
    Result {
        /// The last one.
        reached: i64,
    },
    /// It states a result before everything was done.
    Early,
    /// It states the result that was reached, and another one was to be reached.
    Target {
        /// The one to reach.
        target: i64,
    },
}

/// The critique of a line, a sentence.
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

/// A line of a solution and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The line as it was read.
    pub line: SolutionLine,
    /// The first fault, given the lines before it; `None` if the line is right.
    pub fault: Option<LineFault>,
}

/// A solution that was read. It has at least one line.
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

    /// What the last line states, where it states a result.
    pub fn stated(&self) -> Option<i64> {
        match self.lines.last()?.line {
            SolutionLine::Answer(number) => Some(number),
            SolutionLine::Equation(_) | SolutionLine::Other => None,
        }
    }

    /// Whether the right result is stated, in whatever way it was reached.
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

    /// The steps as they are written; the line with the result is none of them.
    pub fn equations(&self) -> impl Iterator<Item = &WrittenEquation> {
        self.lines.iter().filter_map(|checked| match &checked.line {
            SolutionLine::Equation(equation) => Some(equation),
            SolutionLine::Answer(_) | SolutionLine::Other => None,
        })
    }
}

/// Checks a solution of a chain or of countdown, whichever the problem is; `None` if the problem is
/// neither, or the solution is blank.
pub fn judge(problem: &str, solution: &str) -> Option<CheckedSolution> {
    chain::judge(problem, solution).or_else(|| countdown::judge(problem, solution))
}

/// The right result of a problem.
pub fn gold(problem: &str) -> Option<i64> {
    let of_chain = chain::ChainProblem::read(problem).map(|problem| problem.result());
    of_chain.or_else(|| countdown::CountdownProblem::read(problem).map(|problem| problem.target()))
}
