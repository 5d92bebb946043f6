//! The evaluator: walks the syntax tree that minijinja's parser makes.
//!
//! Why not minijinja's own machine: its strings do not know their origin (see [`super::text`]), and
//! its budget counts instructions alone, while one instruction may double a string, repeat it a
//! hundred million times or walk a lazy list for ever. Here every value is made through the
//! [`Heap`], and what is not defined in the sandbox of Hugging Face is not defined here.

mod assign;
pub(super) mod calls;
mod expr;
pub(super) mod looping;
mod ops;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use minijinja::machinery::ast::{Expr, Stmt};

pub(super) use self::ops::{add, contains};

use self::calls::{Args, MacroDef};
use self::looping::Flow;
use super::error::{Fault, RenderError, invalid};
use super::heap::{Charge, Heap};
use super::strftime::LocalTime;
use super::text::{Origin, Text};
use super::value::Value;
use super::{GENERATION_FILTER, write};

/// How deep statements, expressions and macro calls may nest: bounds the native stack.
const MAX_NESTING: u32 = 400;

/// Variables of one scope. Scopes are short, so a list is searched from the end.
pub(super) struct Frame<'t> {
    vars: RefCell<Vec<(&'t str, Value)>>,
    parent: Option<Rc<Frame<'t>>>,
}

impl<'t> Frame<'t> {
    pub(super) fn new(parent: Option<Rc<Frame<'t>>>) -> Rc<Frame<'t>> {
        Rc::new(Frame { vars: RefCell::new(Vec::new()), parent })
    }

    pub(super) fn set(&self, name: &'t str, value: Value) {
        let mut vars = self.vars.borrow_mut();
        match vars.iter_mut().find(|(n, _)| *n == name) {
            Some((_, slot)) => *slot = value,
            None => vars.push((name, value)),
        }
    }

    fn get(&self, name: &str) -> Option<Value> {
        let mut frame = Some(self);
        while let Some(f) = frame {
            if let Some((_, value)) = f.vars.borrow().iter().find(|(n, _)| *n == name) {
                return Some(value.clone());
            }
            frame = f.parent.as_deref();
        }
        None
    }
}

/// The state of one render.
pub(super) struct Evaluator<'t> {
    pub(super) heap: Heap,
    /// What the caller gave: messages, tools, special tokens, …
    globals: &'t [(String, Value)],
    pub(super) now: Option<LocalTime>,
    frame: Rc<Frame<'t>>,
    macros: Vec<MacroDef<'t>>,
    namespaces: Vec<Vec<(String, Value)>>,
    /// The prompt at the bottom, and above it what is being captured.
    out: Vec<Text>,
    generations: Vec<Range<usize>>,
    nesting: u32,
    /// Paid for what lives to the end: macros and namespaces.
    held: Vec<Charge>,
}

/// What a render gives.
pub(super) struct Product {
    pub(super) text: Text,
    pub(super) generations: Vec<Range<usize>>,
}

impl<'t> Evaluator<'t> {
    pub(super) fn new(
        heap: Heap,
        globals: &'t [(String, Value)],
        now: Option<LocalTime>,
    ) -> Evaluator<'t> {
        Evaluator {
            heap,
            globals,
            now,
            frame: Frame::new(None),
            macros: Vec::new(),
            namespaces: Vec::new(),
            out: vec![Text::default()],
            generations: Vec::new(),
            nesting: 0,
            held: Vec::new(),
        }
    }

    /// Runs a template to its end.
    pub(super) fn run(mut self, template: &'t Stmt<'t>) -> Result<Product, RenderError> {
        self.exec(template)?;
        Ok(Product { text: self.out.swap_remove(0), generations: self.generations })
    }

    fn lookup(&self, name: &str) -> Value {
        if let Some(value) = self.frame.get(name) {
            return value;
        }
        if let Some((_, value)) = self.globals.iter().find(|(n, _)| n == name) {
            return value.clone();
        }
        calls::builtin(name).map_or(Value::Undefined, Value::Builtin)
    }

    /// Appends to the prompt, or to what is being captured.
    fn emit(&mut self, value: &Value) -> Result<(), RenderError> {
        self.make_room(value.as_text().map_or(0, Text::len))?;
        let heap = &self.heap;
        let out = self.out.last_mut().expect("the prompt is never popped");
        write::push_str_of(heap, value, out)?;
        self.make_room(0)
    }

    fn emit_raw(&mut self, raw: &str) -> Result<(), RenderError> {
        self.make_room(raw.len())?;
        let out = self.out.last_mut().expect("the prompt is never popped");
        out.push_str(raw, Origin::Template);
        Ok(())
    }

    fn make_room(&self, more: usize) -> Result<(), RenderError> {
        let limits = self.heap.limits();
        if self.out[0].len() + more > limits.output_bytes && self.out.len() == 1 {
            return Err(Fault::Output(limits.output_bytes).into());
        }
        let held = self.out.iter().map(Text::len).sum();
        self.heap.grow(held, more)
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

    /// Runs `f` one level deeper, or refuses.
    fn deeper<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        self.heap.steps(1)?;
        if self.nesting >= MAX_NESTING {
            return Err(Fault::Depth(MAX_NESTING).into());
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
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
                self.frame.set(m.name, Value::Macro(id));
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

    /// Runs `f` in a scope of its own.
    fn scoped<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        let inner = Frame::new(Some(Rc::clone(&self.frame)));
        self.in_frame(inner, f)
    }

    fn in_frame<T>(
        &mut self,
        frame: Rc<Frame<'t>>,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = f(self);
        self.frame = outer;
        result
    }

    /// What `f` writes, instead of writing it.
    fn capture(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<Flow, RenderError>,
    ) -> Result<Text, RenderError> {
        self.out.push(Text::default());
        let result = f(self);
        let text = self.out.pop().expect("pushed above");
        match result? {
            Flow::Next => Ok(text),
            // Jinja compiles such a body to a function of its own, which a loop's jump cannot leave.
            Flow::Break | Flow::Continue => {
                Err(invalid("a loop cannot be left from inside a captured block"))
            }
        }
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
