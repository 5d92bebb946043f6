//! Calls: arguments, macros, and the functions of the environment.

use std::rc::Rc;

use minijinja::machinery::ast::{CallArg, Expr, Macro};

use super::super::args::Args;
use super::super::error::{RenderError, RenderErrorKind, invalid};
use super::super::value::{Builtin, Value};
use super::super::{methods, operators, strftime, write};
use super::evaluator::{Flow, Frame, MacroDef, TemplateEvaluator};
use super::namespaces;

/// The longest `range`, as in Jinja's sandbox.
const MAX_RANGE: i128 = 100_000;

impl<'t> TemplateEvaluator<'t> {
    pub(super) fn args(&mut self, given: &'t [CallArg<'t>]) -> Result<Args<'t>, RenderError> {
        let mut args = Args { positional: Vec::new(), named: Vec::new() };
        for arg in given {
            match arg {
                CallArg::Pos(expr) => args.positional.push(self.eval(expr)?),
                CallArg::Kwarg(name, expr) => args.named.push((name, self.eval(expr)?)),
                CallArg::PosSplat(expr) => {
                    let list = self.eval(expr)?;
                    args.positional.extend(self.items(&list)?);
                }
                CallArg::KwargSplat(_) => {
                    return Err(invalid("`**` in a call is not supported"));
                }
            }
        }
        Ok(args)
    }

    pub(super) fn define_macro(&mut self, decl: &'t Macro<'t>) -> Result<usize, RenderError> {
        self.held.push(self.heap.charge(size_of::<MacroDef<'t>>())?);
        self.macros.push(MacroDef { decl, frame: Rc::clone(&self.frame) });
        Ok(self.macros.len() - 1)
    }

    /// Calls any value.
    pub(super) fn call_value(
        &mut self,
        function: &Value,
        args: Args<'t>,
    ) -> Result<Value, RenderError> {
        match function {
            Value::Macro(id) => self.call_macro(*id, args),
            Value::Builtin(builtin) => self.call_builtin(*builtin, &args),
            Value::Method(bound) => self.call_method(&bound.0, &bound.1, &args),
            other => Err(invalid(format!("{} cannot be called", other.kind()))),
        }
    }

    pub(super) fn call_method(
        &mut self,
        receiver: &Value,
        name: &str,
        args: &Args<'t>,
    ) -> Result<Value, RenderError> {
        methods::call(&self.heap, receiver, name, args)
    }

    fn call_macro(&mut self, id: usize, mut args: Args<'t>) -> Result<Value, RenderError> {
        let decl = self.macros[id].decl;
        let frame = Frame::new(Some(Rc::clone(&self.macros[id].frame)));
        if args.positional.len() > decl.args.len() {
            return Err(invalid(format!(
                "the macro `{}` takes {} arguments, not {}",
                decl.name,
                decl.args.len(),
                args.positional.len()
            )));
        }
        let required = decl.args.len() - decl.defaults.len();
        let text = self.in_frame(frame, |this| {
            let mut positional = args.positional.drain(..);
            for (i, arg) in decl.args.iter().enumerate() {
                let Expr::Var(name) = arg else {
                    return Err(invalid("a macro's argument is a name"));
                };
                this.heap.search(name.id, args.named.len())?;
                let named = args.named.iter().position(|(n, _)| *n == name.id);
                let value = match (positional.next(), named, i.checked_sub(required)) {
                    (Some(value), None, _) => value,
                    (None, Some(at), _) => args.named.swap_remove(at).1,
                    (None, None, Some(default)) => this.eval(&decl.defaults[default])?,
                    (None, None, None) => Value::Undefined,
                    (Some(_), Some(_), _) => {
                        return Err(invalid(format!("`{}` is given twice", name.id)));
                    }
                };
                this.frame.set(&this.heap, name.id, value)?;
            }
            drop(positional);
            for (name, value) in args.named {
                if name != "caller" {
                    return Err(invalid(format!(
                        "the macro `{}` takes no argument `{name}`",
                        decl.name
                    )));
                }
                this.frame.set(&this.heap, name, value)?;
            }
            this.capture(|this| match this.exec_all(&decl.body)? {
                Flow::Next => Ok(Flow::Next),
                Flow::Break | Flow::Continue => Err(invalid("a macro cannot leave a loop")),
            })
        })?;
        self.heap.text(text)
    }

    fn call_builtin(&mut self, builtin: Builtin, args: &Args<'t>) -> Result<Value, RenderError> {
        match builtin {
            Builtin::Range => self.range(args),
            Builtin::Namespace => {
                let entries = self.merged(args)?;
                let mut vars = Vec::new();
                for (key, value) in entries {
                    let name = key.as_str().unwrap_or_default();
                    namespaces::check_name(name)?;
                    vars.push((name.to_owned(), value));
                }
                self.new_namespace(vars)
            }
            Builtin::Dict => {
                let entries = self.merged(args)?;
                self.heap.map(entries)
            }
            Builtin::RaiseException => {
                args.only("raise_exception", &["message"])?;
                let message = write::str_of(&self.heap, args.need(0, "message")?)?;
                Err(RenderErrorKind::Raised(message.into_string()).into())
            }
            Builtin::StrftimeNow => {
                args.only("strftime_now", &["format"])?;
                let Some(format) = args.need(0, "format")?.as_str() else {
                    return Err(invalid("`strftime_now` needs a format"));
                };
                let Some(now) = self.now else {
                    return Err(invalid(
                        "the template asks for the time, and the conversation gives none",
                    ));
                };
                self.heap.work(format.len())?;
                self.heap.str(strftime::strftime(&now, format)?)
            }
        }
    }

    /// Merges the arguments of `dict(…)` and `namespace(…)`: positional maps, then names.
    fn merged(&mut self, args: &Args<'t>) -> Result<Vec<(Value, Value)>, RenderError> {
        let mut entries = Vec::new();
        for value in &args.positional {
            let Value::Map(map) = value else {
                return Err(invalid(format!("{} is not a dict", value.kind())));
            };
            for (k, v) in &map.entries {
                operators::insert(&self.heap, &mut entries, k.clone(), v.clone())?;
            }
        }
        for (name, value) in &args.named {
            let key = self.heap.str(*name)?;
            operators::insert(&self.heap, &mut entries, key, value.clone())?;
        }
        Ok(entries)
    }

    fn range(&self, args: &Args<'t>) -> Result<Value, RenderError> {
        args.only("range", &["start", "stop", "step"])?;
        let mut bounds = Vec::new();
        for value in &args.positional {
            bounds.push(
                value.as_int().ok_or_else(|| {
                    invalid(format!("`range` takes integers, not {}", value.kind()))
                })?,
            );
        }
        let (start, stop, step) = match bounds[..] {
            [stop] => (0, stop, 1),
            [start, stop] => (start, stop, 1),
            [start, stop, step] if step != 0 => (start, stop, step),
            _ => return Err(invalid("`range` takes one to three integers")),
        };
        let span = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
        let length = match span {
            ..=0 => 0,
            span => (span - 1) / step.saturating_abs() + 1,
        };
        let steps = u64::try_from(length).unwrap_or(u64::MAX);
        if length > MAX_RANGE {
            return Err(invalid(format!("a range is at most {MAX_RANGE} long")));
        }
        self.heap.steps(steps)?;
        self.heap.list((0..length).map(|i| Value::Int(start + i * step)).collect())
    }
}
