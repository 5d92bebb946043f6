//! From feedback to lists, and from lists through the steps to rows.

use std::path::PathBuf;
use std::time::Instant;

use curation::principles::{
    Extraction, FeedbackColumns, FeedbackRow, JudgeAnswer, JudgeFailure, ListedPrinciple,
    PrincipleRow, PrincipleTable, PrincipleVerdict, RowPrinciples, UsableRows,
};
use datasets::source::Batch;
use openapi::Message;
use rubrics::feedback::{Feedback, Listed, Met};
use scoring::dataset_output::{DatasetOutput, ManifestFields};
use scoring::progress::ItemProgress;
use serde_json::json;

use super::PrinciplesArgs;
use super::answers::Remembering;
use super::judge::{Engines, Judge, JudgeListing, judge};
use super::similar::Similarity;
use super::summary::ExtractionSummary;
use crate::error::{CliError, CommandOutcome};

/// Rows whose feedback is judged together.
const BATCH: usize = 64;

/// Runs the command.
pub(super) fn run(args: &PrinciplesArgs) -> Result<CommandOutcome, CliError> {
    let started = Instant::now();
    args.sink.check(&args.output)?;
    let mut outputs: Vec<PathBuf> = vec![(&args.output).into()];
    outputs.extend(args.judge.answers.clone());
    if outputs.len() > 1 && outputs[0] == outputs[1] {
        let message = "--answers and --output name the same file";
        return Err(CliError::Usage(message.to_owned()));
    }
    let dataset = args.source.open(&args.inputs, &outputs)?;
    let columns = args.columns.find(dataset.schema())?;
    let table = PrincipleTable::new(columns.carried(&args.columns.carry, dataset.schema())?)?;
    let engines = Engines::load(args)?;
    let similarity = Similarity::new(args, engines.as_ref())?;
    let judge = remembering(args, judge(args, engines.as_ref())?)?;
    let output = DatasetOutput::create(&args.output, table.schema(), &args.sink.options())?;
    let options = described(args, judge.as_ref(), &similarity);
    let extraction = Extraction::new(args.steps.options());
    let mut run = ExtractionRun { columns, table, judge, similarity, extraction, output };
    let mut progress = ItemProgress::start("rows", dataset.rows());
    for batch in dataset.batches() {
        let batch = batch?;
        run.batch(&batch, &mut progress)?;
    }
    drop(progress);
    let summary = ExtractionSummary {
        left_out: run.extraction.options().left_out.clone(),
        counts: run.extraction.counts,
        finished: run.output.finish()?,
        started,
    };
    let account =
        ManifestFields { command: "principles", options, counts: summary.counts_json(), started };
    summary.finished.account(&dataset, account)?;
    eprint!("{}", summary.text());
    if args.sink.json {
        crate::print(&(summary.json().to_string() + "\n"))?;
    }
    Ok(summary.outcome())
}

/// The judge, with a file of its answers where one is named.
fn remembering(args: &PrinciplesArgs, judge: Box<dyn Judge>) -> Result<Box<dyn Judge>, CliError> {
    let own = &args.judge;
    let Some(path) = &own.answers else {
        return Ok(judge);
    };
    let manner = json!([own.max_tokens, own.temperature, own.seed]);
    Ok(Box::new(Remembering::open(path, judge, &manner)?))
}

/// Every option that bears on the output.
fn described(
    args: &PrinciplesArgs,
    judge: &dyn Judge,
    similarity: &Similarity,
) -> serde_json::Value {
    json!({
        "judge": judge.described(),
        "max_tokens": args.judge.max_tokens,
        "temperature": args.judge.temperature,
        "seed": args.judge.seed,
        "similarity": similarity.described(),
        "prompt": args.columns.prompt,
        "response": args.columns.response,
        "feedback": args.columns.feedback(),
        "carry": args.columns.carry,
        "min_annotators": args.steps.min_annotators,
        "evidence": args.steps.evidence,
        "cosine": args.steps.cosine,
        "leave_out": args.steps.options().left_out,
        "keep_contradictions": args.steps.options().keep_contradictions,
    })
}

/// The rows of a run on their way from feedback to principles.
struct ExtractionRun {
    columns: FeedbackColumns,
    table: PrincipleTable,
    judge: Box<dyn Judge>,
    similarity: Similarity,
    extraction: Extraction,
    output: DatasetOutput,
}

impl ExtractionRun {
    fn batch(&mut self, batch: &Batch, progress: &mut ItemProgress) -> Result<(), CliError> {
        for reject in &batch.rejects {
            self.output.reject(reject)?;
        }
        let UsableRows { usable, rejected } =
            self.extraction.usable(self.columns.rows(&batch.data)?);
        for (position, reason) in rejected {
            self.output.reject(&batch.reject(position, reason))?;
        }
        let mut done = 0;
        let mut usable = usable.into_iter().peekable();
        while let Some((first, _)) = usable.peek() {
            progress.advance((*first - done) as u64);
            done = *first;
            let rows = usable.by_ref().take(BATCH).collect();
            self.extract(batch, rows)?;
        }
        progress.advance((batch.data.num_rows() - done) as u64);
        Ok(())
    }

    /// Lists the principles of some rows with the judge and writes the principles that pass the steps.
    fn extract(&mut self, batch: &Batch, rows: Vec<(usize, FeedbackRow)>) -> Result<(), CliError> {
        let feedback: Vec<Feedback> = rows.iter().flat_map(|(_, row)| feedback_of(row)).collect();
        let mut answers = self.judge.list(&feedback)?.into_iter().map(judge_answer);
        let mut combined = Vec::new();
        for (position, row) in rows {
            let own = answers.by_ref().take(row.annotators.len()).collect();
            match self.extraction.combine(position, &row, own) {
                Ok(principles) => combined.push(principles),
                Err(reason) => self.output.reject(&batch.reject(position, reason))?,
            }
        }
        let texts: Vec<Vec<String>> = combined.iter().map(RowPrinciples::texts).collect();
        let vectors = self.similarity.vectors(&texts)?;
        let principles: Vec<PrincipleRow> = combined
            .into_iter()
            .zip(vectors)
            .flat_map(|(row, vectors)| self.extraction.agree(row, vectors))
            .collect();
        let rows = self.table.rows(&batch.data, &principles).map_err(|error| {
            CliError::Failed(format!("{}: principles are no rows: {error}", batch.file))
        })?;
        self.output.rows(&rows)
    }
}

/// One request to the judge for each annotator.
fn feedback_of(row: &FeedbackRow) -> impl Iterator<Item = Feedback> {
    let turn = |message: &Message| rubrics::Message::new(&message.role, &message.content);
    let conversation: Vec<rubrics::Message> = row.conversation.iter().map(turn).collect();
    row.feedback()
        .into_iter()
        .map(move |feedback| Feedback { conversation: conversation.clone(), feedback })
}

fn judge_answer(answer: JudgeListing) -> JudgeAnswer {
    let principle = |listed: Listed| ListedPrinciple {
        principle: listed.principle,
        verdict: match listed.met {
            Met::Yes => PrincipleVerdict::Yes,
            Met::No => PrincipleVerdict::No,
            Met::Partially => PrincipleVerdict::Partially,
        },
        evidence: listed.evidence,
    };
    match answer {
        Ok(list) => Ok(list.into_iter().map(principle).collect()),
        Err((status, reason)) => Err(JudgeFailure { status, reason }),
    }
}

#[cfg(test)]
mod tests;
