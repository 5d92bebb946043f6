//! Assignment: names, namespaces, and the unpacking of what can be iterated over.

use minijinja::machinery::ast::Expr;

use super::super::error::{RenderError, invalid};
use super::super::value::{Seq, Value};
use super::{Evaluator, calls};

impl<'t> Evaluator<'t> {
    pub(super) fn assign(&mut self, target: &'t Expr<'t>, value: Value) -> Result<(), RenderError> {
        match target {
            Expr::Var(var) => self.frame.set(var.id, value),
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

    /// What iterating over a value gives, as Python would.
    pub(in super::super) fn items(&self, value: &Value) -> Result<Vec<Value>, RenderError> {
        match value {
            Value::Seq(seq) => self.copied(seq),
            Value::Map(map) => {
                self.heap.steps(map.entries.len() as u64)?;
                Ok(map.entries.iter().map(|(k, _)| k.clone()).collect())
            }
            Value::Str(s) => {
                let text = &s.text;
                let chars = text.as_str().char_indices();
                chars.map(|(at, c)| self.heap.text(text.part(at..at + c.len_utf8()))).collect()
            }
            Value::Undefined => Ok(Vec::new()),
            Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Loop(_) => Err(invalid(format!("{} is not iterable", value.kind()))),
        }
    }

    fn copied(&self, seq: &Seq) -> Result<Vec<Value>, RenderError> {
        self.heap.steps(seq.items.len() as u64 / 8)?;
        self.heap.room(seq.items.len() * size_of::<Value>())?;
        Ok(seq.items.clone())
    }

    pub(super) fn new_namespace(
        &mut self,
        vars: Vec<(String, Value)>,
    ) -> Result<Value, RenderError> {
        let bytes = (vars.len() + 1) * size_of::<(String, Value)>();
        self.held.push(self.heap.charge(bytes)?);
        self.namespaces.push(vars);
        Ok(Value::Namespace(self.namespaces.len() - 1))
    }

    fn set_namespace(&mut self, id: usize, name: &str, value: Value) -> Result<(), RenderError> {
        calls::check_namespace_name(name)?;
        let vars = &mut self.namespaces[id];
        match vars.iter_mut().find(|(n, _)| n == name) {
            Some((_, slot)) => *slot = value,
            None => vars.push((name.to_owned(), value)),
        }
        Ok(())
    }

    pub(super) fn get_namespace(&self, id: usize, name: &str) -> Option<Value> {
        let vars = self.namespaces[id].iter();
        vars.clone().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    }
}
