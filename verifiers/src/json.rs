//! `json` and `structured`: a well-formed document, of a given shape.
//!
//! A schema describes the shape of a document, not whether its content is right.

mod canonical;
mod fence;
mod metered;
mod parse;
mod reference;
mod refusal;
mod schema;
mod syntax;
pub mod tool_calls;
mod weigh;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accepted::{Accepted, candidate, charge_gold, quoted, scan_cost, too_costly};
use crate::{Claim, ConfigError, Fuel, Gold, Reason, Verdict, Verifier, VerifierId, VerifyError};
use fence::unfenced;
use parse::{Document, Malformed};
use refusal::Refusal;
use schema::{Schema, Validation};
use syntax::schema_of_tools;

pub use syntax::Syntax;

/// Accepted documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JsonConfig {
    /// The syntax; JSON by default. A schema that is a text is JSON always.
    #[serde(skip_serializing_if = "is_json")]
    pub syntax: Syntax,
    /// The schema; the gold answer is then not used. None, the default, takes the gold answer as
    /// the schema: an object, a text that holds one, or any of several texts. With no schema at
    /// all, being well formed is enough.
    pub schema: Option<Value>,
    /// Whether the document may stand in one fenced block, marked with its syntax or not marked. On
    /// by default.
    pub allow_fence: bool,
    /// Whether `format` is checked, for the names that every validator knows. Off by default, as
    /// in draft 2020-12, where `format` is a note.
    pub formats: bool,
}

impl Default for JsonConfig {
    fn default() -> Self {
        Self { syntax: Syntax::Json, schema: None, allow_fence: true, formats: false }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_json(syntax: &Syntax) -> bool {
    *syntax == Syntax::Json
}

/// Right when the candidate is a document without duplicate keys and, where there is a schema, has
/// its shape.
///
/// The draft is 2020-12 unless `$schema` names another one. References stay inside the schema, and
/// patterns run on the linear-time engine, without look-around and back-references.
#[derive(Debug, Clone)]
pub struct JsonVerifier {
    fixed: Option<Schema>,
    allow_fence: bool,
    syntax: Syntax,
    formats: bool,
}

impl JsonVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// [`ConfigError::Schema`] when the configured schema cannot be used.
    pub fn new(config: JsonConfig) -> Result<Self, ConfigError> {
        let fixed = config.schema.map(|schema| {
            let schema = meant(config.syntax, schema);
            let cost = Schema::cost(&schema)?;
            Schema::compile(&schema, cost, config.formats, config.syntax)
        });
        let fixed = fixed.transpose().map_err(|refusal| ConfigError::Schema {
            code: refusal.code,
            message: refusal.message,
        })?;
        let JsonConfig { allow_fence, syntax, formats, .. } = config;
        Ok(Self { fixed, allow_fence, syntax, formats })
    }

    /// Returns the schema that a gold answer holds, or why it holds none.
    fn gold_schema(
        &self,
        schema: Result<Value, Refusal>,
        fuel: &mut Fuel,
    ) -> Result<Result<Schema, Reason>, VerifyError> {
        let priced = schema.and_then(|schema| {
            let schema = meant(self.syntax, schema);
            let cost = Schema::cost(&schema)?;
            Ok((schema, cost))
        });
        let (schema, cost) = match priced {
            Ok(priced) => priced,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        charge_gold(fuel, cost.compile_units)?;
        Ok(Schema::compile(&schema, cost, self.formats, self.syntax).map_err(Reason::from))
    }

    /// Reads the candidate, or gives the verdict on one that cannot be read.
    fn read(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Document, Verdict> {
        let cost = |text: &str| parse_cost(text, self.syntax);
        let text = candidate(claim.candidate, fuel, cost)?;
        let content = if self.allow_fence {
            unfenced(text, self.syntax.marks())
        } else {
            fence::FencedText { text, lines_before: 0 }
        };
        self.syntax
            .parse(content.text)
            .map_err(|malformed| self.refused(&malformed, content.lines_before, claim.explain))
    }
}

impl Verifier for JsonVerifier {
    fn id(&self) -> VerifierId {
        if is_json(&self.syntax) {
            VerifierId { name: "json", revision: 1 }
        } else {
            VerifierId { name: "structured", revision: 2 }
        }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let one = |schema: Option<&Schema>, fuel: &mut Fuel| {
            self.judge_document(schema, &self.read(claim, fuel), fuel, claim.explain)
        };
        if let Some(schema) = &self.fixed {
            return Ok(one(Some(schema), fuel));
        }
        match claim.gold {
            Gold::Missing => Ok(one(None, fuel)),
            Gold::Object(fields) => {
                match self.gold_schema(Ok(Value::Object(fields.clone())), fuel)? {
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
            charge_gold(fuel, parse_cost(text, Syntax::Json))?;
            let schema = match Syntax::Json.parse(text) {
                Ok(document) => Ok(document.value),
                Err(malformed) => Err(unreadable_schema(&malformed)),
            };
            schemas.push(self.gold_schema(schema, fuel)?);
        }
        let document = self.read(claim, fuel);
        let mut schemas = schemas.into_iter();
        accepted.judge(|_| {
            let schema = schemas.next().expect("one schema for each text")?;
            Ok(self.judge_document(Some(&schema), &document, fuel, claim.explain))
        })
    }

    fn judge_document(
        &self,
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
            Validation::Valid => {
                Verdict::proven(true, "valid", Reason::code(self.syntax.codes()[0]))
            }
            Validation::Spent => too_costly(),
            Validation::TooDeep => Verdict::presumed_wrong("too_costly", Reason::code("too_deep")),
            Validation::Mismatch(detail) => {
                let reason = Reason::explained("schema_mismatch", explain, || {
                    detail.unwrap_or_else(|| {
                        "the place of the mismatch takes too long to find".into()
                    })
                });
                Verdict::proven(false, "invalid", reason)
            }
        }
    }

    /// Returns the verdict on a text that is no document.
    fn refused(&self, malformed: &Malformed, lines_before: usize, explain: bool) -> Verdict {
        let [_, unreadable, duplicate] = self.syntax.codes();
        let code = if malformed.duplicate.is_some() { duplicate } else { unreadable };
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
}

fn unreadable_schema(malformed: &Malformed) -> Refusal {
    let Malformed { line, column, .. } = malformed;
    let message = match &malformed.duplicate {
        Some(key) => format!("{line}:{column}: key {} twice", quoted(key)),
        None => format!("{line}:{column}: {}", malformed.message),
    };
    Refusal::new("schema_malformed", format!("no JSON Schema: {message}"))
}

fn parse_cost(text: &str, syntax: Syntax) -> u64 {
    scan_cost(text.len(), syntax.bytes_per_unit())
}

/// The schema that is meant by a list of tools.
fn meant(syntax: Syntax, schema: Value) -> Value {
    let of_tools = (syntax == Syntax::ToolCalls).then(|| schema_of_tools(&schema)).flatten();
    of_tools.unwrap_or(schema)
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        Self::with(refusal.code, refusal.message)
    }
}
