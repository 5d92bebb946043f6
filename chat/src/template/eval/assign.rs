//! Assignment: names, namespaces, and the unpacking of what can be iterated over.

use minijinja::machinery::ast::Expr;

use super::super::error::{RenderError, invalid};
use super::super::value::Value;
use super::evaluator::TemplateEvaluator;

impl<'t> TemplateEvaluator<'t> {
    pub(super) fn assign(&mut self, target: &'t Expr<'t>, value: Value) -> Result<(), RenderError> {
        match target {
            Expr::Var(var) => self.frame.set(&self.heap, var.id, value)?,
            Expr::GetAttr(attr) => {
                let Value::Namespace(id) = self.eval(&attr.expr)? else {
                    return Err(invalid("only attributes of a namespace can be set"));
                };
                self.set_namespace(id, attr.name, value)?;
            }
            Expr::Tuple(targets) => self.unpack(&targets.items, &value)?,
            Expr::List(targets) => self.unpack(&targets.items, &value)?,
            other => {
                return Err(invalid(format!("cannot assign to a {}", other.description())));
            }
        }
        Ok(())
    }

    fn unpack(&mut self, targets: &'t [Expr<'t>], value: &Value) -> Result<(), RenderError> {
        let items = self.items(value)?;
        if items.len() != targets.len() {
            return Err(invalid(format!("{} values for {} names", items.len(), targets.len())));
        }
        for (target, item) in targets.iter().zip(items) {
            self.assign(target, item)?;
        }
        Ok(())
    }
}
