//! External sorting of batches: what memory does not hold is spilled.

use std::fmt;
use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Column;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, SortExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures_util::stream;

use super::rows::{Batches, FirstError, QueryRows, SortInput, runtime};
use super::{SqlEngine, SqlOption, TABLE};
use datasets::Result;

/// One sort, with a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct SortStep<'a> {
    /// An ORDER BY list, as [`SqlEngine::order`] takes it.
    pub order_by: Option<&'a str>,
    /// Columns that break its ties, ascending, nulls last.
    pub columns: &'a [&'a str],
    /// Rows to keep; `None` for all.
    pub first: Option<u64>,
}

impl SqlEngine {
    /// Sorts batches of `schema`, one step after the other. The first error of `batches` ends the rows.
    ///
    /// # Errors
    /// [`DatasetError::Query`](datasets::DatasetError::Query) for an invalid list, under the name of `option`.
    pub fn sort(
        &self,
        schema: &SchemaRef,
        batches: SortInput,
        steps: &[SortStep<'_>],
        option: SqlOption,
    ) -> Result<QueryRows> {
        let orders = steps.iter().map(|step| self.sort_exprs(step)).collect::<Result<Vec<_>>>()?;
        let first_error = FirstError::default();
        let batches = first_error.watch(batches);
        let text = steps.iter().rev().find_map(|step| step.order_by).unwrap_or_default();
        let runtime = runtime();
        let stream = runtime.block_on(async {
            let partition =
                Partition { schema: schema.clone(), batches: Mutex::new(Some(batches)) };
            let table = StreamingTable::try_new(schema.clone(), vec![Arc::new(partition)])?;
            self.context.register_table(TABLE, Arc::new(table))?;
            let mut frame = self.context.table(TABLE).await?;
            for (order, step) in orders.into_iter().zip(steps) {
                frame = frame.sort(order)?;
                if let Some(rows) = step.first {
                    frame = frame.limit(0, Some(usize::try_from(rows).unwrap_or(usize::MAX)))?;
                }
            }
            frame.execute_stream().await
        });
        let explain = self.explainer(option, text);
        match stream {
            Ok(stream) => Ok(QueryRows::new(stream, runtime, explain, first_error)),
            Err(error) => Err(explain(error)),
        }
    }

    fn sort_exprs(&self, step: &SortStep<'_>) -> Result<Vec<SortExpr>> {
        let ascending =
            |name: &&str| Expr::Column(Column::new(Some(TABLE), *name)).sort(true, false);
        let mut exprs = match step.order_by {
            Some(text) => self.plan_order(text)?,
            None => Vec::new(),
        };
        exprs.extend(step.columns.iter().map(ascending));
        Ok(exprs)
    }
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
        let batches = self.batches.lock().expect("taken once, never twice at a time").take();
        let rows = stream::iter(batches.into_iter().flatten().map(Ok::<_, DataFusionError>));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), rows))
    }
}
