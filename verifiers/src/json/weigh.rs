//! The cost of a JSON schema, computed before it is compiled, and what a schema may not contain.
//!
//! A schema applies keywords either to the value at hand (`allOf`, `anyOf`, `$ref`, …) or to the
//! values inside it (`properties`, `items`, …). Steps of the second kind are metered while they
//! happen, see [`super::metered`]. Steps of the first kind cost no fuel then, so they are counted
//! here: [`Weight`] is how many keywords a schema can make the validator look at without stepping
//! into the value. Thirty definitions of which each refers twice to the one before make a billion.
//!
//! ```text
//!   {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"x": {…}}}]}
//!              `---- in place ----'                   `-- inside, metered
//! ```

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::reference::fragment;
use super::refusal::Refusal;
use crate::accepted::quoted;
use crate::pattern::cost::PatternCost;

/// Most keywords that a schema may apply to one value.
const MAX_WEIGHT: u64 = 16_384;
/// Longest chain of schemas that apply to one value, also the bound of the recursion here.
const MAX_CHAIN: u32 = 64;
/// Deepest nesting of a schema.
const MAX_DEPTH: u32 = 64;
/// Largest schema, about its size as compact JSON.
const MAX_BYTES: u64 = 256 << 10;
/// Most units of fuel that reading and compiling all patterns of a schema may ask for.
const MAX_PATTERN_UNITS: u64 = 500_000;

/// Values to which the schemas under a keyword apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppliesTo {
    /// To the value at hand.
    Here,
    /// To values inside it.
    Inside,
    /// Nowhere, until something refers to them.
    Apart,
}

/// Layout of a keyword's schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaLayout {
    /// One schema, or a list of schemas.
    Direct,
    /// By name.
    Named,
}

/// The keywords of all drafts that hold schemas.
const APPLICATORS: [(&str, AppliesTo, SchemaLayout); 22] = [
    ("allOf", AppliesTo::Here, SchemaLayout::Direct),
    ("anyOf", AppliesTo::Here, SchemaLayout::Direct),
    ("oneOf", AppliesTo::Here, SchemaLayout::Direct),
    ("not", AppliesTo::Here, SchemaLayout::Direct),
    ("if", AppliesTo::Here, SchemaLayout::Direct),
    ("then", AppliesTo::Here, SchemaLayout::Direct),
    ("else", AppliesTo::Here, SchemaLayout::Direct),
    ("dependentSchemas", AppliesTo::Here, SchemaLayout::Named),
    ("dependencies", AppliesTo::Here, SchemaLayout::Named),
    ("properties", AppliesTo::Inside, SchemaLayout::Named),
    ("patternProperties", AppliesTo::Inside, SchemaLayout::Named),
    ("additionalProperties", AppliesTo::Inside, SchemaLayout::Direct),
    ("unevaluatedProperties", AppliesTo::Inside, SchemaLayout::Direct),
    ("propertyNames", AppliesTo::Inside, SchemaLayout::Direct),
    ("items", AppliesTo::Inside, SchemaLayout::Direct),
    ("prefixItems", AppliesTo::Inside, SchemaLayout::Direct),
    ("additionalItems", AppliesTo::Inside, SchemaLayout::Direct),
    ("unevaluatedItems", AppliesTo::Inside, SchemaLayout::Direct),
    ("contains", AppliesTo::Inside, SchemaLayout::Direct),
    ("contentSchema", AppliesTo::Inside, SchemaLayout::Direct),
    ("$defs", AppliesTo::Apart, SchemaLayout::Named),
    ("definitions", AppliesTo::Apart, SchemaLayout::Named),
];

/// The cost of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SchemaCost {
    /// Most keywords that apply to one value.
    pub(super) weight: u64,
    /// Longest chain of schemas that apply to one value.
    pub(super) chain: u32,
    /// Positions of the largest pattern.
    pub(super) positions: u64,
    /// Units of compiling it.
    pub(super) compile_units: u64,
}

/// Returns the size of `schema`, about that of its compact JSON, within the limits of size and
/// depth.
pub(super) fn bytes(schema: &Value) -> Result<u64, Refusal> {
    let mut bytes = 0;
    let mut open = vec![(schema, 0)];
    while let Some((value, depth)) = open.pop() {
        bytes += 2;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => bytes += 4,
            Value::String(text) => bytes += text.len() as u64,
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => {
                bytes += fields.keys().map(|key| key.len() as u64 + 4).sum::<u64>();
                open.extend(fields.values().map(|field| (field, depth + 1)));
            }
        }
        if depth > MAX_DEPTH || bytes > MAX_BYTES {
            let message = format!("more than {MAX_DEPTH} levels or {MAX_BYTES} bytes");
            return Err(Refusal::new("schema_too_large", message));
        }
    }
    Ok(bytes)
}

/// Returns the cost of `schema`, or why it is not used.
pub(super) fn weigh(schema: &Value) -> Result<SchemaCost, Refusal> {
    let compile_units = bytes(schema)?;
    let mut survey = Survey {
        root: schema,
        schemas: Vec::new(),
        anchors: HashMap::new(),
        cost: SchemaCost { compile_units, ..SchemaCost::default() },
    };
    survey.explore()?;
    let mut scale = SchemaWeigher { survey: &survey, known: HashMap::new(), open: HashSet::new() };
    let mut cost = survey.cost;
    for schema in &survey.schemas {
        let weight = scale.weigh(schema, 0)?;
        cost.weight = cost.weight.max(weight.validity).max(weight.errors);
        cost.chain = cost.chain.max(weight.chain);
    }
    if cost.weight > MAX_WEIGHT {
        let message = format!("it applies more than {MAX_WEIGHT} keywords to one value");
        return Err(Refusal::new("schema_too_complex", message));
    }
    Ok(cost)
}

/// Returns the schemas directly under `schema`, with their places.
fn applied(fields: &Map<String, Value>) -> impl Iterator<Item = (AppliesTo, &Value)> {
    fields.iter().flat_map(|(keyword, value)| {
        let known = APPLICATORS.iter().find(|(name, ..)| name == keyword);
        let schemas: Vec<&Value> = match (known, value) {
            (None, _) => Vec::new(),
            (Some((.., SchemaLayout::Named)), Value::Object(named)) => named.values().collect(),
            (Some((.., SchemaLayout::Direct)), Value::Array(list)) => list.iter().collect(),
            (Some(_), _) => vec![value],
        };
        let place = known.map_or(AppliesTo::Apart, |(_, place, _)| *place);
        schemas.into_iter().map(move |schema| (place, schema))
    })
}

/// Finds every schema of a document.
struct Survey<'s> {
    root: &'s Value,
    /// Every schema that applies, or may be referred to.
    schemas: Vec<&'s Value>,
    anchors: HashMap<&'s str, &'s Value>,
    cost: SchemaCost,
}

impl<'s> Survey<'s> {
    fn explore(&mut self) -> Result<(), Refusal> {
        let mut seen = HashSet::new();
        let mut open = vec![self.root];
        while let Some(schema) = open.pop() {
            // The same place may be reached as a schema and through a pointer.
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            self.schemas.push(schema);
            let Value::Object(fields) = schema else {
                continue;
            };
            self.inspect(schema, fields)?;
            open.extend(applied(fields).map(|(_, inner)| inner));
            if let Some(pointer) = fragment(fields)?
                && let Some(target) = self.pointed(&pointer)
            {
                open.push(target);
            }
        }
        Ok(())
    }

    /// Records the anchor and the patterns of one schema, and refuses unsupported keywords.
    fn inspect(
        &mut self,
        schema: &'s Value,
        fields: &'s Map<String, Value>,
    ) -> Result<(), Refusal> {
        let nested = !std::ptr::eq(schema, self.root);
        for keyword in ["$id", "id", "$schema"] {
            if nested && fields.get(keyword).is_some_and(Value::is_string) {
                let message = format!("`{keyword}` below the root of the schema");
                return Err(Refusal::new("schema_unsupported", message));
            }
        }
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if fields.contains_key(keyword) {
                let message = format!("`{keyword}`; use `$ref`");
                return Err(Refusal::new("schema_unsupported", message));
            }
        }
        if let Some(Value::String(anchor)) = fields.get("$anchor") {
            self.anchors.insert(anchor, schema);
        }
        let names = fields
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str);
        let pattern = fields.get("pattern").and_then(Value::as_str);
        for pattern in names.chain(pattern) {
            self.add_pattern(pattern)?;
        }
        Ok(())
    }

    fn add_pattern(&mut self, pattern: &str) -> Result<(), Refusal> {
        self.add_pattern_units(PatternCost::reading_units(pattern))?;
        let cost = PatternCost::guess(pattern)
            .map_err(|message| Refusal::new("schema_pattern", message))?;
        self.cost.positions = self.cost.positions.max(cost.positions);
        self.add_pattern_units(cost.compile_units())
    }

    fn add_pattern_units(&mut self, units: u64) -> Result<(), Refusal> {
        self.cost.compile_units = self.cost.compile_units.saturating_add(units);
        if self.cost.compile_units > MAX_BYTES + MAX_PATTERN_UNITS {
            return Err(Refusal::new("schema_pattern", "the patterns are too large".into()));
        }
        Ok(())
    }

    /// Returns the schema at a fragment that is a JSON pointer.
    fn pointed(&self, fragment: &str) -> Option<&'s Value> {
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        self.root.pointer(fragment).filter(|_| is_pointer)
    }

    fn target(&self, fragment: &str) -> Result<&'s Value, Refusal> {
        self.pointed(fragment).or_else(|| self.anchors.get(fragment).copied()).ok_or_else(|| {
            let message = format!("$ref to {}, which is not in the schema", quoted(fragment));
            Refusal::new("schema_ref", message)
        })
    }
}

/// Number of keywords that a schema applies to one value, by the validator's operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Weight {
    /// To find whether the value is valid.
    validity: u64,
    /// To find which fields or items were looked at, for `unevaluatedProperties` and its kin: that
    /// validates each part again, on every level.
    marking: u64,
    /// To collect errors: alternatives are tried first, then report their errors.
    errors: u64,
    chain: u32,
}

impl Weight {
    /// Returns the weight of a schema without parts.
    fn flat(own: u64) -> Self {
        Self { validity: own, marking: own, errors: own, chain: 1 }
    }
}

/// Weighs schemas, each once.
struct SchemaWeigher<'a, 's> {
    survey: &'a Survey<'s>,
    known: HashMap<*const Value, Weight>,
    /// Schemas being weighed: to meet one again is a loop.
    open: HashSet<*const Value>,
}

impl<'s> SchemaWeigher<'_, 's> {
    fn weigh(&mut self, schema: &'s Value, chain: u32) -> Result<Weight, Refusal> {
        let at = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&at) {
            return Ok(*known);
        }
        if chain >= MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} schemas in a chain for one value");
            return Err(Refusal::new("schema_too_complex", message));
        }
        if !self.open.insert(at) {
            let message = "a schema that refers to itself without stepping into the value";
            return Err(Refusal::new("schema_loop", message.to_owned()));
        }
        let weight = match schema {
            Value::Object(fields) => self.weigh_fields(fields, chain)?,
            // A list of names where older drafts allow one for a schema.
            Value::Array(names) => Weight::flat(1 + names.len() as u64),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Weight::flat(1),
        };
        self.open.remove(&at);
        self.known.insert(at, weight);
        Ok(weight)
    }

    fn weigh_fields(
        &mut self,
        fields: &'s Map<String, Value>,
        chain: u32,
    ) -> Result<Weight, Refusal> {
        let mut sum = Weight::flat(own_weight(fields));
        let mut deepest = 0;
        let target = match fragment(fields)? {
            Some(fragment) => Some(self.survey.target(&fragment)?),
            None => None,
        };
        let here = applied(fields).filter(|(place, _)| *place == AppliesTo::Here);
        for part in here.map(|(_, part)| part).chain(target) {
            let part = self.weigh(part, chain + 1)?;
            sum.marking = sum.marking.saturating_add(part.validity).saturating_add(part.marking);
            sum.errors = sum.errors.saturating_add(part.validity).saturating_add(part.errors);
            sum.validity = sum.validity.saturating_add(part.validity);
            deepest = deepest.max(part.chain);
        }
        let marks = ["unevaluatedProperties", "unevaluatedItems"];
        if marks.iter().any(|keyword| fields.contains_key(*keyword)) {
            sum.validity = sum.validity.saturating_add(sum.marking);
        }
        sum.chain += deepest;
        Ok(sum)
    }
}

/// Returns the keywords of one schema, the entries of those that hold several, and the size of
/// constants.
fn own_weight(fields: &Map<String, Value>) -> u64 {
    let mut weight = 1;
    for (keyword, value) in fields {
        let is_applicator = APPLICATORS.iter().any(|(name, ..)| name == keyword);
        weight += 1;
        if is_applicator {
            weight += entries(value);
            continue;
        }
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            weight += 1 + value.as_str().map_or(0, |text| text.len() as u64 / 64);
            open.extend(value.as_array().into_iter().flatten());
            open.extend(value.as_object().into_iter().flat_map(Map::values));
        }
    }
    weight
}

fn entries(value: &Value) -> u64 {
    let entries = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    };
    entries as u64
}
