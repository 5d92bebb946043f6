//! Statements.

use minijinja::machinery::ast::{Expr, Stmt};

use super::super::args::Args;
use super::super::error::{RenderError, invalid};
use super::super::generation::GENERATION_FILTER;
use super::super::value::Value;
use super::evaluator::{Flow, RenderOutput, TemplateEvaluator};

impl<'t> TemplateEvaluator<'t> {
    /// Runs a template to its end.
    pub(in crate::template) fn run(
        mut self,
        template: &'t Stmt<'t>,
    ) -> Result<RenderOutput, RenderError> {
        self.exec(template)?;
        Ok(RenderOutput { text: self.out.swap_remove(0), generations: self.generations })
    }

    pub(super) fn exec_all(&mut self, body: &'t [Stmt<'t>]) -> Result<Flow, RenderError> {
        for stmt in body {
            match self.exec(stmt)? {
                Flow::Next => {}
                flow @ (Flow::Break | Flow::Continue) => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn exec(&mut self, stmt: &'t Stmt<'t>) -> Result<Flow, RenderError> {
        let line = line_of(stmt);
        self.deeper(|this| this.exec_stmt(stmt)).map_err(|e| e.at(line))
    }

    fn exec_stmt(&mut self, stmt: &'t Stmt<'t>) -> Result<Flow, RenderError> {
        match stmt {
            Stmt::Template(t) => return self.exec_all(&t.children),
            Stmt::EmitExpr(e) => {
                let value = self.eval(&e.expr)?;
                self.emit(&value)?;
            }
            Stmt::EmitRaw(raw) => self.emit_raw(raw.raw)?,
            Stmt::ForLoop(l) => return self.exec_loop(l),
            Stmt::IfCond(cond) => {
                let taken = self.eval(&cond.expr)?.truth();
                return self.exec_all(if taken { &cond.true_body } else { &cond.false_body });
            }
            Stmt::WithBlock(with) => {
                let mut bound = Vec::new();
                for (target, expr) in &with.assignments {
                    bound.push((target, self.eval(expr)?));
                }
                return self.scoped(|this| {
                    for (target, value) in bound {
                        this.assign(target, value)?;
                    }
                    this.exec_all(&with.body)
                });
            }
            Stmt::Set(set) => {
                let value = self.eval(&set.expr)?;
                self.assign(&set.target, value)?;
            }
            Stmt::SetBlock(set) => {
                let text = self.capture(|this| this.scoped(|this| this.exec_all(&set.body)))?;
                let mut value = self.heap.text(text)?;
                if let Some(filter) = &set.filter {
                    value = self.filter_chain(filter, value)?;
                }
                self.assign(&set.target, value)?;
            }
            Stmt::AutoEscape(_) => return Err(invalid("autoescape is not supported")),
            Stmt::FilterBlock(block) => return self.exec_filter_block(&block.filter, &block.body),
            Stmt::Macro(m) => {
                let id = self.define_macro(m)?;
                self.frame.set(&self.heap, m.name, Value::Macro(id))?;
            }
            Stmt::CallBlock(block) => {
                let caller = self.define_macro(&block.macro_decl)?;
                let mut args = self.args(&block.call.args)?;
                args.named.push(("caller", Value::Macro(caller)));
                let function = self.eval(&block.call.expr)?;
                let value = self.call_value(&function, args)?;
                self.emit(&value)?;
            }
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Do(call) => {
                self.eval_call(&call.call)?;
            }
        }
        Ok(Flow::Next)
    }

    /// A filter block, or a generation block, which the source rewriting turned into one.
    fn exec_filter_block(
        &mut self,
        filter: &'t Expr<'t>,
        body: &'t [Stmt<'t>],
    ) -> Result<Flow, RenderError> {
        if matches!(filter, Expr::Filter(f) if f.name == GENERATION_FILTER) {
            let text = self.capture(|this| this.scoped(|this| this.exec_all(body)))?;
            self.make_room(text.len())?;
            let prompt = self.out.len() == 1;
            let out = self.out.last_mut().expect("the prompt is never popped");
            let start = out.len();
            out.push(&text);
            if prompt {
                let end = out.len();
                self.generations.push(start..end);
            }
            return Ok(Flow::Next);
        }
        let text = self.capture(|this| this.scoped(|this| this.exec_all(body)))?;
        let value = self.heap.text(text)?;
        let value = self.filter_chain(filter, value)?;
        self.emit(&value)?;
        Ok(Flow::Next)
    }

    fn filter_chain(&mut self, filter: &'t Expr<'t>, value: Value) -> Result<Value, RenderError> {
        let Expr::Filter(filter) = filter else {
            return Err(invalid("expected a filter"));
        };
        let value = match &filter.expr {
            Some(inner) => self.filter_chain(inner, value)?,
            None => value,
        };
        let args: Args<'t> = self.args(&filter.args)?;
        self.apply_filter(filter.name, &value, &args)
    }
}

fn line_of(stmt: &Stmt<'_>) -> u16 {
    match stmt {
        Stmt::Template(s) => s.span(),
        Stmt::EmitExpr(s) => s.span(),
        Stmt::EmitRaw(s) => s.span(),
        Stmt::ForLoop(s) => s.span(),
        Stmt::IfCond(s) => s.span(),
        Stmt::WithBlock(s) => s.span(),
        Stmt::Set(s) => s.span(),
        Stmt::SetBlock(s) => s.span(),
        Stmt::AutoEscape(s) => s.span(),
        Stmt::FilterBlock(s) => s.span(),
        Stmt::Macro(s) => s.span(),
        Stmt::CallBlock(s) => s.span(),
        Stmt::Continue(s) => s.span(),
        Stmt::Break(s) => s.span(),
        Stmt::Do(s) => s.span(),
    }
    .start_line
}
