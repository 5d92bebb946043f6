//! Checks of JSON schemas before compilation: size, references and keyword types. Errors name the
//! place as a JSON pointer.

use serde_json::{Map, Value};

/// The deepest nesting of values.
const MAX_DEPTH: usize = 64;
/// The most values.
const MAX_VALUES: usize = 20_000;
/// The longest string or name, in bytes.
const MAX_TEXT: usize = 8 << 10;
/// The most bytes of all strings and names.
const MAX_BYTES: usize = 256 << 10;
/// The most values of one `enum`.
const MAX_ENUM: usize = 2_000;
/// The largest number of items, properties or characters.
const MAX_COUNT: u64 = 10_000;

/// The most properties of one object: optional ones are followed recursively.
const MAX_PROPERTIES: usize = 500;
/// The most uses of `pattern`, and names of `patternProperties`: each may cost a millisecond to
/// compile, and the latter are intersected with each other.
const MAX_PATTERNS: usize = 256;
const MAX_PATTERN_PROPERTIES: usize = 24;
/// The most automaton states for all uses of `multipleOf`.
const MAX_DIVISION: u64 = 20_000;

/// Supported drafts of JSON Schema.
const DRAFTS: [&str; 5] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
];

/// The JSON types.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Checks a schema's size, references and keywords.
///
/// # Errors
/// A message that begins with the place as a JSON pointer, such as `#/properties/a/type`.
pub(super) fn check_schema(schema: &Value) -> Result<(), String> {
    let mut size = Size::default();
    size.add(schema, 0).map_err(|what| format!("the schema has {what}"))?;
    if schema == &Value::Bool(false) {
        return Err("the schema is false: nothing satisfies it".to_owned());
    }
    let mut costs = Costs::default();
    costs.visit(schema, "#")
}

#[derive(Default)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.values += 1;
        if depth > MAX_DEPTH {
            return Err(format!("values nested more than {MAX_DEPTH} deep"));
        }
        if self.values > MAX_VALUES {
            return Err(format!("more than {MAX_VALUES} values"));
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, depth + 1)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.text(name)?;
                self.add(value, depth + 1)
            }),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        self.bytes += text.len();
        if text.len() > MAX_TEXT {
            return Err(format!("a text of {} bytes, more than {MAX_TEXT}", text.len()));
        }
        if self.bytes > MAX_BYTES {
            return Err(format!("more than {MAX_BYTES} bytes of text"));
        }
        Ok(())
    }
}

/// A visitor of all subschemas that adds up expensive keywords.
#[derive(Default)]
struct Costs {
    patterns: usize,
    divisions: Divisions,
}

impl Costs {
    fn visit(&mut self, schema: &Value, place: &str) -> Result<(), String> {
        match schema {
            Value::Bool(_) => Ok(()),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.keyword(fields, name, value, &pointer(place, name))
            }),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(format!("{place}: a schema is an object, true or false"))
            }
        }
    }

    fn keyword(
        &mut self,
        fields: &Map<String, Value>,
        name: &str,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        match name {
            "properties" => self.named(value, MAX_PROPERTIES, place),
            "patternProperties" => self.named(value, MAX_PATTERN_PROPERTIES, place),
            "$defs" | "definitions" => self.named(value, MAX_VALUES, place),
            "items" if value.is_array() => self.listed(value, place),
            "items" | "additionalItems" | "additionalProperties" => self.visit(value, place),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => self.listed(value, place),
            "multipleOf" => self.divisions.add(value, place),
            "pattern" => {
                self.patterns += 1;
                if self.patterns > MAX_PATTERNS {
                    return Err(format!("{place}: more than {MAX_PATTERNS} patterns"));
                }
                check_string(value, place)
            }
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties" => {
                check_count(name, value, place)?;
                in_order(fields, name, place)
            }
            _ => check_keyword(name, value, place),
        }
    }

    /// Visits at most `most` schemas by name.
    fn named(&mut self, value: &Value, most: usize, place: &str) -> Result<(), String> {
        let fields = value.as_object();
        let fields = fields.ok_or(format!("{place}: is not an object"))?;
        if fields.len() > most {
            let n = fields.len();
            return Err(format!("{place}: {n} names, more than {most}"));
        }
        fields.iter().try_for_each(|(name, schema)| self.visit(schema, &pointer(place, name)))
    }

    /// Visits a list of schemas.
    fn listed(&mut self, value: &Value, place: &str) -> Result<(), String> {
        let items = value.as_array().ok_or(format!("{place}: is not a list"))?;
        if items.is_empty() {
            return Err(format!("{place}: is empty"));
        }
        let mut items = items.iter().enumerate();
        items.try_for_each(|(at, schema)| self.visit(schema, &pointer(place, &at.to_string())))
    }
}

/// The uses of `multipleOf`. `allOf` combines divisors, so that the automaton may have to divide by
/// the least common multiple of all.
struct Divisions {
    uses: u64,
    multiple: u64,
}

impl Default for Divisions {
    fn default() -> Divisions {
        Divisions { uses: 0, multiple: 1 }
    }
}

impl Divisions {
    fn add(&mut self, value: &Value, place: &str) -> Result<(), String> {
        if !value.as_f64().is_some_and(|x| x > 0.0) {
            return Err(format!("{place}: {} is not a positive number", short(value)));
        }
        let too_much = || format!("{place}: {value} is too much to divide by");
        let (digits, places) = decimal(value).ok_or_else(too_much)?;
        self.multiple = self.multiple / gcd(self.multiple, digits) * digits;
        self.uses += 1;
        if self.uses * (self.multiple + 100 * places) > MAX_DIVISION {
            return Err(too_much());
        }
        Ok(())
    }
}

/// The significant digits of a positive number (at most 9,999) and the places that the point is
/// moved by (at most 6).
fn decimal(value: &Value) -> Option<(u64, u64)> {
    let text = format!("{}", value.as_f64()?);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_matches('0');
    let zeros = match fraction {
        "" => whole.len() - whole.trim_end_matches('0').len(),
        _ => fraction.len(),
    };
    let number: u64 = digits.parse().ok()?;
    let zeros = u64::try_from(zeros).ok()?;
    (number < 10_000 && zeros <= 6).then_some((number, zeros))
}

/// The greatest common divisor.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The JSON pointer (RFC 6901) of a field.
fn pointer(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Checks a keyword without subschemas.
fn check_keyword(name: &str, value: &Value, place: &str) -> Result<(), String> {
    match name {
        "x-guidance" => Err(format!("{place}: is no keyword of JSON Schema")),
        "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "minContains"
        | "maxContains"
        | "propertyNames"
        | "uniqueItems"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "$dynamicRef"
        | "$recursiveRef" => Err(format!("{place}: the keyword is not supported")),
        "$ref" => check_reference(value, place),
        "$schema" => match value.as_str().map(|uri| uri.trim_end_matches('#')) {
            Some(uri) if DRAFTS.contains(&uri) => Ok(()),
            _ => Err(format!("{place}: {} is no draft that is known", short(value))),
        },
        "type" => types(value, place),
        "enum" => match value.as_array().map(Vec::len) {
            Some(1..=MAX_ENUM) => Ok(()),
            Some(0) => Err(format!("{place}: is empty, so that nothing satisfies it")),
            Some(n) => Err(format!("{place}: {n} values, more than {MAX_ENUM}")),
            None => Err(format!("{place}: is not a list")),
        },
        "required" => {
            let names = value.as_array().ok_or(format!("{place}: is not a list"))?;
            if names.iter().all(Value::is_string) {
                return Ok(());
            }
            Err(format!("{place}: holds something that is no name"))
        }
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => Ok(()),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => match value.as_f64() {
            Some(x) if x.abs() < 1e15 => Ok(()),
            Some(_) => Err(format!("{place}: {value} is out of range, which ends at 1e15")),
            None => Err(format!("{place}: {} is not a number", short(value))),
        },
        "format" | "$id" | "$anchor" => check_string(value, place),
        // Other keywords are annotations.
        _ => Ok(()),
    }
}

/// Refuses an empty text, and one longer than `most` bytes.
pub(super) fn check_length(what: &str, text: &str, most: usize) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("{what} is empty"));
    }
    if text.len() > most {
        return Err(format!("{what} has {} bytes, more than {most}", text.len()));
    }
    Ok(())
}

fn check_string(value: &Value, place: &str) -> Result<(), String> {
    let text = value.as_str();
    let text = text.ok_or_else(|| format!("{place}: {} is not a text", short(value)))?;
    check_length(&format!("{place}: the text"), text, MAX_TEXT)
}

fn check_reference(value: &Value, place: &str) -> Result<(), String> {
    match value.as_str() {
        Some(target) if target.starts_with('#') => Ok(()),
        Some(target) => Err(format!(
            "{place}: {target:?} is outside the schema; only references that begin with # are followed"
        )),
        None => Err(format!("{place}: is not a text")),
    }
}

fn types(value: &Value, place: &str) -> Result<(), String> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let all = match value.as_array() {
        Some(names) => !names.is_empty() && names.iter().all(known),
        None => known(value),
    };
    if all {
        return Ok(());
    }
    Err(format!("{place}: {} is none of {}", short(value), TYPES.join(", ")))
}

fn check_count(name: &str, value: &Value, place: &str) -> Result<(), String> {
    match value.as_u64() {
        Some(..=MAX_COUNT) => Ok(()),
        Some(n) => {
            Err(format!("{place}: {n} is more than {MAX_COUNT}, the largest {name} that is taken"))
        }
        None => Err(format!("{place}: {} is not a count", short(value))),
    }
}

/// Checks that a minimum does not exceed its maximum.
fn in_order(fields: &Map<String, Value>, name: &str, place: &str) -> Result<(), String> {
    let Some(what) = name.strip_prefix("min") else {
        return Ok(());
    };
    let bound = |name: &str| fields.get(name).and_then(Value::as_u64);
    match (bound(name), bound(&format!("max{what}"))) {
        (Some(least), Some(most)) if least > most => {
            Err(format!("{place}: {least} is more than max{what}, {most}: nothing satisfies both"))
        }
        _ => Ok(()),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
