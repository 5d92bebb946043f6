//! Benchmarks of pairs.

use curation::evaluation::{
    Better, Decision, Games, JudgedPair, Pair, Report, Sampling, judge_bench, reward_bench,
};
use datasets::json_rows::Row;
use openapi::ScoreInput;

use super::{Layout, about_responses, only};
use crate::eval::answer::Answer;
use crate::eval::fields::Fields;

/// `RewardBench`: the subset of each row.
#[derive(Debug, Default)]
pub(super) struct RewardBench {
    subsets: Vec<String>,
}

impl Layout for RewardBench {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let pair = ["chosen", "rejected"].map(|name| fields.text(name));
        let [chosen, rejected] = pair;
        let input = about_responses(
            fields.content("prompt")?,
            vec![chosen?.to_owned(), rejected?.to_owned()],
        );
        self.subsets.push(fields.text("subset")?.to_owned());
        Ok(vec![input])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let pair = |(subset, answers): (&String, &Vec<Answer>)| Pair {
            subset: subset.clone(),
            chosen: only(answers).response(0),
            rejected: only(answers).response(1),
        };
        let pairs: Vec<Pair> = self.subsets.iter().zip(answers).map(pair).collect();
        reward_bench(&pairs, sampling)
    }
}

/// `JudgeBench`: source and right side of each row.
#[derive(Debug)]
pub(super) struct JudgeBench {
    games: Games,
    rows: Vec<(String, Better)>,
}

impl JudgeBench {
    pub(super) fn new(single_order: bool) -> Self {
        Self { games: if single_order { Games::Single } else { Games::Both }, rows: Vec::new() }
    }

    fn judged(&self, (row, answers): (&(String, Better), &Vec<Answer>)) -> JudgedPair {
        let (source, better) = row;
        let scores = |answer: &Answer| [answer.response(0), answer.response(1)];
        let first = scores(only(answers));
        let second = answers.get(1).map(scores);
        JudgedPair {
            source: source.clone(),
            better: *better,
            first: Decision::by_scores(first[0], first[1]),
            second: second.and_then(|[b, a]| Decision::by_scores(a, b)),
            games: self.games,
        }
    }
}

impl Layout for JudgeBench {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let (a, b) = (fields.text("response_A")?, fields.text("response_B")?);
        let better = match fields.text("label")? {
            "A>B" => Better::A,
            "B>A" => Better::B,
            other => return Err(format!("'label' is {other:?}, and not \"A>B\" or \"B>A\"")),
        };
        let question = fields.content("question")?;
        let source = fields.text("source")?.to_owned();
        let ask = |first: &str, second: &str| {
            about_responses(question.clone(), vec![first.to_owned(), second.to_owned()])
        };
        self.rows.push((source, better));
        Ok(match self.games {
            Games::Both => vec![ask(a, b), ask(b, a)],
            Games::Single => vec![ask(a, b)],
        })
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let pairs = self.rows.iter().zip(answers);
        let pairs: Vec<JudgedPair> = pairs.map(|row| self.judged(row)).collect();
        judge_bench(&pairs, sampling)
    }
}
