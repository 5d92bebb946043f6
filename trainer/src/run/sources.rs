//! Data sources of a run file: files of rows, and the toy task.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::Tokenizer;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use toytask::make::{Difficulty, Slip};
use toytask::{Encoder, Format, Mixture, TrainingTarget, check, sets};

use crate::data::{
    EpochOrder, RowGenerator, RowsSource, Tokenized, TrainingRow, TrainingRows, read_rows,
};
use crate::error::{Result, TrainError};
use crate::item::{ItemRole, TrainingItem};
use base::seeded::decision;

/// `[[data]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DataSource {
    /// Rows of files: JSON lines, JSON, Parquet, or a folder in the layout of Hugging Face.
    #[serde(alias = "jsonl")]
    Rows(RowsSource),
    /// An endless stream of rows of the toy task; the only source of its run.
    Mixture(MixtureSource),
    /// Problems of the toy task.
    Chains(ChainSource),
}

/// `kind = "mixture"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixtureSource {
    /// Seeds all draws.
    #[serde(default)]
    pub seed: u64,
    /// The fewest and the most operations of a chain.
    #[serde(default = "lengths")]
    pub lengths: [usize; 2],
    /// Share of multiplications.
    #[serde(default = "times")]
    pub times: f64,
    /// The least and the most that is added or subtracted.
    #[serde(default = "addends")]
    pub addends: [u8; 2],
    /// The least and the most that is multiplied by.
    #[serde(default = "multipliers")]
    pub multipliers: [u8; 2],
    /// Share of countdown problems in formats that support both.
    #[serde(default)]
    pub countdown: f64,
    /// Weight of each format, 0 if not listed; `None` takes the default weights.
    #[serde(default)]
    pub formats: Option<BTreeMap<String, f64>>,
    /// Weight of each mistake in wrong solutions, 0 if not listed; `None` takes all alike.
    #[serde(default)]
    pub mistakes: Option<BTreeMap<String, f64>>,
    /// Whether steps that are judged one by one have their right results, and the differences to them, as targets too.
    #[serde(default)]
    pub results: bool,
}

/// `kind = "chains"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSource {
    /// Seeds all draws.
    #[serde(default)]
    pub seed: u64,
    /// Number of problems.
    pub count: usize,
    /// The fewest and the most operations.
    #[serde(default = "lengths")]
    pub lengths: [usize; 2],
    /// Share of multiplications.
    #[serde(default = "times")]
    pub times: f64,
    /// The least and the most that is added or subtracted.
    #[serde(default = "addends")]
    pub addends: [u8; 2],
    /// The least and the most that is multiplied by.
    #[serde(default = "multipliers")]
    pub multipliers: [u8; 2],
    /// Whether to draw held-out problems, for evaluations.
    #[serde(default)]
    pub held_out: bool,
    /// The scorer of problems with a reference answer; `None` takes the method's, or `math`.
    #[serde(default)]
    pub scorer: Option<String>,
    /// The share of problems with a reference answer.
    #[serde(default = "all")]
    pub labelled: f64,
    /// The scorer of the others, which have no reference; `None` leaves them out.
    #[serde(default)]
    pub judge: Option<String>,
}

pub(super) fn lengths() -> [usize; 2] {
    [1, 6]
}

pub(super) fn times() -> f64 {
    0.3
}

pub(super) fn addends() -> [u8; 2] {
    [1, 99]
}

pub(super) fn multipliers() -> [u8; 2] {
    [2, 9]
}

fn all() -> f64 {
    1.0
}

/// The base of relative paths, and the seed of the rows' order.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataFolder<'a> {
    pub(super) base: &'a Path,
    pub(super) seed: u64,
}

/// Opens the rows of all sources. `scorer` rewards problems that name none.
///
/// # Errors
/// Files that cannot be used, and a mixture beside other sources.
pub(super) fn open_rows(
    data: DataFolder<'_>,
    sources: &[DataSource],
    tokenizer: &Arc<Tokenizer>,
    scorer: Option<&str>,
) -> Result<TrainingRows> {
    let mut rows = Vec::new();
    for source in sources {
        match source {
            DataSource::Rows(source) => {
                rows.extend(read_rows(data.base, source, scorer)?);
            }
            DataSource::Chains(source) => rows.extend(source.rows(scorer)?),
            DataSource::Mixture(source) if sources.len() == 1 => {
                // Refuses an unsuitable tokenizer before the first step.
                Encoder::new(tokenizer)?;
                let mixture = source.mixture()?;
                let tokenizer = tokenizer.clone();
                let results = source.results;
                let rows = MixtureRows { mixture, tokenizer, results };
                return Ok(TrainingRows::Generated(Box::new(rows)));
            }
            DataSource::Mixture(_) => {
                return Err(TrainError::Invalid(
                    "a mixture has no end, so it is the only source of its run".to_owned(),
                ));
            }
        }
    }
    Ok(TrainingRows::Stored { order: EpochOrder::new(data.seed, rows.len()), rows })
}

/// Rows of the toy task, generated and encoded by position.
#[derive(Debug)]
struct MixtureRows {
    mixture: Mixture,
    tokenizer: Arc<Tokenizer>,
    /// Whether judged steps have results as targets too.
    results: bool,
}

impl RowGenerator for MixtureRows {
    fn row(&self, position: u64) -> Result<TrainingRow> {
        let row = self.mixture.row(position);
        let encoder = Encoder::new(&self.tokenizer)?;
        let example =
            if self.results { encoder.encode_with_results(&row) } else { encoder.encode(&row) }?;
        Ok(TrainingRow::Tokenized(Tokenized {
            kind: row.format.name().into(),
            token_ids: example.token_ids,
            targets: example.aims.iter().map(|aim| (aim.at, aim.token)).collect(),
        }))
    }
}

impl MixtureSource {
    fn mixture(&self) -> Result<Mixture> {
        let mut mixture = Mixture {
            seed: self.seed,
            difficulty: difficulty(self.lengths, self.times, self.addends, self.multipliers),
            countdown: self.countdown,
            ..Mixture::default()
        };
        if let Some(formats) = &self.formats {
            mixture.weights = weights("format", formats, &Format::ALL, Format::name)?;
        }
        if let Some(mistakes) = &self.mistakes {
            mixture.mistakes = Some(weights("mistake", mistakes, &Slip::ALL, Slip::name)?);
        }
        let checked = mixture.check();
        checked.map_err(|what| TrainError::Invalid(format!("data: {what}")))?;
        Ok(mixture)
    }
}

/// The weights of a table by names.
fn weights<T: Copy>(
    of: &str,
    table: &BTreeMap<String, f64>,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<Vec<(T, f64)>> {
    let weight = |(name, weight): (&String, &f64)| {
        let found = all.iter().find(|one| name_of(**one) == name);
        found.map(|one| (*one, *weight)).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|one| name_of(*one)).collect();
            let names = names.join(", ");
            TrainError::Invalid(format!("data: there is no {of} '{name}'; there are {names}"))
        })
    };
    table.iter().map(weight).collect()
}

/// Difficulty of chains by the keys of a run file.
pub(super) fn difficulty(
    lengths: [usize; 2],
    times: f64,
    addends: [u8; 2],
    multipliers: [u8; 2],
) -> Difficulty {
    Difficulty {
        lengths: lengths[0]..=lengths[1],
        times,
        addends: addends[0]..=addends[1],
        multipliers: multipliers[0]..=multipliers[1],
    }
}

impl ChainSource {
    fn rows(&self, method: Option<&str>) -> Result<Vec<TrainingRow>> {
        let verifier = self.scorer.as_deref().or(method).unwrap_or("math");
        if !(0.0..=1.0).contains(&self.labelled) {
            return Err(TrainError::Invalid("data: `labelled` is a share".to_owned()));
        }
        let mut rows = Vec::new();
        for (index, problem) in self.problems()?.into_iter().enumerate() {
            let gold = check::gold(&problem).ok_or_else(|| {
                TrainError::Invalid(format!("'{problem}' is no problem of the task"))
            })?;
            let mut rng = decision(self.seed, "labelled", &[index as u64]);
            let known = rng.random_bool(self.labelled);
            let scorer = match (&self.judge, known) {
                (_, true) => verifier,
                (Some(judge), false) => judge,
                (None, false) => continue,
            };
            rows.push(TrainingRow::Problem(TrainingItem {
                index: index as u64,
                role: ItemRole::Policy,
                turns: vec![rubrics::Message { role: "user".to_owned(), content: problem.clone() }],
                problem: problem.into(),
                audit: (!known).then(|| gold.to_string().into()),
                gold: known.then(|| gold.to_string().into()),
                fields: Arc::default(),
                scorer: scorer.into(),
                category: None,
                parent: None,
            }));
        }
        Ok(rows)
    }

    /// Draws problems for training, or held-out ones.
    fn problems(&self) -> Result<Vec<String>> {
        let difficulty = difficulty(self.lengths, self.times, self.addends, self.multipliers);
        let checked = difficulty.check();
        checked.map_err(|what| TrainError::Invalid(format!("data: {what}")))?;
        if self.held_out {
            let problems = sets::problems(self.seed, &difficulty, self.count);
            return Ok(problems.into_iter().map(|problem| problem.problem).collect());
        }
        let mixture = Mixture { seed: self.seed, difficulty, ..Mixture::default() };
        let rows = (0..self.count as u64).map(|index| mixture.row_of(Format::Player, index));
        rows.map(|row| match (&row.target, row.turns.last()) {
            (TrainingTarget::Reply(_), Some(turn)) => Ok(turn.content.clone()),
            _ => Err(TrainError::Invalid("a problem is one message".to_owned())),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_of_a_mixture_are_refused() {
        let check = |keys: &str, expected: &str| {
            let source: MixtureSource = toml::from_str(keys).expect(keys);
            let error = source.mixture().expect_err(keys).to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("formats = { plaier = 1.0 }", "no format 'plaier'; there are player, ");
        check("mistakes = { valve = 1.0 }", "no mistake 'valve'; there are digit, value, ");
        check("mistakes = { early = 1.0 }", "no mistake that every chain can have");
        check("mistakes = { digit = nan }", "negative or not finite");
    }

    #[test]
    fn weights_of_a_mixture_are_those_of_the_file() {
        let keys = "formats = { process = 2.0, player = 1.0 }\nmistakes = { value = 3.0 }";
        let source: MixtureSource = toml::from_str(keys).expect(keys);
        let mixture = source.mixture().expect("a mixture");
        assert_eq!(mixture.weights, [(Format::Player, 1.0), (Format::Process, 2.0)]);
        assert_eq!(mixture.mistakes, Some(vec![(Slip::Value, 3.0)]));
    }
}
