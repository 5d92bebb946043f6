//! Rows on their way through a run: in, past the conditions, and out.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::error::ArrowError;
use datafusion::error::DataFusionError;

use super::dedupe::Seen;
use super::histogram::Histograms;
use super::{Dropped, Plan, Receiver, Report};
use crate::Result;
use crate::SchemaRef;
use crate::query::{Place, Selected};
use crate::scan::Rows;
use crate::source::Reject;

/// Rows that met the conditions, without those that are there already.
pub(super) struct Source {
    rows_left: Rows,
    seen: Option<Seen>,
    /// Rows that came out.
    pub(super) rows: u64,
    rejected: u64,
}

impl Source {
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        let scan = plan.scan();
        let schema = scan.schema();
        let seen = |columns: &Vec<String>| Seen::new(&schema, columns);
        Ok(Self {
            seen: plan.options.dedupe_by.as_ref().map(seen).transpose()?,
            rows_left: scan.rows(),
            rows: 0,
            rejected: 0,
        })
    }

    pub(super) fn next(&mut self) -> Result<Option<(RecordBatch, Vec<Reject>)>> {
        let Some(scanned) = self.rows_left.next().transpose()? else {
            return Ok(None);
        };
        let batch = match &mut self.seen {
            Some(seen) => seen.new_ones(&scanned.data)?,
            None => scanned.data,
        };
        self.rows += batch.num_rows() as u64;
        self.rejected += scanned.rejects.len() as u64;
        Ok(Some((batch, scanned.rejects)))
    }

    /// What conditions and duplicates dropped; not known where reading was cut short, because other
    /// threads may have been ahead.
    pub(super) fn dropped(&self, plan: &Plan, is_cut: bool) -> Vec<Dropped> {
        let known = |rows: u64| (!is_cut).then_some(rows);
        let counted = self.rows_left.counts().dropped();
        let mut dropped: Vec<Dropped> = plan
            .terms
            .iter()
            .zip(counted)
            .map(|(term, rows)| Dropped {
                condition: term.text.clone(),
                rows: known(rows),
            })
            .collect();
        if let Some(seen) = &self.seen {
            dropped.push(Dropped {
                condition: seen.condition(),
                rows: known(seen.dropped()),
            });
        }
        dropped
    }
}

/// Rows on their way out.
pub(super) struct Writing<'s> {
    schema: SchemaRef,
    selected: Option<&'s [Selected]>,
    pub(super) histograms: Histograms,
    /// Rows that were written.
    pub(super) rows: u64,
}

impl<'s> Writing<'s> {
    pub(super) fn new(schema: &SchemaRef, selected: Option<&'s [Selected]>) -> Self {
        Self {
            schema: schema.clone(),
            selected,
            histograms: Histograms::new(schema),
            rows: 0,
        }
    }

    pub(super) fn write(&mut self, batch: &RecordBatch, receiver: &mut dyn Receiver) -> Result<()> {
        let batch = match self.selected {
            Some(selected) => self
                .select(selected, batch)
                .map_err(|error| Place::Select.fault(error))?,
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

    pub(super) fn report(self, source: &Source, dropped: Vec<Dropped>) -> Report {
        Report {
            read: source.rows_left.counts().read(),
            rejected: source.rejected,
            dropped,
            written: self.rows,
            histograms: self.histograms.finish(),
        }
    }
}
