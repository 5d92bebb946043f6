//! Rows of a running query as an iterator of batches.

use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;

use datasets::{DatasetError, Result};

/// Makes an error for users of an error of a running query.
pub(super) type Explain = Box<dyn Fn(DataFusionError) -> DatasetError + Send>;

/// Rows of a running query. Each batch is computed when it is taken, on the thread that takes it,
/// which must not be inside an asynchronous runtime.
pub struct QueryRows {
    // Dropped before the runtime, whose tasks it may still hold.
    stream: SendableRecordBatchStream,
    runtime: Runtime,
    explain: Explain,
    first_error: FirstError,
}

impl QueryRows {
    pub(super) fn new(
        stream: SendableRecordBatchStream,
        runtime: Runtime,
        explain: Explain,
        first_error: FirstError,
    ) -> Self {
        Self { stream, runtime, explain, first_error }
    }

    /// Columns of the rows.
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}

impl Iterator for QueryRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.runtime.block_on(self.stream.next());
        // Rows that follow an error of the input would be those of a part of it.
        if let Some(error) = self.first_error.take() {
            return Some(Err(error));
        }
        next.map(|batch| batch.map_err(&self.explain))
    }
}

/// Batches to sort, boxed so that plans are compiled in this crate alone.
pub type SortInput = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Batches up to the first error.
pub(super) type Batches = Box<dyn Iterator<Item = RecordBatch> + Send>;

/// The error that ended the batches of a table, kept here because `DataFusion` wraps errors.
#[derive(Clone, Default)]
pub(super) struct FirstError(Arc<Mutex<Option<DatasetError>>>);

impl FirstError {
    /// Returns the batches up to the first error, which is kept.
    pub(super) fn watch(&self, mut batches: SortInput) -> Batches {
        let kept = self.clone();
        Box::new(std::iter::from_fn(move || match batches.next()? {
            Ok(batch) => Some(batch),
            Err(error) => {
                *kept.0.lock().expect("no panic holds it") = Some(error);
                None
            }
        }))
    }

    fn take(&self) -> Option<DatasetError> {
        self.0.lock().expect("no panic holds it").take()
    }
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers needs nothing from the system")
}
