//! Questions about a solution that a pure function answers, for training and testing a judge.
//!
//! Some are about correctness, some about the text; a judge that can only do one of the two fails
//! at the other. Steps are the lines of a solution except the one with the result.

use super::check::{CheckedSolution, SolutionLine};

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principle {
    /// No step is wrong.
    EveryStep,
    /// Some step is wrong.
    SomeStepWrong,
    /// The first step is not wrong.
    FirstStep,
    /// The last step is not wrong.
    LastStep,
    /// The right result is stated.
    FinalAnswer,
    /// The result of the last step is stated.
    StatesResult,
    /// Each step begins with the result of the one before.
    GoesOn,
    /// There are as many steps as operations.
    NothingLeftOut,
    /// No two steps are the same.
    NoRepetition,
    /// There are more than three steps.
    MoreThanThree,
    /// Some step multiplies.
    Multiplies,
    /// The stated result is even.
    Even,
    /// The stated result is less than 50.
    Small,
    /// The stated result has two digits.
    TwoDigits,
}

impl Principle {
    /// Every question.
    pub const ALL: [Principle; 14] = [
        Principle::EveryStep,
        Principle::SomeStepWrong,
        Principle::FirstStep,
        Principle::LastStep,
        Principle::FinalAnswer,
        Principle::StatesResult,
        Principle::GoesOn,
        Principle::NothingLeftOut,
        Principle::NoRepetition,
        Principle::MoreThanThree,
        Principle::Multiplies,
        Principle::Even,
        Principle::Small,
        Principle::TwoDigits,
    ];

    /// The sentence, true or false of a solution.
    pub fn text(self) -> &'static str {
        match self {
            Principle::EveryStep => "Every step is right.",
            Principle::SomeStepWrong => "At least one step is wrong.",
            Principle::FirstStep => "The first step is right.",
            Principle::LastStep => "The last step is right.",
            Principle::FinalAnswer => "The final answer is right.",
            Principle::StatesResult => "The last line states the result of the last step.",
            Principle::GoesOn => "Each step begins with the result of the step before it.",
            Principle::NothingLeftOut => "There is one step for each operation.",
            Principle::NoRepetition => "No step is repeated.",
            Principle::MoreThanThree => "There are more than three steps.",
            Principle::Multiplies => "There is a multiplication.",
            Principle::Even => "The result is even.",
            Principle::Small => "The result is less than 50.",
            Principle::TwoDigits => "The result has two digits.",
        }
    }

    /// Whether it is true of a solution to a problem of `operations` operations.
    pub fn holds(self, operations: usize, judged: &CheckedSolution) -> bool {
        let steps = Steps::of(judged);
        let stated = judged.stated();
        match self {
            Principle::EveryStep => steps.is_right.iter().all(|right| *right),
            Principle::SomeStepWrong => steps.is_right.iter().any(|right| !right),
            Principle::FirstStep => steps.is_right.first() == Some(&true),
            Principle::LastStep => steps.is_right.last() == Some(&true),
            Principle::FinalAnswer => judged.is_final_right(),
            Principle::StatesResult => {
                let reached = judged.equations().last().map(|step| step.value);
                stated.is_some() && stated == reached
            }
            Principle::GoesOn => {
                let pairs = judged.equations().zip(judged.equations().skip(1));
                pairs.into_iter().all(|(before, after)| before.value == after.left)
            }
            Principle::NothingLeftOut => steps.is_right.len() == operations,
            Principle::NoRepetition => {
                let written: Vec<_> = judged.equations().collect();
                (1..written.len()).all(|at| !written[..at].contains(&written[at]))
            }
            Principle::MoreThanThree => steps.is_right.len() > 3,
            Principle::Multiplies => judged.equations().any(|step| step.symbol == '*'),
            Principle::Even => stated.is_some_and(|number| number % 2 == 0),
            Principle::Small => stated.is_some_and(|number| number < 50),
            Principle::TwoDigits => stated.is_some_and(|number| (10..100).contains(&number)),
        }
    }
}

/// The lines except the one with the result.
struct Steps {
    is_right: Vec<bool>,
}

impl Steps {
    fn of(judged: &CheckedSolution) -> Self {
        let lines = match judged.lines.split_last() {
            Some((last, steps)) if matches!(last.line, SolutionLine::Answer(_)) => steps,
            Some(_) | None => &judged.lines,
        };
        Self { is_right: lines.iter().map(|line| line.fault.is_none()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const PROBLEM: &str = "(17+58)*4-91 mod 100";

    /// Checks that exactly these hold.
    fn check(solution: &str, expected: &[Principle]) {
        let judged = check::check_solution(PROBLEM, solution).expect("a solution");
        let holds = |principle: &Principle| principle.holds(3, &judged);
        let found: Vec<Principle> = Principle::ALL.into_iter().filter(holds).collect();
        assert_eq!(found, expected, "{solution}");
    }

    #[test]
    fn principles_have_known_answers() {
        use Principle::{
            Even, EveryStep, FinalAnswer, FirstStep, GoesOn, LastStep, MoreThanThree, Multiplies,
            NoRepetition, NothingLeftOut, Small, SomeStepWrong, StatesResult, TwoDigits,
        };
        check(
            "17+58=75\n75*4=0\n0-91=9\nAnswer: 9",
            &[
                EveryStep,
                FirstStep,
                LastStep,
                FinalAnswer,
                StatesResult,
                GoesOn,
                NothingLeftOut,
                NoRepetition,
                Multiplies,
                Small,
            ],
        );
        check(
            "17+58=65\n65*4=60\n60-91=69\nAnswer: 69",
            &[
                SomeStepWrong,
                LastStep,
                StatesResult,
                GoesOn,
                NothingLeftOut,
                NoRepetition,
                Multiplies,
                TwoDigits,
            ],
        );
        check(
            "17+58=75\n75*4=0\n75*4=0\n0-91=9\nAnswer: 8",
            &[SomeStepWrong, FirstStep, LastStep, MoreThanThree, Multiplies, Even, Small],
        );
        check(
            "17+58=75\nAnswer: 75",
            &[EveryStep, FirstStep, LastStep, StatesResult, GoesOn, NoRepetition, TwoDigits],
        );
        check(
            "17+58=75\n75*4=0\n0-91=9",
            &[EveryStep, FirstStep, LastStep, GoesOn, NothingLeftOut, NoRepetition, Multiplies],
        );
    }

    #[test]
    fn sentences_are_distinct() {
        let mut texts: Vec<&str> = Principle::ALL.iter().map(|it| it.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Principle::ALL.len());
    }
}
