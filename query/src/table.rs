//! The table `data`: a scan with projection and filter pushdown.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures_util::stream;

use super::expr::PlannedExpr;
use super::paths::paths;
use datasets::scan::{Condition, Scan, narrow};

/// Callback for rows that cannot be read.
pub type OnReject = Arc<dyn Fn(&datasets::source::Reject) -> datasets::Result<()> + Send + Sync>;

/// `DataFusion` table provider over a [`Scan`].
pub struct ScanTable {
    scan: Scan,
    on_reject: OnReject,
}

impl ScanTable {
    /// Creates a table over `scan`; rows that cannot be read go to `on_reject`.
    pub fn new(scan: Scan, on_reject: OnReject) -> Self {
        Self { scan, on_reject }
    }
}

impl fmt::Debug for ScanTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScanTable").field("scan", &self.scan).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for ScanTable {
    fn schema(&self) -> SchemaRef {
        self.scan.dataset.schema().clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut scan = self.scan.clone();
        let whole = DFSchema::try_from(scan.dataset.schema().as_ref().clone())?;
        for filter in filters {
            let paths = paths(filter);
            let narrow = narrow(scan.dataset.schema(), &paths);
            let narrow = DFSchema::try_from(narrow)?;
            let filter = unqualified(filter.clone())?;
            scan.conditions.push(Condition {
                text: filter.to_string(),
                paths,
                expr: PlannedExpr::new(state.create_physical_expr(filter.clone(), &whole)?),
                narrow_expr: PlannedExpr::new(state.create_physical_expr(filter, &narrow)?),
            });
        }
        // Columns are read in file order and then put in the order of the query.
        let mut sorted = projection.cloned();
        if let Some(columns) = &mut sorted {
            columns.sort_unstable();
            columns.dedup();
        }
        let order: Option<Vec<usize>> =
            projection.zip(sorted.as_ref()).map(|(requested, sorted)| {
                let position = |column: &usize| sorted.binary_search(column);
                requested.iter().filter_map(|column| position(column).ok()).collect()
            });
        scan.columns = sorted;
        let partition =
            Partition { schema: scan.schema(), scan, on_reject: self.on_reject.clone() };
        let schema = partition.schema.clone();
        let plan = StreamingTableExec::try_new(
            schema,
            vec![Arc::new(partition)],
            order.as_ref(),
            [],
            false,
            limit,
        )?;
        Ok(Arc::new(plan))
    }
}

/// Removes the table name from columns, which a scan does not know.
fn unqualified(expr: Expr) -> Result<Expr> {
    use datafusion::common::tree_node::{Transformed, TreeNode as _};
    let plain = expr.transform(|expr| {
        let Expr::Column(column) = expr else {
            return Ok(Transformed::no(expr));
        };
        let column = datafusion::common::Column::new_unqualified(column.name);
        Ok(Transformed::yes(Expr::Column(column)))
    })?;
    Ok(plain.data)
}

/// The only partition of the table.
struct Partition {
    scan: Scan,
    schema: SchemaRef,
    on_reject: OnReject,
}

impl fmt::Debug for Partition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Partition").field("scan", &self.scan).finish_non_exhaustive()
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let on_reject = self.on_reject.clone();
        let rows = self.scan.clone().rows().map(move |scanned| {
            let batch = scanned.and_then(|scanned| {
                scanned.rejects.iter().try_for_each(|reject| on_reject(reject))?;
                Ok(scanned.data)
            });
            batch.map_err(|error| DataFusionError::External(Box::new(error)))
        });
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream::iter(rows)))
    }
}
