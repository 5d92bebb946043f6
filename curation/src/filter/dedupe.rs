//! Exact deduplication.

use std::collections::HashSet;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use sha2::{Digest as _, Sha256};

use datasets::Result;
use query::{SqlOption, near_names};

/// Bytes of a digest that are kept: collisions are negligible over billions of rows.
const DIGEST_BYTES: usize = 16;

/// The head of the SHA-256 of a row.
pub(super) type RowDigest = [u8; DIGEST_BYTES];

/// The digest of a row's bytes.
pub(super) fn digest(bytes: &[u8]) -> RowDigest {
    let mut head = [0; DIGEST_BYTES];
    head.copy_from_slice(&Sha256::digest(bytes)[..DIGEST_BYTES]);
    head
}

/// Digests of the rows so far.
pub(super) struct SeenRows {
    columns: Vec<usize>,
    names: Vec<String>,
    rows: RowConverter,
    digests: HashSet<RowDigest>,
    dropped: u64,
}

impl SeenRows {
    /// Starts an empty set. Rows are compared in `names`, or in all columns if it is empty.
    pub(super) fn new(schema: &SchemaRef, names: &[String]) -> Result<Self> {
        let position = |name: &String| {
            schema.index_of(name).map_err(|_| {
                SqlOption::Dedupe.error(format!("no column '{name}'{}", near_names(name, schema)))
            })
        };
        let columns: Vec<usize> = if names.is_empty() {
            (0..schema.fields().len()).collect()
        } else {
            names.iter().map(position).collect::<Result<_>>()?
        };
        let field = |column: &usize| SortField::new(schema.field(*column).data_type().clone());
        let rows = RowConverter::new(columns.iter().map(field).collect())
            .map_err(|error| SqlOption::Dedupe.error(error))?;
        Ok(Self { columns, names: names.to_vec(), rows, digests: HashSet::new(), dropped: 0 })
    }

    /// Keeps the rows of a batch that are not in the set, and adds them.
    pub(super) fn new_ones(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<_> = self.columns.iter().map(|at| batch.column(*at).clone()).collect();
        let rows =
            self.rows.convert_columns(&columns).map_err(|error| SqlOption::Dedupe.error(error))?;
        let is_new = |row: arrow::row::Row<'_>| self.digests.insert(digest(row.as_ref()));
        let kept: Vec<bool> = rows.iter().map(is_new).collect();
        let kept = BooleanArray::from(kept);
        self.dropped += (kept.len() - kept.true_count()) as u64;
        filter_record_batch(batch, &kept).map_err(|error| SqlOption::Dedupe.error(error))
    }

    /// The condition in words.
    pub(super) fn condition(&self) -> String {
        match self.names.as_slice() {
            [] => "equal to an earlier row".to_owned(),
            names => format!("equal to an earlier row in {}", names.join(", ")),
        }
    }

    /// Number of dropped rows.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}
