//! Near-duplicate removal.
//!
//! Clusters are known only after the last text, which can join two of them. A pass therefore reads the
//! text columns, and the first row of each cluster is kept.

use std::sync::Arc;

use arrow::array::{AsArray as _, BooleanBufferBuilder, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, SchemaRef};
use rayon::prelude::*;

use super::columns::{NeededColumns, projected, quoted};
use super::kept_rows::KeptRows;
use super::pass::{EarlierPass, FilteredRows};
use super::{DroppedRows, LEAST_SIMILARITY, NearReport};
use crate::minhash::{self, NearDuplicates, Signed};
use datasets::scan::RowExpr;
use datasets::{DatasetError, Result};
use query::{QueryLimits, SqlEngine, SqlOption};

/// A checked near-duplicate removal.
pub(super) struct Near {
    /// Columns that the pass reads; `None` for all.
    pub(super) columns: Option<Vec<usize>>,
    texts: Vec<Arc<dyn RowExpr>>,
    options: minhash::MinHashOptions,
    condition: String,
}

impl Near {
    /// Texts are those of the columns `by`, one after the other.
    pub(super) fn new(
        schema: &SchemaRef,
        bounds: &QueryLimits,
        (by, options): (&[String], minhash::MinHashOptions),
    ) -> Result<Self> {
        if by.is_empty() {
            let message = "near-duplicates are of texts: name their columns with --dedupe-by";
            return Err(DatasetError::Usage(message.to_owned()));
        }
        if !(LEAST_SIMILARITY..=1.0).contains(&options.threshold) {
            return Err(DatasetError::Usage(format!(
                "--similarity is {}; it must be from {LEAST_SIMILARITY} to 1",
                options.threshold
            )));
        }
        let usage = |error: minhash::MinHashError| DatasetError::Usage(error.to_string());
        options.check().map_err(usage)?;
        let quote = |name: &String| quoted(name, schema, SqlOption::Dedupe);
        let texts: Vec<String> = by.iter().map(quote).collect::<Result<_>>()?;
        let text = texts.join(", ");
        let selected = SqlEngine::new(schema, bounds)?.select(&text, SqlOption::Dedupe)?;
        for (name, column) in by.iter().zip(&selected) {
            if !is_text(&column.data_type) {
                let kind = datasets::source::type_name(&column.data_type);
                let problem = format!("'{name}' is {kind}, and no text to be near another");
                return Err(SqlOption::Dedupe.error(problem));
            }
        }
        let mut needed = NeededColumns::default();
        needed.add(selected.into_iter().flat_map(|column| column.reads));
        let columns = needed.positions(schema);
        let engine = SqlEngine::new(&projected(schema, columns.as_deref()), bounds)?;
        let selected = engine.select(&text, SqlOption::Dedupe)?;
        let condition = format!(
            "near an earlier row in {} (Jaccard {} or more)",
            by.join(", "),
            options.threshold
        );
        Ok(Self {
            columns,
            texts: selected.into_iter().map(|column| column.expr).collect(),
            options,
            condition,
        })
    }

    /// Reads all texts and decides which rows stay.
    pub(super) fn pass(&self, mut source: FilteredRows) -> Result<(EarlierPass, NearReport)> {
        let full = |error: minhash::MinHashError| SqlOption::Dedupe.error(error);
        let mut index = NearDuplicates::new(self.options.clone()).map_err(full)?;
        // Rows that have a text, of all.
        let mut has_text = BooleanBufferBuilder::new(0);
        while let Some(taken) = source.next_taken()? {
            let texts = self.read(&taken.batch)?;
            let signed: Vec<Option<Signed>> =
                texts.par_iter().map(|text| text.as_ref().map(|text| index.sign(text))).collect();
            for text in signed {
                has_text.append(text.is_some());
                if let Some(text) = text {
                    index.insert_signed(text).map_err(full)?;
                }
            }
        }
        let mut texts = 0..index.n_rows();
        let has_text = has_text.finish();
        let is_first = |has_text: bool| {
            let text = has_text.then(|| texts.next()).flatten();
            text.is_none_or(|text| index.first_of(text) == text)
        };
        let kept = KeptRows::of(has_text.iter().map(is_first));
        let mut counted = source.counted(false);
        let dropped = kept.rows() - kept.count();
        counted.dropped.push(DroppedRows::rows(self.condition.clone(), Some(dropped)));
        let n_texts = index.n_rows() as u64;
        let report = NearReport {
            texts: n_texts,
            without_text: kept.rows() - n_texts,
            too_long: index.n_too_long() as u64,
            memory_bytes: (index.memory_bytes() + kept.memory_bytes()) as u64,
        };
        let kept = Arc::new(kept);
        Ok((EarlierPass { kept, counted }, report))
    }

    /// Joins the text columns of each row; `None` if all are null.
    fn read(&self, batch: &RecordBatch) -> Result<Vec<Option<String>>> {
        let rows = batch.num_rows();
        let mut texts: Vec<Option<String>> = vec![None; rows];
        for column in &self.texts {
            let values = column.evaluate(batch).map_err(|error| SqlOption::Dedupe.error(error))?;
            let values = cast(&values, &DataType::LargeUtf8);
            let values = values.map_err(|error| SqlOption::Dedupe.error(error))?;
            let values = values.as_string::<i64>();
            for (text, value) in texts.iter_mut().zip(values.iter()) {
                match (text, value) {
                    (Some(text), Some(value)) => {
                        text.push('\n');
                        text.push_str(value);
                    }
                    (text, Some(value)) => *text = Some(value.to_owned()),
                    (_, None) => {}
                }
            }
        }
        Ok(texts)
    }
}

fn is_text(data_type: &DataType) -> bool {
    if let DataType::Dictionary(_, values) = data_type {
        return is_text(values);
    }
    data_type.is_string() || data_type.is_null()
}
