//! temporary
use super::{Expr, Workspace};
impl Workspace<'_> {
    pub(in crate::math) fn plain(&self, expr: Expr) -> String {
        format!("{:?}", self.node(expr))
    }
    pub(in crate::math) fn latex(&self, expr: Expr) -> String {
        format!("{:?}", self.node(expr))
    }
}
