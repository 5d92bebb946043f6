//! Mistakes: solutions that are wrong at a known line.
//!
//! Mistakes that later steps build on resemble those of a solver that errs; a single changed
//! character is a near miss, in which only a reader of every character finds the fault.

use super::chain::{Chain, Link, Op, Solution, WrittenStep};
use crate::rng::StableRng;

/// The kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slip {
    /// One digit of the text is changed, and nothing else.
    Digit,
    /// One step has a wrong result, from which the rest continues.
    Value,
    /// As [`Slip::Value`], with one digit changed to another of its parity.
    ///
    /// A model that judges results learns parity first, and most other wrong results differ in it: what remains needs
    /// the result.
    SameParity,
    /// One step has another operand, and the rest continues from its result.
    Operand,
    /// One step has another operation, and the rest continues from its result.
    Operation,
    /// A step is left out, and the rest continues from the step before.
    Dropped,
    /// A step is left out, and the rest is unchanged.
    Jumped,
    /// A step is repeated.
    Repeated,
    /// It ends before the last operation.
    Early,
    /// The last line states another result.
    Answer,
}

/// A solution with a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slipped {
    /// The text.
    pub text: String,
    /// The first wrong line, from 0.
    pub line: usize,
}

impl Slip {
    /// Every mistake.
    pub const ALL: [Slip; 10] = [
        Slip::Digit,
        Slip::Value,
        Slip::Operand,
        Slip::Operation,
        Slip::Dropped,
        Slip::Jumped,
        Slip::Repeated,
        Slip::Early,
        Slip::Answer,
        Slip::SameParity,
    ];

    /// Every mistake but [`Slip::SameParity`], which is a case of [`Slip::Value`].
    pub(crate) fn distinct() -> &'static [Slip] {
        let [distinct @ .., Slip::SameParity] = &Self::ALL else {
            unreachable!("it is the last");
        };
        distinct
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Slip::Digit => "digit",
            Slip::Value => "value",
            Slip::SameParity => "same_parity",
            Slip::Operand => "operand",
            Slip::Operation => "operation",
            Slip::Dropped => "dropped",
            Slip::Jumped => "jumped",
            Slip::Repeated => "repeated",
            Slip::Early => "early",
            Slip::Answer => "answer",
        }
    }

    /// Whether every chain can have it.
    pub(crate) fn is_always_possible(self) -> bool {
        match self {
            Slip::Digit
            | Slip::Value
            | Slip::SameParity
            | Slip::Operand
            | Slip::Operation
            | Slip::Answer => true,
            Slip::Dropped | Slip::Jumped | Slip::Repeated | Slip::Early => false,
        }
    }

    /// Makes a solution with this mistake; `None` if it cannot occur in the chain.
    pub(crate) fn make(self, chain: &Chain, rng: &mut StableRng) -> Option<Slipped> {
        let right = chain.solution();
        let n = chain.links.len();
        let at = rng.below(n);
        let (solution, line) = match self {
            Slip::Digit => {
                let text = right.to_string();
                let (text, line) = other_digit(&text, rng)?;
                return Some(Slipped { text, line });
            }
            Slip::Value | Slip::SameParity => {
                let wrong = if self == Slip::Value { wrong_value } else { same_parity };
                let value = wrong(right.equations[at].value, rng);
                (carried(chain, at, |equation| equation.value = value), at)
            }
            Slip::Operand | Slip::Operation => {
                let link = if self == Slip::Operand {
                    other_operand(chain.links[at], rng)
                } else {
                    other_operation(chain.links[at], rng)
                };
                let change =
                    |equation: &mut WrittenStep| *equation = WrittenStep::of(equation.left, link);
                (carried(chain, at, change), at)
            }
            Slip::Dropped | Slip::Jumped => (dropped(self, chain, at)?, at),
            Slip::Repeated => {
                if chain.links.get(at + 1) == Some(&chain.links[at]) {
                    return None;
                }
                let mut solution = right;
                solution.equations.insert(at + 1, solution.equations[at]);
                (solution, at + 1)
            }
            Slip::Early => {
                let mut solution = right;
                solution.equations.truncate(at);
                solution.answer = solution.equations.last()?.value;
                (solution, at)
            }
            Slip::Answer => {
                let answer = wrong_value(right.answer, rng);
                (Solution { answer, ..right }, n)
            }
        };
        Some(Slipped { text: solution.to_string(), line })
    }
}

/// The solution that continues from a changed step.
fn carried(chain: &Chain, at: usize, change: impl Fn(&mut WrittenStep)) -> Solution {
    let mut left = chain.start;
    let equations = chain.links.iter().enumerate().map(|(index, link)| {
        let mut equation = WrittenStep::of(left, *link);
        if index == at {
            change(&mut equation);
        }
        left = equation.value;
        equation
    });
    Solution { equations: equations.collect(), answer: left }
}

/// The solution without a step. If the next operation is the same one, it is undefined which of the
/// two is missing; and a solution without any step is invalid.
fn dropped(slip: Slip, chain: &Chain, at: usize) -> Option<Solution> {
    let n = chain.links.len();
    if n == 1 || chain.links.get(at + 1) == Some(&chain.links[at]) {
        return None;
    }
    let mut rest = chain.clone();
    rest.links.remove(at);
    if slip == Slip::Dropped {
        return Some(rest.solution());
    }
    let mut solution = chain.solution();
    solution.equations.remove(at);
    Some(solution)
}

/// A plausible wrong result: a neighbour, a forgotten carry, swapped digits, or any other number.
fn wrong_value(right: u8, rng: &mut StableRng) -> u8 {
    let around = |by: u8| (right + by) % 100;
    let likely = [around(1), around(99), around(10), around(90), right % 10 * 10 + right / 10];
    loop {
        let value = if rng.chance(0.6) { *rng.pick(&likely) } else { rng.within(0, 99) };
        if value != right {
            return value;
        }
    }
}

/// A wrong result that differs in one digit, and in neither digit's parity.
fn same_parity(right: u8, rng: &mut StableRng) -> u8 {
    let (tens, ones) = (right / 10, right % 10);
    let other = |digit: u8, rng: &mut StableRng| (digit + 2 * rng.within(1, 4)) % 10;
    if rng.coin() { tens * 10 + other(ones, rng) } else { other(tens, rng) * 10 + ones }
}

/// Another right operand with another result for most left ones.
fn other_operand(link: Link, rng: &mut StableRng) -> Link {
    loop {
        let right = match link.op {
            Op::Plus | Op::Minus => rng.within(1, 99),
            Op::Times => rng.within(2, 9),
        };
        if right != link.right {
            return Link { right, ..link };
        }
    }
}

fn other_operation(link: Link, rng: &mut StableRng) -> Link {
    loop {
        let op = *rng.pick(&Op::ALL);
        if op != link.op {
            return Link { op, ..link };
        }
    }
}

/// The text with one of its digits changed, and the line of the change. No number gets a leading
/// zero, because such numbers are never written.
pub(crate) fn other_digit(text: &str, rng: &mut StableRng) -> Option<(String, usize)> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let places: Vec<usize> = (0..text.len()).filter(|at| is_digit(*at)).collect();
    if places.is_empty() {
        return None;
    }
    let at = *rng.pick(&places);
    let begins = !at.checked_sub(1).is_some_and(is_digit) && is_digit(at + 1);
    let old = text.as_bytes()[at];
    let new = loop {
        let new = b'0' + u8::try_from(rng.below(10)).expect("a digit");
        if new != old && !(begins && new == b'0') {
            break new;
        }
    };
    let mut changed = text.to_owned();
    changed.replace_range(at..=at, char::from(new).encode_utf8(&mut [0; 4]));
    let line = text[..at].matches('\n').count();
    Some((changed, line))
}
