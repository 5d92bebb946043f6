//! Held-out problems: those that a model must not be trained on before an evaluation.
//!
//! Three kinds are held out: problems, by a hash of their text; pairs of factors of a
//! multiplication, anywhere, also in wrong solutions; and lengths, by [`super::make::Difficulty`].
//! Membership depends on texts alone, so that it is the same in every run and for texts from
//! elsewhere.

use sha2::{Digest as _, Sha256};

use super::check::CheckedSolution;

/// One in this many problems is held out.
const PROBLEMS: u8 = 16;
/// One in this many pairs of factors is held out.
const PAIRS: u8 = 16;

/// Whether a problem is held out.
pub fn is_held_problem(problem: &str) -> bool {
    falls("problem", problem, PROBLEMS)
}

/// Whether a multiplication is held out.
pub fn is_held_pair(left: i64, right: i64) -> bool {
    falls("pair", &format!("{left}*{right}"), PAIRS)
}

/// Whether a solution, right or wrong, contains a held-out multiplication.
pub fn has_held_pair(judged: &CheckedSolution) -> bool {
    let mut equations = judged.equations();
    equations.any(|step| step.symbol == '*' && is_held_pair(step.left, step.right))
}

/// Whether a problem with a solution may be trained on.
pub fn may_train(problem: &str, judged: &CheckedSolution) -> bool {
    !is_held_problem(problem) && !has_held_pair(judged)
}

fn falls(purpose: &str, text: &str, one_in: u8) -> bool {
    let hash = Sha256::new().chain_update(purpose).chain_update([0]).chain_update(text);
    hash.finalize()[0].is_multiple_of(one_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn about_one_in_sixteen_is_held_out() {
        let problems = (0..4000).filter(|n| is_held_problem(&format!("{n}+1 mod 100")));
        assert!((180..320).contains(&problems.count()));
        let pairs = (0..100).flat_map(|left| (2..=9).map(move |right| (left, right)));
        let held = pairs.filter(|(left, right)| is_held_pair(*left, *right));
        assert!((30..75).contains(&held.count()));
    }

    #[test]
    fn held_out_pair_is_found_anywhere() {
        let pairs = || (0..100).flat_map(|left| (2..=9).map(move |right| (left, right)));
        let (left, right) =
            pairs().find(|(left, right)| is_held_pair(*left, *right)).expect("there are some");
        let judged =
            |solution: &str| check::check_solution("1+2 mod 100", solution).expect("lines");
        assert!(has_held_pair(&judged(&format!("{left}*{right}=5\nAnswer: 5"))));
        assert!(!has_held_pair(&judged(&format!("{left}+{right}=5\nAnswer: 5"))));
    }
}
