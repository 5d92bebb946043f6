//! Problems with solutions of which it is known what is right in them.

use std::ops::RangeInclusive;

use crate::task::check::{self, Judged};
use crate::task::dice::Dice;
use crate::task::holdout;
use crate::task::make::slips::other_digit;
use crate::task::make::{Chain, Countdown, Difficulty, Slip};

/// Draws before a wish is given up: enough for labels that one solution in a hundred has.
const MOST_DRAWS: usize = 400;

/// Where problems come from.
#[derive(Clone, Copy, Debug)]
pub(in crate::task) struct Pool<'a> {
    pub(in crate::task) difficulty: &'a Difficulty,
    pub(in crate::task) countdown: f64,
    pub(in crate::task) numbers: &'a RangeInclusive<usize>,
    /// Whether only problems that are for evaluation come, or only others.
    pub(in crate::task) held_out: bool,
}

/// A problem, before anybody solved it.
#[derive(Clone, Debug)]
pub(in crate::task) enum Problem {
    Chain(Chain),
    Countdown(Countdown),
}

/// A problem and a solution, right or wrong.
#[derive(Clone, Debug)]
pub(in crate::task) struct Sample {
    pub(in crate::task) problem: String,
    pub(in crate::task) solution: String,
    pub(in crate::task) judged: Judged,
}

impl Pool<'_> {
    /// A problem whose right solution may be used too.
    pub(in crate::task) fn problem(&self, dice: &mut Dice) -> Problem {
        loop {
            let problem = if dice.chance(self.countdown) {
                let (least, most) = (*self.numbers.start(), *self.numbers.end());
                let count = least + dice.below(most - least + 1);
                Problem::Countdown(Countdown::draw(count, dice))
            } else {
                Problem::Chain(Chain::draw(self.difficulty, dice))
            };
            if self.sample(&problem, None, dice).is_some() {
                return problem;
            }
        }
    }

    /// The same, of chains alone.
    pub(in crate::task) fn chain(&self, dice: &mut Dice) -> Problem {
        let chains = Self { countdown: 0.0, ..*self };
        chains.problem(dice)
    }

    /// A right solution.
    pub(in crate::task) fn right(&self, problem: &Problem, dice: &mut Dice) -> Sample {
        let sample = self.sample(problem, None, dice);
        sample.expect("a problem is drawn with its solution")
    }

    /// A solution with a mistake; every kind of mistake is as likely as the others.
    pub(in crate::task) fn wrong(&self, problem: &Problem, dice: &mut Dice) -> Sample {
        loop {
            let slip = match problem {
                Problem::Chain(_) => *dice.pick(&Slip::ALL),
                Problem::Countdown(_) => Slip::Digit,
            };
            if let Some(sample) = self.sample(problem, Some(slip), dice) {
                return sample;
            }
        }
    }

    /// Right or wrong, by a coin.
    pub(in crate::task) fn either(&self, problem: &Problem, dice: &mut Dice) -> Sample {
        if dice.coin() { self.right(problem, dice) } else { self.wrong(problem, dice) }
    }

    /// A solution with a mistake of this kind, unless there is no place for it.
    pub(in crate::task) fn slipped(
        &self,
        problem: &Problem,
        slip: Slip,
        dice: &mut Dice,
    ) -> Option<Sample> {
        self.sample(problem, Some(slip), dice)
    }

    /// What `draw` gives, drawn until it is as it is wished. Where that does not come it is what
    /// came last: the label is taken from what is there, never from the wish.
    pub(in crate::task) fn until<T>(
        mut draw: impl FnMut() -> T,
        is_wished: impl Fn(&T) -> bool,
    ) -> T {
        let mut drawn = draw();
        for _ in 0..MOST_DRAWS {
            if is_wished(&drawn) {
                break;
            }
            drawn = draw();
        }
        drawn
    }

    fn sample(&self, problem: &Problem, slip: Option<Slip>, dice: &mut Dice) -> Option<Sample> {
        let text = problem.text();
        let solution = match (slip, problem) {
            (None, Problem::Chain(chain)) => chain.solution().to_string(),
            (None, Problem::Countdown(countdown)) => countdown.solution(),
            (Some(slip), Problem::Chain(chain)) => slip.make(chain, dice)?.text,
            (Some(_), Problem::Countdown(countdown)) => other_digit(&countdown.solution(), dice)?.0,
        };
        let judged = check::judge(&text, &solution).expect("it is one of our problems");
        let is_ours = if self.held_out {
            holdout::is_held_problem(&text)
        } else {
            holdout::may_train(&text, &judged)
        };
        is_ours.then_some(Sample { problem: text, solution, judged })
    }
}

impl Problem {
    pub(in crate::task) fn text(&self) -> String {
        match self {
            Problem::Chain(chain) => chain.problem(),
            Problem::Countdown(countdown) => countdown.problem(),
        }
    }
}
