//! The extraction of principles, row by row: what the judge listed passes the steps, and each step
//! counts what it drops.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    FeedbackRow, PrincipleRow, PrincipleVerdict, StatedPrinciple, SupportedPrinciple,
    with_consensus, with_evidence, without_contradictions, without_named, without_partial,
    without_repeats,
};

/// A principle that a judge lists for one feedback.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPrinciple {
    /// The principle in few words.
    pub principle: String,
    /// Whether the response meets it.
    pub verdict: PrincipleVerdict,
    /// The words of the feedback that say so.
    pub evidence: String,
}

/// Failure of a judge on one feedback.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeFailure {
    /// Status, as verdicts have it.
    pub status: &'static str,
    /// The reason as a sentence.
    pub reason: String,
}

/// A judge's result for one feedback.
pub type JudgeAnswer = Result<Vec<ListedPrinciple>, JudgeFailure>;

/// Thresholds and choices of the steps.
#[derive(Debug, Clone)]
pub struct ExtractionOptions {
    /// Rows with fewer annotators are skipped.
    pub min_annotators: usize,
    /// Ratio, from 0 to 100, above which evidence is found in the feedback.
    pub evidence: f64,
    /// Cosine above which principles are alike.
    pub cosine: f64,
    /// Principles that are left out by name.
    pub left_out: Vec<String>,
    /// Whether alike principles with different verdicts stay.
    pub keep_contradictions: bool,
}

/// Rows, feedback and principles by what became of them. Each step sees what the steps before it
/// left.
#[derive(Debug, Default, Serialize)]
pub struct ExtractionCounts {
    /// Rows that were read.
    pub rows: u64,
    /// Rows with too few annotators.
    pub too_few_annotators: u64,
    /// Feedback that the judge was given.
    pub asked: u64,
    /// Feedback without a list, by status.
    pub failures: BTreeMap<&'static str, u64>,
    /// Principles of rows whose lists are all there.
    pub listed: u64,
    /// Principles whose evidence is not found in the feedback.
    pub without_evidence: u64,
    /// Principles that some annotator has none alike to.
    pub without_consensus: u64,
    /// Principles that are left out by name.
    pub left_out: u64,
    /// Principles that are met in part.
    pub partially: u64,
    /// Principles with another verdict against theirs.
    pub contradicted: u64,
    /// Principles of which an alike one stays.
    pub repeated: u64,
    /// Principles that were written.
    pub written: u64,
}

/// Principles of one row whose evidence was found, each with its ratio.
#[derive(Debug)]
pub struct RowPrinciples {
    /// Position of the row in its batch.
    row: usize,
    /// Names of the annotators.
    annotators: Vec<String>,
    stated: Vec<(StatedPrinciple, f64)>,
}

impl RowPrinciples {
    /// The texts of the principles, which similarity is computed of.
    pub fn texts(&self) -> Vec<String> {
        self.stated.iter().map(|(stated, _)| stated.principle.clone()).collect()
    }
}

/// The rows of a batch by whether they can be used, with their positions.
#[derive(Debug, Default)]
pub struct UsableRows {
    /// Rows with enough annotators.
    pub usable: Vec<(usize, FeedbackRow)>,
    /// Reasons why rows cannot be used.
    pub rejected: Vec<(usize, String)>,
}

/// Runs the steps and counts.
#[derive(Debug)]
pub struct Extraction {
    options: ExtractionOptions,
    /// Counts of rows, feedback and principles so far.
    pub counts: ExtractionCounts,
}

impl Extraction {
    /// Starts with nothing counted.
    pub fn new(options: ExtractionOptions) -> Self {
        Self { options, counts: ExtractionCounts::default() }
    }

    /// The thresholds and choices.
    pub fn options(&self) -> &ExtractionOptions {
        &self.options
    }

    /// Counts the rows of a batch. Rows with too few annotators are skipped.
    pub fn usable(&mut self, rows: Vec<Result<FeedbackRow, String>>) -> UsableRows {
        self.counts.rows += rows.len() as u64;
        let mut all = UsableRows::default();
        for (position, row) in rows.into_iter().enumerate() {
            match row {
                Err(reason) => all.rejected.push((position, reason)),
                Ok(row) if row.annotators.len() < self.options.min_annotators => {
                    self.counts.too_few_annotators += 1;
                }
                Ok(row) => all.usable.push((position, row)),
            }
        }
        all
    }

    /// Combines the answers about the annotators of a row and keeps the principles with evidence.
    ///
    /// # Errors
    /// The reason of the first missing answer: without one annotator's principles, agreement is
    /// unknown.
    pub fn combine(
        &mut self,
        position: usize,
        row: &FeedbackRow,
        answers: Vec<JudgeAnswer>,
    ) -> Result<RowPrinciples, String> {
        self.counts.asked += answers.len() as u64;
        let mut stated = Vec::new();
        let mut missing = None;
        for (annotator, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(list) => stated.extend(list.into_iter().map(|listed| StatedPrinciple {
                    annotator,
                    principle: listed.principle,
                    verdict: listed.verdict,
                    evidence: listed.evidence,
                })),
                Err(JudgeFailure { status, reason }) => {
                    *self.counts.failures.entry(status).or_insert(0) += 1;
                    let name = &row.annotators[annotator].0;
                    missing
                        .get_or_insert_with(|| format!("feedback of '{name}': {status}: {reason}"));
                }
            }
        }
        if let Some(reason) = missing {
            return Err(reason);
        }
        let listed = stated.len();
        let stated = with_evidence(stated, &row.feedback(), self.options.evidence);
        self.counts.listed += listed as u64;
        self.counts.without_evidence += (listed - stated.len()) as u64;
        let annotators = row.annotators.iter().map(|(name, _)| name.clone()).collect();
        Ok(RowPrinciples { row: position, annotators, stated })
    }

    /// Runs the steps that compare the principles of a row. `vectors` are the unit vectors of their
    /// texts.
    pub fn agree(&mut self, row: RowPrinciples, vectors: Vec<Vec<f32>>) -> Vec<PrincipleRow> {
        let least = self.options.cosine;
        let counts = &mut self.counts;
        let before = row.stated.len();
        let found = with_consensus(row.stated, vectors, row.annotators.len(), least);
        counts.without_consensus += (before - found.len()) as u64;
        let left_out = &self.options.left_out;
        let found = count_dropped(found, &mut counts.left_out, |f| without_named(f, left_out));
        let mut found = count_dropped(found, &mut counts.partially, without_partial);
        if !self.options.keep_contradictions {
            let step = |found| without_contradictions(found, least);
            found = count_dropped(found, &mut counts.contradicted, step);
        }
        let found = count_dropped(found, &mut counts.repeated, |f| without_repeats(f, least));
        counts.written += found.len() as u64;
        let principle = |found: SupportedPrinciple| PrincipleRow {
            row: row.row,
            annotator: row.annotators[found.stated.annotator].clone(),
            found,
        };
        found.into_iter().map(principle).collect()
    }
}

/// Runs a step and adds the number of dropped principles to `dropped`.
fn count_dropped(
    found: Vec<SupportedPrinciple>,
    dropped: &mut u64,
    step: impl FnOnce(Vec<SupportedPrinciple>) -> Vec<SupportedPrinciple>,
) -> Vec<SupportedPrinciple> {
    let before = found.len();
    let left = step(found);
    *dropped += (before - left.len()) as u64;
    left
}
