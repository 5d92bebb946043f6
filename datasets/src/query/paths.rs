//! What an expression reads.

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::Expr;

use crate::scan::term::Path;

/// The columns, and the fields of objects in them, that an expression reads.
pub(super) fn paths(expr: &Expr) -> Vec<Path> {
    let mut found: Vec<Path> = Vec::new();
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

/// A column, or fields taken out of one by name.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is walked into")]
fn path(expr: &Expr) -> Option<Path> {
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
