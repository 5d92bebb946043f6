//! A JSON schema, compiled so that it can neither hang nor reach outside itself.

use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::metered::{Meter, Metered, Prices, View};
use super::parse::Document;
use super::refusal::Refusal;
use super::syntax::{Syntax, depth_of, typed_by};
use super::weigh::{self, SchemaCost};
use crate::Fuel;
use crate::pattern::cost::SIZE_LIMIT;

/// Keywords that one unit of fuel pays for.
const WEIGHT_PER_UNIT: u64 = 64;
/// Most frames that validation may stack: the longest chain of schemas for one value, times the
/// depth of the document. So many fit in 1 MiB of stack, and threads have 2.
const MAX_FRAMES: u64 = 1024;
/// Units that finding the place of an error may take. A budget of its own, so that asking for
/// details cannot change a verdict.
const EXPLAIN_UNITS: u64 = 20_000;
/// Characters of a message that are kept.
const MESSAGE_CHARS: usize = 200;

/// A compiled schema.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    validator: Arc<Validator<Metered>>,
    prices: Prices,
    chain: u32,
    /// The schema itself, where documents get their types by it.
    types: Option<Value>,
}

/// The result of validating a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Validation {
    Valid,
    /// Not valid; the place and the message, if requested and found within fuel.
    Mismatch(Option<String>),
    /// The fuel is spent.
    Spent,
    /// The document nests too deep for this schema.
    TooDeep,
}

impl Schema {
    /// Returns the cost of compiling `schema`, or why it is not used.
    pub(super) fn cost(schema: &Value) -> Result<SchemaCost, Refusal> {
        weigh::weigh(schema)
    }

    /// Compiles `schema`, whose cost is known. Nothing is fetched from anywhere.
    pub(super) fn compile(
        schema: &Value,
        cost: SchemaCost,
        formats: bool,
        syntax: Syntax,
    ) -> Result<Self, Refusal> {
        let draft = Draft::Draft202012.detect(schema);
        if draft == Draft::Unknown {
            let message = "`$schema` names no known draft".to_owned();
            return Err(Refusal::new("schema_draft", message));
        }
        let validator = jsonschema::options_for::<Metered>()
            .offline()
            .with_draft(draft)
            .should_validate_formats(formats)
            .with_pattern_options(PatternOptions::regex().size_limit(SIZE_LIMIT))
            .build(schema)
            .map_err(|error| {
                Refusal::new("schema_invalid", format!("no JSON Schema: {}", located(&error)))
            })?;
        Ok(Self {
            validator: Arc::new(validator),
            prices: Prices {
                step: 1 + cost.weight / WEIGHT_PER_UNIT,
                text_percent: cost.positions,
            },
            chain: cost.chain,
            types: syntax.is_untyped().then(|| schema.clone()),
        })
    }

    /// Checks `document`, whose values get the types that the schema names if they have none.
    pub(super) fn check(&self, document: &Document, fuel: &mut Fuel, explain: bool) -> Validation {
        let Some(types) = &self.types else { return self.check_typed(document, fuel, explain) };
        let value = typed_by(document.value.clone(), types);
        // An array that a type makes is a level more.
        let document = Document { depth: depth_of(&value), value };
        self.check_typed(&document, fuel, explain)
    }

    fn check_typed(&self, document: &Document, fuel: &mut Fuel, explain: bool) -> Validation {
        if u64::from(self.chain) * (document.depth as u64 + 1) > MAX_FRAMES {
            return Validation::TooDeep;
        }
        let meter = Meter::new(fuel.left(), self.prices);
        let valid = self.validator.is_valid(view(document, &meter));
        if fuel.spend(meter.used()).is_err() || meter.is_spent() {
            return Validation::Spent;
        }
        if valid {
            return Validation::Valid;
        }
        Validation::Mismatch(explain.then(|| self.explain(document)).flatten())
    }

    /// Returns the first error; `None` if finding it takes too long.
    fn explain(&self, document: &Document) -> Option<String> {
        let meter = Meter::new(EXPLAIN_UNITS, self.prices);
        let found = self.validator.validate(view(document, &meter)).err()?;
        (!meter.is_spent()).then(|| located(&found))
    }
}

fn view<'a>(document: &'a Document, meter: &'a Meter) -> View<'a> {
    View { value: &document.value, meter }
}

/// Returns the place and the message of an error, shortened.
fn located(error: &jsonschema::ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let place = if path.is_empty() { "the root" } else { &path };
    shortened(&format!("at {place}: {error}"))
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MESSAGE_CHARS).collect();
    if chars.next().is_some() {
        short.push_str("...");
    }
    short
}
