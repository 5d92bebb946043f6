//! One condition on rows, ready to be evaluated.

use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::error::ArrowError;
use datafusion::physical_plan::PhysicalExpr;
use parquet::arrow::ProjectionMask;
use parquet::schema::types::SchemaDescriptor;

/// Names from a column inwards.
pub type Path = Vec<String>;

/// One condition on rows.
#[derive(Debug, Clone)]
pub struct Term {
    /// The condition as it was written.
    pub text: String,
    /// What it reads.
    pub paths: Vec<Path>,
    /// Over batches with every column of the dataset.
    pub whole: Arc<dyn PhysicalExpr>,
    /// Over batches with [`narrow`] columns.
    pub narrow: Arc<dyn PhysicalExpr>,
}

/// Which rows of a batch meet a condition. A null is no.
pub fn met(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
    let values = expr.evaluate(batch).and_then(|v| v.into_array(batch.num_rows()));
    let values = values.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
    if *values.data_type() == DataType::Null {
        return Ok(BooleanArray::from(vec![false; batch.num_rows()]));
    }
    let met = values.as_boolean();
    Ok(match met.nulls() {
        Some(nulls) => BooleanArray::new(met.values() & nulls.inner(), None),
        None => met.clone(),
    })
}

/// The columns of `schema` that `paths` read, objects with the fields that are read alone.
pub fn narrow(schema: &Schema, paths: &[Path]) -> Schema {
    Schema::new(narrow_fields(schema.fields(), paths, 0))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only objects have fields")]
fn narrow_fields(fields: &Fields, paths: &[Path], depth: usize) -> Fields {
    let narrowed = |field: &Arc<Field>| {
        let through: Vec<Path> =
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

/// The leaf columns of a Parquet file that `paths` read.
pub fn mask(schema: &SchemaDescriptor, paths: &[Path]) -> ProjectionMask {
    let is_read = |leaf: &usize| {
        let parts = schema.column(*leaf).path().parts().to_vec();
        paths.iter().any(|path| parts.starts_with(path))
    };
    ProjectionMask::leaves(schema, (0..schema.num_columns()).filter(is_read))
}
