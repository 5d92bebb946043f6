//! External sorting of batches with `DataFusion`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Column;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, SortExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::DataFrame;
use futures_util::stream;

use datasets::query::{SqlEngine, TABLE};
use datasets::{DatasetError, Result};

/// The error that ended the batches of a table, kept here because `DataFusion` wraps errors.
#[derive(Clone, Default)]
pub(super) struct FirstError(Arc<Mutex<Option<DatasetError>>>);

/// Batches one after the other.
pub(super) type Batches = Box<dyn Iterator<Item = RecordBatch> + Send>;

impl FirstError {
    /// Returns the batches up to the first error, which is kept.
    pub(super) fn watch(
        &self,
        mut batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Batches {
        let fault = self.clone();
        Box::new(std::iter::from_fn(move || match batches.next()? {
            Ok(batch) => Some(batch),
            Err(error) => {
                *lock(&fault.0) = Some(error);
                None
            }
        }))
    }

    /// Returns the kept error, or else `result`.
    pub(super) fn or<T>(&self, result: Result<T>) -> Result<T> {
        match lock(&self.0).take() {
            Some(error) => Err(error),
            None => result,
        }
    }
}

/// Makes a table of batches that can be read once.
pub(super) async fn frame(
    engine: &SqlEngine,
    schema: &SchemaRef,
    batches: Batches,
) -> std::result::Result<DataFrame, DataFusionError> {
    let partition = Partition { schema: schema.clone(), batches: Mutex::new(Some(batches)) };
    let table = StreamingTable::try_new(schema.clone(), vec![Arc::new(partition)])?;
    let context = engine.context();
    context.register_table(TABLE, Arc::new(table))?;
    context.table(TABLE).await
}

/// Ascending order by a column.
pub(super) fn rising(name: &str) -> SortExpr {
    Expr::Column(Column::new(Some(TABLE), name)).sort(true, false)
}

/// The one partition, which can be read once.
struct Partition {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
}

impl fmt::Debug for Partition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Partition").finish_non_exhaustive()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = lock(&self.batches).take();
        let rows = stream::iter(batches.into_iter().flatten().map(Ok));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows))
    }
}

/// Locks state shared by the passes of one run.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("one thread takes it, never twice at a time")
}
