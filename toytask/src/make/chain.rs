//! Chains: numbers below 100, one operation after the other, each result taken modulo 100.

use std::fmt;
use std::ops::RangeInclusive;

use crate::rng::StableRng;

/// Every number of a chain is below it.
pub const MODULUS: u16 = 100;
/// The beginning of the last line of a solution.
pub const ANSWER: &str = "Answer: ";

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
}

impl Op {
    /// Every operation.
    pub const ALL: [Op; 3] = [Op::Plus, Op::Minus, Op::Times];

    /// The operation's character.
    pub fn symbol(self) -> char {
        match self {
            Op::Plus => '+',
            Op::Minus => '-',
            Op::Times => '*',
        }
    }

    /// The result modulo 100.
    pub fn apply(self, left: u8, right: u8) -> u8 {
        let (left, right) = (u16::from(left), u16::from(right));
        let result = match self {
            Op::Plus => left + right,
            Op::Minus => left + MODULUS - right % MODULUS,
            Op::Times => left * right,
        };
        u8::try_from(result % MODULUS).expect("it is below 100")
    }
}

/// One operation of a chain and its right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The operation.
    pub op: Op,
    /// Its right operand.
    pub right: u8,
}

/// A problem: a number and operations on it, from left to right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The first number.
    pub start: u8,
    /// The operations, at least one.
    pub links: Vec<Link>,
}

/// Difficulty of chains.
#[derive(Clone, Debug, PartialEq)]
pub struct Difficulty {
    /// Number of operations, uniformly distributed.
    pub lengths: RangeInclusive<usize>,
    /// Share of multiplications among the operations.
    pub times: f64,
    /// Operands of additions and subtractions.
    pub addends: RangeInclusive<u8>,
    /// Factors of multiplications.
    pub multipliers: RangeInclusive<u8>,
}

impl Default for Difficulty {
    /// One to six operations, three in ten of them multiplications by one digit; any other number
    /// below 100 is added or subtracted.
    fn default() -> Self {
        Self { lengths: 1..=6, times: 0.3, addends: 1..=99, multipliers: 2..=9 }
    }
}

/// Maximum operations of a chain.
const MOST_LENGTH: usize = 32;

impl Difficulty {
    /// Whether chains can be drawn.
    ///
    /// # Errors
    /// The fault.
    pub fn check(&self) -> Result<(), String> {
        let within = |range: &RangeInclusive<u8>, least: u8| {
            !range.is_empty() && *range.start() >= least && *range.end() <= 99
        };
        if self.lengths.is_empty() || *self.lengths.start() < 1 || *self.lengths.end() > MOST_LENGTH
        {
            return Err(format!("lengths go from 1 to {MOST_LENGTH}"));
        }
        if !(0.0..=1.0).contains(&self.times) {
            return Err("a share is from 0 to 1".to_owned());
        }
        if !within(&self.addends, 1) {
            return Err("addends go from 1 to 99".to_owned());
        }
        if !within(&self.multipliers, 2) {
            return Err("multipliers go from 2 to 99".to_owned());
        }
        Ok(())
    }
}

impl Chain {
    pub(crate) fn draw(difficulty: &Difficulty, rng: &mut StableRng) -> Self {
        let (least, most) = (*difficulty.lengths.start(), *difficulty.lengths.end());
        let length = least + rng.below(most - least + 1);
        let start = rng.within(1, 99);
        let link = |rng: &mut StableRng| {
            let (op, among) = if rng.chance(difficulty.times) {
                (Op::Times, &difficulty.multipliers)
            } else {
                (*rng.pick(&[Op::Plus, Op::Minus]), &difficulty.addends)
            };
            Link { op, right: rng.within(*among.start(), *among.end()) }
        };
        Self { start, links: (0..length).map(|_| link(rng)).collect() }
    }

    /// The problem in the usual notation, such as `(17+58)*4-91 mod 100`, with parentheses where
    /// multiplication would otherwise come first.
    pub fn problem(&self) -> String {
        let mut text = self.start.to_string();
        let mut is_sum = false;
        for link in &self.links {
            match link.op {
                Op::Times if is_sum => {
                    text = format!("({text})");
                    is_sum = false;
                }
                Op::Times => {}
                Op::Plus | Op::Minus => is_sum = true,
            }
            text.push(link.op.symbol());
            text.push_str(&link.right.to_string());
        }
        format!("{text} mod {MODULUS}")
    }

    /// The solution.
    pub fn solution(&self) -> Solution {
        let mut left = self.start;
        let equations = self.links.iter().map(|link| {
            let equation = WrittenStep::of(left, *link);
            left = equation.value;
            equation
        });
        Solution { equations: equations.collect(), answer: left }
    }
}

/// A written step; it need not be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenStep {
    /// The left operand.
    pub left: u8,
    /// The operation and its right operand.
    pub link: Link,
    /// The stated result.
    pub value: u8,
}

impl WrittenStep {
    /// A right step.
    pub fn of(left: u8, link: Link) -> Self {
        Self { left, link, value: link.op.apply(left, link.right) }
    }
}

/// Written steps and a result; they need not be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The steps.
    pub equations: Vec<WrittenStep>,
    /// The stated result of the last line.
    pub answer: u8,
}

impl fmt::Display for WrittenStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link { op, right } = self.link;
        write!(f, "{}{}{right}={}", self.left, op.symbol(), self.value)
    }
}

impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for equation in &self.equations {
            writeln!(f, "{equation}")?;
        }
        write!(f, "{ANSWER}{}", self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(start: u8, links: &[(Op, u8)]) -> Chain {
        let link = |(op, right): &(Op, u8)| Link { op: *op, right: *right };
        Chain { start, links: links.iter().map(link).collect() }
    }

    #[test]
    fn chain_is_written_with_usual_precedence() {
        use Op::{Minus, Plus, Times};
        let check = |links: &[(Op, u8)], problem: &str, solution: &str| {
            let chain = chain(17, links);
            assert_eq!(chain.problem(), problem);
            assert_eq!(chain.solution().to_string(), solution);
        };
        check(&[(Plus, 58)], "17+58 mod 100", "17+58=75\nAnswer: 75");
        check(
            &[(Plus, 58), (Times, 4), (Minus, 91)],
            "(17+58)*4-91 mod 100",
            "17+58=75\n75*4=0\n0-91=9\nAnswer: 9",
        );
        check(
            &[(Times, 7), (Times, 2), (Minus, 39), (Times, 3)],
            "(17*7*2-39)*3 mod 100",
            "17*7=19\n19*2=38\n38-39=99\n99*3=97\nAnswer: 97",
        );
        check(
            &[(Minus, 18), (Times, 2), (Plus, 3), (Times, 5)],
            "((17-18)*2+3)*5 mod 100",
            "17-18=99\n99*2=98\n98+3=1\n1*5=5\nAnswer: 5",
        );
    }

    #[test]
    fn difficulty_is_kept() {
        let difficulty =
            Difficulty { lengths: 2..=4, times: 0.5, addends: 20..=40, multipliers: 3..=5 };
        let (mut lengths, mut times, mut links) = ([0; 5], 0, 0);
        for at in 0..600 {
            let drawn = Chain::draw(&difficulty, &mut StableRng::new(3, "chain", &[at]));
            lengths[drawn.links.len()] += 1;
            links += drawn.links.len();
            for link in &drawn.links {
                match link.op {
                    Op::Times => {
                        times += 1;
                        assert!((3..=5).contains(&link.right));
                    }
                    Op::Plus | Op::Minus => assert!((20..=40).contains(&link.right)),
                }
            }
        }
        assert!(lengths[2..].iter().all(|n| (150..250).contains(n)));
        assert_eq!(lengths[..2], [0, 0]);
        assert!((0.45..0.55).contains(&(f64::from(times) / links as f64)));
    }
}
