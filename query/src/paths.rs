//! Columns and fields that an expression reads.

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::Expr;

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
