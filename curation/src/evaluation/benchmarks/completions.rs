//! Benchmarks with several completions a prompt.

use std::collections::BTreeMap;

use crate::evaluation::metrics::{
    BenchmarkReport, Domain, IntervalOptions, RewardBench2Prompt, RmBenchRow, ScoredCompletions,
    reward_bench_2, rm_bench,
};
use datasets::json_rows::JsonRow;
use openapi::ScoreInput;

use super::fields::RowFields;
use super::{BenchmarkRows, group_input, only};
use crate::evaluation::input_scores::InputScores;

/// The subset of `RewardBench` 2 with many right answers, as the data spells it.
const TIES: &str = "ties";

/// Rows of `RewardBench` 2.
#[derive(Debug, Default)]
pub(super) struct RewardBench2 {
    rows: Vec<LabelledPrompt>,
}

#[derive(Debug)]
struct LabelledPrompt {
    kind: PromptKind,
    n_right: usize,
    n_completions: usize,
}

/// Kind of a prompt of the benchmark.
#[derive(Debug, Clone, PartialEq)]
enum PromptKind {
    /// One right completion, in this subset.
    Best(String),
    /// `ref:N` of Ties.
    Single(String),
    /// `tied:N` of Ties.
    Tied(String),
}

impl PromptKind {
    fn parse(fields: RowFields<'_>) -> Result<Self, String> {
        let subset = fields.text("subset")?;
        if !subset.eq_ignore_ascii_case(TIES) {
            return Ok(Self::Best(subset.to_owned()));
        }
        let id = fields.text("id")?;
        match id.split_once(':') {
            Some(("ref", number)) => Ok(Self::Single(number.to_owned())),
            Some(("tied", number)) => Ok(Self::Tied(number.to_owned())),
            Some(_) | None => {
                Err(format!("'id' is {id:?}, and not ref:N or tied:N, as rows of Ties have it"))
            }
        }
    }
}

impl BenchmarkRows for RewardBench2 {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let kind = PromptKind::parse(fields)?;
        let (chosen, rejected) = (fields.texts("chosen")?, fields.texts("rejected")?);
        let n_right = chosen.len();
        if n_right == 0 || rejected.is_empty() {
            return Err("'chosen' or 'rejected' is empty".to_owned());
        }
        if fields.optional("num_correct").is_some() {
            let said = fields.integer("num_correct")?;
            if usize::try_from(said) != Ok(n_right) {
                return Err(format!("'num_correct' is {said}, and 'chosen' has {n_right}"));
            }
        }
        if n_right > 1 && !matches!(kind, PromptKind::Tied(_)) {
            return Err(format!(
                "'chosen' has {n_right} completions, and only rows tied:N of Ties have more than one"
            ));
        }
        let completions: Vec<String> = chosen.into_iter().chain(rejected).collect();
        self.rows.push(LabelledPrompt { kind, n_right, n_completions: completions.len() });
        Ok(vec![group_input(fields.content("prompt")?, completions)])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let mut prompts = Vec::new();
        let mut ties: BTreeMap<&str, (Option<ScoredCompletions>, Option<ScoredCompletions>)> =
            BTreeMap::new();
        for (known, scores) in self.rows.iter().zip(scores) {
            let score = |index| only(scores).group_response(index);
            let completions = ScoredCompletions {
                n_right: known.n_right,
                scores: (0..known.n_completions).map(score).collect(),
            };
            match &known.kind {
                PromptKind::Best(subset) => {
                    prompts.push(RewardBench2Prompt::Best { subset: subset.clone(), completions });
                }
                PromptKind::Single(number) => ties.entry(number).or_default().0 = Some(completions),
                PromptKind::Tied(number) => ties.entry(number).or_default().1 = Some(completions),
            }
        }
        let ties = ties.into_values();
        prompts.extend(ties.map(|(single, tied)| RewardBench2Prompt::Ties { single, tied }));
        reward_bench_2(&prompts, intervals)
    }
}

/// Rows of `RM-Bench`.
#[derive(Debug, Default)]
pub(super) struct RmBench {
    /// Domain of each row.
    domains: Vec<Domain>,
}

/// Number of chosen and of rejected responses: one in each style.
const STYLES: usize = 3;

impl BenchmarkRows for RmBench {
    fn add(&mut self, row: &JsonRow, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = RowFields::new(row);
        let domain = fields.text("domain")?;
        let domain = Domain::of(domain).ok_or_else(|| {
            format!("'domain' is {domain:?}, and does not begin with chat, code, math or safety")
        })?;
        let mut responses = Vec::new();
        for name in ["chosen", "rejected"] {
            let texts = fields.texts(name)?;
            if texts.len() != STYLES {
                return Err(format!(
                    "'{name}' has {} responses, and not one in each of {STYLES} styles",
                    texts.len()
                ));
            }
            responses.extend(texts);
        }
        self.domains.push(domain);
        Ok(vec![group_input(fields.content("prompt")?, responses)])
    }

    fn report(&self, scores: &[Vec<InputScores>], intervals: IntervalOptions) -> BenchmarkReport {
        let styled = |(domain, scores): (&Domain, &Vec<InputScores>)| {
            let score = |index: usize| only(scores).group_response(index);
            RmBenchRow {
                domain: *domain,
                chosen: [0, 1, 2].map(score),
                rejected: [3, 4, 5].map(score),
            }
        };
        let rows: Vec<RmBenchRow> = self.domains.iter().zip(scores).map(styled).collect();
        rm_bench(&rows, intervals)
    }
}
