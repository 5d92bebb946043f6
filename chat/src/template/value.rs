//! The values of the template language: Python's, as far as chat templates see them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::charge::Charge;
use super::error::{RenderError, RenderErrorKind, invalid};
use crate::text::{Origin, Text};

/// The deepest nesting of lists and maps.
pub(super) const MAX_DEPTH: u32 = 200;

/// A string value.
pub(super) struct Str {
    pub(super) text: Text,
    pub(super) _charge: Option<Charge>,
}

/// A list or a tuple.
pub(super) struct Seq {
    pub(super) items: Vec<Value>,
    pub(super) tuple: bool,
    /// Whether the two items have names besides: Jinja's `groupby` makes named tuples.
    pub(super) group: bool,
    pub(super) depth: u32,
    pub(super) _charge: Option<Charge>,
}

/// A map, in the order of insertion.
pub(super) struct Map {
    pub(super) entries: Vec<(Value, Value)>,
    pub(super) depth: u32,
    pub(super) _charge: Option<Charge>,
}

/// What a filter returns that is a generator or an iterator in Python. It is true even if it is
/// empty, and it can be read once.
pub(super) struct Generator {
    rest: RefCell<Rest>,
    depth: u32,
    _charge: Charge,
}

/// What is left of a generator for its next reader.
enum Rest {
    All(Vec<Value>),
    Nothing,
    /// It was handed to a reader that stopped early, or to a filter. How far Python has read by
    /// now depends on what has read that filter's own result.
    Unknown,
}

impl Generator {
    /// Holds `items`, whose depth and memory the heap has admitted.
    pub(super) fn new(items: Vec<Value>, depth: u32, charge: Charge) -> Generator {
        Generator { rest: RefCell::new(Rest::All(items)), depth, _charge: charge }
    }

    /// What is left, for a reader that reads all of it now. The next finds nothing.
    pub(super) fn read(&self) -> Result<Vec<Value>, RenderError> {
        let items = self.lend()?;
        self.end();
        Ok(items)
    }

    /// What is left, for a reader that may stop early, or that Python runs later. Until it is
    /// known to have come to the [`Generator::end`], there can be no other.
    pub(super) fn lend(&self) -> Result<Vec<Value>, RenderError> {
        match self.rest.replace(Rest::Unknown) {
            Rest::All(items) if !items.is_empty() => Ok(items),
            Rest::All(_) | Rest::Nothing => {
                self.end();
                Ok(Vec::new())
            }
            Rest::Unknown => Err(invalid(
                "a filter's result is read a second time; it must go through `list` first",
            )),
        }
    }

    /// Says that a reader has come to the end.
    pub(super) fn end(&self) {
        self.rest.replace(Rest::Nothing);
    }
}

/// A function of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Range,
    Namespace,
    Dict,
    RaiseException,
    StrftimeNow,
}

impl Builtin {
    /// The function of the environment called `name`.
    pub(super) fn named(name: &str) -> Option<Builtin> {
        Some(match name {
            "range" => Builtin::Range,
            "namespace" => Builtin::Namespace,
            "dict" => Builtin::Dict,
            "raise_exception" => Builtin::RaiseException,
            "strftime_now" => Builtin::StrftimeNow,
            _ => return None,
        })
    }
}

/// A value. Lists and maps are immutable, as in the sandbox that Hugging Face renders in; the one
/// mutable thing, the namespace, is an index into the evaluator, so no cycle can leak.
#[derive(Clone)]
pub(super) enum Value {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Rc<Str>),
    Seq(Rc<Seq>),
    Map(Rc<Map>),
    Generator(Rc<Generator>),
    Namespace(usize),
    Macro(usize),
    Builtin(Builtin),
    /// A method taken from its object without being called.
    Method(Rc<(Value, String)>),
    Loop(Rc<LoopInfo>),
}

impl Value {
    /// Python's truth.
    pub(super) fn truth(&self) -> bool {
        match self {
            Value::Undefined | Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(i) => *i != 0,
            Value::Float(f) => *f != 0.0,
            Value::Str(s) => s.text.len() > 0,
            Value::Seq(s) => !s.items.is_empty(),
            Value::Map(m) => !m.entries.is_empty(),
            Value::Loop(info) => !info.items.is_empty(),
            Value::Generator(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_)
            | Value::Method(_) => true,
        }
    }

    /// The nesting depth; 0 for a value that holds no others.
    pub(super) fn depth(&self) -> u32 {
        match self {
            Value::Seq(s) => s.depth,
            Value::Map(m) => m.depth,
            Value::Generator(g) => g.depth,
            Value::Method(m) => m.0.depth() + 1,
            Value::Undefined
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_)
            | Value::Loop(_) => 0,
        }
    }

    /// Python's name of the type, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Undefined => "an undefined value",
            Value::None => "None",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::Seq(s) if s.tuple => "tuple",
            Value::Seq(_) => "list",
            Value::Map(_) => "dict",
            Value::Generator(_) => "generator",
            Value::Namespace(_) => "namespace",
            Value::Macro(_) | Value::Builtin(_) | Value::Method(_) => "function",
            Value::Loop(_) => "loop",
        }
    }

    /// The text of a string.
    pub(super) fn as_text(&self) -> Option<&Text> {
        let Value::Str(s) = self else { return None };
        Some(&s.text)
    }

    /// The characters of a string.
    pub(super) fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// A number as a float. Python's booleans are numbers.
    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Float(f) => Some(*f),
            other => other.as_int().map(|i| i as f64),
        }
    }

    /// An integer; Python's booleans are integers.
    pub(super) fn as_int(&self) -> Option<i128> {
        if let Value::Bool(b) = self {
            return Some(i128::from(*b));
        }
        let Value::Int(i) = self else { return None };
        Some(*i)
    }

    /// Values of a JSON document. Strings, keys included, have the given origin.
    pub(super) fn from_json(
        json: &serde_json::Value,
        origin: Origin,
    ) -> Result<Value, RenderError> {
        Self::from_json_at(json, origin, 0)
    }

    fn from_json_at(
        json: &serde_json::Value,
        origin: Origin,
        level: u32,
    ) -> Result<Value, RenderError> {
        if level > MAX_DEPTH {
            return Err(RenderErrorKind::Depth(MAX_DEPTH).into());
        }
        Ok(match json {
            serde_json::Value::Null => Value::None,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => json_number(n),
            serde_json::Value::String(s) => Value::given(s, origin),
            serde_json::Value::Array(items) => {
                let items: Result<Vec<Value>, RenderError> =
                    items.iter().map(|v| Self::from_json_at(v, origin, level + 1)).collect();
                Value::given_list(items?)?
            }
            serde_json::Value::Object(entries) => {
                let entries: Result<Vec<(Value, Value)>, RenderError> = entries
                    .iter()
                    .map(|(k, v)| {
                        Ok((Value::given(k, origin), Self::from_json_at(v, origin, level + 1)?))
                    })
                    .collect();
                Value::given_map(entries?)?
            }
        })
    }

    /// A string of the caller's; not charged to the budget.
    pub(super) fn given(string: &str, origin: Origin) -> Value {
        Value::Str(Rc::new(Str { text: Text::new(string, origin), _charge: None }))
    }

    /// A list of the caller's; not charged to the budget.
    pub(super) fn given_list(items: Vec<Value>) -> Result<Value, RenderError> {
        Ok(Value::Seq(Rc::new(Seq {
            depth: deeper(items.iter())?,
            items,
            tuple: false,
            group: false,
            _charge: None,
        })))
    }

    /// A map of the caller's; not charged to the budget.
    pub(super) fn given_map(entries: Vec<(Value, Value)>) -> Result<Value, RenderError> {
        Ok(Value::Map(Rc::new(Map {
            depth: deeper(entries.iter().flat_map(|(k, v)| [k, v]))?,
            entries,
            _charge: None,
        })))
    }
}

fn json_number(n: &serde_json::Number) -> Value {
    if let Some(i) = n.as_i128() {
        return Value::Int(i);
    }
    Value::Float(n.as_f64().unwrap_or(f64::NAN))
}

impl Map {
    /// The value under a string key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v)
    }
}

/// One more than the depth of the deepest of `items`.
///
/// # Errors
/// This is too deep, or one is a loop: a loop holds the arguments of its `changed`, so that loops in
/// lists could hold each other, without an end or in a chain of any length.
pub(super) fn deeper<'v>(items: impl Iterator<Item = &'v Value>) -> Result<u32, RenderError> {
    let mut depth = 1;
    for item in items {
        if matches!(item, Value::Loop(_)) {
            return Err(invalid("a list, a map or `changed` cannot hold a loop"));
        }
        depth = depth.max(1 + item.depth());
    }
    if depth > MAX_DEPTH {
        return Err(RenderErrorKind::Depth(MAX_DEPTH).into());
    }
    Ok(depth)
}

/// The state behind the `loop` variable.
pub(super) struct LoopInfo {
    pub(super) items: Vec<Value>,
    /// The number of loops around this one in the template, from 1.
    pub(super) level: usize,
    pub(super) index: Cell<usize>,
    /// The arguments of the last `loop.changed`.
    pub(super) last: RefCell<Option<Vec<Value>>>,
}

impl LoopInfo {
    /// An attribute; `None` if it does not exist.
    pub(super) fn attr(&self, name: &str) -> Option<Value> {
        let index = self.index.get();
        let number = |n: usize| Value::Int(n as i128);
        Some(match name {
            "index" => number(index + 1),
            "index0" => number(index),
            "revindex" => number(self.items.len() - index),
            "revindex0" => number(self.items.len() - index - 1),
            "first" => Value::Bool(index == 0),
            "last" => Value::Bool(index + 1 == self.items.len()),
            "length" => number(self.items.len()),
            "depth" => number(self.level),
            "depth0" => number(self.level - 1),
            "previtem" => match index.checked_sub(1) {
                Some(before) => self.items[before].clone(),
                None => Value::Undefined,
            },
            "nextitem" => self.items.get(index + 1).cloned().unwrap_or(Value::Undefined),
            _ => return None,
        })
    }
}
