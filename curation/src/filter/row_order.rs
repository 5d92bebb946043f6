//! Ordering, sampling and limits.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use base::seeded::split_mix;

use super::{DroppedRows, FilterOptions};
use datasets::Result;
use query::{QueryRows, SortInput, SortStep, SqlEngine, SqlOption};

/// Added columns, under names that no file has: the position of the row, which breaks ties, and its
/// random number for sampling.
const ROW: &str = "\u{0}row";
const LOT: &str = "\u{0}lot";

/// A checked order with sample and limit.
pub(super) struct RowOrder {
    schema: SchemaRef,
    /// The ORDER BY list.
    by: Option<String>,
    sample: Option<u64>,
    first: Option<u64>,
    /// `first` in words.
    condition: String,
}

/// Sample and limit, for counting dropped rows.
pub(super) struct OrderCounts {
    sample: Option<u64>,
    first: Option<u64>,
    condition: String,
}

impl RowOrder {
    /// Checks the options; `None` without order and sample.
    pub(super) fn new(
        engine: &SqlEngine,
        schema: &SchemaRef,
        options: &FilterOptions,
    ) -> Result<Option<Self>> {
        if options.order_by.is_none() && options.sample.is_none() {
            return Ok(None);
        }
        if let Some(text) = &options.order_by {
            engine.order(text)?;
        }
        let text = options.order_by.as_deref().unwrap_or_default();
        let condition = match (options.top_k, options.limit) {
            (Some(rows), _) => format!("top {rows} by {text}"),
            (None, Some(rows)) => format!("limit {rows}"),
            (None, None) => String::new(),
        };
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        fields.extend([ROW, LOT].map(|name| Field::new(name, DataType::UInt64, false)));
        Ok(Some(Self {
            schema: Arc::new(Schema::new(fields)),
            by: options.order_by.clone(),
            sample: options.sample,
            first: options.top_k.or(options.limit),
            condition,
        }))
    }

    /// The rows of `batches` in their new order, with our own columns.
    pub(super) fn sorted(
        &self,
        engine: &SqlEngine,
        seed: u64,
        batches: SortInput,
    ) -> Result<(QueryRows, OrderCounts)> {
        let numbered = Numbered { batches, schema: self.schema.clone(), row: 0, seed };
        let sample = self.sample.map(|rows| SortStep {
            columns: &[LOT, ROW],
            first: Some(rows),
            ..SortStep::default()
        });
        let order = SortStep { order_by: self.by.as_deref(), columns: &[ROW], first: self.first };
        let steps: Vec<SortStep<'_>> = sample.into_iter().chain([order]).collect();
        let rows = engine.sort(&self.schema, Box::new(numbered), &steps, SqlOption::OrderBy)?;
        let counts = OrderCounts {
            sample: self.sample,
            first: self.first,
            condition: self.condition.clone(),
        };
        Ok((rows, counts))
    }

    /// A batch without our own columns.
    pub(super) fn plain(&self, batch: &RecordBatch) -> RecordBatch {
        let own: Vec<usize> = (0..self.schema.fields().len() - 2).collect();
        batch.project(&own).expect("our own columns are the last")
    }
}

impl OrderCounts {
    /// Returns the rows dropped by each step.
    pub(super) fn dropped(&self, mut rows: u64) -> Vec<DroppedRows> {
        let mut dropped = Vec::new();
        let mut keep = |kept: Option<u64>, condition: String| {
            if let Some(kept) = kept {
                let left = rows.saturating_sub(kept);
                dropped.push(DroppedRows::rows(condition, Some(left)));
                rows = rows.min(kept);
            }
        };
        let sample = self.sample.unwrap_or(0);
        keep(self.sample, format!("sample {sample}"));
        keep(self.first, self.condition.clone());
        dropped
    }
}

/// Batches with our own columns.
struct Numbered {
    batches: SortInput,
    schema: SchemaRef,
    row: u64,
    seed: u64,
}

impl Iterator for Numbered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = match self.batches.next()? {
            Ok(batch) => batch,
            Err(error) => return Some(Err(error)),
        };
        let rows = self.row..self.row + batch.num_rows() as u64;
        self.row = rows.end;
        let lots = rows.clone().map(|row| lot(self.seed, row));
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns.push(Arc::new(UInt64Array::from_iter_values(rows.clone())));
        columns.push(Arc::new(UInt64Array::from_iter_values(lots)));
        let numbered = RecordBatch::try_new(self.schema.clone(), columns);
        Some(Ok(numbered.expect("the columns of the schema, and our own two")))
    }
}

/// Random number of a row: two rounds of `SplitMix64`.
fn lot(seed: u64, row: u64) -> u64 {
    split_mix(split_mix(seed) ^ row)
}
