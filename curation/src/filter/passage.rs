//! Rows on their way through a run: in, past the conditions, and out.

use std::sync::{Arc, Mutex, MutexGuard};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;

use super::dedupe::Seen;
use super::kept::{Kept, changed};
use super::{Dropped, Receiver, RejectSink};
use crate::histogram::{Histogram, Histograms};
use datasets::Result;
use datasets::SchemaRef;
use datasets::query::{Place, Selected};
use datasets::scan::{Rows, Scan};

/// What a pass over the rows has found out for those after it.
pub(super) struct Earlier {
    /// The rows that stay.
    pub(super) kept: Arc<Kept>,
    /// What was counted until then.
    pub(super) counted: Counted,
}

/// What became of rows until some step.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    pub(super) read: u64,
    pub(super) rejected: u64,
    pub(super) dropped: Vec<Dropped>,
}

/// Rows that met the conditions, without those that are there already and those that an earlier
/// pass drops.
pub(super) struct Source {
    rows_left: Rows,
    /// The conditions in words.
    terms: Vec<String>,
    seen: Option<Seen>,
    earlier: Option<Earlier>,
    /// Told of rows that cannot be read, by the first pass.
    rejects: Option<RejectSink>,
    /// The position of the next row.
    next: u64,
    rejected: u64,
}

/// Some rows of a source.
pub(super) struct Taken {
    pub(super) batch: RecordBatch,
    /// For each row its position, counted before an earlier pass drops any.
    pub(super) positions: Vec<u64>,
}

/// Which pass over the rows it is.
pub(super) enum Pass {
    /// The first, which tells of rows that cannot be read.
    First(RejectSink),
    /// One that goes on from what an earlier pass keeps.
    Later(Earlier),
}

impl Source {
    pub(super) fn new(scan: Scan, exact: Option<&[String]>, pass: Pass) -> Result<Self> {
        let schema = scan.schema();
        let seen = |columns: &[String]| Seen::new(&schema, columns);
        let (earlier, rejects) = match pass {
            Pass::First(rejects) => (None, Some(rejects)),
            Pass::Later(earlier) => (Some(earlier), None),
        };
        Ok(Self {
            seen: exact.map(seen).transpose()?,
            terms: scan.terms.iter().map(|term| term.text.clone()).collect(),
            rows_left: scan.rows(),
            earlier,
            rejects,
            next: 0,
            rejected: 0,
        })
    }

    /// The next rows, maybe none of a batch.
    pub(super) fn next_taken(&mut self) -> Result<Option<Taken>> {
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
        Ok(Some(Taken { batch, positions }))
    }

    /// Positions that were counted.
    pub(super) fn positions(&self) -> u64 {
        self.next
    }

    /// What became of the rows until here. Where reading was cut short, what conditions drop is not
    /// known, because other threads may have been ahead; an earlier pass knows it.
    pub(super) fn counted(&self, is_cut: bool) -> Counted {
        if let Some(earlier) = &self.earlier {
            return earlier.counted.clone();
        }
        let known = |rows: u64| (!is_cut).then_some(rows);
        let counts = self.rows_left.counts();
        let terms = self.terms.iter().zip(counts.dropped());
        let mut dropped: Vec<Dropped> =
            terms.map(|(text, rows)| Dropped::rows(text.clone(), known(rows))).collect();
        if let Some(seen) = &self.seen {
            dropped.push(Dropped::rows(seen.condition(), known(seen.dropped())));
        }
        Counted { read: counts.read(), rejected: self.rejected, dropped }
    }
}

impl Iterator for Source {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let taken = self.next_taken().transpose()?;
        Some(taken.map(|taken| taken.batch))
    }
}

/// Rows on their way out.
pub(super) struct Writing<'s> {
    schema: SchemaRef,
    selected: Option<&'s [Selected]>,
    histograms: Histograms,
    /// Rows that were written.
    pub(super) rows: u64,
}

impl<'s> Writing<'s> {
    pub(super) fn new(schema: &SchemaRef, selected: Option<&'s [Selected]>) -> Self {
        Self { schema: schema.clone(), selected, histograms: Histograms::new(schema), rows: 0 }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch, receiver: &mut dyn Receiver) -> Result<()> {
        let batch = match self.selected {
            Some(selected) => {
                self.select(selected, batch).map_err(|error| Place::Select.fault(error))?
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
        selected: &[Selected],
        batch: &RecordBatch,
    ) -> std::result::Result<RecordBatch, DataFusionError> {
        let rows = batch.num_rows();
        let column = |selected: &Selected| selected.expr.evaluate(batch)?.into_array(rows);
        let columns: std::result::Result<Vec<_>, DataFusionError> =
            selected.iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns?, &options);
        batch.map_err(|error: ArrowError| error.into())
    }

    /// How scores were spread.
    pub(super) fn histograms(self) -> Vec<Histogram> {
        self.histograms.finish()
    }
}

/// Locks what passes of one run share.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("one thread takes it, never twice at a time")
}
