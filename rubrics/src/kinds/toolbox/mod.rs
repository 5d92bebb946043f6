//! The tools of the scorer kind `tool` and of a policy's rollouts: computations of the verifiers, each
//! within a budget, and programs and queries, under the limits of the scorers that run them.
//!
//! Calls are requests of the models' own text; the tools must not know who made them.

mod convert;
mod result;
mod runners;

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use verifiers::math::{Math, MathConfig};
use verifiers::tool_calls::{Call, RequestedCall};
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier as _, VerifyError, arithmetic};

use crate::ScoreOptions;
use crate::config::Section;
use crate::engine_client::{EngineClient, Tools};
use crate::outcome::Failure;
use crate::programs::Programs;
pub use result::ToolResult;
use result::cut;
use runners::{Program, Runners, SqlArguments};

/// Calls of one turn that are run; the others are refused.
const MAX_CALLS: usize = 16;
/// Default limit of a result's bytes in the prompt.
const MAX_RESULT: usize = 4096;

/// A tool. No tool calls a model, so that calls do not cascade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Tool {
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

/// Tools with their limits.
#[derive(Clone, Serialize)]
pub struct Toolbox {
    tools: Vec<Tool>,
    max_result_bytes: usize,
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

    /// Its name as a tag in plain text.
    fn tag(self) -> &'static str {
        match self {
            Self::PythonInterpreter => "python",
            Self::SymbolicVerify | Self::Calculator | Self::UnitConversion | Self::Sql => {
                self.name()
            }
        }
    }

    /// The argument that plain text stands for; `None` for a tool of several arguments.
    fn text_argument(self) -> Option<&'static str> {
        match self {
            Self::Calculator => Some("expression"),
            Self::PythonInterpreter => Some("code"),
            Self::Sql => Some("query"),
            Self::SymbolicVerify | Self::UnitConversion => None,
        }
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
pub(crate) enum ToolStep {
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
        response: None,
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

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.max_result_bytes;
        f.debug_struct("Toolbox")
            .field("tools", &self.tools)
            .field("max_result_bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl Toolbox {
    /// Reads the options `tools`, `max_result_bytes` and those of the sandbox and of queries; `base` is
    /// the folder that paths are relative to. `None` after a problem of the section.
    pub fn read(section: &Section<'_, '_>, base: Option<&Path>) -> Option<Self> {
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
    pub(crate) fn programs(&self) -> Option<&Programs> {
        self.runners.programs()
    }

    /// Descriptions of the tools for the prompt; empty without tools.
    pub(crate) fn described(&self) -> String {
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

    /// The tools as functions in `OpenAI`'s schema, for chat templates.
    pub fn schemas(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| tool.schema()).collect()
    }

    /// The tags of calls in plain text, one for each tool.
    pub fn tags(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|tool| tool.tag())
    }

    /// Reads the call that a tag stands for: the text between its ends is the JSON of all arguments, or
    /// the only argument of a tool that has one.
    ///
    /// # Errors
    /// The error of the call, for the model.
    pub fn tagged_call(&self, tag: &str, text: &str) -> Call {
        let tool = self.tools.iter().find(|tool| tool.tag() == tag);
        let tool = tool.ok_or_else(|| format!("no such tool: {tag}"))?;
        let arguments = match (serde_json::from_str::<Value>(text.trim()), tool.text_argument()) {
            (Ok(Value::Object(arguments)), _) => arguments,
            (_, Some(name)) => Map::from_iter([(name.to_owned(), text.trim().into())]),
            (_, None) => return Err(format!("{tag} needs a JSON object of its arguments")),
        };
        Ok(RequestedCall { name: tool.name().to_owned(), arguments })
    }

    /// Gives a query that names no database that of a reference of the scorer kind `sql`, of several
    /// the first. The gold query is not read.
    pub fn set_database(call: &mut RequestedCall, reference: &Map<String, Value>) {
        let has_database =
            ["setup", "database"].iter().any(|key| call.arguments.contains_key(*key));
        if call.name != Tool::Sql.name() || has_database {
            return;
        }
        let script = match reference.get("database") {
            Some(Value::Array(scripts)) => scripts.first(),
            script => script,
        };
        for (argument, value) in [("setup", script), ("database", reference.get("db_id"))] {
            if let Some(value) = value {
                call.arguments.insert(argument.to_owned(), value.clone());
            }
        }
    }

    /// Runs the calls of several turns at the same time; one list of results for each turn, in order.
    /// Failures of the sandbox and of overload are no results for the model.
    pub async fn run(
        &self,
        turns: Vec<Vec<Call>>,
        options: ScoreOptions,
        tools: &Tools,
    ) -> Vec<Result<Vec<ToolResult>, Failure>> {
        let client = EngineClient::new(tools, options, 1);
        join_all(turns.into_iter().map(|calls| self.answer(calls, &client))).await
    }

    /// Runs all calls of a turn, in order.
    ///
    /// # Errors
    /// Failures of the sandbox and of overload, which are no results for the model.
    pub(crate) async fn answer(
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
    pub(crate) fn begin(&self, calls: Vec<Call>) -> Vec<Result<ToolStep, String>> {
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
    pub(crate) fn rendered(&self, result: Result<String, String>) -> ToolResult {
        let is_ok = result.is_ok();
        let (status, key, text) = match result {
            Ok(text) => ("ok", "result", text),
            Err(text) => ("error", "error", text),
        };
        ToolResult::new(&json!({"status": status, key: cut(text, self.max_result_bytes)}), is_ok)
    }
}
