//! The state of a render: variables, output and nesting.

use std::cell::RefCell;
use std::collections::HashMap;
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

/// Variables of one scope. Scopes are short, so a list suffices; where a template makes them long,
/// each search is charged by what it passes.
pub(super) struct Frame<'t> {
    vars: RefCell<Vec<(&'t str, Value)>>,
    parent: Option<Rc<Frame<'t>>>,
}

impl<'t> Frame<'t> {
    pub(super) fn new(parent: Option<Rc<Frame<'t>>>) -> Rc<Frame<'t>> {
        Rc::new(Frame { vars: RefCell::new(Vec::new()), parent })
    }

    /// Sets a variable of this scope.
    pub(super) fn set(&self, heap: &Heap, name: &'t str, value: Value) -> Result<(), RenderError> {
        let mut vars = self.vars.borrow_mut();
        heap.search(name, vars.len())?;
        match vars.iter_mut().find(|(n, _)| *n == name) {
            Some((_, slot)) => *slot = value,
            None => vars.push((name, value)),
        }
        Ok(())
    }

    /// A variable of this scope or of one around it.
    fn get(&self, heap: &Heap, name: &str) -> Result<Option<Value>, RenderError> {
        let (mut frame, mut passed, mut found) = (Some(self), 0, None);
        while let Some(f) = frame {
            let vars = f.vars.borrow();
            if let Some(at) = vars.iter().position(|(n, _)| *n == name) {
                passed += 1 + at;
                found = Some(vars[at].1.clone());
                break;
            }
            // An empty scope takes a look too.
            passed += 1 + vars.len();
            frame = f.parent.as_deref();
        }
        heap.search(name, passed)?;
        Ok(found)
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
    pub(super) globals: &'t HashMap<String, Value>,
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
        globals: &'t HashMap<String, Value>,
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

    /// The variable, or the function of the environment, called `name`.
    pub(super) fn lookup(&self, name: &str) -> Result<Value, RenderError> {
        if let Some(value) = self.frame.get(&self.heap, name)? {
            return Ok(value);
        }
        // The map reads the name, to hash it, however many others it holds.
        self.heap.search(name, 1)?;
        if let Some(value) = self.globals.get(name) {
            return Ok(value.clone());
        }
        Ok(Builtin::named(name).map_or(Value::Undefined, Value::Builtin))
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
