//! The tools that run here: computations of the verifiers, each within a budget, and programs and
//! queries, under the limits of the scorers that run them.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use verifiers::math::{Math, MathConfig};
use verifiers::tool_calls::Call;
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier as _, VerifyError, arithmetic};

use super::convert;
use super::result::{ToolResult, cut};
use super::runners::{Program, Runners, SqlArguments};
use crate::config::Section;
use crate::engine_client::EngineClient;
use crate::outcome::Failure;
use crate::programs::Programs;

/// Calls of one turn that are run; the others are refused.
const MAX_CALLS: usize = 16;
/// Default limit of a result's bytes in the prompt.
const MAX_RESULT: usize = 4096;

/// A tool. No tool calls a model, so that calls do not cascade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tool {
    /// Whether two answers mean the same.
    SymbolicVerify,
    /// The exact value of an expression.
    Calculator,
    /// A value in another unit.
    UnitConversion,
    /// What a program writes.
    PythonInterpreter,
    /// The rows of a query.
    Sql,
}

/// The tools of a scorer.
#[derive(Clone, Serialize)]
pub(super) struct Toolbox {
    tools: Vec<Tool>,
    pub(super) max_result_bytes: usize,
    /// What [`Tool::PythonInterpreter`] and [`Tool::Sql`] need.
    #[serde(flatten)]
    runners: Runners,
}

impl Tool {
    const ALL: [Self; 5] = [
        Self::SymbolicVerify,
        Self::Calculator,
        Self::UnitConversion,
        Self::PythonInterpreter,
        Self::Sql,
    ];
    /// Those of a scorer that lists none: they are pure.
    const DEFAULT: [Self; 3] = [Self::SymbolicVerify, Self::Calculator, Self::UnitConversion];

    fn name(self) -> &'static str {
        match self {
            Self::SymbolicVerify => "symbolic_verify",
            Self::Calculator => "calculator",
            Self::UnitConversion => "unit_conversion",
            Self::PythonInterpreter => "python_interpreter",
            Self::Sql => "sql",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool as a function in `OpenAI`'s schema.
    fn schema(self) -> Value {
        let (description, parameters) = match self {
            Self::SymbolicVerify => (
                "Whether two mathematical answers are equal",
                json!({"a": {"type": "string"}, "b": {"type": "string"}}),
            ),
            Self::Calculator => (
                "Exact value of an arithmetic expression",
                json!({"expression": {"type": "string"}}),
            ),
            Self::UnitConversion => (
                "Converts a value",
                json!({
                    "value": {"type": "number"},
                    "source_unit": {"type": "string"},
                    "target_unit": {"type": "string"},
                }),
            ),
            Self::PythonInterpreter => (
                "Runs a Python program without network and files; print what you want to see",
                json!({"code": {"type": "string"}}),
            ),
            Self::Sql => (
                "Rows of an SQLite query, on what the statements in setup make or on a database",
                json!({
                    "query": {"type": "string"},
                    "setup": {"type": "string"},
                    "database": {"type": "string"},
                }),
            ),
        };
        json!({"type": "function", "function": {
            "name": self.name(),
            "description": description,
            "parameters": {"type": "object", "properties": parameters},
        }})
    }

    /// Computes its result, or reads what is to be run.
    ///
    /// # Errors
    /// The error of the arguments or of the computation, for the model.
    fn begin(self, arguments: Map<String, Value>) -> Result<ToolStep, String> {
        let arguments = Value::Object(arguments);
        let text = match self {
            Self::SymbolicVerify => {
                let ComparedExpressions { a, b } = typed(arguments)?;
                symbolic_verify(&a, &b)
            }
            Self::Calculator => {
                let Expression { expression } = typed(arguments)?;
                let value = arithmetic::evaluate(&expression, &mut Fuel::default());
                value.map(|v| v.to_string()).map_err(|e| e.to_string())
            }
            Self::UnitConversion => convert::convert_units(&typed(arguments)?),
            Self::PythonInterpreter => return Ok(ToolStep::Program(typed(arguments)?)),
            Self::Sql => return Ok(ToolStep::Query(typed(arguments)?)),
        };
        text.map(ToolStep::Done)
    }
}

/// A call, as far as it can be answered on a verifier thread.
pub(super) enum ToolStep {
    /// The result.
    Done(String),
    /// A program to run.
    Program(Program),
    /// A query to run.
    Query(SqlArguments),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparedExpressions {
    a: String,
    b: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    expression: String,
}

fn typed<T: for<'de> Deserialize<'de>>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("wrong arguments: {error}"))
}

/// Whether `b` is equal to `a`. That nothing is proven is a result too.
fn symbolic_verify(a: &str, b: &str) -> Result<String, String> {
    let claim = Claim {
        gold: Gold::Text(a),
        candidate: Candidate::Text(b),
        question: None,
        explain: false,
    };
    let verdict = Math::new(MathConfig::default()).verify(&claim, &mut Fuel::default());
    match verdict {
        Ok(verdict) if verdict.score == UnitScore::ONE => Ok("equal".to_owned()),
        Ok(verdict) => Ok(format!("not equal ({})", verdict.label)),
        Err(VerifyError::Undecided(_)) => Ok("undecided".to_owned()),
        Err(VerifyError::BadReference(reason)) => Err(format!("a: {}", reason.code)),
    }
}

impl Toolbox {
    /// Reads the options; `base` is the folder that paths are relative to.
    pub(super) fn read(section: &Section<'_, '_>, base: Option<&Path>) -> Option<Self> {
        let words = Tool::ALL.map(|tool| (tool.name(), tool));
        let is_given = section.has("tools");
        let tools = section.words("tools", &words);
        let tools = if is_given { tools? } else { Tool::DEFAULT.to_vec() };
        let most = section.integer("max_result_bytes", 64..1 << 24);
        let runners = Runners::read(
            section,
            base,
            tools.contains(&Tool::PythonInterpreter),
            tools.contains(&Tool::Sql),
        );
        Some(Self {
            tools,
            max_result_bytes: most.and_then(|n| usize::try_from(n).ok()).unwrap_or(MAX_RESULT),
            runners,
        })
    }

    /// The sandbox of programs.
    pub(super) fn programs(&self) -> Option<&Programs> {
        self.runners.programs()
    }

    /// Descriptions of the tools for the prompt; empty without tools.
    pub(super) fn described(&self) -> String {
        if self.tools.is_empty() {
            return String::new();
        }
        let mut text = String::from(
            "\nYou may call these tools, each call on lines of its own:\n<tool_call>\n\
             {\"name\": \"…\", \"arguments\": {…}}\n</tool_call>\n",
        );
        for tool in &self.tools {
            writeln!(text, "{}", tool.schema()).expect("a string takes everything");
        }
        text
    }

    /// Runs all calls of a turn, in order.
    ///
    /// # Errors
    /// Failures of the sandbox and of overload, which are no results for the model.
    pub(super) async fn answer(
        &self,
        calls: Vec<Call>,
        client: &EngineClient<'_>,
    ) -> Result<Vec<ToolResult>, Failure> {
        let toolbox = self.clone();
        let steps = client.run(move || toolbox.begin(calls)).await?;
        let mut results = Vec::with_capacity(steps.len());
        for step in steps {
            results.push(match step {
                Ok(ToolStep::Done(text)) => self.rendered(Ok(text)),
                Ok(ToolStep::Program(program)) => {
                    self.runners.run_program(program, self.max_result_bytes, client).await?
                }
                Ok(ToolStep::Query(query)) => {
                    self.rendered(self.runners.run_query(query, client).await?)
                }
                Err(text) => self.rendered(Err(text)),
            });
        }
        Ok(results)
    }

    /// Computes what needs no waiting.
    pub(super) fn begin(&self, calls: Vec<Call>) -> Vec<Result<ToolStep, String>> {
        let begin = |(index, call): (usize, Call)| {
            if index >= MAX_CALLS {
                return Err(format!("a turn has at most {MAX_CALLS} calls"));
            }
            call.and_then(|wanted| self.tool(&wanted.name)?.begin(wanted.arguments))
        };
        calls.into_iter().enumerate().map(begin).collect()
    }

    fn tool(&self, name: &str) -> Result<Tool, String> {
        let tool = Tool::named(name).filter(|tool| self.tools.contains(tool));
        tool.ok_or_else(|| {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
            format!("no such tool; the tools are: {}", names.join(", "))
        })
    }

    /// Renders a result for the model: JSON, truncated to the limit, without a closing tag.
    pub(super) fn rendered(&self, result: Result<String, String>) -> ToolResult {
        let is_ok = result.is_ok();
        let (status, key, text) = match result {
            Ok(text) => ("ok", "result", text),
            Err(text) => ("error", "error", text),
        };
        ToolResult::new(&json!({"status": status, key: cut(text, self.max_result_bytes)}), is_ok)
    }
}
