//! Draws problems with solutions of known correctness.

use std::ops::RangeInclusive;

use crate::check::{self, CheckedSolution};
use crate::holdout;
use crate::make::slips::other_digit;
use crate::make::{Chain, Countdown, Difficulty, Slip};
use crate::rng::StableRng;

/// Maximum draws for a wanted label: enough for labels that one solution in a hundred has.
const MOST_DRAWS: usize = 400;

/// The source of problems.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProblemSource<'a> {
    pub(crate) difficulty: &'a Difficulty,
    /// Relative frequencies of mistakes in wrong solutions of chains; `None` makes
    /// those of [`Slip::distinct`] alike.
    pub(crate) mistakes: Option<&'a [(Slip, f64)]>,
    pub(crate) countdown: f64,
    pub(crate) numbers: &'a RangeInclusive<usize>,
    /// Whether to draw only held-out problems, or only others.
    pub(crate) held_out: bool,
}

/// A problem without a solution.
#[derive(Clone, Debug)]
pub(crate) enum DrawnProblem {
    Chain(Chain),
    Countdown(Countdown),
}

/// A problem and a solution, right or wrong.
#[derive(Clone, Debug)]
pub(crate) struct DrawnSolution {
    pub(crate) problem: String,
    pub(crate) solution: String,
    pub(crate) judged: CheckedSolution,
}

impl ProblemSource<'_> {
    /// Draws a problem whose right solution may be used too.
    pub(crate) fn problem(&self, rng: &mut StableRng) -> DrawnProblem {
        loop {
            let problem = if rng.chance(self.countdown) {
                let (least, most) = (*self.numbers.start(), *self.numbers.end());
                let count = least + rng.below(most - least + 1);
                DrawnProblem::Countdown(Countdown::draw(count, rng))
            } else {
                DrawnProblem::Chain(Chain::draw(self.difficulty, rng))
            };
            if self.sample(&problem, None, rng).is_some() {
                return problem;
            }
        }
    }

    /// Draws such a chain.
    pub(crate) fn chain(&self, rng: &mut StableRng) -> DrawnProblem {
        let chains = Self { countdown: 0.0, ..*self };
        chains.problem(rng)
    }

    /// A right solution.
    pub(crate) fn right(&self, problem: &DrawnProblem, rng: &mut StableRng) -> DrawnSolution {
        let sample = self.sample(problem, None, rng);
        sample.expect("a problem is drawn with its solution")
    }

    /// A solution with a mistake.
    pub(crate) fn wrong(&self, problem: &DrawnProblem, rng: &mut StableRng) -> DrawnSolution {
        loop {
            let slip = match (problem, self.mistakes) {
                (DrawnProblem::Chain(_), None) => *rng.pick(Slip::distinct()),
                (DrawnProblem::Chain(_), Some(mistakes)) => rng.weighted(mistakes),
                (DrawnProblem::Countdown(_), _) => Slip::Digit,
            };
            if let Some(sample) = self.sample(problem, Some(slip), rng) {
                return sample;
            }
        }
    }

    /// A right or a wrong solution, with equal probability.
    pub(crate) fn either(&self, problem: &DrawnProblem, rng: &mut StableRng) -> DrawnSolution {
        if rng.coin() { self.right(problem, rng) } else { self.wrong(problem, rng) }
    }

    /// A solution with a mistake of this kind; `None` if it cannot occur.
    pub(crate) fn slipped(
        &self,
        problem: &DrawnProblem,
        slip: Slip,
        rng: &mut StableRng,
    ) -> Option<DrawnSolution> {
        self.sample(problem, Some(slip), rng)
    }

    /// Draws until `is_wished` holds, or returns the last draw: labels are computed from the draw
    /// and never assumed.
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

    fn sample(
        &self,
        problem: &DrawnProblem,
        slip: Option<Slip>,
        rng: &mut StableRng,
    ) -> Option<DrawnSolution> {
        let text = problem.text();
        let solution = match (slip, problem) {
            (None, DrawnProblem::Chain(chain)) => chain.solution().to_string(),
            (None, DrawnProblem::Countdown(countdown)) => countdown.solution(),
            (Some(slip), DrawnProblem::Chain(chain)) => slip.make(chain, rng)?.text,
            (Some(_), DrawnProblem::Countdown(countdown)) => {
                other_digit(&countdown.solution(), rng)?.0
            }
        };
        let judged = check::check_solution(&text, &solution).expect("it is one of our problems");
        let is_ours = if self.held_out {
            holdout::is_held_problem(&text)
        } else {
            holdout::may_train(&text, &judged)
        };
        is_ours.then_some(DrawnSolution { problem: text, solution, judged })
    }
}

impl DrawnProblem {
    pub(crate) fn text(&self) -> String {
        match self {
            DrawnProblem::Chain(chain) => chain.problem(),
            DrawnProblem::Countdown(countdown) => countdown.problem(),
        }
    }
}
