//! One pass over the rows: filtered input and output.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;

use super::dedupe::SeenRows;
use super::kept_rows::{KeptRows, changed};
use super::{DroppedRows, RejectSink, RowSink};
use crate::histogram::{Histogram, ScoreHistograms};
use datasets::Result;
use datasets::SchemaRef;
use datasets::scan::{ExprError, Scan, ScanRows};
use query::{SelectedColumn, SqlOption};

/// Result of an earlier pass.
pub(super) struct EarlierPass {
    /// The rows that stay.
    pub(super) kept: Arc<KeptRows>,
    /// Counts until then.
    pub(super) counted: StepCounts,
}

/// Counts of the steps so far.
#[derive(Debug, Clone, Default)]
pub(super) struct StepCounts {
    pub(super) read: u64,
    pub(super) rejected: u64,
    pub(super) dropped: Vec<DroppedRows>,
}

/// Rows that meet the conditions, without exact duplicates and rows that an earlier pass drops.
pub(super) struct FilteredRows {
    rows_left: ScanRows,
    /// Texts of the conditions.
    conditions: Vec<String>,
    seen: Option<SeenRows>,
    earlier: Option<EarlierPass>,
    /// Callback for unreadable rows; `None` after the first pass.
    rejects: Option<RejectSink>,
    /// The position of the next row.
    next: u64,
    rejected: u64,
}

/// A batch with row positions.
pub(super) struct RowBatch {
    pub(super) batch: RecordBatch,
    /// Position of each row, counted before an earlier pass drops any.
    pub(super) positions: Vec<u64>,
}

/// First or later pass.
pub(super) enum Pass {
    /// The first, which reports unreadable rows.
    First(RejectSink),
    /// A pass over what an earlier pass keeps.
    Later(EarlierPass),
}

impl FilteredRows {
    pub(super) fn new(scan: Scan, exact: Option<&[String]>, pass: Pass) -> Result<Self> {
        let schema = scan.schema();
        let seen = |columns: &[String]| SeenRows::new(&schema, columns);
        let (earlier, rejects) = match pass {
            Pass::First(rejects) => (None, Some(rejects)),
            Pass::Later(earlier) => (Some(earlier), None),
        };
        Ok(Self {
            seen: exact.map(seen).transpose()?,
            conditions: scan.conditions.iter().map(|condition| condition.text.clone()).collect(),
            rows_left: scan.rows(),
            earlier,
            rejects,
            next: 0,
            rejected: 0,
        })
    }

    /// Reads the next batch, which may be empty.
    pub(super) fn next_taken(&mut self) -> Result<Option<RowBatch>> {
        let Some(scanned) = self.rows_left.next().transpose()? else {
            let known = self.earlier.as_ref().map(|earlier| earlier.kept.rows());
            return match known {
                Some(rows) if rows != self.next => Err(changed()),
                Some(_) | None => Ok(None),
            };
        };
        self.rejected += scanned.rejects.len() as u64;
        if let Some(sink) = &mut self.rejects {
            scanned.rejects.iter().try_for_each(sink)?;
        }
        let mut batch = match &mut self.seen {
            Some(seen) => seen.new_ones(&scanned.data)?,
            None => scanned.data,
        };
        let first = self.next;
        self.next += batch.num_rows() as u64;
        let mut positions: Vec<u64> = (first..self.next).collect();
        if let Some(earlier) = &self.earlier {
            let mask = earlier.kept.mask(first, batch.num_rows())?;
            positions.retain(|row| earlier.kept.is_kept(*row));
            batch = filter_record_batch(&batch, &mask).expect("a mask has a bit for each row");
        }
        Ok(Some(RowBatch { batch, positions }))
    }

    /// Number of positions so far.
    pub(super) fn positions(&self) -> u64 {
        self.next
    }

    /// Returns the counts of rows so far. After an early end the rows dropped by conditions are
    /// unknown, because other threads may have been ahead; an earlier pass has their number.
    pub(super) fn counted(&self, is_cut: bool) -> StepCounts {
        if let Some(earlier) = &self.earlier {
            return earlier.counted.clone();
        }
        let known = |rows: u64| (!is_cut).then_some(rows);
        let counts = self.rows_left.counts();
        let conditions = self.conditions.iter().zip(counts.dropped());
        let mut dropped: Vec<DroppedRows> =
            conditions.map(|(text, rows)| DroppedRows::rows(text.clone(), known(rows))).collect();
        if let Some(seen) = &self.seen {
            dropped.push(DroppedRows::rows(seen.condition(), known(seen.dropped())));
        }
        StepCounts { read: counts.read(), rejected: self.rejected, dropped }
    }
}

impl Iterator for FilteredRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let taken = self.next_taken().transpose()?;
        Some(taken.map(|taken| taken.batch))
    }
}

/// Writer of selected columns with histograms.
pub(super) struct OutputRows<'s> {
    schema: SchemaRef,
    selected: Option<&'s [SelectedColumn]>,
    histograms: ScoreHistograms,
    /// Rows that were written.
    pub(super) rows: u64,
}

impl<'s> OutputRows<'s> {
    pub(super) fn new(schema: &SchemaRef, selected: Option<&'s [SelectedColumn]>) -> Self {
        Self { schema: schema.clone(), selected, histograms: ScoreHistograms::new(schema), rows: 0 }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch, receiver: &mut dyn RowSink) -> Result<()> {
        let batch = match self.selected {
            Some(selected) => {
                self.select(selected, batch).map_err(|error| SqlOption::Select.error(error))?
            }
            None => batch.clone(),
        };
        if batch.num_rows() > 0 {
            self.histograms.add(&batch);
            receiver.rows(&batch)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn select(
        &self,
        selected: &[SelectedColumn],
        batch: &RecordBatch,
    ) -> std::result::Result<RecordBatch, ExprError> {
        let column = |selected: &SelectedColumn| selected.expr.evaluate(batch);
        let columns = selected.iter().map(column).collect::<std::result::Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    /// Histograms of the written scores.
    pub(super) fn histograms(self) -> Vec<Histogram> {
        self.histograms.finish()
    }
}
