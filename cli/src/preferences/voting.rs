//! Voters on pairs: scorers that score both responses, and columns that hold scores already.

use curation::evaluation::{InputScores, VerdictValue};
use curation::preferences::{
    BatchVotes, PairColumns, ScoreDifference, difference, exchanged_columns,
};
use datasets::source::Batch;
use datasets::{RecordBatch, SchemaRef};
use openapi::ScoreInput;
use scoring::backend::{Backend, BackendOptions};
use scoring::scorers;
use scoring::status_counts::StatusCounts;

use super::VoterArgs;
use crate::error::CliError;

/// Pairs that are judged together.
const BATCH: usize = 256;

/// All voters, scorers first.
pub(super) struct Voting {
    scorers: Option<Scorers>,
    columns: Vec<ScoreDifference>,
    names: Vec<String>,
    /// Positions of the columns that change places in flipped pairs.
    pub(super) exchanged: Vec<(usize, usize)>,
}

/// Scorers and the columns of the pairs that they score.
struct Scorers {
    backend: Box<dyn Backend>,
    value: VerdictValue,
    pair: PairColumns,
    tallies: Vec<StatusCounts>,
    refused: u64,
}

impl Voting {
    /// Finds the columns and loads the scorers.
    pub(super) fn new(args: &VoterArgs, schema: &SchemaRef, flips: bool) -> Result<Self, CliError> {
        let columns = ScoreDifference::find(
            schema,
            &args.strengths,
            &args.chosen_scores,
            &args.rejected_scores,
        )?;
        let mut names = args.scorers.clone();
        names.extend(columns.iter().map(ScoreDifference::name));
        if names.is_empty() {
            return Err(CliError::Usage(
                "there is no voter: name a scorer with --scorer, a column of differences with \
                 --strength, or two columns of scores with --chosen-score and --rejected-score"
                    .to_owned(),
            ));
        }
        let repeated = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
        if let Some(at) = repeated {
            return Err(CliError::Usage(format!("'{}' votes twice", names[at])));
        }
        let pair = (flips || !args.scorers.is_empty())
            .then(|| {
                PairColumns::find(schema, args.prompt.as_deref(), &args.chosen, &args.rejected)
            })
            .transpose()?;
        let mut exchanged: Vec<(usize, usize)> =
            columns.iter().filter_map(ScoreDifference::exchanged).collect();
        exchanged.extend(pair.as_ref().map(PairColumns::exchanged).transpose()?);
        for (first, second) in args.exchange.iter().map(|both| (&both.0, &both.1)) {
            exchanged.push(exchanged_columns(schema, (first, second), "--exchange")?);
        }
        exchanged.sort_unstable();
        exchanged.dedup();
        let scorers = match pair {
            Some(pair) if !args.scorers.is_empty() => Some(Scorers::load(args, pair)?),
            Some(_) | None => None,
        };
        Ok(Self { scorers, columns, names, exchanged: if flips { exchanged } else { Vec::new() } })
    }

    /// Their names, in the order of their votes.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether votes need scorers, which are run once only.
    pub(super) fn runs_scorers(&self) -> bool {
        self.scorers.is_some()
    }

    /// The scorers with the digests of their models.
    pub(super) fn digests(&self) -> Vec<(String, String)> {
        let scorers = self.scorers.iter().flat_map(|scorers| scorers.backend.scorers());
        scorers.map(|scorer| (scorer.name, scorer.digest)).collect()
    }

    /// Statuses of the results, by the names of the scorers.
    pub(super) fn tallies(&self) -> Vec<(&str, &StatusCounts)> {
        let tallies = self.scorers.iter().flat_map(|scorers| &scorers.tallies);
        self.names.iter().map(String::as_str).zip(tallies).collect()
    }

    /// Pairs that a server would not take, for each scorer.
    pub(super) fn refused(&self) -> u64 {
        self.scorers.as_ref().map_or(0, |scorers| scorers.refused)
    }

    /// The votes on a batch of pairs.
    pub(super) fn votes(&mut self, batch: &Batch) -> Result<BatchVotes, CliError> {
        let n_pairs = batch.data.num_rows();
        let mut refusals = vec![None; n_pairs];
        let mut by_voter: Vec<Vec<Option<f64>>> = match &mut self.scorers {
            None => Vec::new(),
            Some(scorers) => scorers.votes(&batch.data, &mut refusals)?,
        };
        for column in &self.columns {
            by_voter.push(column.read(&batch.data)?);
        }
        let vote = |pair: usize| by_voter.iter().map(move |votes| votes[pair]);
        Ok(BatchVotes { votes: (0..n_pairs).flat_map(vote).collect(), refusals })
    }
}

impl Scorers {
    fn load(args: &VoterArgs, pair: PairColumns) -> Result<Self, CliError> {
        scorers::refuse_repeated(&args.scorers)?;
        let backend = BackendOptions {
            scorers: &args.scorers,
            config: args.config.as_deref(),
            device: args.remote.device,
            threads: args.threads.map(usize::from),
            explain: false,
            remote: &args.remote.options(),
        }
        .open()?;
        Ok(Self {
            tallies: vec![StatusCounts::default(); args.scorers.len()],
            backend,
            value: args.value.value(),
            pair,
            refused: 0,
        })
    }

    /// The votes of each scorer on each pair. Rows that are no pairs get their reasons.
    fn votes(
        &mut self,
        batch: &RecordBatch,
        refusals: &mut [Option<String>],
    ) -> Result<Vec<Vec<Option<f64>>>, CliError> {
        let mut votes = vec![vec![None; batch.num_rows()]; self.tallies.len()];
        let mut pairs: Vec<(usize, ScoreInput)> = Vec::new();
        for (row, input) in self.pair.inputs(batch)?.into_iter().enumerate() {
            match input {
                Ok(input) => pairs.push((row, input)),
                Err(reason) => refusals[row] = Some(reason),
            }
        }
        for some in pairs.chunks(BATCH) {
            let inputs = some.iter().map(|(_, input)| input.clone()).collect();
            let results = self.backend.score(inputs)?;
            for ((row, _), results) in some.iter().zip(results) {
                let Ok(results) = results else {
                    self.refused += 1;
                    continue;
                };
                for (scorer, result) in results.iter().enumerate() {
                    self.tallies[scorer].add(result);
                    let scores = InputScores::new(result, self.value);
                    votes[scorer][*row] =
                        difference(scores.group_response(0), scores.group_response(1));
                }
            }
        }
        Ok(votes)
    }
}
