//! Filtered scan of a dataset with several threads; rows come out in dataset order.
//!
//! Conditions are applied in turn, and each counts the rows that it drops. Parquet is read by row
//! group with late materialisation: the columns of a condition first, the others for the rows that
//! are left. Other formats are read by [`crate::source`].

mod condition;
mod ordered;

use std::fmt;
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

pub use self::condition::{Condition, ExprError, FieldPath, RowExpr, narrow};
use self::condition::{evaluate, mask};
use self::ordered::{OrderedResults, PieceOutput};
use crate::format::Format;
use crate::source::{Dataset, Reject};
use crate::{DatasetError, Result};

/// Minimum rows of a piece of work: with fewer, opening a file takes longer than reading it.
const PIECE_ROWS: u64 = 64 << 10;

/// A dataset with conditions and a projection.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The rows to read.
    pub dataset: Dataset,
    /// Conditions that a row must meet, applied in order.
    pub conditions: Vec<Condition>,
    /// Ascending positions of the columns to read; `None` for all.
    pub columns: Option<Vec<usize>>,
    /// Number of reader threads.
    pub threads: usize,
    /// Observer of the rows that are read.
    pub observer: ReadObserver,
}

/// Observes how many rows a scan reads; the default observes nothing.
#[derive(Clone, Default)]
pub struct ReadObserver(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl ReadObserver {
    /// Calls `on_read` with each number of rows, on the threads that read them.
    pub fn new(on_read: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(on_read)))
    }
}

impl fmt::Debug for ReadObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ReadObserver").field(&self.0.is_some()).finish()
    }
}

/// Rows of a scan that meet every condition.
#[derive(Debug)]
pub struct ScannedBatch {
    /// The rows, with the projected columns.
    pub data: RecordBatch,
    /// Rows among them that could not be read.
    pub rejects: Vec<Reject>,
}

/// Counters of a running scan.
#[derive(Debug)]
pub struct ScanCounts {
    read: AtomicU64,
    dropped: Vec<AtomicU64>,
}

/// A unit of work: some row groups of a Parquet file, or a complete file.
#[derive(Debug)]
struct ScanUnit {
    file: usize,
    row_groups: Option<Range<usize>>,
}

/// Iterator over the batches of a scan, in dataset order.
pub struct ScanRows {
    ordered: OrderedResults<ScannedBatch>,
    counts: Arc<ScanCounts>,
}

impl ScanCounts {
    fn new(conditions: usize) -> Self {
        Self {
            read: AtomicU64::new(0),
            dropped: (0..conditions).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn add(counter: &AtomicU64, rows: usize) {
        counter.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Number of rows read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Number of rows that each condition dropped.
    pub fn dropped(&self) -> Vec<u64> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.dropped.iter().map(load).collect()
    }
}

impl Scan {
    /// Schema of the projected rows.
    pub fn schema(&self) -> SchemaRef {
        let schema = self.dataset.schema();
        match &self.columns {
            Some(columns) => {
                Arc::new(schema.project(columns).expect("the positions are of this schema"))
            }
            None => schema.clone(),
        }
    }

    /// Starts the reader threads.
    pub fn rows(self) -> ScanRows {
        let counts = Arc::new(ScanCounts::new(self.conditions.len()));
        let pieces = pieces(&self.dataset);
        let (own, threads) = (counts.clone(), self.threads);
        let ordered = OrderedResults::start(pieces.len(), threads, move |piece, out| {
            let piece = &pieces[piece];
            let read = match &piece.row_groups {
                Some(groups) => self.row_groups(piece.file, groups.clone(), &own, out),
                None => self.file(piece.file, &own, out),
            };
            if let Err(error) = read {
                out.put(Err(error), 0);
            }
        });
        ScanRows { ordered, counts }
    }

    /// Reads a file with its [`crate::source`] reader, then applies the conditions.
    fn file(
        &self,
        file: usize,
        counts: &ScanCounts,
        out: &PieceOutput<'_, ScannedBatch>,
    ) -> Result<()> {
        for batch in self.dataset.file_batches(file) {
            let batch = batch?;
            self.count_read(counts, batch.data.num_rows());
            let data = self
                .kept(batch.data, counts)
                .map_err(|error| DatasetError::file(&batch.file, error_text(&error)))?;
            let scanned = ScannedBatch { data, rejects: batch.rejects };
            if (scanned.data.num_rows() > 0 || !scanned.rejects.is_empty()) && !put(out, scanned) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn count_read(&self, counts: &ScanCounts, rows: usize) {
        ScanCounts::add(&counts.read, rows);
        if let ReadObserver(Some(on_read)) = &self.observer {
            on_read(rows as u64);
        }
    }

    fn kept(
        &self,
        mut data: RecordBatch,
        counts: &ScanCounts,
    ) -> std::result::Result<RecordBatch, ArrowError> {
        for (condition, dropped) in self.conditions.iter().zip(&counts.dropped) {
            let met = evaluate(&condition.expr, &data)?;
            ScanCounts::add(dropped, met.len() - met.true_count());
            data = filter_record_batch(&data, &met)?;
        }
        match &self.columns {
            Some(columns) => data.project(columns),
            None => Ok(data),
        }
    }

    /// Reads row groups of a Parquet file that has the schema of the dataset.
    fn row_groups(
        &self,
        file: usize,
        groups: Range<usize>,
        counts: &Arc<ScanCounts>,
        out: &PieceOutput<'_, ScannedBatch>,
    ) -> Result<()> {
        let input = &self.dataset.files()[file];
        input.refuse_changed()?;
        let (metadata, batch_rows) = input.parquet(self.dataset.limits());
        let rows = groups.clone().map(|group| {
            let rows = metadata.metadata().row_group(group).num_rows();
            usize::try_from(rows).unwrap_or(0)
        });
        self.count_read(counts, rows.sum());
        let opened = File::open(input.path()).map_err(DatasetError::io("read", input.path()))?;
        let leaves = metadata.parquet_schema().clone();
        let projection = match &self.columns {
            Some(columns) => ProjectionMask::roots(&leaves, columns.iter().copied()),
            None => ProjectionMask::all(),
        };
        let predicate = |(index, condition): (usize, &Condition)| -> Box<dyn ArrowPredicate> {
            let (counts, expr) = (counts.clone(), condition.narrow_expr.clone());
            Box::new(ArrowPredicateFn::new(mask(&leaves, &condition.paths), move |batch| {
                let met = evaluate(&expr, &batch)?;
                ScanCounts::add(&counts.dropped[index], met.len() - met.true_count());
                Ok(met)
            }))
        };
        let predicates: Vec<_> = self.conditions.iter().enumerate().map(predicate).collect();
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
            let data =
                data.map_err(|error| DatasetError::file(input.name(), error_text(&error)))?;
            let rejects = Vec::new();
            if data.num_rows() > 0 && !put(out, ScannedBatch { data, rejects }) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Replaces the schema of a batch by that of the dataset, which has no writer metadata.
fn retyped(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> std::result::Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options)
}

/// Message of an evaluation error, without the layers of wrapping.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are said as they are")]
fn error_text(error: &ArrowError) -> String {
    match error {
        ArrowError::ExternalError(inner) => inner.to_string(),
        ArrowError::DivideByZero => "division by zero".to_owned(),
        other => other.to_string(),
    }
}

fn put(out: &PieceOutput<'_, ScannedBatch>, scanned: ScannedBatch) -> bool {
    let bytes = scanned.data.get_array_memory_size();
    out.put(Ok(scanned), bytes)
}

impl ScanRows {
    /// The counters; final once all rows were read.
    pub fn counts(&self) -> Arc<ScanCounts> {
        self.counts.clone()
    }
}

impl Iterator for ScanRows {
    type Item = Result<ScannedBatch>;

    fn next(&mut self) -> Option<Result<ScannedBatch>> {
        self.ordered.next()
    }
}

/// Splits a dataset into pieces of work, in row order.
fn pieces(dataset: &Dataset) -> Vec<ScanUnit> {
    let mut pieces = Vec::new();
    for (index, file) in dataset.files().iter().enumerate() {
        let is_plain = file.format() == Format::Parquet && file.schema() == dataset.schema();
        if !is_plain {
            pieces.push(ScanUnit { file: index, row_groups: None });
            continue;
        }
        let (metadata, _) = file.parquet(dataset.limits());
        let (mut start, mut rows) = (0, 0);
        let groups = metadata.metadata().row_groups();
        for (group, about) in groups.iter().enumerate() {
            rows += u64::try_from(about.num_rows()).unwrap_or(0);
            if rows >= PIECE_ROWS || group + 1 == groups.len() {
                pieces.push(ScanUnit { file: index, row_groups: Some(start..group + 1) });
                (start, rows) = (group + 1, 0);
            }
        }
    }
    pieces
}
