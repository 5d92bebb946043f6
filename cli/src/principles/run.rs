//! From feedback to lists, and from lists through the steps to rows.

use std::path::PathBuf;
use std::time::Instant;

use curation::principles::{
    Found, Line, Stated, Table, Verdict, consensus, contradicted, evidence, listed, partial,
    repeated,
};
use datasets::source::Batch;
use rubrics::feedback::{Feedback, Listed, Met};
use serde_json::json;

use super::answers::Remembering;
use super::judge::{Answer, Engines, Judge, judge};
use super::rows::{Columns, Row};
use super::similar::Similarity;
use super::summary::{Counts, Summary};
use super::{ContradictionsArg, PrinciplesArgs, StepArgs};
use crate::dataset_files::{Account, DatasetOutput};
use crate::error::{CliError, Outcome};
use crate::progress::Progress;

/// Rows whose feedback is asked about together.
const BATCH: usize = 64;

/// Runs the command.
pub(super) fn run(args: &PrinciplesArgs) -> Result<Outcome, CliError> {
    let started = Instant::now();
    args.sink.check(&args.output)?;
    let mut outputs: Vec<PathBuf> = vec![(&args.output).into()];
    outputs.extend(args.judge.answers.clone());
    if outputs.len() > 1 && outputs[0] == outputs[1] {
        let message = "--answers and --output name the same file";
        return Err(CliError::Usage(message.to_owned()));
    }
    let dataset = args.source.open(&args.inputs, &outputs)?;
    let columns = Columns::find(&args.columns, dataset.schema())?;
    let table = Table::new(columns.taken(&args.columns.carry, dataset.schema())?)?;
    let engines = Engines::load(args)?;
    let similarity = Similarity::new(args, engines.as_ref())?;
    let judge = remembering(args, judge(args, engines.as_ref())?)?;
    let output = DatasetOutput::create(&args.output, table.schema(), &args.sink.options())?;
    let options = described(args, judge.as_ref(), &similarity);
    let mut passing = Passing {
        columns,
        table,
        judge,
        similarity,
        steps: &args.steps,
        left_out: args.steps.left_out(),
        output,
        counts: Counts::default(),
    };
    let mut progress = Progress::start("rows", dataset.rows());
    for batch in dataset.batches() {
        let batch = batch?;
        passing.batch(&batch, &mut progress)?;
    }
    drop(progress);
    let summary = Summary {
        counts: passing.counts,
        steps: passing.left_out,
        finished: passing.output.finish()?,
        started,
    };
    let account =
        Account { command: "principles", options, counts: summary.counts_json(), started };
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
        "leave_out": args.steps.left_out(),
        "keep_contradictions": args.steps.contradictions == ContradictionsArg::Keep,
    })
}

/// What rows pass through.
struct Passing<'a> {
    columns: Columns,
    table: Table,
    judge: Box<dyn Judge>,
    similarity: Similarity,
    steps: &'a StepArgs,
    left_out: Vec<String>,
    output: DatasetOutput,
    counts: Counts,
}

/// A row of a batch whose lists are all there.
struct Heard {
    /// Its place in the batch.
    at: usize,
    row: Row,
    stated: Vec<(Stated, f64)>,
}

impl Passing<'_> {
    fn batch(&mut self, batch: &Batch, progress: &mut Progress) -> Result<(), CliError> {
        for reject in &batch.rejects {
            self.output.reject(reject)?;
        }
        let rows = self.columns.rows(&batch.data)?;
        self.counts.rows += rows.len() as u64;
        let mut usable = Vec::new();
        for (at, row) in rows.into_iter().enumerate() {
            match row {
                Err(reason) => self.output.reject(&batch.reject(at, reason))?,
                Ok(row) if row.annotators.len() < usize::from(self.steps.min_annotators) => {
                    self.counts.too_few_annotators += 1;
                }
                Ok(row) => usable.push((at, row)),
            }
        }
        let mut done = 0;
        let mut usable = usable.into_iter().peekable();
        while let Some((first, _)) = usable.peek() {
            progress.advance((*first - done) as u64);
            done = *first;
            let some: Vec<(usize, Row)> = usable.by_ref().take(BATCH).collect();
            self.some(batch, some)?;
        }
        progress.advance((batch.data.num_rows() - done) as u64);
        Ok(())
    }

    /// Asks about some rows, and writes what passes the steps.
    fn some(&mut self, batch: &Batch, rows: Vec<(usize, Row)>) -> Result<(), CliError> {
        let feedback: Vec<Feedback> = rows.iter().flat_map(|(_, row)| row.feedback()).collect();
        let mut answers = self.judge.list(&feedback)?.into_iter();
        let mut heard = Vec::new();
        for (at, row) in rows {
            let own: Vec<Answer> = answers.by_ref().take(row.annotators.len()).collect();
            match self.heard(at, row, own) {
                Ok(one) => heard.push(one),
                Err(reason) => self.output.reject(&batch.reject(at, reason))?,
            }
        }
        let texts = |heard: &Heard| -> Vec<String> {
            let stated = heard.stated.iter();
            stated.map(|(stated, _)| stated.principle.clone()).collect()
        };
        let texts: Vec<Vec<String>> = heard.iter().map(texts).collect();
        let vectors = self.similarity.vectors(&texts)?;
        let mut lines = Vec::new();
        for (heard, vectors) in heard.into_iter().zip(vectors) {
            self.agreed(heard, vectors, &mut lines);
        }
        self.counts.written += lines.len() as u64;
        let rows = self.table.rows(&batch.data, &lines).map_err(|error| {
            CliError::Failed(format!("{}: principles are no rows: {error}", batch.file))
        })?;
        self.output.rows(&rows)
    }

    /// What the annotators of a row say, with words that are found there; or why one of them cannot
    /// be heard, without whom there is no saying what the others agree on.
    fn heard(&mut self, at: usize, row: Row, answers: Vec<Answer>) -> Result<Heard, String> {
        self.counts.asked += answers.len() as u64;
        let mut stated = Vec::new();
        let mut unheard = None;
        for (annotator, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(list) => stated.extend(list.into_iter().map(|one| plainly(annotator, one))),
                Err((status, reason)) => {
                    self.counts.failed(status);
                    let name = &row.annotators[annotator].0;
                    unheard
                        .get_or_insert_with(|| format!("feedback of '{name}': {status}: {reason}"));
                }
            }
        }
        if let Some(reason) = unheard {
            return Err(reason);
        }
        let listed = stated.len();
        let stated = evidence(stated, &row.words(), self.steps.evidence);
        self.counts.listed += listed as u64;
        self.counts.without_evidence += (listed - stated.len()) as u64;
        Ok(Heard { at, row, stated })
    }

    /// The steps after the comparison of a row's principles.
    fn agreed(&mut self, heard: Heard, vectors: Vec<Vec<f32>>, lines: &mut Vec<Line>) {
        let least = self.steps.cosine;
        let counts = &mut self.counts;
        let before = heard.stated.len();
        let n_annotators = heard.row.annotators.len();
        let found = consensus(heard.stated, vectors, n_annotators, least);
        counts.without_consensus += (before - found.len()) as u64;
        let found = dropping(found, &mut counts.left_out, |found| listed(found, &self.left_out));
        let found = dropping(found, &mut counts.partially, partial);
        let found = match self.steps.contradictions {
            ContradictionsArg::Keep => found,
            ContradictionsArg::Drop => {
                dropping(found, &mut counts.contradicted, |found| contradicted(found, least))
            }
        };
        let found = dropping(found, &mut counts.repeated, |found| repeated(found, least));
        lines.extend(found.into_iter().map(|found| Line {
            row: heard.at,
            annotator: heard.row.annotators[found.stated.annotator].0.clone(),
            found,
        }));
    }
}

/// A step, with what it drops counted.
fn dropping(
    found: Vec<Found>,
    dropped: &mut u64,
    step: impl FnOnce(Vec<Found>) -> Vec<Found>,
) -> Vec<Found> {
    let before = found.len();
    let left = step(found);
    *dropped += (before - left.len()) as u64;
    left
}

fn plainly(annotator: usize, listed: Listed) -> Stated {
    Stated {
        annotator,
        principle: listed.principle,
        verdict: match listed.met {
            Met::Yes => Verdict::Yes,
            Met::No => Verdict::No,
            Met::Partially => Verdict::Partially,
        },
        evidence: listed.evidence,
    }
}

#[cfg(test)]
mod tests;
