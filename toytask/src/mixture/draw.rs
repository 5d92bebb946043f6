//! Problems with solutions of which it is known what is right in them.

use std::ops::RangeInclusive;

use crate::check::{self, Judged};
use crate::holdout;
use crate::make::slips::other_digit;
use crate::make::{Chain, Countdown, Difficulty, Slip};
use crate::rng::StableRng;

/// Draws before a wish is given up: enough for labels that one solution in a hundred has.
const MOST_DRAWS: usize = 400;

/// Where problems come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) difficulty: &'a Difficulty,
    pub(crate) countdown: f64,
    pub(crate) numbers: &'a RangeInclusive<usize>,
    /// Whether only problems that are for evaluation come, or only others.
    pub(crate) held_out: bool,
}

/// A problem, before anybody solved it.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    Chain(Chain),
    Countdown(Countdown),
}

/// A problem and a solution, right or wrong.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) problem: String,
    pub(crate) solution: String,
    pub(crate) judged: Judged,
}

impl Pool<'_> {
    /// A problem whose right solution may be used too.
    pub(crate) fn problem(&self, rng: &mut StableRng) -> Problem {
        loop {
            let problem = if rng.chance(self.countdown) {
                let (least, most) = (*self.numbers.start(), *self.numbers.end());
                let count = least + rng.below(most - least + 1);
                Problem::Countdown(Countdown::draw(count, rng))
            } else {
                Problem::Chain(Chain::draw(self.difficulty, rng))
            };
            if self.sample(&problem, None, rng).is_some() {
                return problem;
            }
        }
    }

    /// The same, of chains alone.
    pub(crate) fn chain(&self, rng: &mut StableRng) -> Problem {
        let chains = Self { countdown: 0.0, ..*self };
        chains.problem(rng)
    }

    /// A right solution.
    pub(crate) fn right(&self, problem: &Problem, rng: &mut StableRng) -> Sample {
        let sample = self.sample(problem, None, rng);
        sample.expect("a problem is drawn with its solution")
    }

    /// A solution with a mistake; every kind of mistake is as likely as the others.
    pub(crate) fn wrong(&self, problem: &Problem, rng: &mut StableRng) -> Sample {
        loop {
            let slip = match problem {
                Problem::Chain(_) => *rng.pick(&Slip::ALL),
                Problem::Countdown(_) => Slip::Digit,
            };
            if let Some(sample) = self.sample(problem, Some(slip), rng) {
                return sample;
            }
        }
    }

    /// Right or wrong, by a coin.
    pub(crate) fn either(&self, problem: &Problem, rng: &mut StableRng) -> Sample {
        if rng.coin() { self.right(problem, rng) } else { self.wrong(problem, rng) }
    }

    /// A solution with a mistake of this kind, unless there is no place for it.
    pub(crate) fn slipped(
        &self,
        problem: &Problem,
        slip: Slip,
        rng: &mut StableRng,
    ) -> Option<Sample> {
        self.sample(problem, Some(slip), rng)
    }

    /// What `draw` gives, drawn until it is as it is wished. Where that does not come it is what
    /// came last: the label is taken from what is there, never from the wish.
    pub(crate) fn until<T>(mut draw: impl FnMut() -> T, is_wished: impl Fn(&T) -> bool) -> T {
        let mut drawn = draw();
        for _ in 0..MOST_DRAWS {
            if is_wished(&drawn) {
                break;
            }
            drawn = draw();
        }
        drawn
    }

    fn sample(&self, problem: &Problem, slip: Option<Slip>, rng: &mut StableRng) -> Option<Sample> {
        let text = problem.text();
        let solution = match (slip, problem) {
            (None, Problem::Chain(chain)) => chain.solution().to_string(),
            (None, Problem::Countdown(countdown)) => countdown.solution(),
            (Some(slip), Problem::Chain(chain)) => slip.make(chain, rng)?.text,
            (Some(_), Problem::Countdown(countdown)) => other_digit(&countdown.solution(), rng)?.0,
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
    pub(crate) fn text(&self) -> String {
        match self {
            Problem::Chain(chain) => chain.problem(),
            Problem::Countdown(countdown) => countdown.problem(),
        }
    }
}
