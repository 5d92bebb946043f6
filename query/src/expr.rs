//! Planned expressions.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::physical_plan::PhysicalExpr;

use datasets::scan::{ExprError, RowExpr};

/// An expression of `DataFusion`.
#[derive(Debug)]
pub(super) struct PlannedExpr(Arc<dyn PhysicalExpr>);

impl PlannedExpr {
    #[expect(clippy::new_ret_no_self, reason = "used as a row expression alone")]
    pub(super) fn new(expr: Arc<dyn PhysicalExpr>) -> Arc<dyn RowExpr> {
        Arc::new(Self(expr))
    }
}

impl RowExpr for PlannedExpr {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, ExprError> {
        let values = self.0.evaluate(batch);
        let values = values.and_then(|values| values.into_array(batch.num_rows()));
        values.map_err(|error| Box::new(error) as ExprError)
    }
}
