//! `json`: well-formed JSON, of a given shape.
//!
//! A schema describes the shape of a document, not whether its content is right.

mod canonical;
mod fence;
mod metered;
mod parse;
mod reference;
mod refusal;
mod schema;
mod weigh;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accepted::{Accepted, candidate, charge_gold, quoted, scan_cost, too_costly};
use crate::{Claim, ConfigError, Fuel, Gold, Reason, Verdict, Verifier, VerifierId, VerifyError};
use fence::unfenced;
use parse::{Document, Malformed, parse_document};
use refusal::Refusal;
use schema::{Schema, Validation};

/// Bytes of JSON that one unit of fuel parses.
const BYTES_PER_UNIT: u64 = 8;

/// Accepted JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonConfig {
    /// The schema; the gold answer is then not used. None, the default, takes the gold answer as
    /// the schema: an object, a text that holds one, or any of several texts. With no schema at
    /// all, being well formed is enough.
    pub schema: Option<Value>,
    /// Whether the document may stand in one fenced block, marked `json` or not marked. On by
    /// default.
    pub allow_fence: bool,
    /// Whether `format` is checked, for the names that every validator knows. Off by default, as
    /// in draft 2020-12, where `format` is a note.
    pub formats: bool,
}

impl Default for JsonConfig {
    fn default() -> Self {
        Self { schema: None, allow_fence: true, formats: false }
    }
}

/// Right when the candidate is JSON without duplicate keys and, where there is a schema, has its
/// shape.
///
/// The draft is 2020-12 unless `$schema` names another one. References stay inside the schema, and
/// patterns run on the linear-time engine, without look-around and back-references.
#[derive(Debug, Clone)]
pub struct JsonVerifier {
    fixed: Option<Schema>,
    allow_fence: bool,
    formats: bool,
}

impl JsonVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// [`ConfigError::Schema`] when the configured schema cannot be used.
    pub fn new(config: JsonConfig) -> Result<Self, ConfigError> {
        let fixed = config.schema.map(|schema| {
            let cost = Schema::cost(&schema)?;
            Schema::compile(&schema, cost, config.formats)
        });
        let fixed = fixed.transpose().map_err(|refusal| ConfigError::Schema {
            code: refusal.code,
            message: refusal.message,
        })?;
        Ok(Self { fixed, allow_fence: config.allow_fence, formats: config.formats })
    }

    /// Returns the schema that a gold answer holds, or why it holds none.
    fn gold_schema(
        &self,
        schema: Result<&Value, Refusal>,
        fuel: &mut Fuel,
    ) -> Result<Result<Schema, Reason>, VerifyError> {
        let priced = schema.and_then(|schema| Ok((schema, Schema::cost(schema)?)));
        let (schema, cost) = match priced {
            Ok(priced) => priced,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        charge_gold(fuel, cost.compile_units)?;
        Ok(Schema::compile(schema, cost, self.formats).map_err(Reason::from))
    }

    /// Reads the candidate, or gives the verdict on one that cannot be read.
    fn read(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Document, Verdict> {
        let text = candidate(claim.candidate, fuel, parse_cost)?;
        let content = if self.allow_fence {
            unfenced(text)
        } else {
            fence::FencedText { text, lines_before: 0 }
        };
        parse_document(content.text)
            .map_err(|malformed| refused(&malformed, content.lines_before, claim.explain))
    }
}

impl Verifier for JsonVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "json", revision: 1 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let one = |schema: Option<&Schema>, fuel: &mut Fuel| {
            judge_document(schema, &self.read(claim, fuel), fuel, claim.explain)
        };
        if let Some(schema) = &self.fixed {
            return Ok(one(Some(schema), fuel));
        }
        match claim.gold {
            Gold::Missing => Ok(one(None, fuel)),
            Gold::Object(fields) => {
                let schema = Value::Object(fields.clone());
                match self.gold_schema(Ok(&schema), fuel)? {
                    Ok(schema) => Ok(one(Some(&schema), fuel)),
                    Err(reason) => Err(VerifyError::BadReference(reason)),
                }
            }
            Gold::Text(_) | Gold::AnyOf(_) => self.verify_texts(claim, fuel),
        }
    }
}

impl JsonVerifier {
    fn verify_texts(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let accepted = Accepted::of(claim.gold)?;
        // All schemas are compiled before any is applied, so that the cost of the candidate is
        // never taken for the cost of the reference.
        let mut schemas = Vec::new();
        for text in accepted.texts() {
            charge_gold(fuel, parse_cost(text))?;
            let parsed = parse_document(text);
            let schema = match &parsed {
                Ok(document) => Ok(&document.value),
                Err(malformed) => Err(unreadable_schema(malformed)),
            };
            schemas.push(self.gold_schema(schema, fuel)?);
        }
        let document = self.read(claim, fuel);
        let mut schemas = schemas.into_iter();
        accepted.judge(|_| {
            let schema = schemas.next().expect("one schema for each text")?;
            Ok(judge_document(Some(&schema), &document, fuel, claim.explain))
        })
    }
}

fn judge_document(
    schema: Option<&Schema>,
    document: &Result<Document, Verdict>,
    fuel: &mut Fuel,
    explain: bool,
) -> Verdict {
    let document = match document {
        Ok(document) => document,
        Err(verdict) => return verdict.clone(),
    };
    match schema.map_or(Validation::Valid, |schema| schema.check(document, fuel, explain)) {
        Validation::Valid => Verdict::proven(true, "valid", Reason::code("json_valid")),
        Validation::Spent => too_costly(),
        Validation::TooDeep => Verdict::presumed_wrong("too_costly", Reason::code("too_deep")),
        Validation::Mismatch(detail) => {
            let reason = Reason::explained("schema_mismatch", explain, || {
                detail.unwrap_or_else(|| "the place of the mismatch takes too long to find".into())
            });
            Verdict::proven(false, "invalid", reason)
        }
    }
}

/// Returns the verdict on a text that is not JSON.
fn refused(malformed: &Malformed, lines_before: usize, explain: bool) -> Verdict {
    let code = match malformed.duplicate {
        Some(_) => "json_duplicate_key",
        None => "json_malformed",
    };
    let reason = Reason::explained(code, explain, || {
        let line = malformed.line + lines_before;
        let what = match &malformed.duplicate {
            Some(key) => format!("key {} twice", quoted(key)),
            None => malformed.message.clone(),
        };
        format!("{line}:{}: {what}", malformed.column)
    });
    Verdict::proven(false, "invalid", reason)
}

fn unreadable_schema(malformed: &Malformed) -> Refusal {
    let Malformed { line, column, .. } = malformed;
    let message = match &malformed.duplicate {
        Some(key) => format!("{line}:{column}: key {} twice", quoted(key)),
        None => format!("{line}:{column}: {}", malformed.message),
    };
    Refusal::new("schema_malformed", message)
}

fn parse_cost(text: &str) -> u64 {
    scan_cost(text.len(), BYTES_PER_UNIT)
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        Self::with(refusal.code, refusal.message)
    }
}
