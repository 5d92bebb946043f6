//! The tools that run here: pure computations of the verifiers, each within a budget.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use verifiers::math::{Math, MathConfig};
use verifiers::tool_calls::Call;
use verifiers::{Candidate, Claim, Fuel, Gold, UnitScore, Verifier as _, VerifyError, arithmetic};

use super::convert;
use crate::config::{Section, nearest};

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
}

/// The tools of a scorer.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Toolbox {
    pub(super) tools: Vec<Tool>,
    pub(super) max_result_bytes: usize,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult {
    /// The text of the result for the model.
    pub(super) text: String,
    pub(super) is_ok: bool,
}

impl Tool {
    const ALL: [Self; 3] = [Self::SymbolicVerify, Self::Calculator, Self::UnitConversion];

    fn name(self) -> &'static str {
        match self {
            Self::SymbolicVerify => "symbolic_verify",
            Self::Calculator => "calculator",
            Self::UnitConversion => "unit_conversion",
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
        };
        json!({"type": "function", "function": {
            "name": self.name(),
            "description": description,
            "parameters": {"type": "object", "properties": parameters},
        }})
    }

    /// Runs it.
    ///
    /// # Errors
    /// The error of the arguments or of the computation, for the model.
    fn run(self, arguments: Map<String, Value>) -> Result<String, String> {
        let arguments = Value::Object(arguments);
        match self {
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
        }
    }
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
    let claim = Claim { gold: Gold::Text(a), candidate: Candidate::Text(b), explain: false };
    let verdict = Math::new(MathConfig::default()).verify(&claim, &mut Fuel::default());
    match verdict {
        Ok(verdict) if verdict.score == UnitScore::ONE => Ok("equal".to_owned()),
        Ok(verdict) => Ok(format!("not equal ({})", verdict.label)),
        Err(VerifyError::Undecided(_)) => Ok("undecided".to_owned()),
        Err(VerifyError::BadReference(reason)) => Err(format!("a: {}", reason.code)),
    }
}

impl Toolbox {
    pub(super) fn read(section: &Section<'_, '_>) -> Option<Self> {
        let tools = match section.texts("tools") {
            None => Tool::ALL.to_vec(),
            Some(names) => {
                let tools: Option<Vec<Tool>> =
                    names.iter().map(|name| known(section, name)).collect();
                tools?
            }
        };
        let most = section.integer("max_result_bytes", 64..1 << 24);
        Some(Self {
            tools,
            max_result_bytes: most.and_then(|n| usize::try_from(n).ok()).unwrap_or(MAX_RESULT),
        })
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
    pub(super) fn answer(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        let run = |(index, call): (usize, Call)| {
            let result = if index < MAX_CALLS {
                call.and_then(|wanted| self.tool(&wanted.name)?.run(wanted.arguments))
            } else {
                Err(format!("a turn has at most {MAX_CALLS} calls"))
            };
            self.rendered(result)
        };
        calls.into_iter().enumerate().map(run).collect()
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
        let message = json!({"status": status, key: cut(text, self.max_result_bytes)});
        ToolResult {
            // `\/` is `/` in JSON, and not a closing tag.
            text: message.to_string().replace("</", "<\\/"),
            is_ok,
        }
    }
}

/// A text of at most `most` bytes, and a note where more was left out.
fn cut(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let length = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    write!(text, "… [cut: {end} of {length} bytes]").expect("a string takes everything");
    text
}

fn known(section: &Section<'_, '_>, name: &str) -> Option<Tool> {
    let tool = Tool::named(name);
    if tool.is_none() {
        let names = Tool::ALL.iter().map(|tool| tool.name());
        let hint = nearest(name, names).map(|near| format!("; did you mean '{near}'?"));
        let hint = hint.unwrap_or_default();
        section.problem("tools", format!("no tool '{name}'{hint}"));
    }
    tool
}
