//! `lp`: answers to linear and mixed-integer programs.
//!
//! The program of the gold answer is solved here, in exact rationals and within fuel. A point is
//! right if it satisfies every constraint and has the best value, whichever optimum it is; a model
//! is right if its optimum is that of the gold answer. A program is run, and judged by what it prints, as
//! the outcome of `StepORLM` is.

mod answer;
mod branch;
mod model;
mod program;
mod read_lp;
mod read_mps;
mod simplex;

#[cfg(test)]
mod tests;

use dashu::rational::RBig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::accepted::{bad_reference, candidate, charge_gold, scan_cost, too_costly};
use crate::{
    Claim, ConfigError, Exhausted, Fuel, Gold, Reason, Verdict, Verifier, VerifierId, VerifyError,
};
use branch::Optimum;
use model::{Malformed, Model, number, sum};
pub use program::{LpProgram, LpRun, LpRunError};

/// Bytes of a model that one unit of fuel reads.
const BYTES_PER_UNIT: u64 = 2;

/// What a response gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LpAnswer {
    /// Values of all variables, or that there is no optimum.
    #[default]
    Solution,
    /// The best value of the objective, or that there is none.
    Objective,
    /// A model in LP or MPS format, whose optimum is compared.
    Model,
}

/// How answers are judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LpConfig {
    /// What a response gives.
    pub answer: LpAnswer,
    /// How far a constraint may be violated and an integer missed, and how far the objective may be
    /// from the best value, relative to it where it is above 1. A decimal.
    pub tolerance: String,
}

impl Default for LpConfig {
    fn default() -> Self {
        Self { answer: LpAnswer::default(), tolerance: "1e-6".to_owned() }
    }
}

/// Right when the answer is an optimum of the gold answer's program.
#[derive(Debug, Clone)]
pub struct LpVerifier {
    answer: LpAnswer,
    tolerance: RBig,
}

/// What a gold answer gives.
struct Reference {
    model: Option<Model>,
    optimum: Optimum,
}

impl LpVerifier {
    /// Creates a verifier with this configuration.
    ///
    /// # Errors
    /// [`ConfigError::Tolerance`] when the tolerance is no decimal of at least 0.
    pub fn new(config: &LpConfig) -> Result<Self, ConfigError> {
        let tolerance = number(&config.tolerance).filter(|tolerance| *tolerance >= RBig::ZERO);
        let tolerance =
            tolerance.ok_or_else(|| ConfigError::Tolerance { given: config.tolerance.clone() })?;
        Ok(Self { answer: config.answer, tolerance })
    }

    fn reference(&self, gold: Gold<'_>, fuel: &mut Fuel) -> Result<Reference, VerifyError> {
        let bad = |detail: &'static str| {
            VerifyError::BadReference(Reason::with("reference_type", detail))
        };
        let parsed: Map<String, Value>;
        // An object may be a text, as a column of texts has it.
        let gold = match gold {
            Gold::Text(text) if text.trim_start().starts_with('{') => {
                parsed =
                    serde_json::from_str(text).map_err(|_| bad("the text is no JSON object"))?;
                Gold::Object(&parsed)
            }
            Gold::Missing | Gold::Text(_) | Gold::AnyOf(_) | Gold::Object(_) => gold,
        };
        let (text, value) = match gold {
            Gold::Missing => return Err(VerifyError::missing_reference()),
            Gold::AnyOf(_) => return Err(bad("a list of texts is no model")),
            Gold::Text(text) => match number(text.trim()) {
                Some(value) => (None, Some(value)),
                None => (Some(text), None),
            },
            Gold::Object(fields) => {
                let text = fields.get("model").and_then(Value::as_str);
                let value = fields.get("objective").and_then(|value| match value {
                    Value::Number(value) => number(&value.to_string()),
                    Value::String(text) => number(text.trim()),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
                });
                (text, value)
            }
        };
        let Some(text) = text else {
            let needs_model = self.answer == LpAnswer::Solution;
            return match value {
                Some(value) if !needs_model => {
                    Ok(Reference { model: None, optimum: Optimum::Value(value) })
                }
                Some(_) => Err(bad("a solution is judged by a model, not by an objective alone")),
                None => Err(bad("it has neither a model nor an objective")),
            };
        };
        charge_gold(fuel, scan_cost(text.len(), BYTES_PER_UNIT))?;
        let model = read_model(text).map_err(|malformed| {
            VerifyError::BadReference(Reason::with("model_malformed", place(&malformed)))
        })?;
        let optimum = branch::solve(&model, fuel).map_err(|_| {
            bad_reference(
                "reference_too_costly",
                "solving the program of the reference takes more than the fuel of a verdict",
            )
        })?;
        let is_right = value.is_none_or(|value| self.is_same(&Optimum::Value(value), &optimum));
        if !is_right {
            let detail = format!("the model has {}", named(&optimum));
            return Err(VerifyError::BadReference(Reason::with("reference_optimum", detail)));
        }
        Ok(Reference { model: Some(model), optimum })
    }

    fn is_same(&self, found: &Optimum, right: &Optimum) -> bool {
        let (Optimum::Value(found), Optimum::Value(right)) = (found, right) else {
            return found == right;
        };
        let size = magnitude(right);
        let scale = if size > RBig::ONE { size } else { RBig::ONE };
        magnitude(&(found - right)) <= &self.tolerance * scale
    }

    /// The verdict on an optimum that the response claims.
    fn compare(&self, found: &Optimum, right: &Optimum, explain: bool) -> Verdict {
        let is_same = self.is_same(found, right);
        let (label, code) =
            if is_same { ("right", "same_optimum") } else { ("wrong", "other_optimum") };
        let detail = || format!("found {}; the program has {}", named(found), named(right));
        Verdict::proven(is_same, label, Reason::explained(code, explain, detail))
    }

    fn judge_solution(
        &self,
        text: &str,
        reference: &Reference,
        fuel: &mut Fuel,
        explain: bool,
    ) -> Verdict {
        let Some(model) = &reference.model else { return unread() };
        let answer = answer::read(text, Some(model));
        if let Some(status) = &answer.status {
            return self.compare(status, &reference.optimum, explain);
        }
        if answer.point.iter().all(Option::is_none) {
            return unread();
        }
        let mut point = Vec::new();
        for (value, variable) in answer.point.into_iter().zip(&model.variables) {
            let Some(value) = value else {
                let detail = || format!("'{}' has no value", variable.name);
                return Verdict::proven(
                    false,
                    "wrong",
                    Reason::explained("variable_missing", explain, detail),
                );
            };
            point.push(value);
        }
        match self.violation(model, &point, fuel) {
            Ok(None) => {}
            Ok(Some(detail)) => {
                let reason = Reason::explained("constraint_violated", explain, || detail);
                return Verdict::proven(false, "infeasible", reason);
            }
            Err(_) => return too_costly(),
        }
        match model.value(&point, fuel) {
            Ok(value) => self.compare(&Optimum::Value(value), &reference.optimum, explain),
            Err(_) => too_costly(),
        }
    }

    /// The first constraint that a point violates.
    fn violation(
        &self,
        model: &Model,
        point: &[RBig],
        fuel: &mut Fuel,
    ) -> Result<Option<String>, Exhausted> {
        for (index, row) in model.rows.iter().enumerate() {
            let value = sum(&row.terms, point, fuel)?;
            if !row.bounds.holds(&value, &self.tolerance) {
                return Ok(Some(format!("constraint {} has the value {value}", index + 1)));
            }
        }
        for (variable, value) in model.variables.iter().zip(point) {
            let is_near =
                |value: &RBig| magnitude(&(value - RBig::from(value.round()))) <= self.tolerance;
            if !variable.bounds.holds(value, &self.tolerance) {
                return Ok(Some(format!("'{}' is out of its bounds with {value}", variable.name)));
            }
            if variable.is_integer && !is_near(value) {
                return Ok(Some(format!("'{}' is no integer with {value}", variable.name)));
            }
        }
        Ok(None)
    }

    fn judge_objective(&self, text: &str, reference: &Reference, explain: bool) -> Verdict {
        let answer = answer::read(text, reference.model.as_ref());
        match (answer.status, answer.objective) {
            (Some(status), _) => self.compare(&status, &reference.optimum, explain),
            (None, Some(value)) => {
                self.compare(&Optimum::Value(value), &reference.optimum, explain)
            }
            (None, None) => unread(),
        }
    }

    fn judge_model(
        &self,
        text: &str,
        reference: &Reference,
        fuel: &mut Fuel,
        explain: bool,
    ) -> Verdict {
        let block = crate::code::fenced(text).pop().map(|(_, body)| body);
        let model = match read_model(block.as_deref().unwrap_or(text)) {
            Ok(model) => model,
            Err(malformed) => {
                let reason = Reason::explained("model_malformed", explain, || place(&malformed));
                return Verdict::proven(false, "wrong", reason);
            }
        };
        match branch::solve(&model, fuel) {
            Ok(optimum) => self.compare(&optimum, &reference.optimum, explain),
            Err(_) => too_costly(),
        }
    }
}

impl Verifier for LpVerifier {
    fn id(&self) -> VerifierId {
        VerifierId { name: "lp", revision: 2 }
    }

    fn verify(&self, claim: &Claim<'_>, fuel: &mut Fuel) -> Result<Verdict, VerifyError> {
        let reference = self.reference(claim.gold, fuel)?;
        let cost = |text: &str| scan_cost(text.len(), BYTES_PER_UNIT);
        let text = match candidate(claim.candidate, fuel, cost) {
            Ok(text) => text,
            Err(verdict) => return Ok(verdict),
        };
        Ok(match self.answer {
            LpAnswer::Solution => self.judge_solution(text, &reference, fuel, claim.explain),
            LpAnswer::Objective => self.judge_objective(text, &reference, claim.explain),
            LpAnswer::Model => self.judge_model(text, &reference, fuel, claim.explain),
        })
    }
}

fn unread() -> Verdict {
    Verdict::presumed_wrong("unread", Reason::code("answer_unread"))
}

fn magnitude(value: &RBig) -> RBig {
    if *value < RBig::ZERO { -value.clone() } else { value.clone() }
}

fn place(malformed: &Malformed) -> String {
    format!("line {}: {}", malformed.line, malformed.message)
}

fn named(optimum: &Optimum) -> String {
    match optimum {
        Optimum::Value(value) => format!("the best value {value}"),
        Optimum::Infeasible => "no feasible point".to_owned(),
        Optimum::Unbounded => "no bound".to_owned(),
    }
}

/// Reads a model in MPS or in LP format.
fn read_model(text: &str) -> Result<Model, Malformed> {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('*'));
    let word = first.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    let is_mps = ["NAME", "ROWS", "OBJSENSE"].contains(&word);
    let model = if is_mps { read_mps::read(text)? } else { read_lp::read(text)? };
    if model.variables.is_empty() {
        return Err(Malformed::new(1, "there is no variable"));
    }
    Ok(model)
}
