//! Row conditions ready to be evaluated.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::schema::types::SchemaDescriptor;

/// Field names from a column inwards.
pub type FieldPath = Vec<String>;

/// Why an expression has no values for a batch.
pub type ExprError = Box<dyn Error + Send + Sync>;

/// An expression over the columns of a row.
pub trait RowExpr: fmt::Debug + Send + Sync {
    /// Computes an array with a value for each row of `batch`.
    ///
    /// # Errors
    /// What the expression refuses, such as a division by zero.
    fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, ExprError>;
}

/// A condition on one row.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Text of the condition.
    pub text: String,
    /// Columns and fields that it reads.
    pub paths: Vec<FieldPath>,
    /// For batches with all columns of the dataset.
    pub expr: Arc<dyn RowExpr>,
    /// For batches with the columns of [`narrow`] only.
    pub narrow_expr: Arc<dyn RowExpr>,
}

/// Evaluates a condition on a batch; null counts as false.
pub(crate) fn evaluate(
    expr: &Arc<dyn RowExpr>,
    batch: &RecordBatch,
) -> Result<BooleanArray, ArrowError> {
    let values = expr.evaluate(batch).map_err(ArrowError::ExternalError)?;
    if *values.data_type() == DataType::Null {
        return Ok(BooleanArray::from(vec![false; batch.num_rows()]));
    }
    let mask = values.as_boolean();
    Ok(match mask.nulls() {
        Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
        None => mask.clone(),
    })
}

/// The part of `schema` that `paths` read: other columns and struct fields are removed.
pub fn narrow(schema: &Schema, paths: &[FieldPath]) -> Schema {
    Schema::new(narrow_fields(schema.fields(), paths, 0))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only objects have fields")]
fn narrow_fields(fields: &Fields, paths: &[FieldPath], depth: usize) -> Fields {
    let narrowed = |field: &Arc<Field>| {
        let through: Vec<FieldPath> =
            paths.iter().filter(|path| path.get(depth) == Some(field.name())).cloned().collect();
        if through.is_empty() {
            return None;
        }
        match field.data_type() {
            DataType::Struct(inner) if through.iter().all(|path| path.len() > depth + 1) => {
                let inner = narrow_fields(inner, &through, depth + 1);
                let field = field.as_ref().clone();
                Some(Arc::new(field.with_data_type(DataType::Struct(inner))))
            }
            _ => Some(field.clone()),
        }
    };
    fields.iter().filter_map(narrowed).collect()
}

/// Projection mask of the Parquet leaf columns that `paths` read.
pub(crate) fn mask(schema: &SchemaDescriptor, paths: &[FieldPath]) -> ProjectionMask {
    let is_read = |leaf: &usize| {
        let parts = schema.column(*leaf).path().parts().to_vec();
        paths.iter().any(|path| parts.starts_with(path))
    };
    ProjectionMask::leaves(schema, (0..schema.num_columns()).filter(is_read))
}
