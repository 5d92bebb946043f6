//! Columns and fields that an expression reads.

use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::math::expr_fn::isnan;
use datafusion::logical_expr::{Expr, lit, when};

use datasets::scan::FieldPath;

/// Paths of the columns and nested fields that an expression reads, each once.
pub(super) fn paths(expr: &Expr) -> Vec<FieldPath> {
    let mut found: Vec<FieldPath> = Vec::new();
    let walked = expr.apply(|expr| {
        Ok(match path(expr) {
            Some(path) => {
                if !found.contains(&path) {
                    found.push(path);
                }
                TreeNodeRecursion::Jump
            }
            None => TreeNodeRecursion::Continue,
        })
    });
    walked.expect("the visitor returns no error");
    found
}

/// Reads a NaN in the columns of an expression as null: it is no measurement, and would compare as larger
/// than every number. Arguments of `isnan` stay as they are.
pub(super) fn without_nan(expr: Expr, schema: &Schema) -> Result<Expr> {
    let transformed = expr.transform_down(|expr| {
        if matches!(&expr, Expr::ScalarFunction(function) if function.func.name() == "isnan") {
            return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump));
        }
        let Some(path) = path(&expr) else {
            return Ok(Transformed::no(expr));
        };
        let null = match data_type(schema, &path) {
            Some(DataType::Float64) => ScalarValue::Float64(None),
            Some(DataType::Float32) => ScalarValue::Float32(None),
            Some(_) | None => return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        };
        let read = when(isnan(expr.clone()), lit(null)).otherwise(expr)?;
        Ok(Transformed::new(read, true, TreeNodeRecursion::Jump))
    })?;
    Ok(transformed.data)
}

/// The type of a column or of a field within it.
fn data_type<'s>(schema: &'s Schema, path: &[String]) -> Option<&'s DataType> {
    let (column, names) = path.split_first()?;
    let mut found = schema.field_with_name(column).ok()?.data_type();
    for name in names {
        let DataType::Struct(fields) = found else {
            return None;
        };
        found = fields.find(name)?.1.data_type();
    }
    Some(found)
}

/// The path of a column or of a field access by name.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is walked into")]
pub(super) fn path(expr: &Expr) -> Option<FieldPath> {
    match expr {
        Expr::Column(column) => Some(vec![column.name.clone()]),
        Expr::ScalarFunction(function) if function.func.name() == "get_field" => {
            let (base, names) = function.args.split_first()?;
            let mut path = path(base)?;
            for name in names {
                path.push(literal(name)?);
            }
            Some(path)
        }
        _ => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a name is text")]
fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Literal(
            ScalarValue::Utf8(name) | ScalarValue::LargeUtf8(name) | ScalarValue::Utf8View(name),
            _,
        ) => name.clone(),
        _ => None,
    }
}
