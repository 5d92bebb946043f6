//! The view of a JSON value through which schemas are checked: every step into it costs fuel.
//!
//! A short schema can ask for an exponential number of steps, and so can a short instance of an
//! innocent recursive schema. So work is counted where it happens. When the meter runs out, every
//! container looks empty from then on: the validator has nothing left to walk, comes back soon, and
//! its answer is thrown away. What it may still do without stepping into the instance is bounded by
//! the schema alone, see [`super::weigh`].

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp};
use serde_json::{Map, Number, Value};

use super::canonical::canonical;

/// Bytes of text that one unit pays for, beside what patterns cost.
const BYTES_PER_UNIT: u64 = 16;

/// The fuel of one validation.
#[derive(Debug)]
pub(super) struct Meter {
    left: Cell<u64>,
    used: Cell<u64>,
    spent: Cell<bool>,
    prices: Prices,
}

/// The cost of a step under a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prices {
    /// Units of stepping into one value.
    pub(super) step: u64,
    /// Hundredths of a unit of reading one byte of text, beside the usual.
    pub(super) text_percent: u64,
}

impl Meter {
    /// Creates a meter with `units`.
    pub(super) fn new(units: u64, prices: Prices) -> Self {
        Self { left: Cell::new(units), used: Cell::new(0), spent: Cell::new(false), prices }
    }

    /// Returns whether the meter ran out, so that no answer can be trusted.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.get()
    }

    /// Returns the fuel units paid so far.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }

    fn pay(&self, units: u64) -> bool {
        if self.spent.get() || units > self.left.get() {
            self.used.set(self.used.get() + self.left.get());
            self.left.set(0);
            self.spent.set(true);
            return false;
        }
        self.left.set(self.left.get() - units);
        self.used.set(self.used.get() + units);
        true
    }

    fn pay_step(&self) -> bool {
        self.pay(self.prices.step)
    }

    fn pay_text(&self, text: &str) -> bool {
        let len = text.len() as u64;
        self.pay(len / BYTES_PER_UNIT + len.saturating_mul(self.prices.text_percent) / 100)
    }
}

/// The representation.
#[derive(Debug)]
pub(super) struct Metered;

/// One value under a meter.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) value: &'a Value,
    pub(super) meter: &'a Meter,
}

impl<'a> View<'a> {
    fn inner(self, value: &'a Value) -> Self {
        Self { value, ..self }
    }
}

/// A property name that is validated as a value.
#[derive(Debug)]
pub(super) struct NameBuffer {
    name: Value,
    meter: Meter,
}

impl Default for NameBuffer {
    fn default() -> Self {
        // Names are paid for when the members are listed.
        let free = Prices { step: 0, text_percent: 0 };
        Self { name: Value::Null, meter: Meter::new(u64::MAX, free) }
    }
}

impl Json for Metered {
    type Node<'a> = View<'a>;
    type PreparedKey = String;
    type StringBuffer = NameBuffer;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut NameBuffer,
        string: &str,
        f: impl FnOnce(View<'_>) -> T,
    ) -> T {
        buffer.name = Value::from(string);
        f(View { value: &buffer.name, meter: &buffer.meter })
    }
}

impl<'a> Node<'a, Metered> for View<'a> {
    type Object = ObjectFields<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<ObjectFields<'a>> {
        let fields = self.value.as_object()?;
        (!self.meter.is_spent()).then_some(ObjectFields { fields, view: *self })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        let items = self.value.as_array()?;
        (!self.meter.is_spent()).then_some(Items { items, view: *self })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.value.as_str()?;
        self.meter.pay_text(text).then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.value.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        match self.value {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        // Walks the two in step, so the constant in the schema bounds it.
        cmp::equal(self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.value) as usize))
    }
}

/// The fields of an object.
pub(super) struct ObjectFields<'a> {
    fields: &'a Map<String, Value>,
    view: View<'a>,
}

impl<'a> Object<'a, Metered> for ObjectFields<'a> {
    type Node = View<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.fields.len()
    }

    fn get(&self, key: &String) -> Option<View<'a>> {
        let value = self.fields.get(key)?;
        self.view.meter.pay_step().then_some(self.view.inner(value))
    }

    fn members(&self) -> Members<'a> {
        Members { fields: self.fields.iter(), view: self.view }
    }
}

/// The fields one after the other.
pub(super) struct Members<'a> {
    fields: serde_json::map::Iter<'a>,
    view: View<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, View<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.fields.next()?;
        let meter = self.view.meter;
        (meter.pay_step() && meter.pay_text(name)).then(|| (name.as_str(), self.view.inner(value)))
    }
}

/// The items of an array.
pub(super) struct Items<'a> {
    items: &'a [Value],
    view: View<'a>,
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = View<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements { items: self.items.iter(), view: self.view }
    }

    /// Compares a canonical text of each item. The crate's own way hashes an item by its leaves
    /// alone, so that `[]`, `[[]]`, `[[], []]` and all their kin share one hash and an array of
    /// them takes quadratic time.
    fn is_unique(&self) -> bool {
        let meter = self.view.meter;
        let mut seen = HashSet::new();
        self.items.iter().all(|item| {
            let text = canonical(item);
            let fresh = meter.pay_step() && meter.pay(text.len() as u64 / 4);
            fresh && seen.insert(text)
        })
    }
}

/// The items one after the other.
pub(super) struct Elements<'a> {
    items: std::slice::Iter<'a, Value>,
    view: View<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        let item = self.items.next()?;
        self.view.meter.pay_step().then_some(self.view.inner(item))
    }
}
