//! Runs graders; the models and programs of a formula concurrently.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Priority;
use futures_util::future::{try_join_all, try_join3};
use serde_json::{Value, json};
use verifiers::Fuel;
use verifiers::similarity::{TooLong, similarity};

use super::formula::NoValue;
use super::grade::{Flag, Grade, GradeProblem};
use super::program;
use super::spec::{Checked, Comparison, ModelGrader, TextComparison, Work};
use super::template::Subject;
use crate::call::Call;
use crate::caller::Caller;
use crate::compat::shared::generation::types::ChatRequest;
use crate::compat::shared::generation::{RunningGeneration, answer, chat};
use crate::compat::shared::invalid;
use crate::encoding::{ClientWaits, encode_aside, while_client_waits};
use crate::error::{ApiError, Code};
use crate::request_trace::RequestTrace;
use crate::scorer_queues::QueueShare;

/// Most tokens of a model's text, unless the grader sets it.
const DEFAULT_TOKENS: u64 = 1024;

/// Runs a grader.
///
/// # Errors
/// Errors that concern the request and not the grade: overload, deadline, an invalid request to a
/// model.
pub(super) async fn run(
    grader: &Arc<Checked>,
    subject: &Arc<Subject>,
    context: (Caller, &Call<'_>),
) -> Result<Grade, ApiError> {
    let _shares = enter_queues(grader, context).await?;
    let judging = grader.parts().into_iter().filter_map(|part| match &part.work {
        Work::Model(model) => Some(run_model(model, &part.path, subject, context)),
        Work::Texts(_) | Work::Python(_) | Work::Formula(..) => None,
    });
    let running = grader.parts().into_iter().filter_map(|part| match &part.work {
        Work::Python(source) => Some(program::run(source, &part.path, subject, context.1)),
        Work::Texts(_) | Work::Model(_) | Work::Formula(..) => None,
    });
    let comparing = compare_texts(grader, subject, context.1);
    let (compared, judged, ran) =
        try_join3(comparing, try_join_all(judging), try_join_all(running)).await?;
    let (mut compared, mut judged) = (compared.into_iter(), judged.into_iter());
    let mut ran = ran.into_iter();
    let mut grade_of = |part: &Checked| {
        let grade = match part.work {
            Work::Model(_) => judged.next(),
            Work::Python(_) => ran.next(),
            Work::Texts(_) | Work::Formula(..) => compared.next(),
        };
        grade.ok_or_else(|| ApiError::internal("a grader has no grade"))
    };
    let Work::Formula(formula, parts) = &grader.work else {
        return grade_of(grader);
    };
    let mut whole = Grade::default();
    for (name, part) in parts {
        let grade = grade_of(part)?;
        whole.parts.insert(name.clone(), grade.reward);
        whole.problems.extend(grade.problems);
        for (model, tokens) in grade.tokens {
            *whole.tokens.entry(model).or_default() += tokens;
        }
    }
    let value = formula.value(&|name| whole.parts.get(name).copied().flatten());
    match value {
        Ok(value) => whole.reward = Some(value),
        // The error of the part is reported already.
        Err(NoValue::Unknown(_)) => {}
        Err(NoValue::NotFinite) => whole.problems.push(GradeProblem::new(
            Flag::NoNumber,
            format!("{}.calculate_output", grader.path),
            "the formula came to no number: it divides by zero or overflows",
        )),
    }
    Ok(whole)
}

/// Grades of the graders that compare texts, in order. One thread makes them one after the other,
/// while the client waits: filled texts may be much longer than the body.
async fn compare_texts(
    grader: &Arc<Checked>,
    subject: &Arc<Subject>,
    call: &Call<'_>,
) -> Result<Vec<Grade>, ApiError> {
    if !grader.parts().iter().any(|part| matches!(part.work, Work::Texts(_))) {
        return Ok(Vec::new());
    }
    let (grader, subject) = (Arc::clone(grader), Arc::clone(subject));
    while_client_waits(call.state, call.held(), move |waits| {
        let mut grades = Vec::new();
        for part in grader.parts() {
            if let Work::Texts(texts) = &part.work {
                waits.check()?;
                grades.push(compared(texts, &part.path, &subject));
            }
        }
        Ok(grades)
    })
    .await
}

fn compared(texts: &TextComparison, path: &str, subject: &Subject) -> Grade {
    let filled =
        texts.input.fill(subject).and_then(|input| Ok((input, texts.reference.fill(subject)?)));
    let (input, reference) = match filled {
        Ok(filled) => filled,
        Err(problem) => return Grade::failed(problem),
    };
    let metric = match texts.how {
        Comparison::Check(check) => {
            let passes = check.passes(&input, &reference);
            return Grade::of(if passes { 1.0 } else { 0.0 });
        }
        Comparison::Alike(metric) => metric,
    };
    let too_long = |field: &str| {
        let message = "the text is longer than what this measure takes";
        GradeProblem::new(Flag::TooLong, format!("{path}.{field}"), message)
    };
    match similarity(metric, &input, &reference, &mut Fuel::default()) {
        Ok(score) => Grade::of(score.get()),
        Err(TooLong::Reference) => Grade::failed(too_long("reference")),
        // An input that is too long has reward 0, as for every verifier: the policy controls its
        // length.
        Err(TooLong::Input) => Grade { reward: Some(0.0), ..Grade::failed(too_long("input")) },
    }
}

/// Enters the queues of the models that a grader calls, each once for all calls of a model: calls
/// that entered one by one might never fit together. In the order of the names, so that no two
/// requests wait for each other.
async fn enter_queues(
    grader: &Checked,
    (caller, call): (Caller, &Call<'_>),
) -> Result<Vec<QueueShare>, ApiError> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for part in grader.parts() {
        if let Work::Model(model) = &part.work {
            *counts.entry(model.served.name()).or_default() += 1;
        }
    }
    let priority = caller.priority(Priority::default());
    let mut shares = Vec::with_capacity(counts.len());
    for (name, count) in counts {
        let queues = &call.state.scorer_queues;
        shares.push(queues.enter(name, count, priority, caller.time_left()).await?);
    }
    Ok(shares)
}

/// Runs a model grader.
async fn run_model(
    model: &Arc<ModelGrader>,
    path: &str,
    subject: &Arc<Subject>,
    (caller, call): (Caller, &Call<'_>),
) -> Result<Grade, ApiError> {
    let (filling, of) = (Arc::clone(model), Arc::clone(subject));
    let filled = move |_: &ClientWaits| Ok(body(&filling, &of));
    let body = match while_client_waits(call.state, call.held(), filled).await? {
        Ok(body) => body,
        Err(problem) => return Ok(Grade::failed(problem)),
    };
    let bytes = text_bytes(&body);
    let request: ChatRequest = serde_json::from_value(body).map_err(ApiError::internal)?;
    let served = model.served.clone();
    let longest = served.host.max_text_bytes().min(bytes);
    let work = move |_: &ClientWaits| chat(request, served, caller);
    let answering = async {
        let prepared =
            Arc::new(encode_aside(call.state, call.held(), longest, work).await?.prepared);
        let running = RunningGeneration::submit(&prepared, &call.state.grammars).await?;
        let running = running.traced(RequestTrace::recorded(call.request));
        answer(&prepared, running).await
    };
    let answered = match answering.await {
        Ok(answered) => answered,
        Err(error) => return fault(error, path).map(Grade::failed),
    };
    let (text, tokens) = answered.into_text();
    let mut grade = match model.goal.reward(&text) {
        Some(reward) => Grade::of(reward),
        None => Grade::failed(GradeProblem::new(
            Flag::ModelParse,
            path,
            format!("the model's text ended before its result: {}", start_of(&text)),
        )),
    };
    grade.tokens = BTreeMap::from([(model.model.clone(), tokens)]);
    Ok(grade)
}

/// Bytes of the texts of messages.
fn text_bytes(body: &Value) -> usize {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_str()).map(str::len).sum()
}

/// Builds the chat request of a model grader.
fn body(model: &ModelGrader, subject: &Subject) -> Result<Value, GradeProblem> {
    let mut messages = Vec::with_capacity(model.messages.len());
    for (role, parts) in &model.messages {
        let texts: Result<Vec<String>, GradeProblem> =
            parts.iter().map(|part| part.fill(subject)).collect();
        messages.push(json!({ "role": role, "content": texts?.join("\n") }));
    }
    let sampling = &model.sampling;
    let schema = json!({ "name": "grade", "schema": model.goal.schema() });
    Ok(json!({
        "model": model.model,
        "messages": messages,
        "max_completion_tokens": sampling.max_completions_tokens.unwrap_or(DEFAULT_TOKENS),
        "seed": sampling.seed,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "response_format": { "type": "json_schema", "json_schema": schema },
    }))
}

/// Converts an error of one grade to a grader error; errors that concern the request are returned
/// as they are.
fn fault(error: ApiError, path: &str) -> Result<GradeProblem, ApiError> {
    match error.code() {
        Code::ContextLength => {
            let path = format!("{path}.input");
            Ok(GradeProblem::new(Flag::TooLong, path, error.to_string()))
        }
        Code::Internal => {
            if let Some(cause) = error.log() {
                tracing::error!(cause, "a grader's model failed");
            }
            Ok(GradeProblem::new(Flag::ModelFailed, path, error.to_string()))
        }
        Code::InvalidBody => {
            let param = error.param().unwrap_or_default();
            let place = match param {
                "max_completion_tokens" | "max_tokens" => "sampling_params.max_completions_tokens",
                "temperature" | "top_p" | "seed" => &format!("sampling_params.{param}"),
                _ => "input",
            };
            Err(invalid(format!("{path}.{place}"), error))
        }
        Code::MalformedJson
        | Code::InvalidApiKey
        | Code::Forbidden
        | Code::MalformedForm
        | Code::NotFound
        | Code::Conflict
        | Code::StorageFull
        | Code::StorageFailed
        | Code::RouteNotFound
        | Code::MethodNotAllowed
        | Code::ScorerNotFound
        | Code::BodyTimeout
        | Code::BodyTooLarge
        | Code::Unmeasured
        | Code::ToolFailed
        | Code::Overloaded
        | Code::TooFast
        | Code::TooManyWrongKeys
        | Code::UnsupportedMediaType
        | Code::Draining
        | Code::Loading
        | Code::DeadlinePassed => Err(error),
    }
}

/// Quotes the start of a text on one line.
fn start_of(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    format!("{start:?}")
}
