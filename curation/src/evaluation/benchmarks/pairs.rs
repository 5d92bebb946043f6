//! Benchmarks of response pairs.

use crate::evaluation::metrics::{
    BenchmarkReport, BetterResponse, IntervalOptions, JudgeOrders, JudgedPair, PairPreference,
    RewardBenchPair, judge_bench, reward_bench,
};
use datasets::json_rows::JsonRow;
use openapi::ScoreInput;

use super::fields::RowFields;
use super::{BenchmarkRows, group_input, only};
use crate::evaluation::input_scores::InputScores;

/// Rows of `RewardBench`.
#[derive(Debug, Default)]
pub(super) struct RewardBench {
    /// Subset of each row.
    subsets: Vec<String>,
}

impl BenchmarkRows for RewardBench {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let pair = ["chosen", "rejected"].map(|name| fields.text(name));
        let [chosen, rejected] = pair;
        let input =
            group_input(fields.content("prompt")?, vec![chosen?.to_owned(), rejected?.to_owned()]);
        self.subsets.push(fields.text("subset")?.to_owned());
        Ok(vec![input])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let pair = |(subset, scores): (&String, &Vec<InputScores>)| RewardBenchPair {
            subset: subset.clone(),
            chosen: only(scores).group_response(0),
            rejected: only(scores).group_response(1),
        };
        let pairs: Vec<RewardBenchPair> = self.subsets.iter().zip(scores).map(pair).collect();
        reward_bench(&pairs, intervals)
    }
}

/// Rows of `JudgeBench`.
#[derive(Debug)]
pub(super) struct JudgeBench {
    orders: JudgeOrders,
    /// Source and better response of each row.
    rows: Vec<(String, BetterResponse)>,
}

impl JudgeBench {
    pub(super) fn new(single_order: bool) -> Self {
        Self {
            orders: if single_order { JudgeOrders::Single } else { JudgeOrders::Both },
            rows: Vec::new(),
        }
    }

    fn judged(&self, (row, scores): (&(String, BetterResponse), &Vec<InputScores>)) -> JudgedPair {
        let (source, better) = row;
        let both = |scores: &InputScores| [scores.group_response(0), scores.group_response(1)];
        let first = both(only(scores));
        let second = scores.get(1).map(both);
        JudgedPair {
            source: source.clone(),
            better: *better,
            first: PairPreference::by_scores(first[0], first[1]),
            second: second.and_then(|[b, a]| PairPreference::by_scores(a, b)),
            orders: self.orders,
        }
    }
}

impl BenchmarkRows for JudgeBench {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let (a, b) = (fields.text("response_A")?, fields.text("response_B")?);
        let better = match fields.text("label")? {
            "A>B" => BetterResponse::A,
            "B>A" => BetterResponse::B,
            other => return Err(format!("'label' is {other:?}, and not \"A>B\" or \"B>A\"")),
        };
        let question = fields.content("question")?;
        let source = fields.text("source")?.to_owned();
        let input = |first: &str, second: &str| {
            group_input(question.clone(), vec![first.to_owned(), second.to_owned()])
        };
        self.rows.push((source, better));
        Ok(match self.orders {
            JudgeOrders::Both => vec![input(a, b), input(b, a)],
            JudgeOrders::Single => vec![input(a, b)],
        })
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let pairs: Vec<JudgedPair> =
            self.rows.iter().zip(scores).map(|row| self.judged(row)).collect();
        judge_bench(&pairs, intervals)
    }
}
