//! One row of each format.

use rubrics::Message;

use crate::check::{self, CheckedSolution, LineFault};
use crate::format::{self, Format, turn};
use crate::principles::Principle;
use crate::rng::StableRng;

use super::draw::{DrawnSolution, ProblemSource};
use super::{TaskRow, TrainingTarget, replies};

pub(super) fn row(format: Format, pool: &ProblemSource<'_>, rng: &mut StableRng) -> TaskRow {
    let (turns, target) = match format {
        Format::Player => player(pool, rng),
        Format::Reflection => reflection(pool, rng),
        Format::Reward => {
            let sample = final_labelled(pool, rng);
            let word = replies::yes(sample.judged.is_final_right());
            let turns = format::solved(&sample.problem, &sample.solution);
            (turns, TrainingTarget::Ending(word))
        }
        Format::Process => {
            let sample = pool.either(&pool.problem(rng), rng);
            let turns = format::process(&sample.problem, &sample.solution);
            (turns, TrainingTarget::Steps(sample.judged.local()))
        }
        Format::Pointwise => outcome(format::pointwise, pool, rng),
        Format::Validate => {
            let context = rng.coin().then(|| *rng.pick(&["The result is ", "Running it prints "]));
            let say = |problem: &str, solution: &str| {
                let known = check::gold(problem).zip(context);
                let known = known.map(|(gold, says)| format!("{says}{gold}."));
                format::validate(problem, solution, &known.unwrap_or_default())
            };
            outcome(say, pool, rng)
        }
        Format::Principle => principle(pool, rng),
        Format::Pair => pairwise_reply(pool, rng),
        Format::Grade => {
            let with_reason = rng.coin();
            let say = |judged: &CheckedSolution| replies::grade(judged, with_reason);
            judged_reply(format::grade, say, pool, rng)
        }
        Format::List => listwise_reply(pool, rng),
        Format::Critic => judged_reply(format::critic, replies::critique, pool, rng),
        Format::Retrospective => {
            let sample = final_labelled(pool, rng);
            let turns = format::retrospective(&sample.problem, &sample.solution);
            (turns, TrainingTarget::Reply(replies::retrospective(&sample.judged)))
        }
        Format::Faithful => {
            let ground = Ground::draw(pool, rng);
            ground.reply_to("faithful", replies::yes(ground.is_said))
        }
        Format::Correct => {
            let ground = Ground::draw(pool, rng);
            ground.reply_to("correct", replies::yes(ground.fault().is_none()))
        }
        Format::Grounded => {
            let ground = Ground::draw(pool, rng);
            ground.reply_to("grounded", replies::grounded(ground.is_said, ground.fault()))
        }
        Format::Verify => {
            let claim = Claim::draw(pool, rng);
            let reply = replies::correct(claim.is_equal()).to_owned();
            (claim.turns("verify"), TrainingTarget::Reply(reply))
        }
        Format::Call => {
            let claim = Claim::draw(pool, rng);
            (claim.turns("tools"), TrainingTarget::Reply(claim.call()))
        }
        Format::Conclude => {
            let claim = Claim::draw(pool, rng);
            let mut turns = claim.turns("tools");
            turns.push(turn("assistant", &claim.call()));
            turns.push(turn("tool", &replies::result(claim.is_equal())));
            (turns, TrainingTarget::Reply(replies::conclusion(claim.is_equal())))
        }
    };
    TaskRow { format, turns, target }
}

/// A conversation and its training target.
type DrawnReply = (Vec<Message>, TrainingTarget);

fn player(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnReply {
    let sample = pool.right(&pool.problem(rng), rng);
    let turns = format::player(&sample.problem);
    (turns, TrainingTarget::Reply(sample.solution))
}

fn reflection(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnReply {
    let problem = pool.problem(rng);
    let shown = pool.either(&problem, rng);
    let right = pool.right(&problem, rng);
    let turns = format::reflection(&shown.problem, &shown.solution);
    (turns, TrainingTarget::Reply(right.solution))
}

/// A question about a solution, right or wrong, with the reply.
fn judged_reply(
    ask: fn(&str, &str) -> Vec<Message>,
    say: impl Fn(&CheckedSolution) -> String,
    pool: &ProblemSource<'_>,
    rng: &mut StableRng,
) -> DrawnReply {
    let sample = pool.either(&pool.problem(rng), rng);
    let turns = ask(&sample.problem, &sample.solution);
    (turns, TrainingTarget::Reply(say(&sample.judged)))
}

/// Whether the final answer is right, in one word.
fn outcome(
    ask: impl Fn(&str, &str) -> Vec<Message>,
    pool: &ProblemSource<'_>,
    rng: &mut StableRng,
) -> DrawnReply {
    let sample = final_labelled(pool, rng);
    let turns = ask(&sample.problem, &sample.solution);
    let word = replies::yes(sample.judged.is_final_right());
    (turns, TrainingTarget::Reply(word))
}

/// A solution whose final answer is right half of the time.
fn final_labelled(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnSolution {
    let wished = rng.coin();
    ProblemSource::until(
        || pool.either(&pool.problem(rng), rng),
        |sample| sample.judged.is_final_right() == wished,
    )
}

fn principle(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnReply {
    let principle = *rng.pick(&Principle::ALL);
    let wished = rng.coin();
    let holds = |sample: &DrawnSolution| {
        let problem = check::chain::ChainProblem::read(&sample.problem);
        principle.holds(problem.map_or(0, |it| it.len()), &sample.judged)
    };
    let sample = ProblemSource::until(
        || pool.either(&pool.chain(rng), rng),
        |sample| holds(sample) == wished,
    );
    (
        format::principle(&sample.problem, &sample.solution, principle.text()),
        TrainingTarget::Reply(replies::yes(holds(&sample))),
    )
}

/// Two solutions of one problem, one of which states the right result; in either order.
fn pairwise_reply(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnReply {
    let draw = |rng: &mut StableRng| {
        let problem = pool.problem(rng);
        let solutions = [pool.either(&problem, rng), pool.wrong(&problem, rng)];
        (problem, solutions)
    };
    let (problem, mut solutions) = ProblemSource::until(
        || draw(rng),
        |(_, [a, b])| a.judged.is_final_right() && !b.judged.is_final_right(),
    );
    if rng.coin() {
        solutions.swap(0, 1);
    }
    let [a, b] = &solutions;
    let winner = if a.judged.is_final_right() { "A" } else { "B" };
    (
        format::pairwise_turns(&problem.text(), [&a.solution, &b.solution]),
        TrainingTarget::Reply(serde_json::json!({ "winner": winner }).to_string()),
    )
}

fn listwise_reply(pool: &ProblemSource<'_>, rng: &mut StableRng) -> DrawnReply {
    const BEST: usize = 10;
    let problem = pool.problem(rng);
    let count = 2 + rng.below(3);
    let samples: Vec<DrawnSolution> = (0..count).map(|_| pool.either(&problem, rng)).collect();
    let solutions: Vec<&str> = samples.iter().map(|it| it.solution.as_str()).collect();
    let grades: Vec<usize> = samples.iter().map(|it| it.judged.grade(BEST)).collect();
    (
        format::listwise_turns(&problem.text(), &solutions),
        TrainingTarget::Reply(serde_json::json!({ "scores": grades }).to_string()),
    )
}

/// A line of a solution, right half of the time; and documents that contain it half of the time,
/// independently.
struct Ground {
    sample: DrawnSolution,
    /// The line, from 0.
    at: usize,
    is_said: bool,
    documents: Vec<String>,
}

impl Ground {
    fn draw(pool: &ProblemSource<'_>, rng: &mut StableRng) -> Self {
        let (is_right, is_said) = (rng.coin(), rng.coin());
        let such = |sample: &DrawnSolution| {
            let local = sample.judged.local().into_iter().enumerate();
            let such = local.filter(|(_, right)| *right == is_right);
            such.map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let sample = ProblemSource::until(
            || pool.either(&pool.problem(rng), rng),
            |sample| !such(sample).is_empty(),
        );
        let places = such(&sample);
        let at = if places.is_empty() {
            rng.below(sample.judged.lines.len())
        } else {
            *rng.pick(&places)
        };
        let sentence = sample.solution.lines().nth(at).unwrap_or_default();
        let documents = documents(&sample, sentence, is_said, pool, rng);
        Self { sample, at, is_said, documents }
    }

    fn fault(&self) -> Option<&LineFault> {
        self.sample.judged.lines[self.at].fault.as_ref()
    }

    fn reply_to(&self, question: &str, reply: String) -> DrawnReply {
        let DrawnSolution { problem, solution, .. } = &self.sample;
        let sentence = solution.lines().nth(self.at).unwrap_or_default();
        let turns = format::grounded(&self.documents, problem, solution, sentence, question);
        (turns, TrainingTarget::Reply(reply))
    }
}

/// One or two documents with lines of this and, half of the time, of another solution, with or without `sentence`.
fn documents(
    sample: &DrawnSolution,
    sentence: &str,
    is_said: bool,
    pool: &ProblemSource<'_>,
    rng: &mut StableRng,
) -> Vec<String> {
    const MOST_LINES: usize = 6;
    let other = pool.either(&pool.problem(rng), rng);
    let own = sample.solution.lines().filter(|_| rng.coin());
    let own: Vec<&str> = own.collect();
    let has_foreign = rng.coin();
    let foreign = other.solution.lines().filter(|_| has_foreign && rng.coin());
    let mut said: Vec<&str> = own.into_iter().chain(foreign).collect();
    said.retain(|line| *line != sentence);
    rng.shuffle(&mut said);
    said.truncate(MOST_LINES - 1);
    if said.is_empty() {
        said.push("Nothing is known.");
    }
    if is_said {
        said.insert(rng.below(said.len() + 1), sentence);
    }
    let cut = 1 + rng.below(said.len());
    let documents = [&said[..cut], &said[cut..]].into_iter();
    let documents = documents.filter(|lines| !lines.is_empty());
    documents.map(|lines| lines.join("\n")).collect()
}

/// A solution and a reference that agrees with its result half of the time, whether or not it is
/// right.
struct Claim {
    sample: DrawnSolution,
    stated: i64,
    reference: i64,
}

impl Claim {
    fn draw(pool: &ProblemSource<'_>, rng: &mut StableRng) -> Self {
        let sample = pool.either(&pool.problem(rng), rng);
        let stated = sample.judged.stated();
        let stated = stated.expect("every solution of ours states a result");
        let reference = if rng.coin() { stated } else { other_answer(stated, &sample, rng) };
        Self { sample, stated, reference }
    }

    fn is_equal(&self) -> bool {
        self.stated == self.reference
    }

    fn turns(&self, question: &str) -> Vec<Message> {
        let reference = self.reference.to_string();
        let DrawnSolution { problem, solution, .. } = &self.sample;
        format::agreement(problem, solution, &reference, question)
    }

    fn call(&self) -> String {
        replies::call(self.reference, self.stated)
    }
}

/// The right result if another one was stated, otherwise a nearby number.
fn other_answer(answer: i64, sample: &DrawnSolution, rng: &mut StableRng) -> i64 {
    if sample.judged.gold != answer && rng.coin() {
        return sample.judged.gold;
    }
    loop {
        let by = *rng.pick(&[1, 10, 99, 90, 7, 43]);
        let other = (answer + by).rem_euclid(100);
        if other != answer {
            return other;
        }
    }
}
