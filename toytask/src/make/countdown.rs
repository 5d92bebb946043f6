//! Countdown: reach a number from a few others, each used exactly once.
//!
//! Checking a solution takes one look at each step, finding one takes a search: the opposite of
//! chains, in which both are about equally hard.

use std::fmt::Write as _;

use super::chain::ANSWER;
use crate::rng::StableRng;

/// The greatest of the given numbers.
const MOST_GIVEN: u8 = 25;
/// The greatest number that is to be reached.
const MOST_TARGET: u32 = 99;
/// Maximum intermediate result.
const MOST_VALUE: u32 = 999;

/// A problem with one of its solutions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Countdown {
    /// The numbers to use, in the order of the problem.
    pub numbers: Vec<u32>,
    /// The number to reach.
    pub target: u32,
    /// The steps of the solution from which it was made: left operand, symbol, right operand,
    /// result.
    pub steps: Vec<(u32, char, u32, u32)>,
}

impl Countdown {
    /// Draws a problem of `count` numbers, at least 2.
    pub(crate) fn draw(count: usize, rng: &mut StableRng) -> Self {
        loop {
            let numbers: Vec<u32> =
                (0..count).map(|_| u32::from(rng.within(1, MOST_GIVEN))).collect();
            if let Some(made) = Self::combine(&numbers, rng)
                && (1..=MOST_TARGET).contains(&made.target)
            {
                return made;
            }
        }
    }

    /// Replaces two numbers at a time by their result until one is left.
    fn combine(numbers: &[u32], rng: &mut StableRng) -> Option<Self> {
        let mut pool = numbers.to_vec();
        let mut steps = Vec::new();
        while pool.len() > 1 {
            let left = pool.swap_remove(rng.below(pool.len()));
            let right = pool.swap_remove(rng.below(pool.len()));
            let symbol = *rng.pick(&['+', '-', '*', '/']);
            let value = result(left, symbol, right)?;
            steps.push((left, symbol, right, value));
            pool.push(value);
        }
        Some(Self { numbers: numbers.to_vec(), target: pool[0], steps })
    }

    /// The problem as text.
    pub fn problem(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        format!("Make {} from {}", self.target, numbers.join(", "))
    }

    /// The solution.
    pub fn solution(&self) -> String {
        let mut text = String::new();
        for (left, symbol, right, value) in &self.steps {
            writeln!(text, "{left}{symbol}{right}={value}").expect("memory takes it");
        }
        text + ANSWER + &self.target.to_string()
    }
}

/// The result, if it is an integer within the limit of intermediate results.
fn result(left: u32, symbol: char, right: u32) -> Option<u32> {
    let value = match symbol {
        '+' => left + right,
        '-' => left.checked_sub(right)?,
        '*' => left * right,
        _ if right > 0 && left.is_multiple_of(right) => left / right,
        _ => return None,
    };
    (value <= MOST_VALUE).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::Countdown;
    use crate::rng::StableRng;

    #[test]
    fn a_problem_reads_well() {
        let made = Countdown {
            numbers: vec![3, 7, 25],
            target: 46,
            steps: vec![(7, '*', 3, 21), (21, '+', 25, 46)],
        };
        assert_eq!(made.problem(), "Make 46 from 3, 7, 25");
        assert_eq!(made.solution(), "7*3=21\n21+25=46\nAnswer: 46");
    }

    #[test]
    fn problems_are_within_their_bounds() {
        for at in 0..200 {
            let mut rng = StableRng::new(5, "countdown", &[at]);
            let count = 3 + rng.below(2);
            let made = Countdown::draw(count, &mut rng);
            assert_eq!(made.numbers.len(), count);
            assert_eq!(made.steps.len(), count - 1);
            assert!((1..=99).contains(&made.target));
            assert!(made.steps.iter().all(|step| step.3 <= 999));
        }
    }
}
