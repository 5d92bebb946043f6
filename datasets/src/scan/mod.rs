//! The rows of a dataset that meet conditions, in order, by several threads.
//!
//! Each condition sees the rows that the ones before it have left, and counts what it drops. Parquet
//! is read row group by row group: the columns of a condition first, and the others for the rows
//! that are left. Everything else is read as [`crate::source`] reads it.

mod ordered;
pub mod term;

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter,
};

use self::ordered::{Ordered, Out};
use self::term::{Term, mask, met};
use crate::format::Format;
use crate::source::{Dataset, Reject};
use crate::{DatasetError, Result};

/// Rows that a piece of work has at least, if its file has as many: with less, opening takes longer
/// than reading.
const PIECE_ROWS: u64 = 64 << 10;

/// What is to be read.
#[derive(Debug, Clone)]
pub struct Scan {
    pub dataset: Dataset,
    pub terms: Vec<Term>,
    /// Positions of the columns to read, rising; all if not set.
    pub columns: Option<Vec<usize>>,
    /// Threads that read.
    pub threads: usize,
}

/// Rows that meet every condition.
#[derive(Debug)]
pub struct Scanned {
    pub data: RecordBatch,
    pub rejects: Vec<Reject>,
}

/// What was counted so far.
#[derive(Debug)]
pub struct Counts {
    read: AtomicU64,
    dropped: Vec<AtomicU64>,
}

/// Some row groups of a Parquet file, or a whole file.
#[derive(Debug)]
struct Piece {
    file: usize,
    row_groups: Option<Range<usize>>,
}

/// Rows of a scan, in order.
pub struct Rows {
    ordered: Ordered<Scanned>,
    counts: Arc<Counts>,
}

impl Counts {
    fn new(terms: usize) -> Self {
        Self { read: AtomicU64::new(0), dropped: (0..terms).map(|_| AtomicU64::new(0)).collect() }
    }

    fn add(counter: &AtomicU64, rows: usize) {
        counter.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Rows that were read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Rows that each condition dropped.
    pub fn dropped(&self) -> Vec<u64> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.dropped.iter().map(load).collect()
    }
}

impl Scan {
    /// The columns of the rows.
    pub fn schema(&self) -> SchemaRef {
        let schema = self.dataset.schema();
        match &self.columns {
            Some(columns) => {
                Arc::new(schema.project(columns).expect("the positions are of this schema"))
            }
            None => schema.clone(),
        }
    }

    /// Starts to read.
    pub fn rows(self) -> Rows {
        let counts = Arc::new(Counts::new(self.terms.len()));
        let pieces = pieces(&self.dataset);
        let (own, threads) = (counts.clone(), self.threads);
        let ordered = Ordered::start(pieces.len(), threads, move |piece, out| {
            let piece = &pieces[piece];
            let read = match &piece.row_groups {
                Some(groups) => self.row_groups(piece.file, groups.clone(), &own, out),
                None => self.file(piece.file, &own, out),
            };
            if let Err(error) = read {
                out.put(Err(error), 0);
            }
        });
        Rows { ordered, counts }
    }

    /// Reads a file by its reader, conditions after that.
    fn file(&self, file: usize, counts: &Counts, out: &Out<'_, Scanned>) -> Result<()> {
        for batch in self.dataset.file_batches(file) {
            let batch = batch?;
            Counts::add(&counts.read, batch.data.num_rows());
            let data = self
                .kept(batch.data, counts)
                .map_err(|error| DatasetError::file(&batch.file, shown(&error)))?;
            let scanned = Scanned { data, rejects: batch.rejects };
            if (scanned.data.num_rows() > 0 || !scanned.rejects.is_empty()) && !put(out, scanned) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn kept(
        &self,
        mut data: RecordBatch,
        counts: &Counts,
    ) -> std::result::Result<RecordBatch, ArrowError> {
        for (term, dropped) in self.terms.iter().zip(&counts.dropped) {
            let met = met(&term.whole, &data)?;
            Counts::add(dropped, met.len() - met.true_count());
            data = filter_record_batch(&data, &met)?;
        }
        match &self.columns {
            Some(columns) => data.project(columns),
            None => Ok(data),
        }
    }

    /// Reads row groups of a Parquet file whose columns are those of the dataset.
    fn row_groups(
        &self,
        file: usize,
        groups: Range<usize>,
        counts: &Arc<Counts>,
        out: &Out<'_, Scanned>,
    ) -> Result<()> {
        let input = &self.dataset.files()[file];
        input.refuse_changed()?;
        let (metadata, batch_rows) = input.parquet(self.dataset.limits());
        let rows = groups.clone().map(|group| {
            let rows = metadata.metadata().row_group(group).num_rows();
            usize::try_from(rows).unwrap_or(0)
        });
        Counts::add(&counts.read, rows.sum());
        let opened = File::open(input.path()).map_err(DatasetError::io("read", input.path()))?;
        let leaves = metadata.parquet_schema().clone();
        let projection = match &self.columns {
            Some(columns) => ProjectionMask::roots(&leaves, columns.iter().copied()),
            None => ProjectionMask::all(),
        };
        let predicate = |(index, term): (usize, &Term)| -> Box<dyn ArrowPredicate> {
            let (counts, expr) = (counts.clone(), term.narrow.clone());
            Box::new(ArrowPredicateFn::new(mask(&leaves, &term.paths), move |batch| {
                let met = met(&expr, &batch)?;
                Counts::add(&counts.dropped[index], met.len() - met.true_count());
                Ok(met)
            }))
        };
        let predicates: Vec<_> = self.terms.iter().enumerate().map(predicate).collect();
        let schema = self.schema();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, metadata.clone())
            .with_row_groups(groups.collect())
            .with_projection(projection)
            .with_batch_size(batch_rows)
            .with_row_filter(RowFilter::new(predicates))
            .build()
            .map_err(|error| DatasetError::file(input.name(), error))?;
        for batch in reader {
            let data = batch.and_then(|batch| retyped(&batch, &schema));
            let data = data.map_err(|error| DatasetError::file(input.name(), shown(&error)))?;
            let rejects = Vec::new();
            if data.num_rows() > 0 && !put(out, Scanned { data, rejects }) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The same columns under the schema of the dataset, which leaves out what a writer noted.
fn retyped(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
}

/// What a condition says of a value that it cannot work with, without the layers around it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are said as they are")]
fn shown(error: &ArrowError) -> String {
    match error {
        ArrowError::ExternalError(inner) => inner.to_string(),
        ArrowError::DivideByZero => "division by zero".to_owned(),
        other => other.to_string(),
    }
}

fn put(out: &Out<'_, Scanned>, scanned: Scanned) -> bool {
    let bytes = scanned.data.get_array_memory_size();
    out.put(Ok(scanned), bytes)
}

impl Rows {
    /// What is counted; whole once all rows were read.
    pub fn counts(&self) -> Arc<Counts> {
        self.counts.clone()
    }
}

impl Iterator for Rows {
    type Item = Result<Scanned>;

    fn next(&mut self) -> Option<Result<Scanned>> {
        self.ordered.next()
    }
}

/// The work, in the order of the rows.
fn pieces(dataset: &Dataset) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, file) in dataset.files().iter().enumerate() {
        let is_plain = file.format() == Format::Parquet && file.schema() == dataset.schema();
        if !is_plain {
            pieces.push(Piece { file: index, row_groups: None });
            continue;
        }
        let (metadata, _) = file.parquet(dataset.limits());
        let (mut start, mut rows) = (0, 0);
        let groups = metadata.metadata().row_groups();
        for (group, about) in groups.iter().enumerate() {
            rows += u64::try_from(about.num_rows()).unwrap_or(0);
            if rows >= PIECE_ROWS || group + 1 == groups.len() {
                pieces.push(Piece { file: index, row_groups: Some(start..group + 1) });
                (start, rows) = (group + 1, 0);
            }
        }
    }
    pieces
}
