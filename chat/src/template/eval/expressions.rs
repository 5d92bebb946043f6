//! Expressions.

use minijinja::machinery::ast::{
    BinOp, BinOpKind, Call, CompareOpKind, Expr, GetItem, Slice, UnaryOpKind,
};
use minijinja::value::ValueKind;

use super::super::compare::lookup;
use super::super::error::{RenderError, invalid};
use super::super::value::{Seq, Value};
use super::super::{methods, operators, predicates};
use super::evaluator::TemplateEvaluator;

impl<'t> TemplateEvaluator<'t> {
    pub(super) fn eval(&mut self, expr: &'t Expr<'t>) -> Result<Value, RenderError> {
        self.deeper(|this| this.eval_expr(expr))
    }

    fn eval_expr(&mut self, expr: &'t Expr<'t>) -> Result<Value, RenderError> {
        match expr {
            Expr::Var(var) => self.lookup(var.id),
            Expr::Const(c) => self.constant(&c.value),
            Expr::Slice(slice) => self.eval_slice(slice),
            Expr::UnaryOp(unary) => {
                let value = self.eval(&unary.expr)?;
                match unary.op {
                    UnaryOpKind::Not => Ok(Value::Bool(!value.truth())),
                    UnaryOpKind::Neg => operators::negate(&value),
                }
            }
            Expr::BinOp(op) => self.eval_operator(op),
            Expr::Compare(chain) => {
                let mut left = self.eval(&chain.expr)?;
                for step in &chain.ops {
                    let right = self.eval(&step.expr)?;
                    if !self.compare(step.op, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            Expr::IfExpr(cond) => {
                if self.eval(&cond.test_expr)?.truth() {
                    return self.eval(&cond.true_expr);
                }
                match &cond.false_expr {
                    Some(other) => self.eval(other),
                    None => Ok(Value::Undefined),
                }
            }
            Expr::Filter(filter) => {
                let Some(inner) = &filter.expr else {
                    return Err(invalid("a filter needs a value"));
                };
                let value = self.eval(inner)?;
                let args = self.args(&filter.args)?;
                self.apply_filter(filter.name, &value, &args)
            }
            Expr::Test(test) => {
                let value = self.eval(&test.expr)?;
                let args = self.args(&test.args)?;
                predicates::perform(&self.heap, test.name, &value, &args.positional)
                    .map(Value::Bool)
            }
            Expr::GetAttr(attr) => {
                let value = self.eval(&attr.expr)?;
                self.attr(&value, attr.name)
            }
            Expr::GetItem(item) => self.eval_item(item),
            Expr::Call(call) => self.eval_call(call),
            Expr::List(list) => {
                let items = self.eval_all(&list.items)?;
                self.heap.list(items)
            }
            Expr::Tuple(tuple) => {
                let items = self.eval_all(&tuple.items)?;
                self.heap.tuple(items)
            }
            Expr::Map(map) => {
                let mut entries: Vec<(Value, Value)> = Vec::new();
                for (key, value) in map.keys.iter().zip(&map.values) {
                    let key = self.eval(key)?;
                    let value = self.eval(value)?;
                    operators::insert(&self.heap, &mut entries, key, value)?;
                }
                self.heap.map(entries)
            }
        }
    }

    fn eval_operator(&mut self, op: &'t BinOp<'t>) -> Result<Value, RenderError> {
        let left = self.eval(&op.left)?;
        if matches!(op.op, BinOpKind::ScAnd | BinOpKind::ScOr) {
            if left.truth() == matches!(op.op, BinOpKind::ScOr) {
                return Ok(left);
            }
            return self.eval(&op.right);
        }
        let right = self.eval(&op.right)?;
        operators::binary(&self.heap, op.op, &left, &right)
    }

    fn eval_all(&mut self, exprs: &'t [Expr<'t>]) -> Result<Vec<Value>, RenderError> {
        exprs.iter().map(|e| self.eval(e)).collect()
    }

    fn constant(&self, value: &minijinja::Value) -> Result<Value, RenderError> {
        match value.kind() {
            ValueKind::None => return Ok(Value::None),
            ValueKind::Bool => return Ok(Value::Bool(value.is_true())),
            ValueKind::String => {
                return self.heap.str(value.as_str().unwrap_or_default());
            }
            ValueKind::Number if value.is_integer() => {
                if let Ok(i) = i128::try_from(value.clone()) {
                    return Ok(Value::Int(i));
                }
            }
            ValueKind::Number => {
                if let Ok(f) = f64::try_from(value.clone()) {
                    return Ok(Value::Float(f));
                }
            }
            _ => {}
        }
        Err(invalid(format!("a constant of kind {}", value.kind())))
    }

    fn compare(
        &mut self,
        op: CompareOpKind,
        left: &Value,
        right: &Value,
    ) -> Result<bool, RenderError> {
        let (kind, negated) = match op {
            CompareOpKind::Eq => (BinOpKind::Eq, false),
            CompareOpKind::Ne => (BinOpKind::Ne, false),
            CompareOpKind::Lt => (BinOpKind::Lt, false),
            CompareOpKind::Lte => (BinOpKind::Lte, false),
            CompareOpKind::Gt => (BinOpKind::Gt, false),
            CompareOpKind::Gte => (BinOpKind::Gte, false),
            CompareOpKind::In => (BinOpKind::In, false),
            CompareOpKind::NotIn => (BinOpKind::In, true),
        };
        Ok(operators::binary(&self.heap, kind, left, right)?.truth() != negated)
    }

    fn eval_slice(&mut self, slice: &'t Slice<'t>) -> Result<Value, RenderError> {
        let value = self.eval(&slice.expr)?;
        let mut bounds = [None, None, None];
        let given = [&slice.start, &slice.stop, &slice.step];
        for (bound, expr) in bounds.iter_mut().zip(given) {
            if let Some(expr) = expr {
                *bound = match self.eval(expr)? {
                    Value::None => None,
                    other => Some(other.as_int().ok_or_else(|| {
                        invalid(format!("a slice's bound cannot be {}", other.kind()))
                    })?),
                };
            }
        }
        operators::slice(&self.heap, &value, bounds)
    }

    /// The items of an iteration over a value, as Python has them. A generator is read to its end.
    pub(in crate::template) fn items(&self, value: &Value) -> Result<Vec<Value>, RenderError> {
        match value {
            Value::Seq(seq) => self.copied(seq),
            Value::Generator(generator) => generator.read(),
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

    /// The items for a reader that in Python may stop early or runs later.
    pub(in crate::template) fn lend(&self, value: &Value) -> Result<Vec<Value>, RenderError> {
        match value {
            Value::Generator(generator) => generator.lend(),
            other => self.items(other),
        }
    }

    fn copied(&self, seq: &Seq) -> Result<Vec<Value>, RenderError> {
        self.heap.steps(seq.items.len() as u64 / 8)?;
        self.heap.room(seq.items.len() * size_of::<Value>())?;
        Ok(seq.items.clone())
    }

    /// `value.name`: a method, an attribute, or the item under that key.
    pub(in crate::template) fn attr(
        &self,
        value: &Value,
        name: &str,
    ) -> Result<Value, RenderError> {
        if matches!(value, Value::Undefined) {
            return Err(invalid(format!("an undefined value has no attribute `{name}`")));
        }
        if methods::exists(value, name) {
            return Ok(Value::Method(std::rc::Rc::new((value.clone(), name.to_owned()))));
        }
        Ok(match value {
            Value::Map(map) => {
                self.heap.steps(1 + map.entries.len() as u64 / 16)?;
                map.get(name).cloned()
            }
            Value::Seq(seq) if seq.group => match name {
                "grouper" => seq.items.first().cloned(),
                "list" => seq.items.get(1).cloned(),
                _ => None,
            },
            Value::Namespace(id) => self.get_namespace(*id, name)?,
            Value::Loop(info) => info.attr(name),
            _ => None,
        }
        .unwrap_or(Value::Undefined))
    }

    /// `value[key]`.
    fn eval_item(&mut self, item: &'t GetItem<'t>) -> Result<Value, RenderError> {
        let value = self.eval(&item.expr)?;
        let key = self.eval(&item.subscript_expr)?;
        self.item(&value, &key)
    }

    pub(in crate::template) fn item(
        &self,
        value: &Value,
        key: &Value,
    ) -> Result<Value, RenderError> {
        let found = match value {
            Value::Undefined => return Err(invalid("an undefined value has no items")),
            Value::Map(map) => lookup(&self.heap, map, key)?,
            Value::Seq(seq) => operators::index(key, seq.items.len()).map(|i| seq.items[i].clone()),
            Value::Str(s) => match key.as_int() {
                Some(_) => operators::char_at(&self.heap, &s.text, key)?,
                None => None,
            },
            _ => None,
        };
        match (found, key.as_str()) {
            (Some(found), _) => Ok(found),
            // As in Jinja, a name that is not a key may still be an attribute.
            (None, Some(name)) => self.attr(value, name),
            (None, None) => Ok(Value::Undefined),
        }
    }

    pub(super) fn eval_call(&mut self, call: &'t Call<'t>) -> Result<Value, RenderError> {
        let function = match &call.expr {
            // Not through `attr`: a direct call needs no bound method.
            Expr::GetAttr(attr) => {
                let receiver = self.eval(&attr.expr)?;
                if methods::exists(&receiver, attr.name) {
                    let args = self.args(&call.args)?;
                    return self.call_method(&receiver, attr.name, &args);
                }
                if let Value::Loop(info) = &receiver {
                    let args = self.args(&call.args)?;
                    return self.call_loop(info, attr.name, &args);
                }
                self.attr(&receiver, attr.name).and_then(|f| match f {
                    Value::Undefined => {
                        Err(invalid(format!("{} has no method `{}`", receiver.kind(), attr.name)))
                    }
                    other => Ok(other),
                })?
            }
            other => self.eval(other)?,
        };
        if let (Value::Undefined, Expr::Var(var)) = (&function, &call.expr) {
            return Err(invalid(format!("`{}` is undefined", var.id)));
        }
        let args = self.args(&call.args)?;
        self.call_value(&function, args)
    }
}
