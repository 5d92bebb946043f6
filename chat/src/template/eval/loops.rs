//! `for`: its scopes, its `loop` variable, and how it is left.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use minijinja::machinery::ast::ForLoop;

use super::super::args::Args;
use super::super::compare::equal;
use super::super::error::{RenderError, invalid};
use super::super::value::{LoopInfo, Value, deeper};
use super::evaluator::{Flow, Frame, TemplateEvaluator};

impl<'t> TemplateEvaluator<'t> {
    pub(super) fn exec_loop(&mut self, l: &'t ForLoop<'t>) -> Result<Flow, RenderError> {
        if l.recursive {
            return Err(invalid("recursive loops are not supported"));
        }
        let iterated = self.eval(&l.iter)?;
        let items = self.lend(&iterated)?;
        let items = self.filtered(l, items)?;
        if items.is_empty() {
            end_of(&iterated);
            return self.scoped(|this| this.exec_all(&l.else_body));
        }
        // Nested loops hold their items all at once.
        let _claim = self.heap.charge(items.len() * size_of::<Value>())?;
        let info = Rc::new(LoopInfo {
            items,
            // A `for` that is not recursive always counts from one.
            level: 1,
            index: Cell::new(0),
            last: RefCell::new(None),
        });
        for index in 0..info.items.len() {
            info.index.set(index);
            let frame = Frame::new(Some(Rc::clone(&self.frame)));
            frame.set(&self.heap, "loop", Value::Loop(Rc::clone(&info)))?;
            let item = info.items[index].clone();
            let flow = self.in_frame(frame, |this| {
                this.assign(&l.target, item)?;
                this.exec_all(&l.body)
            })?;
            if flow == Flow::Break {
                return Ok(Flow::Next);
            }
        }
        end_of(&iterated);
        Ok(Flow::Next)
    }

    fn filtered(
        &mut self,
        l: &'t ForLoop<'t>,
        items: Vec<Value>,
    ) -> Result<Vec<Value>, RenderError> {
        let Some(condition) = &l.filter_expr else {
            return Ok(items);
        };
        let mut kept = Vec::new();
        for item in items {
            let keep = self.scoped(|this| {
                this.assign(&l.target, item.clone())?;
                Ok(this.eval(condition)?.truth())
            })?;
            if keep {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    /// `loop.cycle(…)` and `loop.changed(…)`.
    pub(super) fn call_loop(
        &self,
        info: &LoopInfo,
        method: &str,
        args: &Args<'_>,
    ) -> Result<Value, RenderError> {
        match method {
            "cycle" if !args.positional.is_empty() => {
                let at = info.index.get() % args.positional.len();
                Ok(args.positional[at].clone())
            }
            "changed" => {
                deeper(args.positional.iter())?;
                let mut last = info.last.borrow_mut();
                let mut same = last.as_ref().is_some_and(|l| l.len() == args.positional.len());
                for (a, b) in last.iter().flatten().zip(&args.positional) {
                    same = same && equal(&self.heap, a, b)?;
                }
                *last = Some(args.positional.clone());
                Ok(Value::Bool(!same))
            }
            _ => Err(invalid(format!("loop has no method `{method}` like this"))),
        }
    }
}

/// Says that a loop over `iterated` has come to its end.
fn end_of(iterated: &Value) {
    if let Value::Generator(generator) = iterated {
        generator.end();
    }
}
