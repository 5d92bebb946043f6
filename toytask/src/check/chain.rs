//! Parses and checks chains.
//!
//! A step is right if it is the next operation of the problem, applied to the value of the line
//! before it (in the first line, to the first number), with the right result modulo 100. A step
//! that continues from a wrong one may therefore be right by itself. The last line is right if it
//! states the value of the line before it, and no operation is left.
//!
//! A line that is not the next operation may replace it, be inserted, or follow a missing one. The
//! line after it decides which; the steps that follow are checked against the rest of the problem
//! accordingly.

use super::lines::{self, SolutionLine, WrittenEquation};
use super::{Checked, CheckedSolution, LineFault};

/// Maximum nesting of parentheses.
const MOST_DEPTH: usize = 64;

/// A problem: a number and operations on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    start: i64,
    operations: Vec<(char, i64)>,
    modulus: i64,
}

impl ChainProblem {
    /// Parses an expression with the usual precedence, in which every operation takes the result of
    /// all before it as its left operand; and `mod N` after it.
    pub fn read(text: &str) -> Option<Self> {
        let (expression, modulus) = text.trim().split_once(" mod ")?;
        let modulus = lines::small_integer(modulus.trim()).filter(|modulus| *modulus > 0)?;
        let mut reader = ChainReader { rest: expression.trim().as_bytes(), depth: 0 };
        let Chain { start, operations } = reader.sum()?;
        let is_complete = reader.rest.is_empty() && !operations.is_empty();
        is_complete.then_some(Self { start, operations, modulus })
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are no operations; false for every parsed problem.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Its operations with their right operands, in order.
    pub fn operations(&self) -> &[(char, i64)] {
        &self.operations
    }

    /// The right result.
    pub fn result(&self) -> i64 {
        let steps = self.operations.iter();
        steps.fold(self.start.rem_euclid(self.modulus), |left, (symbol, right)| {
            self.value(left, *symbol, *right)
        })
    }

    fn value(&self, left: i64, symbol: char, right: i64) -> i64 {
        let exact = match symbol {
            '+' => left + right,
            '-' => left - right,
            _ => left * right,
        };
        exact.rem_euclid(self.modulus)
    }
}

/// A number and operations on it.
struct Chain {
    start: i64,
    operations: Vec<(char, i64)>,
}

impl Chain {
    /// The number, if there are no operations on it.
    fn number(&self) -> Option<i64> {
        self.operations.is_empty().then_some(self.start)
    }
}

struct ChainReader<'t> {
    rest: &'t [u8],
    depth: usize,
}

impl ChainReader<'_> {
    fn sum(&mut self) -> Option<Chain> {
        let mut left = self.product()?;
        while let Some(symbol) = self.one_of(b"+-") {
            let right = self.product()?.number()?;
            left.operations.push((symbol, right));
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Chain> {
        let mut left = self.atom()?;
        while let Some(symbol) = self.one_of(b"*") {
            let right = self.atom()?.number()?;
            left.operations.push((symbol, right));
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<Chain> {
        if self.one_of(b"(").is_some() {
            self.depth += 1;
            let inside = (self.depth <= MOST_DEPTH).then(|| self.sum()).flatten()?;
            self.depth -= 1;
            return self.one_of(b")").map(|_| inside);
        }
        self.skip_spaces();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let (number, rest) = self.rest.split_at(digits.count());
        self.rest = rest;
        let number = std::str::from_utf8(number).ok()?;
        Some(Chain { start: lines::small_integer(number)?, operations: Vec::new() })
    }

    fn one_of(&mut self, symbols: &[u8]) -> Option<char> {
        self.skip_spaces();
        let (first, rest) = self.rest.split_first()?;
        symbols.contains(first).then(|| {
            self.rest = rest;
            char::from(*first)
        })
    }

    fn skip_spaces(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }
}

/// Checks a solution; `None` if the problem is not a chain or the solution is blank.
pub fn check_chain(problem: &str, solution: &str) -> Option<CheckedSolution> {
    let problem = ChainProblem::read(problem)?;
    let read = lines::lines(solution);
    if read.is_empty() {
        return None;
    }
    let mut walk = Walk { problem: &problem, reached: problem.start, done: 0 };
    let last = read.len() - 1;
    let checked = read.iter().enumerate().map(|(at, line)| {
        let fault = match line {
            SolutionLine::Equation(equation) => walk.step(equation, read.get(at + 1)),
            SolutionLine::Answer(stated) if at == last => walk.answer(*stated),
            SolutionLine::Answer(_) | SolutionLine::Other => Some(LineFault::Unreadable),
        };
        Checked { line: *line, fault }
    });
    Some(CheckedSolution { lines: checked.collect(), gold: problem.result() })
}

/// The position of a solution in its problem.
struct Walk<'p> {
    problem: &'p ChainProblem,
    /// The value of the last step.
    reached: i64,
    /// Number of operations done.
    done: usize,
}

impl Walk<'_> {
    fn step(&mut self, step: &WrittenEquation, after: Option<&SolutionLine>) -> Option<LineFault> {
        let reached = std::mem::replace(&mut self.reached, step.value);
        let operations = &self.problem.operations;
        let next = operations.get(self.done).copied();
        let own = (step.symbol, step.right);
        let is_next = next == Some(own);
        self.done = if is_next { self.done + 1 } else { self.resume(own, after) };
        if step.left != reached {
            return Some(LineFault::Start { reached });
        }
        if !is_next {
            let next = next.map(|(symbol, right)| format!("{symbol}{right}"));
            return Some(LineFault::Operation { next });
        }
        let value = self.problem.value(step.left, step.symbol, step.right);
        (value != step.value).then(|| LineFault::Value {
            operation: format!("{}{}{}", step.left, step.symbol, step.right),
            value,
        })
    }

    /// Number of operations done after a line that is not the next one.
    fn resume(&self, own: (char, i64), after: Option<&SolutionLine>) -> usize {
        let operations = &self.problem.operations;
        let follows = |done: usize| match after {
            Some(SolutionLine::Equation(step)) => {
                operations.get(done) == Some(&(step.symbol, step.right))
            }
            Some(SolutionLine::Answer(_) | SolutionLine::Other) | None => done == operations.len(),
        };
        if follows(self.done) {
            return self.done;
        }
        let instead = (self.done + 1).min(operations.len());
        if follows(instead) {
            return instead;
        }
        let later = operations[self.done..].iter().position(|operation| *operation == own);
        later.map_or(instead, |at| self.done + at + 1)
    }

    fn answer(&self, stated: i64) -> Option<LineFault> {
        let reached = self.reached;
        if self.done < self.problem.operations.len() {
            return Some(LineFault::Early);
        }
        (stated != reached).then_some(LineFault::Result { reached })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_read_with_the_usual_precedence() {
        let check = |text: &str, expected: Option<i64>| {
            let found = ChainProblem::read(text).map(|problem| problem.result());
            assert_eq!(found, expected, "{text}");
        };
        check("17+58 mod 100", Some(75));
        check("(17+58)*4-91 mod 100", Some(9));
        check(" ( 17 + 58 ) * 4 - 91  mod  100", Some(9));
        check("((17-18)*2+3)*5 mod 100", Some(5));
        check("3-5 mod 7", Some(5));
        // By precedence this one is 17 + (58 * 4), which is no chain.
        check("17+58*4 mod 100", None);
        for text in [
            "",
            "17 mod 100",
            "17+58",
            "17+58 mod",
            "17+58 mod 0",
            "17+ mod 100",
            "(17+58 mod 100",
            "17+58) mod 100",
            "17/5 mod 100",
            "-1+5 mod 100",
            "1+(2+3) mod 100",
            "+5 mod 100",
        ] {
            check(text, None);
        }
        let deep = format!("{}1+2{} mod 100", "(".repeat(5000), ")".repeat(5000));
        check(&deep, None);
    }

    #[test]
    fn faults_are_named() {
        let check = |solution: &str, expected: &[Option<LineFault>]| {
            let judged = check_chain("(17+58)*4-91 mod 100", solution).expect("a solution");
            let faults: Vec<Option<LineFault>> =
                judged.lines.iter().map(|line| line.fault.clone()).collect();
            assert_eq!(faults, expected, "{solution}");
        };
        let value = |operation: &str, value| {
            Some(LineFault::Value { operation: operation.to_owned(), value })
        };
        let operation = |next: &str| Some(LineFault::Operation { next: Some(next.to_owned()) });
        let start = |reached| Some(LineFault::Start { reached });
        check("17+58=75\n75*4=0\n0-91=9\nAnswer: 9", &[None, None, None, None]);
        check("17+58=75\n\n 75 * 4 = 0\n\n0-91=9\nAnswer:9\n", &[None, None, None, None]);
        // A slip that later lines build on is one fault.
        check("17+58=65\n65*4=60\n60-91=69\nAnswer: 69", &[value("17+58", 75), None, None, None]);
        // A slip that they do not build on is two.
        check("17+58=65\n75*4=0\n0-91=9\nAnswer: 9", &[value("17+58", 75), start(65), None, None]);
        check("17+58=75\n75-91=84\nAnswer: 84", &[None, operation("*4"), None]);
        check("17+58=75\n75*3=25\n25-91=34\nAnswer: 34", &[None, operation("*4"), None, None]);
        check("17+58=75\n75*4=0\n75*4=0\n0-91=9\nAnswer: 9", &[None, None, start(0), None, None]);
        check("17+58=75\n75*4=0\nAnswer: 0", &[None, None, Some(LineFault::Early)]);
        check(
            "17+58=75\n75*4=0\n0-91=9\nAnswer: 8",
            &[None, None, None, Some(LineFault::Result { reached: 9 })],
        );
        check(
            "17+58=75\n75*4=0\n0-91=9\n9+1=10\nAnswer: 10",
            &[None, None, None, Some(LineFault::Operation { next: None }), None],
        );
        check(
            "First we add.\n17+58=75\nAnswer: 75\n75*4=0",
            &[Some(LineFault::Unreadable), None, Some(LineFault::Unreadable), None],
        );
        assert_eq!(check_chain("(17+58)*4-91 mod 100", " \n"), None);
    }

    #[test]
    fn right_result_counts_for_any_steps() {
        let problem = "17+58 mod 100";
        let judged = check_chain(problem, "17+58=74\nAnswer: 75").expect("a solution");
        assert!(judged.is_final_right() && !judged.is_right());
        assert_eq!(judged.local(), [false, false]);
        assert_eq!(judged.grade(9), 0);
        let judged = check_chain(problem, "17+58=75").expect("a solution");
        assert!(!judged.is_final_right() && judged.is_right());
        assert_eq!(judged.stated(), None);
        let judged = check_chain(problem, "17+58=75\nAnswer: 74").expect("a solution");
        assert_eq!((judged.first_error(), judged.grade(9)), (Some(1), 4));
        assert_eq!(judged.sound(), [true, false]);
    }
}
