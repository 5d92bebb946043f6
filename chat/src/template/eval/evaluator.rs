//! The state of a render: variables, output and nesting.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use minijinja::machinery::ast::Macro;

use super::super::charge::Charge;
use super::super::error::{RenderError, RenderErrorKind, invalid};
use super::super::heap::Heap;
use super::super::value::{Builtin, Value};
use super::super::write;
use crate::text::{Origin, Text};
use crate::time::LocalTime;

/// Maximum nesting of statements, expressions and macro calls; bounds the native stack.
const MAX_NESTING: u32 = 400;

/// The end of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

/// Variables of one scope. Scopes are short, so a list searched from the end suffices.
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

/// A macro and the scope it was defined in.
pub(super) struct MacroDef<'t> {
    pub(super) decl: &'t Macro<'t>,
    pub(super) frame: Rc<Frame<'t>>,
}

/// The state of one render.
pub(in crate::template) struct TemplateEvaluator<'t> {
    pub(in crate::template) heap: Heap,
    /// The caller's variables: messages, tools, special tokens and others.
    pub(super) globals: &'t [(String, Value)],
    pub(in crate::template) now: Option<LocalTime>,
    pub(super) frame: Rc<Frame<'t>>,
    pub(super) macros: Vec<MacroDef<'t>>,
    pub(super) namespaces: Vec<Vec<(String, Value)>>,
    /// The prompt at the bottom; above it, blocks that are being captured.
    pub(super) out: Vec<Text>,
    pub(super) generations: Vec<Range<usize>>,
    pub(super) nesting: u32,
    /// Claims of values that live to the end: macros and namespaces.
    pub(super) held: Vec<Charge>,
}

/// The result of a render.
pub(in crate::template) struct RenderOutput {
    pub(in crate::template) text: Text,
    pub(in crate::template) generations: Vec<Range<usize>>,
}

impl<'t> TemplateEvaluator<'t> {
    pub(in crate::template) fn new(
        heap: Heap,
        globals: &'t [(String, Value)],
        now: Option<LocalTime>,
    ) -> TemplateEvaluator<'t> {
        TemplateEvaluator {
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

    pub(super) fn lookup(&self, name: &str) -> Value {
        if let Some(value) = self.frame.get(name) {
            return value;
        }
        if let Some((_, value)) = self.globals.iter().find(|(n, _)| n == name) {
            return value.clone();
        }
        Builtin::named(name).map_or(Value::Undefined, Value::Builtin)
    }

    /// Appends to the prompt, or to the block that is being captured.
    pub(super) fn emit(&mut self, value: &Value) -> Result<(), RenderError> {
        self.make_room(value.as_text().map_or(0, Text::len))?;
        let heap = &self.heap;
        let out = self.out.last_mut().expect("the prompt is never popped");
        write::push_str_of(heap, value, out)?;
        self.make_room(0)
    }

    pub(super) fn emit_raw(&mut self, raw: &str) -> Result<(), RenderError> {
        self.make_room(raw.len())?;
        let out = self.out.last_mut().expect("the prompt is never popped");
        out.push_str(raw, Origin::Template);
        Ok(())
    }

    pub(super) fn make_room(&self, more: usize) -> Result<(), RenderError> {
        let limits = self.heap.limits();
        if self.out[0].len() + more > limits.output_bytes && self.out.len() == 1 {
            return Err(RenderErrorKind::Output(limits.output_bytes).into());
        }
        let held = self.out.iter().map(Text::len).sum();
        self.heap.grow(held, more)
    }

    /// Runs `f` one level deeper, or refuses it.
    pub(in crate::template) fn deeper<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        self.heap.steps(1)?;
        if self.nesting >= MAX_NESTING {
            return Err(RenderErrorKind::Depth(MAX_NESTING).into());
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }

    /// Runs `f` in a scope of its own.
    pub(super) fn scoped<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        let inner = Frame::new(Some(Rc::clone(&self.frame)));
        self.in_frame(inner, f)
    }

    pub(super) fn in_frame<T>(
        &mut self,
        frame: Rc<Frame<'t>>,
        f: impl FnOnce(&mut Self) -> Result<T, RenderError>,
    ) -> Result<T, RenderError> {
        let outer = std::mem::replace(&mut self.frame, frame);
        let result = f(self);
        self.frame = outer;
        result
    }

    /// Runs `f` and returns its output instead of appending it to the prompt.
    pub(super) fn capture(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<Flow, RenderError>,
    ) -> Result<Text, RenderError> {
        self.out.push(Text::default());
        let result = f(self);
        let text = self.out.pop().expect("pushed above");
        match result? {
            Flow::Next => Ok(text),
            // Jinja compiles such a body to a function of its own, which a loop's jump cannot
            // leave.
            Flow::Break | Flow::Continue => {
                Err(invalid("a loop cannot be left from inside a captured block"))
            }
        }
    }
}
