//! Evaluation sets of policies and judges: made once and never trained on.
//!
//! Solvers' own mistakes need a solver: [`Case::of`] makes a record of any solution. Near misses
//! and lengths beyond those of training come from here. Callers check the difficulty first
//! ([`Difficulty::check`]).

use serde::{Deserialize, Serialize};

use super::check;
use super::make::{Difficulty, Slip};
use super::mixture::{DrawnSolution, ProblemSource};
use super::principles::Principle;
use super::rng::StableRng;

/// The source of a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolutionSource {
    /// The model before any reinforcement learning.
    BaseModel,
    /// The policy in training.
    CurrentPolicy,
    /// A right solution with one digit changed, and right solutions beside them.
    NearMiss,
    /// A mistake that later steps build on, and right solutions beside them.
    Slip,
}

/// A solution for a judge, with its labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Its source.
    pub source: SolutionSource,
    /// The problem.
    pub problem: String,
    /// The solution.
    pub solution: String,
    /// The right result.
    pub gold: i64,
    /// Whether the right result is stated.
    pub is_final_right: bool,
    /// Whether each line is right given the lines before it.
    pub local: Vec<bool>,
    /// The first wrong line, from 0.
    pub first_error: Option<usize>,
}

impl Case {
    /// Labels a solution; `None` if the problem is not one of this task or the solution is blank.
    pub fn of(source: SolutionSource, problem: &str, solution: &str) -> Option<Self> {
        let judged = check::check_solution(problem, solution)?;
        Some(Self {
            source,
            problem: problem.to_owned(),
            solution: solution.to_owned(),
            gold: judged.gold,
            is_final_right: judged.is_final_right(),
            local: judged.local(),
            first_error: judged.first_error(),
        })
    }
}

/// A problem for a policy, with its result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyProblem {
    /// The problem.
    pub problem: String,
    /// The right result.
    pub gold: i64,
}

/// Distinct held-out problems.
pub fn problems(seed: u64, difficulty: &Difficulty, count: usize) -> Vec<PolicyProblem> {
    let draw = |_, rng: &mut StableRng| {
        let problem = pool(difficulty).chain(rng).text();
        let gold = check::gold(&problem)?;
        Some(PolicyProblem { problem, gold })
    };
    distinct(seed, "problems", count, draw)
}

/// Solutions of held-out problems, half with one digit changed and half right.
pub fn near_misses(seed: u64, difficulty: &Difficulty, count: usize) -> Vec<Case> {
    cases(seed, difficulty, count, SolutionSource::NearMiss)
}

/// Solutions of held-out problems, half with a mistake that later steps build on and half right.
pub fn slips(seed: u64, difficulty: &Difficulty, count: usize) -> Vec<Case> {
    cases(seed, difficulty, count, SolutionSource::Slip)
}

/// Pairs of solutions of held-out problems: one states the right result, one does not.
pub fn right_and_wrong(seed: u64, difficulty: &Difficulty, count: usize) -> Vec<[Case; 2]> {
    let pool = pool(difficulty);
    let draw = |_, rng: &mut StableRng| {
        let problem = pool.chain(rng);
        let samples = [pool.right(&problem, rng), pool.wrong(&problem, rng)];
        let [right, wrong] =
            samples.map(|sample| Case::of(SolutionSource::Slip, &sample.problem, &sample.solution));
        let (right, wrong) = (right?, wrong?);
        (!wrong.is_final_right).then_some([right, wrong])
    };
    distinct(seed, "pairs", count, draw)
}

/// A principle, a solution, and whether it holds: half of them do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipleQuestion {
    /// The problem.
    pub problem: String,
    /// The solution.
    pub solution: String,
    /// The principle.
    pub principle: String,
    /// Whether it is true of the solution.
    pub holds: bool,
}

/// Questions about solutions of held-out problems; every principle is equally frequent.
pub fn questions(seed: u64, difficulty: &Difficulty, count: usize) -> Vec<PrincipleQuestion> {
    let question = |index: usize| {
        let rng = &mut StableRng::new(seed, "questions", &[index as u64]);
        let principle = Principle::ALL[index % Principle::ALL.len()];
        let wished = rng.coin();
        let pool = pool(difficulty);
        let holds = |sample: &DrawnSolution| {
            let problem = check::chain::ChainProblem::read(&sample.problem);
            principle.holds(problem.map_or(0, |it| it.len()), &sample.judged)
        };
        let sample = ProblemSource::until(
            || pool.either(&pool.chain(rng), rng),
            |sample| holds(sample) == wished,
        );
        PrincipleQuestion {
            holds: holds(&sample),
            problem: sample.problem,
            solution: sample.solution,
            principle: principle.text().to_owned(),
        }
    };
    (0..count).map(question).collect()
}

fn cases(seed: u64, difficulty: &Difficulty, count: usize, source: SolutionSource) -> Vec<Case> {
    let purpose = match source {
        SolutionSource::NearMiss => "near misses",
        SolutionSource::Slip | SolutionSource::BaseModel | SolutionSource::CurrentPolicy => "slips",
    };
    let pool = pool(difficulty);
    let draw = |found: usize, rng: &mut StableRng| {
        let problem = pool.chain(rng);
        let sample = if found.is_multiple_of(2) {
            pool.right(&problem, rng)
        } else {
            let slip = match source {
                SolutionSource::NearMiss => Slip::Digit,
                SolutionSource::Slip
                | SolutionSource::BaseModel
                | SolutionSource::CurrentPolicy => {
                    *rng.pick(&[Slip::Value, Slip::Operand, Slip::Operation, Slip::Dropped])
                }
            };
            pool.slipped(&problem, slip, rng)?
        };
        Case::of(source, &sample.problem, &sample.solution)
    };
    distinct(seed, purpose, count, draw)
}

/// Draws until there are `count` different values, or until new ones become rare. `draw` takes the
/// number found so far.
fn distinct<T: PartialEq>(
    seed: u64,
    purpose: &str,
    count: usize,
    draw: impl Fn(usize, &mut StableRng) -> Option<T>,
) -> Vec<T> {
    const MOST_IN_VAIN: usize = 10_000;
    let mut found: Vec<T> = Vec::with_capacity(count);
    let mut in_vain = 0;
    for index in 0.. {
        if found.len() == count || in_vain > MOST_IN_VAIN {
            break;
        }
        match draw(found.len(), &mut StableRng::new(seed, purpose, &[index])) {
            Some(new) if !found.contains(&new) => {
                found.push(new);
                in_vain = 0;
            }
            Some(_) | None => in_vain += 1,
        }
    }
    found
}

/// Held-out chains.
fn pool(difficulty: &Difficulty) -> ProblemSource<'_> {
    ProblemSource { difficulty, mistakes: None, countdown: 0.0, numbers: &(3..=3), held_out: true }
}
