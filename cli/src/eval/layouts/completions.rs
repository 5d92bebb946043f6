//! Benchmarks of several completions.

use std::collections::BTreeMap;

use curation::evaluation::{
    Completions, Domain, Prompt, Report, Sampling, Styled, reward_bench_2, rm_bench,
};
use datasets::json_rows::Row;
use openapi::ScoreInput;

use super::{Layout, about_responses, only};
use crate::eval::answer::Answer;
use crate::eval::fields::Fields;

/// The subset of `RewardBench` 2 with many right answers; the data writes it so.
const TIES: &str = "ties";

/// `RewardBench` 2: what is known of each row.
#[derive(Debug, Default)]
pub(super) struct RewardBench2 {
    rows: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    kind: Kind,
    n_right: usize,
    n_completions: usize,
}

/// Where a row of the benchmark belongs.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// One right completion, in this subset.
    Best(String),
    /// `ref:N` of Ties.
    Single(String),
    /// `tied:N` of Ties.
    Tied(String),
}

impl Kind {
    fn read(fields: Fields<'_>) -> Result<Self, String> {
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

impl Layout for RewardBench2 {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
        let kind = Kind::read(fields)?;
        let (chosen, rejected) = (fields.texts("chosen")?, fields.texts("rejected")?);
        let n_right = chosen.len();
        if n_right == 0 || rejected.is_empty() {
            return Err("'chosen' or 'rejected' is empty".to_owned());
        }
        if fields.optional("num_correct").is_some() {
            let said = fields.whole("num_correct")?;
            if usize::try_from(said) != Ok(n_right) {
                return Err(format!("'num_correct' is {said}, and 'chosen' has {n_right}"));
            }
        }
        if n_right > 1 && !matches!(kind, Kind::Tied(_)) {
            return Err(format!(
                "'chosen' has {n_right} completions, and only rows tied:N of Ties have more than one"
            ));
        }
        let completions: Vec<String> = chosen.into_iter().chain(rejected).collect();
        self.rows.push(Known { kind, n_right, n_completions: completions.len() });
        Ok(vec![about_responses(fields.content("prompt")?, completions)])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let mut prompts = Vec::new();
        let mut ties: BTreeMap<&str, (Option<Completions>, Option<Completions>)> = BTreeMap::new();
        for (known, answers) in self.rows.iter().zip(answers) {
            let answer = only(answers);
            let score = |index| answer.response(index);
            let completions = Completions {
                n_right: known.n_right,
                scores: (0..known.n_completions).map(score).collect(),
            };
            match &known.kind {
                Kind::Best(subset) => {
                    prompts.push(Prompt::Best { subset: subset.clone(), completions });
                }
                Kind::Single(number) => ties.entry(number).or_default().0 = Some(completions),
                Kind::Tied(number) => ties.entry(number).or_default().1 = Some(completions),
            }
        }
        let ties = ties.into_values();
        prompts.extend(ties.map(|(single, tied)| Prompt::Ties { single, tied }));
        reward_bench_2(&prompts, sampling)
    }
}

/// `RM-Bench`: the domain of each row.
#[derive(Debug, Default)]
pub(super) struct RmBench {
    domains: Vec<Domain>,
}

/// Responses of either kind.
const STYLES: usize = 3;

impl Layout for RmBench {
    fn read(&mut self, row: &Row, _source: &str) -> Result<Vec<ScoreInput>, String> {
        let fields = Fields::of(row);
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
        Ok(vec![about_responses(fields.content("prompt")?, responses)])
    }

    fn report(&self, answers: &[Vec<Answer>], sampling: Sampling) -> Report {
        let styled = |(domain, answers): (&Domain, &Vec<Answer>)| {
            let score = |index: usize| only(answers).response(index);
            Styled { domain: *domain, chosen: [0, 1, 2].map(score), rejected: [3, 4, 5].map(score) }
        };
        let rows: Vec<Styled> = self.domains.iter().zip(answers).map(styled).collect();
        rm_bench(&rows, sampling)
    }
}
