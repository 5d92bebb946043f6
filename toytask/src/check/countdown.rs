//! Parses and checks countdown.
//!
//! A step is right if both of its numbers are available, given or made and not used yet, and its
//! result is right: an integer, not below 0. The last line is right if one number is left and is
//! the one stated. Every given number has to be used.

use super::lines::{self, SolutionLine, WrittenEquation};
use super::{Checked, CheckedSolution, LineFault};

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountdownProblem {
    target: i64,
    numbers: Vec<i64>,
}

impl CountdownProblem {
    /// Parses `Make T from A, B, C`.
    pub fn read(text: &str) -> Option<Self> {
        let (target, numbers) = text.trim().strip_prefix("Make ")?.split_once(" from ")?;
        let numbers = numbers.split(',').map(|text| lines::small_integer(text.trim()));
        let numbers: Vec<i64> = numbers.collect::<Option<_>>()?;
        (numbers.len() > 1).then_some(Self { target: lines::small_integer(target)?, numbers })
    }

    /// The number to reach.
    pub fn target(&self) -> i64 {
        self.target
    }
}

/// Checks a solution; `None` if the problem is not countdown or the solution is blank.
pub fn check_countdown(problem: &str, solution: &str) -> Option<CheckedSolution> {
    let problem = CountdownProblem::read(problem)?;
    let read = lines::lines(solution);
    if read.is_empty() {
        return None;
    }
    let mut pool = problem.numbers.clone();
    let last = read.len() - 1;
    let checked = read.iter().enumerate().map(|(at, line)| {
        let fault = match line {
            SolutionLine::Equation(equation) => check_step(&mut pool, equation),
            SolutionLine::Answer(stated) if at == last => check_answer(&pool, &problem, *stated),
            SolutionLine::Answer(_) | SolutionLine::Other => Some(LineFault::Unreadable),
        };
        Checked { line: *line, fault }
    });
    let lines: Vec<Checked> = checked.collect();
    Some(CheckedSolution { lines, gold: problem.target })
}

/// Removes the operands of a step from the pool and adds its stated result.
fn check_step(pool: &mut Vec<i64>, step: &WrittenEquation) -> Option<LineFault> {
    let mut missing = None;
    for number in [step.left, step.right] {
        match pool.iter().position(|known| *known == number) {
            Some(at) => {
                pool.remove(at);
            }
            None => missing = missing.or(Some(LineFault::Missing { number })),
        }
    }
    pool.push(step.value);
    missing.or_else(|| {
        let value = match step.symbol {
            '+' => step.left + step.right,
            '-' => step.left - step.right,
            '*' => step.left * step.right,
            _ if step.right != 0 && step.left % step.right == 0 => step.left / step.right,
            _ => return Some(LineFault::Unreadable),
        };
        (value != step.value).then(|| LineFault::Value {
            operation: format!("{}{}{}", step.left, step.symbol, step.right),
            value,
        })
    })
}

fn check_answer(pool: &[i64], problem: &CountdownProblem, stated: i64) -> Option<LineFault> {
    match pool {
        [reached] if *reached != stated => Some(LineFault::Result { reached: *reached }),
        [_] if stated != problem.target => Some(LineFault::Target { target: problem.target }),
        [_] => None,
        _ => Some(LineFault::Early),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_exactly_once() {
        let check = |solution: &str, expected: &[Option<LineFault>]| {
            let judged = check_countdown("Make 46 from 3, 7, 25", solution).expect("a solution");
            let faults: Vec<Option<LineFault>> =
                judged.lines.iter().map(|line| line.fault.clone()).collect();
            assert_eq!(faults, expected, "{solution}");
        };
        let missing = |number| Some(LineFault::Missing { number });
        check("7*3=21\n21+25=46\nAnswer: 46", &[None, None, None]);
        check("3*7=21\n25+21=46\nAnswer: 46", &[None, None, None]);
        check("7*3=21\nAnswer: 46", &[None, Some(LineFault::Early)]);
        check("25+21=46\nAnswer: 46", &[missing(21), Some(LineFault::Early)]);
        check(
            "7*3=20\n20+25=45\nAnswer: 46",
            &[
                Some(LineFault::Value { operation: "7*3".to_owned(), value: 21 }),
                None,
                Some(LineFault::Result { reached: 45 }),
            ],
        );
        check(
            "7+3=10\n10+25=35\nAnswer: 35",
            &[None, None, Some(LineFault::Target { target: 46 })],
        );
        check(
            "7/3=2\n2*25=50\nAnswer: 50",
            &[Some(LineFault::Unreadable), None, Some(LineFault::Target { target: 46 })],
        );
        check(
            "3-7=4\n4+25=29",
            &[Some(LineFault::Value { operation: "3-7".to_owned(), value: -4 }), None],
        );
        assert_eq!(check_countdown("Make 46 from 3, 7, 25", ""), None);
        for problem in ["Make 46", "Make 46 from 3", "Make x from 1, 2", "46 from 3, 7"] {
            assert_eq!(CountdownProblem::read(problem), None, "{problem}");
        }
    }
}
