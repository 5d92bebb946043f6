//! From pairs to votes, from votes to decisions, from decisions to rows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use curation::preferences::{
    Cuts, Form, Judged, Rules, Spread, Table, TableOptions, Votes, histogram, rescaled, strength,
};
use datasets::source::{Batch, Dataset};
use serde_json::json;

use super::summary::{Counts, Summary};
use super::voting::{Ballots, Voting};
use super::{AddedArgs, DenoiseArgs, UnmeasuredArg};
use crate::dataset_files::{Account, DatasetOutput};
use crate::error::{CliError, Outcome};
use crate::progress::Progress;

/// Runs the command.
pub(super) fn run(args: &DenoiseArgs) -> Result<Outcome, CliError> {
    let started = Instant::now();
    args.check()?;
    let (rules, words) = args.rules.rules();
    let dataset = args.source.open(&args.inputs, &args.outputs())?;
    let mut voting = Voting::new(&args.voters, dataset.schema(), rules.may_flip())?;
    let table = Table::new(dataset.schema(), table_options(args, &voting))?;
    let mut writing = Writing::create(args, table)?;
    let spread = args.rules.spread();
    let known = (rules.need_all() || args.rules.rescale)
        .then(|| Known::collect(&dataset, &mut voting, args.rules.rescale))
        .transpose()?;
    let cuts = match &known {
        Some(known) => rules.over(known.strengths(spread)),
        None => rules.over([]),
    };
    let cuts = cuts.map_err(|error| CliError::Usage(error.to_string()))?;
    let mut deciding =
        Deciding { counts: Counts::new(words, &cuts), cuts, spread, means: Vec::new() };
    let mut progress = Progress::start("pairs", dataset.rows());
    let mut first = 0;
    for batch in dataset.batches() {
        let batch = batch?;
        let ballots = match &known {
            Some(known) => known.ballots(first, batch.data.num_rows()),
            None => voting.ask(&batch)?,
        };
        first += batch.data.num_rows();
        let judged = deciding.judge(&ballots, voting.names().len());
        writing.write(&batch, &judged, &ballots.refusals)?;
        progress.advance(batch.data.num_rows() as u64);
    }
    drop(progress);
    let histogram = histogram("strength", deciding.means);
    let (finished, left_out) = writing.finish()?;
    let summary = Summary {
        counts: deciding.counts,
        histogram,
        voters: voting.names().to_vec(),
        tallies: voting
            .tallies()
            .into_iter()
            .map(|(name, t)| (name.to_owned(), t.clone()))
            .collect(),
        refused: voting.refused(),
        finished,
        left_out,
        started,
    };
    let account = Account {
        command: "denoise",
        options: described(args, &rules, &voting),
        counts: summary.counts_json(),
        started,
    };
    summary.finished.account(&dataset, account)?;
    eprint!("{}", summary.text());
    if args.sink.json {
        crate::print(&(summary.json().to_string() + "\n"))?;
    }
    Ok(summary.outcome())
}

fn table_options(args: &DenoiseArgs, voting: &Voting) -> TableOptions {
    TableOptions {
        column: args.added.column.clone(),
        form: if args.added.flat { Form::Flat } else { Form::Object },
        voters: voting.names().to_vec(),
        exchanged: voting.exchanged.clone(),
        keep_unmeasured: args.rules.unmeasured == UnmeasuredArg::Keep,
    }
}

/// Every option that bears on the output.
fn described(args: &DenoiseArgs, rules: &Rules, voting: &Voting) -> serde_json::Value {
    let scorers = voting.digests().into_iter();
    let scorers = scorers.map(|(name, digest)| json!({ "name": name, "digest": digest }));
    json!({
        "scorers": scorers.collect::<Vec<_>>(),
        "voters": voting.names(),
        "value": match args.voters.value {
            crate::eval::ValueArg::Score => "score",
            crate::eval::ValueArg::Raw => "raw",
        },
        "prompt": args.voters.prompt,
        "chosen": args.voters.chosen,
        "rejected": args.voters.rejected,
        "exchange": args.voters.exchange,
        "rules": rules,
        "std": args.rules.spread(),
        "rescale": args.rules.rescale,
        "keep_unmeasured": args.rules.unmeasured == UnmeasuredArg::Keep,
        "column": args.added.column,
        "flat": args.added.flat,
        "left_out": args.added.left_out,
    })
}

/// The votes on all pairs, and the rows that are none.
struct Known {
    votes: Votes,
    scales: Option<Vec<f64>>,
    refusals: BTreeMap<usize, String>,
}

impl Known {
    /// A pass over all pairs.
    fn collect(dataset: &Dataset, voting: &mut Voting, rescale: bool) -> Result<Self, CliError> {
        let mut votes = Votes::new(voting.names().len());
        let mut refusals = BTreeMap::new();
        let what = if voting.asks_scorers() { "pairs scored" } else { "pairs read" };
        let mut progress = Progress::start(what, dataset.rows());
        for batch in dataset.batches() {
            let batch = batch?;
            let ballots = voting.ask(&batch)?;
            let first = votes.n_pairs();
            let reasons = ballots.refusals.into_iter().enumerate();
            refusals.extend(reasons.filter_map(|(at, reason)| Some((first + at, reason?))));
            votes.extend(&ballots.votes);
            progress.advance(batch.data.num_rows() as u64);
        }
        Ok(Self { scales: rescale.then(|| votes.scales()), votes, refusals })
    }

    /// The votes on one pair, as they count.
    fn pair(&self, index: usize) -> Vec<Option<f64>> {
        let votes = self.votes.pair(index);
        match &self.scales {
            Some(scales) => rescaled(&votes, scales),
            None => votes,
        }
    }

    fn strengths(
        &self,
        spread: Spread,
    ) -> impl Iterator<Item = Option<curation::preferences::Strength>> {
        (0..self.votes.n_pairs()).map(move |index| strength(&self.pair(index), spread))
    }

    /// The votes on the pairs of a batch.
    fn ballots(&self, first: usize, n_pairs: usize) -> Ballots {
        let pairs = first..first + n_pairs;
        Ballots {
            votes: pairs.clone().flat_map(|index| self.pair(index)).collect(),
            refusals: pairs.map(|index| self.refusals.get(&index).cloned()).collect(),
        }
    }
}

/// Decides about pairs, and counts.
struct Deciding {
    cuts: Cuts,
    spread: Spread,
    counts: Counts,
    /// The strength of every pair that is no number where it was not measured.
    means: Vec<f64>,
}

impl Deciding {
    /// What becomes of the pairs of a batch; `None` for a row that is no pair.
    fn judge(&mut self, ballots: &Ballots, n_voters: usize) -> Vec<Option<Judged>> {
        let pairs = ballots.votes.chunks(n_voters).zip(&ballots.refusals);
        let judge = |(votes, refusal): (&[Option<f64>], &Option<String>)| {
            if refusal.is_some() {
                return None;
            }
            let strength = strength(votes, self.spread);
            let (decision, rule) = self.cuts.decide(strength.as_ref());
            self.means.push(strength.map_or(f64::NAN, |strength| strength.mean));
            self.counts.add(&decision, rule, votes);
            Some(Judged { votes: votes.to_vec(), strength, decision })
        };
        pairs.map(judge).collect()
    }
}

/// Where rows go.
struct Writing {
    table: Table,
    output: DatasetOutput,
    left_out: Option<DatasetOutput>,
}

impl Writing {
    fn create(args: &DenoiseArgs, table: Table) -> Result<Self, CliError> {
        let options = args.sink.options();
        let left_out = AddedArgs::left_out_options(&args.sink);
        let create = |name: &String| DatasetOutput::create(name, table.schema(), &left_out);
        Ok(Self {
            output: DatasetOutput::create(&args.output, table.schema(), &options)?,
            left_out: args.added.left_out.as_ref().map(create).transpose()?,
            table,
        })
    }

    fn write(
        &mut self,
        batch: &Batch,
        judged: &[Option<Judged>],
        refusals: &[Option<String>],
    ) -> Result<(), CliError> {
        for reject in &batch.rejects {
            self.output.reject(reject)?;
        }
        for (row, reason) in refusals.iter().enumerate() {
            if let Some(reason) = reason {
                self.output.reject(&batch.reject(row, reason.clone()))?;
            }
        }
        let parts = self.table.parts(&batch.data, judged).map_err(|error| {
            CliError::Failed(format!("{}: columns cannot be added: {error}", batch.file))
        })?;
        self.output.rows(&parts.kept)?;
        if let Some(left_out) = &mut self.left_out {
            left_out.rows(&parts.left_out)?;
        }
        Ok(())
    }

    /// Ends both outputs, the one of the rows that stay last: where it is, the other is too.
    fn finish(self) -> Result<(crate::dataset_files::Finished, Vec<PathBuf>), CliError> {
        let left_out = self.left_out.map(DatasetOutput::finish).transpose()?;
        let files = left_out.map_or_else(Vec::new, |finished| finished.written.files);
        let files = files.into_iter().map(|(path, _)| path).collect();
        Ok((self.output.finish()?, files))
    }
}
