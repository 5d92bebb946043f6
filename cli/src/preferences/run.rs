//! From pairs to votes, from votes to decisions, from decisions to rows.

use std::path::PathBuf;
use std::time::Instant;

use curation::preferences::{
    AllVotes, ColumnForm, DecidedPair, DenoiseTable, DenoiseTableOptions, Denoiser, StrengthRules,
    histogram,
};
use datasets::source::{Batch, Dataset};
use scoring::dataset_output::{DatasetOutput, ManifestFields};
use scoring::progress::ItemProgress;
use serde_json::json;

use super::summary::DenoiseSummary;
use super::voting::Voting;
use super::{AddedArgs, DenoiseArgs, UnmeasuredArg};
use crate::error::{CliError, CommandOutcome};

/// Runs the command.
pub(super) fn run(args: &DenoiseArgs) -> Result<CommandOutcome, CliError> {
    let started = Instant::now();
    args.check()?;
    let (rules, words) = args.rules.rules();
    let dataset = args.source.open(&args.inputs, &args.outputs())?;
    let mut voting = Voting::new(&args.voters, dataset.schema(), rules.may_flip())?;
    let table = DenoiseTable::new(dataset.schema(), table_options(args, &voting))?;
    let mut writing = Writing::create(args, table)?;
    let std_dev = args.rules.std_dev();
    let votes = (rules.need_all_strengths() || args.rules.rescale)
        .then(|| collect_votes(&dataset, &mut voting, args.rules.rescale))
        .transpose()?;
    let resolved = match &votes {
        Some(votes) => rules.resolve(votes.strengths(std_dev)),
        None => rules.resolve([]),
    };
    let resolved = resolved.map_err(|error| CliError::Usage(error.to_string()))?;
    let mut denoiser = Denoiser::new(resolved, words, std_dev);
    let mut progress = ItemProgress::start("pairs", dataset.rows());
    let mut first = 0;
    for batch in dataset.batches() {
        let batch = batch?;
        let batch_votes = match &votes {
            Some(votes) => votes.batch(first, batch.data.num_rows()),
            None => voting.votes(&batch)?,
        };
        first += batch.data.num_rows();
        let decided = denoiser.decide(&batch_votes, voting.names().len());
        writing.write(&batch, &decided, &batch_votes.refusals)?;
        progress.advance(batch.data.num_rows() as u64);
    }
    drop(progress);
    let (counts, strengths) = denoiser.finish();
    let histogram = histogram("strength", strengths);
    let (finished, left_out) = writing.finish()?;
    let summary = DenoiseSummary {
        counts,
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
    let account = ManifestFields {
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

fn table_options(args: &DenoiseArgs, voting: &Voting) -> DenoiseTableOptions {
    DenoiseTableOptions {
        column: args.added.column.clone(),
        form: if args.added.flat { ColumnForm::Flat } else { ColumnForm::Object },
        voters: voting.names().to_vec(),
        exchanged: voting.exchanged.clone(),
        keep_unmeasured: args.rules.unmeasured == UnmeasuredArg::Keep,
    }
}

/// Every option that bears on the output.
fn described(args: &DenoiseArgs, rules: &StrengthRules, voting: &Voting) -> serde_json::Value {
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
        "std": args.rules.std_dev(),
        "rescale": args.rules.rescale,
        "keep_unmeasured": args.rules.unmeasured == UnmeasuredArg::Keep,
        "column": args.added.column,
        "flat": args.added.flat,
        "left_out": args.added.left_out,
    })
}

/// Collects the votes on all pairs.
fn collect_votes(
    dataset: &Dataset,
    voting: &mut Voting,
    rescale: bool,
) -> Result<AllVotes, CliError> {
    let mut votes = AllVotes::new(voting.names().len());
    let what = if voting.runs_scorers() { "pairs scored" } else { "pairs read" };
    let mut progress = ItemProgress::start(what, dataset.rows());
    for batch in dataset.batches() {
        let batch = batch?;
        votes.add(voting.votes(&batch)?);
        progress.advance(batch.data.num_rows() as u64);
    }
    if rescale {
        votes.rescale();
    }
    Ok(votes)
}

/// Outputs of a run.
struct Writing {
    table: DenoiseTable,
    output: DatasetOutput,
    left_out: Option<DatasetOutput>,
}

impl Writing {
    fn create(args: &DenoiseArgs, table: DenoiseTable) -> Result<Self, CliError> {
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
        judged: &[Option<DecidedPair>],
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
    fn finish(self) -> Result<(scoring::dataset_output::Finished, Vec<PathBuf>), CliError> {
        let left_out = self.left_out.map(DatasetOutput::finish).transpose()?;
        let files = left_out.map_or_else(Vec::new, |finished| finished.written.files);
        let files = files.into_iter().map(|(path, _)| path).collect();
        Ok((self.output.finish()?, files))
    }
}
