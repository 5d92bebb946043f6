//! Limits of a render: steps and memory, both counted.
//!
//! A template is a program. It can loop for ever, double a string until memory is exhausted, or
//! build a list so deep that freeing it overflows the stack. Each value is therefore made through
//! the [`Heap`], which charges its bytes while it lives and bounds its depth, and every step of the
//! evaluator is charged, work on long strings in proportion to their length.

use std::cell::Cell;
use std::rc::Rc;

use super::charge::Charge;
use super::error::{RenderError, RenderErrorKind};
use super::value::{Generator, Map, Seq, Str, Value, deeper};
use crate::text::Text;

/// The limits of one render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderLimits {
    /// Steps: syntax nodes evaluated, list items made, and one for every 256 bytes copied or
    /// searched, names of variables included, or 8 bytes examined character by character. A step
    /// takes about 0.1 µs.
    pub steps: u64,
    /// Bytes held at once by values that the template made.
    pub live_bytes: usize,
    /// Bytes of the rendered prompt.
    pub output_bytes: usize,
}

impl Default for RenderLimits {
    /// 10 million steps (about a second), 64 MiB of values, 16 MiB of prompt.
    fn default() -> RenderLimits {
        RenderLimits { steps: 10_000_000, live_bytes: 64 << 20, output_bytes: 16 << 20 }
    }
}

/// The cost of a list item or map entry beside its own bytes.
const ITEM_BYTES: usize = size_of::<Value>() * 2;
/// Bytes that one step copies or searches.
const BYTES_A_STEP: usize = 256;
/// Bytes that one step maps or compares character by character, or prepares to search for.
const BYTES_A_CHAR_STEP: usize = 8;
/// Bytes that comparing one name with another reads beside the name's own.
const NAME_BYTES: usize = 16;

/// Makes values and counts their cost.
pub(super) struct Heap {
    limits: RenderLimits,
    steps_left: Cell<u64>,
    live: Rc<Cell<usize>>,
}

impl Heap {
    pub(super) fn new(limits: RenderLimits) -> Heap {
        Heap { limits, steps_left: Cell::new(limits.steps), live: Rc::new(Cell::new(0)) }
    }

    pub(super) fn limits(&self) -> &RenderLimits {
        &self.limits
    }

    /// Charges `n` steps.
    pub(super) fn steps(&self, n: u64) -> Result<(), RenderError> {
        let Some(left) = self.steps_left.get().checked_sub(n) else {
            self.steps_left.set(0);
            return Err(RenderErrorKind::Steps(self.limits.steps).into());
        };
        self.steps_left.set(left);
        Ok(())
    }

    /// Charges for reading or copying `bytes`.
    pub(super) fn work(&self, bytes: usize) -> Result<(), RenderError> {
        self.steps(1 + (bytes / BYTES_A_STEP) as u64)
    }

    /// Charges for examining every character of `bytes`, which costs far more than copying them.
    pub(super) fn chars(&self, bytes: usize) -> Result<(), RenderError> {
        self.steps(1 + (bytes / BYTES_A_CHAR_STEP) as u64)
    }

    /// Charges for comparing `name` with `others` names, as if each began with it.
    pub(super) fn search(&self, name: &str, others: usize) -> Result<(), RenderError> {
        let bytes = others.saturating_mul(NAME_BYTES + name.len());
        self.steps((bytes / BYTES_A_STEP) as u64)
    }

    /// Refuses, before allocation, a result of `bytes` that exceeds the limit.
    pub(super) fn room(&self, bytes: usize) -> Result<(), RenderError> {
        self.grow(0, bytes)
    }

    /// Refuses, before allocation, a list of `texts` strings that exceeds the limit.
    pub(super) fn room_for(&self, texts: usize) -> Result<(), RenderError> {
        self.room(texts.saturating_mul(2 * ITEM_BYTES))
    }

    /// Refuses to append `more` bytes to a buffer of `held` bytes if the sum exceeds the limit, and
    /// charges for the copy.
    pub(super) fn grow(&self, held: usize, more: usize) -> Result<(), RenderError> {
        let total = held.checked_add(more).and_then(|bytes| bytes.checked_add(self.live.get()));
        match total {
            Some(total) if total <= self.limits.live_bytes => self.work(more),
            _ => Err(RenderErrorKind::Memory(self.limits.live_bytes).into()),
        }
    }

    /// Claims `bytes` for as long as the charge lives.
    pub(super) fn charge(&self, bytes: usize) -> Result<Charge, RenderError> {
        self.room(bytes)?;
        Ok(Charge::new(&self.live, bytes))
    }

    /// A string value.
    pub(super) fn text(&self, text: Text) -> Result<Value, RenderError> {
        let charge = self.charge(text.len() + text.marks().len() * ITEM_BYTES + ITEM_BYTES)?;
        Ok(Value::Str(Rc::new(Str { text, _charge: Some(charge) })))
    }

    /// A string value with the template's origin.
    pub(super) fn str(&self, string: impl Into<String>) -> Result<Value, RenderError> {
        self.text(Text::template(string))
    }

    /// A list value.
    pub(super) fn list(&self, items: Vec<Value>) -> Result<Value, RenderError> {
        self.seq(items, false, false)
    }

    /// A tuple value.
    pub(super) fn tuple(&self, items: Vec<Value>) -> Result<Value, RenderError> {
        self.seq(items, true, false)
    }

    /// A pair of `groupby`: a key and the list of the items that have it.
    pub(super) fn group(&self, key: Value, items: Value) -> Result<Value, RenderError> {
        self.seq(vec![key, items], true, true)
    }

    fn seq(&self, items: Vec<Value>, tuple: bool, group: bool) -> Result<Value, RenderError> {
        let (depth, charge) = self.admit(&items, items.capacity())?;
        Ok(Value::Seq(Rc::new(Seq { items, tuple, group, depth, _charge: Some(charge) })))
    }

    /// The result of a filter that is a generator or an iterator in Python.
    pub(super) fn generator(&self, items: Vec<Value>) -> Result<Value, RenderError> {
        let (depth, charge) = self.admit(&items, items.capacity())?;
        Ok(Value::Generator(Rc::new(Generator::new(items, depth, charge))))
    }

    /// The depth of a value that holds `items`, and a charge for room for `capacity` of them.
    fn admit(&self, items: &[Value], capacity: usize) -> Result<(u32, Charge), RenderError> {
        self.steps(items.len() as u64 / 8)?;
        let charge = self.charge((capacity + 1) * ITEM_BYTES)?;
        Ok((deeper(items.iter())?, charge))
    }

    /// A map value; the keys must differ.
    pub(super) fn map(&self, entries: Vec<(Value, Value)>) -> Result<Value, RenderError> {
        self.steps(entries.len() as u64 / 4)?;
        let charge = self.charge((entries.capacity() + 1) * 2 * ITEM_BYTES)?;
        let depth = deeper(entries.iter().flat_map(|(k, v)| [k, v]))?;
        Ok(Value::Map(Rc::new(Map { entries, depth, _charge: Some(charge) })))
    }
}
