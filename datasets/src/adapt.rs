//! Conversion of batches to the schema of the dataset.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray as _, ListArray, RecordBatch, RecordBatchOptions, StructArray,
    new_null_array,
};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;

/// Converts a batch to `schema`, matching columns by name at every depth; missing columns are filled
/// with nulls.
///
/// # Errors
/// [`ArrowError`] for a value that the target type cannot hold.
pub fn adapt(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let rows = batch.num_rows();
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => cast(column, field),
        None => Ok(new_null_array(field.data_type(), rows)),
    };
    let columns: Result<Vec<ArrayRef>, ArrowError> = schema.fields().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns?, &options)
}

/// Refuses floats that are not the integers that they were cast from.
fn refuse_rounded(integers: &ArrayRef, floats: &ArrayRef, field: &Field) -> Result<(), ArrowError> {
    let back = cast_with_options(floats, integers.data_type(), &CastOptions::default())?;
    let differs = distinct(integers, &back)?;
    match differs.iter().position(|differs| differs == Some(true)) {
        None => Ok(()),
        Some(row) => Err(ArrowError::CastError(format!(
            "column '{}' has fractions in other files, and {} here, which is not exact as such a \
             number; make it a text in both",
            field.name(),
            array_value_to_string(integers, row)?
        ))),
    }
}

/// Casts a column to a wider type.
fn cast(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    match (column.data_type(), field.data_type()) {
        (left, right) if left == right => Ok(column.clone()),
        (DataType::Null, wanted) => Ok(new_null_array(wanted, column.len())),
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let own = column.as_struct();
            let part = |field: &FieldRef| match own.column_by_name(field.name()) {
                Some(part) => cast(part, field),
                None => Ok(new_null_array(field.data_type(), own.len())),
            };
            let parts: Result<Vec<ArrayRef>, ArrowError> = fields.iter().map(part).collect();
            let nulls = own.nulls().cloned();
            let array = StructArray::try_new_with_length(fields.clone(), parts?, nulls, own.len())?;
            Ok(Arc::new(array))
        }
        (DataType::List(_), DataType::List(item)) => {
            let own = column.as_list::<i32>();
            let items = cast(own.values(), item)?;
            let (offsets, nulls) = (own.offsets().clone(), own.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls)?))
        }
        (own, wanted) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let cast = cast_with_options(column, wanted, &options)?;
            if own.is_integer() && wanted.is_floating() {
                refuse_rounded(column, &cast, field)?;
            }
            Ok(cast)
        }
    }
}
