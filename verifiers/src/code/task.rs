//! Tasks: the reference of an input as tests, in our format and in published ones.

use std::time::Duration;

use sandbox::{Language, Limits, Test, TestFile};
use serde_json::{Map, Value};

use super::compare::{OutputRule, ValueRule};
use crate::{Gold, Reason, VerifyError};

/// The tests of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// At least one.
    pub tests: Vec<TaskTest>,
    /// The language of its programs, where it names one.
    pub language: Option<Language>,
    /// CPU time of a test.
    time: Option<Duration>,
    /// Address space of a test.
    memory_bytes: Option<u64>,
    /// A program that accepts outputs, where several are right.
    pub(super) checker: Option<String>,
    /// Code before the submission, for a submission that does not define the function under test, and the name of
    /// that function.
    prompt: Option<(String, String)>,
}

/// A test and what it must give.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskTest {
    /// What runs.
    pub run: Test,
    /// What must come of it. It never enters the submission's process.
    pub expected: ExpectedResult,
    /// The task's own comparison of outputs.
    pub output: Option<OutputRule>,
    /// The task's own comparison of values.
    pub values: Option<ValueRule>,
}

/// What a test must give.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedResult {
    /// This text on stdout.
    Output(String),
    /// This value of the call.
    Value(Value),
    /// Every test of a file passes; at least this many.
    Outcomes(usize),
}

/// Most tests of a task.
const MAX_TESTS: usize = 10_000;

impl Task {
    /// Reads a reference. The format is known by its fields; see docs/sandbox.md.
    ///
    /// # Errors
    /// [`VerifyError::BadReference`] with the place.
    pub fn read(gold: Gold<'_>) -> Result<Self, VerifyError> {
        match gold {
            Gold::Missing => Err(VerifyError::missing_reference()),
            Gold::Text(text) => match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => Self::from_fields(&fields),
                // A list of assertions, as one text.
                Ok(Value::Array(asserts)) => Self::from_fields(&Map::from_iter([(
                    "test_list".to_owned(),
                    Value::Array(asserts),
                )])),
                _ => Err(bad(NO_TESTS)),
            },
            Gold::AnyOf(asserts) => {
                let asserts = asserts.iter().cloned().map(Value::String).collect();
                Self::from_fields(&Map::from_iter([(
                    "test_list".to_owned(),
                    Value::Array(asserts),
                )]))
            }
            Gold::Object(fields) => Self::from_fields(fields),
        }
    }

    fn from_fields(fields: &Map<String, Value>) -> Result<Self, VerifyError> {
        let fields = nested(fields)?;
        let tests = tests(&fields)?;
        if tests.is_empty() {
            return Err(bad("the reference has no test"));
        }
        if tests.len() > MAX_TESTS {
            return Err(bad(format!("{} tests; at most {MAX_TESTS} are run", tests.len())));
        }
        let language = match text(&fields, "language")? {
            None => None,
            Some(word) => Some(Language::from_word(&word).ok_or_else(|| {
                let known = Language::ALL.map(Language::name).join(", ");
                VerifyError::BadReference(Reason::with(
                    "unknown_language",
                    format!("'language': '{word}' is none of {known}"),
                ))
            })?),
        };
        let seconds = positive(&fields, "time_limit")?;
        let megabytes = match positive(&fields, "memory_limit_mb")? {
            Some(megabytes) => Some(megabytes),
            None => positive(&fields, "memory_limit")?,
        };
        let prompt = match (text(&fields, "prompt")?, text(&fields, "entry_point")?) {
            (Some(prompt), Some(entry)) => Some((prompt, entry)),
            _ => None,
        };
        let checker = match text(&fields, "generated_checker")? {
            Some(checker) => Some(checker),
            None => text(&fields, "checker")?,
        };
        Ok(Self {
            tests,
            language,
            checker: checker.filter(|source| !source.trim().is_empty()),
            time: seconds.map(Duration::from_secs_f64),
            memory_bytes: megabytes.map(bytes_of),
            prompt,
        })
    }

    /// The limits of a test.
    pub(crate) fn limits(&self, default: &Limits) -> Limits {
        let limits = self.time.map_or(*default, |cpu| Limits {
            memory_bytes: default.memory_bytes,
            output_bytes: default.output_bytes,
            ..Limits::with_cpu(cpu.min(default.cpu))
        });
        // The interpreter itself needs address space.
        let memory = self
            .memory_bytes
            .map_or(limits.memory_bytes, |own| own.max(64 << 20).min(limits.memory_bytes));
        Limits { memory_bytes: memory, ..limits }
    }

    /// The submission as a module: behind the prompt if it continues one, else without indentation at its start.
    pub(crate) fn with_prompt(&self, source: &str) -> String {
        match &self.prompt {
            Some((prompt, entry)) if !defines(source, entry) => format!("{prompt}{source}"),
            _ => source.trim_start().to_owned(),
        }
    }

    /// Whether programs of `language` can be judged by its tests.
    ///
    /// # Errors
    /// [`VerifyError::BadReference`] for tests that are Python, and for calls in languages whose
    /// functions cannot be called.
    pub fn check_language(&self, language: Language) -> Result<(), VerifyError> {
        let can_run = |test: &TaskTest| match &test.run {
            Test::Program { .. } => true,
            Test::Call { kwargs, .. } => language == Language::JavaScript && kwargs.is_empty(),
            Test::Check(_) | Test::Tests(_) => false,
        };
        if language == Language::Python || self.tests.iter().all(can_run) {
            return Ok(());
        }
        let detail = format!("its tests cannot be run for {}", language.name());
        Err(VerifyError::BadReference(Reason::with("language_not_tested", detail)))
    }

    /// Number of tests, as far as it is known before they run.
    pub(crate) fn n_tests(&self) -> usize {
        let count = |test: &TaskTest| match test.expected {
            ExpectedResult::Outcomes(count) => count,
            ExpectedResult::Output(_) | ExpectedResult::Value(_) => 1,
        };
        self.tests.iter().map(count).sum()
    }
}

/// Whether `source` has a definition of the function `name`.
fn defines(source: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    source.split("def ").skip(1).any(|rest| {
        let after = rest.trim_start().strip_prefix(name);
        after.is_some_and(|after| !after.starts_with(is_word))
    })
}

const NO_TESTS: &str = "the reference is no object and no list of tests: write \
                        {\"test_list\": [\"assert f(1) == 2\"]} or \
                        {\"tests\": [{\"stdin\": \"1\\n\", \"stdout\": \"2\\n\"}]}";

fn bad(detail: impl Into<String>) -> VerifyError {
    VerifyError::BadReference(Reason::with("malformed_tests", detail.into()))
}

/// The fields that hold the tests: of `input_output` (APPS, TACO) or `unit_tests` (NeMo-Gym), which
/// may be JSON as a text, or of the reference itself.
fn nested(fields: &Map<String, Value>) -> Result<Map<String, Value>, VerifyError> {
    for key in ["input_output", "unit_tests"] {
        let inner = match fields.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(inner)) => inner.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(inner)) => inner,
                // A file of tests.
                _ if key == "unit_tests" => continue,
                _ => return Err(bad(format!("'{key}' is no JSON object"))),
            },
            Some(_) => return Err(bad(format!("'{key}' is neither an object nor a text"))),
        };
        let mut all = fields.clone();
        all.remove(key);
        all.extend(inner);
        return Ok(all);
    }
    Ok(fields.clone())
}

fn tests(fields: &Map<String, Value>) -> Result<Vec<TaskTest>, VerifyError> {
    let mut tests = Vec::new();
    for key in ["tests", "official_tests", "public_test_cases", "private_test_cases"] {
        if let Some(list) = list(fields, key)? {
            for (index, test) in list.iter().enumerate() {
                let place = || format!("{key}[{index}]");
                let test =
                    test.as_object().ok_or_else(|| bad(format!("{} is no object", place())))?;
                tests.push(one(test, fields).map_err(|what| bad(format!("{}: {what}", place())))?);
            }
        }
    }
    if let (Some(inputs), Some(outputs)) = (list(fields, "inputs")?, list(fields, "outputs")?) {
        if inputs.len() != outputs.len() {
            let (i, o) = (inputs.len(), outputs.len());
            return Err(bad(format!("{i} 'inputs' and {o} 'outputs'")));
        }
        for (index, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
            let test = pair(input, output, fields);
            tests.push(test.map_err(|what| bad(format!("inputs[{index}]: {what}")))?);
        }
    }
    tests.extend(file(fields)?);
    Ok(tests)
}

/// Tests that are Python: `HumanEval`'s `test` with `entry_point`, MBPP's `test_list`, and files of
/// unit tests in `unit_tests` or `test_code`.
fn file(fields: &Map<String, Value>) -> Result<Option<TaskTest>, VerifyError> {
    let asserts = texts(fields, "test_list")?;
    let code = [text(fields, "test")?, text(fields, "unit_tests")?, text(fields, "test_code")?];
    let code: Vec<String> = code.into_iter().flatten().collect();
    if asserts.is_empty() && code.is_empty() {
        return Ok(None);
    }
    let before = texts(fields, "test_imports")?.into_iter().chain(text(fields, "test_setup_code")?);
    let entry = text(fields, "entry_point")?.filter(|_| !code.is_empty());
    let n_tests = asserts.len() + usize::from(entry.is_some());
    let prompt = text(fields, "prompt")?.filter(|_| entry.is_some());
    let run = Test::Tests(TestFile {
        code: before.chain(code).collect::<Vec<_>>().join("\n"),
        prompt,
        entry,
        asserts,
        modules: texts(fields, "modules")?,
    });
    let expected = ExpectedResult::Outcomes(n_tests.max(1));
    Ok(Some(TaskTest { run, expected, output: None, values: None }))
}

/// One test object: ours (`stdin` and `stdout`, or `args` and `expected`), or `input` and `output`
/// with `testtype` (`LiveCodeBench`).
fn one(test: &Map<String, Value>, task: &Map<String, Value>) -> Result<TaskTest, String> {
    if let (Some(input), Some(output)) = (test.get("input"), test.get("output")) {
        let is_call = test.get("testtype").and_then(Value::as_str) == Some("functional");
        return if is_call { lines_call(input, output, task) } else { pair(input, output, task) };
    }
    if let Some(expected) = test.get("expected") {
        let function = test.get("function").or(task.get("function")).and_then(Value::as_str);
        let args = match test.get("args") {
            None => Vec::new(),
            Some(Value::Array(args)) => args.clone(),
            Some(_) => return Err("'args' is no list".to_owned()),
        };
        let kwargs = match test.get("kwargs") {
            None => Map::new(),
            Some(Value::Object(kwargs)) => kwargs.clone(),
            Some(_) => return Err("'kwargs' is no object".to_owned()),
        };
        let run = Test::Call {
            function: function.ok_or("'function' is missing")?.to_owned(),
            args,
            kwargs,
            in_place: test.get("in_place") == Some(&Value::Bool(true)),
        };
        let expected = ExpectedResult::Value(expected.clone());
        return Ok(TaskTest { run, expected, output: None, values: rule(task, "values")? });
    }
    let stdout = test.get("stdout").ok_or("it has neither 'stdout' nor 'expected'")?;
    program(test.get("stdin").unwrap_or(&Value::Null), stdout, task)
}

/// An input and an output of APPS, TACO, Codeforces or NeMo-Gym: a program's texts, or with
/// `fn_name` the arguments and the value of a call.
fn pair(input: &Value, output: &Value, task: &Map<String, Value>) -> Result<TaskTest, String> {
    let Some(function) = task.get("fn_name").and_then(Value::as_str) else {
        return program(input, output, task);
    };
    let args = match input {
        Value::Array(args) => args.clone(),
        Value::String(_) => return lines_call(input, output, task),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("the arguments are no list".to_owned());
        }
    };
    // The published lists wrap the value in a list of one.
    let wrapped = output.as_array().filter(|values| values.len() == 1);
    let expected = wrapped.map_or(output, |values| &values[0]).clone();
    call(function, args, expected, task)
}

/// A call whose arguments are lines of JSON (`LiveCodeBench`).
fn lines_call(
    input: &Value,
    output: &Value,
    task: &Map<String, Value>,
) -> Result<TaskTest, String> {
    let function = ["fn_name", "func_name", "function", "entry_point"];
    let function = function.iter().find_map(|key| task.get(*key)?.as_str());
    let (Some(input), Some(output)) = (input.as_str(), output.as_str()) else {
        return Err("'input' and 'output' of a call are no texts".to_owned());
    };
    let parse =
        |line: &str| serde_json::from_str(line).map_err(|error| format!("'{line}': {error}"));
    let args: Result<Vec<Value>, String> =
        input.lines().filter(|line| !line.trim().is_empty()).map(parse).collect();
    call(function.ok_or("'fn_name' is missing")?, args?, parse(output.trim())?, task)
}

fn call(
    function: &str,
    args: Vec<Value>,
    expected: Value,
    task: &Map<String, Value>,
) -> Result<TaskTest, String> {
    let run =
        Test::Call { function: function.to_owned(), args, kwargs: Map::new(), in_place: false };
    // The published graders of these formats compare by `==`.
    let values = rule(task, "values")?.or(Some(ValueRule::Python));
    Ok(TaskTest { run, expected: ExpectedResult::Value(expected), output: None, values })
}

fn program(input: &Value, output: &Value, task: &Map<String, Value>) -> Result<TaskTest, String> {
    let text = |value: &Value| match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        // Some rows of APPS hold lines.
        Value::Array(lines) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            lines.map(|lines| lines.join("\n")).ok_or("an input or output is no text".to_owned())
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err("an input or output is no text".to_owned())
        }
    };
    let run = Test::Program { stdin: text(input)? };
    let expected = ExpectedResult::Output(text(output)?);
    Ok(TaskTest { run, expected, output: rule(task, "output_rule")?, values: None })
}

/// A rule of comparison by its word.
fn rule<R: serde::de::DeserializeOwned>(
    task: &Map<String, Value>,
    key: &str,
) -> Result<Option<R>, String> {
    let word = task.get(key).filter(|value| !value.is_null());
    word.map(|word| {
        serde_json::from_value(word.clone()).map_err(|error| format!("'{key}': {error}"))
    })
    .transpose()
}

fn list(fields: &Map<String, Value>, key: &str) -> Result<Option<Vec<Value>>, VerifyError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Array(items)) => Ok(Some(items)),
            _ => Err(bad(format!("'{key}' is no list"))),
        },
        Some(_) => Err(bad(format!("'{key}' is no list"))),
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, VerifyError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(bad(format!("'{key}' is no text"))),
    }
}

fn texts(fields: &Map<String, Value>, key: &str) -> Result<Vec<String>, VerifyError> {
    let items = list(fields, key)?.unwrap_or_default();
    let texts: Option<Vec<String>> =
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
    texts.ok_or_else(|| bad(format!("'{key}' holds something that is no text")))
}

fn positive(fields: &Map<String, Value>, key: &str) -> Result<Option<f64>, VerifyError> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) if number > 0.0 && number <= 1e6 => Ok(Some(number)),
            _ => Err(bad(format!("'{key}' is no positive number up to 1000000"))),
        },
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most a million times 2^20, and positive"
)]
fn bytes_of(megabytes: f64) -> u64 {
    (megabytes * f64::from(1 << 20)) as u64
}
