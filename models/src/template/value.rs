//! The values of the template language: Python's, as far as chat templates see them.

use std::cmp::Ordering;
use std::rc::Rc;

use super::error::{RenderError, invalid};
use super::eval::looping::LoopInfo;
use super::heap::{Charge, Heap, deeper};
use super::text::{Origin, Text};

/// A string value.
pub(super) struct Str {
    pub(super) text: Text,
    pub(super) _charge: Option<Charge>,
}

/// A list or a tuple.
pub(super) struct Seq {
    pub(super) items: Vec<Value>,
    pub(super) tuple: bool,
    pub(super) depth: u32,
    pub(super) _charge: Option<Charge>,
}

/// A map, in the order of insertion.
pub(super) struct Map {
    pub(super) entries: Vec<(Value, Value)>,
    pub(super) depth: u32,
    pub(super) _charge: Option<Charge>,
}

/// A function that the environment offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Range,
    Namespace,
    Dict,
    RaiseException,
    StrftimeNow,
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
            Value::Namespace(_) | Value::Macro(_) | Value::Builtin(_) | Value::Method(_) => true,
        }
    }

    /// How deep it nests; 0 for what holds nothing.
    pub(super) fn depth(&self) -> u32 {
        match self {
            Value::Seq(s) => s.depth,
            Value::Map(m) => m.depth,
            Value::Method(m) => m.0.depth() + 1,
            Value::Loop(info) => info.depth + 1,
            Value::Undefined
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_) => 0,
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
            Value::Namespace(_) => "namespace",
            Value::Macro(_) | Value::Builtin(_) | Value::Method(_) => "function",
            Value::Loop(_) => "loop",
        }
    }

    /// The text of a string.
    pub(super) fn as_text(&self) -> Option<&Text> {
        match self {
            Value::Str(s) => Some(&s.text),
            Value::Undefined
            | Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Seq(_)
            | Value::Map(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Loop(_) => None,
        }
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
        match self {
            Value::Bool(b) => Some(i128::from(*b)),
            Value::Int(i) => Some(*i),
            Value::Undefined
            | Value::None
            | Value::Float(_)
            | Value::Str(_)
            | Value::Seq(_)
            | Value::Map(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Builtin(_)
            | Value::Method(_)
            | Value::Loop(_) => None,
        }
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
        if level > super::heap::MAX_DEPTH {
            return Err(super::error::Fault::Depth(super::heap::MAX_DEPTH).into());
        }
        Ok(match json {
            serde_json::Value::Null => Value::None,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(n) => number(n),
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

    /// A string of the caller's, which no budget is charged for.
    pub(super) fn given(string: &str, origin: Origin) -> Value {
        Value::Str(Rc::new(Str { text: Text::new(string, origin), _charge: None }))
    }

    /// A list of the caller's.
    pub(super) fn given_list(items: Vec<Value>) -> Result<Value, RenderError> {
        Ok(Value::Seq(Rc::new(Seq {
            depth: deeper(items.iter())?,
            items,
            tuple: false,
            _charge: None,
        })))
    }

    /// A map of the caller's.
    pub(super) fn given_map(entries: Vec<(Value, Value)>) -> Result<Value, RenderError> {
        Ok(Value::Map(Rc::new(Map {
            depth: deeper(entries.iter().flat_map(|(k, v)| [k, v]))?,
            entries,
            _charge: None,
        })))
    }
}

fn number(n: &serde_json::Number) -> Value {
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

/// Python's `==`. Origins do not count.
pub(super) fn equal(heap: &Heap, a: &Value, b: &Value) -> Result<bool, RenderError> {
    heap.steps(1)?;
    Ok(match (a, b) {
        (Value::Undefined, Value::Undefined) | (Value::None, Value::None) => true,
        (Value::Str(a), Value::Str(b)) => {
            heap.work(a.text.len().min(b.text.len()))?;
            a.text.as_str() == b.text.as_str()
        }
        (Value::Seq(a), Value::Seq(b)) => {
            a.tuple == b.tuple && a.items.len() == b.items.len() && {
                let mut same = true;
                for (a, b) in a.items.iter().zip(&b.items) {
                    same = same && equal(heap, a, b)?;
                }
                same
            }
        }
        (Value::Map(a), Value::Map(b)) => {
            a.entries.len() == b.entries.len() && {
                let mut same = true;
                for (key, value) in &a.entries {
                    same = same
                        && match lookup(heap, b, key)? {
                            Some(other) => equal(heap, value, &other)?,
                            None => false,
                        };
                }
                same
            }
        }
        (Value::Namespace(a), Value::Namespace(b)) | (Value::Macro(a), Value::Macro(b)) => a == b,
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (a, b) => match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => a.partial_cmp(&b) == Some(Ordering::Equal),
                _ => false,
            },
        },
    })
}

/// The value of a map under `key`, paid for by the entries that were passed.
pub(super) fn lookup(heap: &Heap, map: &Map, key: &Value) -> Result<Option<Value>, RenderError> {
    if let Some(key) = key.as_str() {
        heap.steps(1 + map.entries.len() as u64 / 16)?;
        return Ok(map.get(key).cloned());
    }
    if matches!(key, Value::Seq(s) if !s.tuple) || matches!(key, Value::Map(_)) {
        return Err(invalid(format!("{} cannot be a key", key.kind())));
    }
    for (k, v) in &map.entries {
        if equal(heap, k, key)? {
            return Ok(Some(v.clone()));
        }
    }
    Ok(None)
}

/// Python's `<`, `<=`, `>`, `>=`, for what can be ordered; `None` where a float is not a number.
pub(super) fn order(heap: &Heap, a: &Value, b: &Value) -> Result<Option<Ordering>, RenderError> {
    heap.steps(1)?;
    if let (Value::Str(a), Value::Str(b)) = (a, b) {
        heap.work(a.text.len().min(b.text.len()))?;
        return Ok(Some(a.text.as_str().cmp(b.text.as_str())));
    }
    if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
        return Ok(Some(a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) {
        return Ok(a.partial_cmp(&b));
    }
    if let (Value::Seq(a), Value::Seq(b)) = (a, b)
        && a.tuple == b.tuple
    {
        for (a, b) in a.items.iter().zip(&b.items) {
            if !equal(heap, a, b)? {
                return order(heap, a, b);
            }
        }
        return Ok(Some(a.items.len().cmp(&b.items.len())));
    }
    Err(invalid(format!("{} and {} cannot be ordered", a.kind(), b.kind())))
}
