//! `POST /v1/decisions` and `POST /v1/systemone`: typed questions to a model.

use std::sync::Arc;
use std::time::Instant;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use engine::{RequestError, RequestParams, SubmitError};
use openapi::{ErrorBody, parse_body};
use rubrics::decide::{Calibrations, DecideError, DecideOptions, FieldPath, Temperature, prepare};

use super::decision_body::{DecisionBody, parse_decision};
use crate::call::{Call, deadline_passed, json};
use crate::caller::Caller;
use crate::compat::openai_decisions::types::Decision;
use crate::compat::shared::decisions::{DecisionQuery, Wire, reply_notes};
use crate::compat::shared::invalid;
use crate::compat::shared::pooling::salt;
use crate::compat::shared::responses::OpenAiFailures;
use crate::compat::systemone::types::{SystemOneReply, SystemOneRequest};
use crate::compat::{openai_decisions, sglang, systemone as system_one};
use crate::encoding::{ClientWaits, encode_aside};
use crate::error::{ApiError, Code};
use crate::hosts::Served;
use crate::names::{self, not_found};
use crate::state::State;

/// Answers typed questions about an input with the probabilities of labels. No text is generated.
///
/// Accepts the bodies of OpenAI, `SGLang` and System One, detected by their fields; the reply has
/// the shape of the request. Every reply has answers to all questions.
#[utoipa::path(
    tag = "decisions",
    request_body = DecisionBody,
    responses(
        (status = 200, description = "One answer for each question, in order.", body = Decision),
        OpenAiFailures,
        (status = 422, description = "An invalid question, or an input that is too \
          long; `param` is its path.", body = ErrorBody),
        (status = 504, description = "The deadline passed first.", body = ErrorBody),
    )
)]
#[post("/v1/decisions")]
pub(crate) async fn decisions(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    match call.parse(parse_decision).await? {
        DecisionBody::OpenAi(body) => {
            decide_and_reply(call, openai_decisions::convert(body)?).await
        }
        DecisionBody::Sglang(body) => {
            decide_and_reply(call, sglang::decisions::convert(body)?).await
        }
        DecisionBody::SystemOne(body) => decide_and_reply(call, system_one::convert(body)?).await,
    }
}

/// Answers typed questions about a state, in the shape of System One.
#[utoipa::path(
    tag = "decisions",
    request_body = SystemOneRequest,
    responses(
        (status = 200, description = "One answer for each question, by name.",
         body = SystemOneReply),
        OpenAiFailures,
        (status = 422, description = "An invalid question, or a state that is too \
          long; `param` is its path.", body = ErrorBody),
        (status = 504, description = "The deadline passed first.", body = ErrorBody),
    )
)]
#[post("/v1/systemone")]
pub(crate) async fn systemone(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, ApiError> {
    let call = Call::begin(&request, payload, &state).await?;
    let body = call.parse(parse_body::<SystemOneRequest>).await?;
    decide_and_reply(call, system_one::convert(body)?).await
}

async fn decide_and_reply<W: Wire>(
    mut call: Call<'_>,
    (query, wire): (DecisionQuery, W),
) -> Result<HttpResponse, ApiError> {
    let state = call.state;
    let served = names::model(state, query.model.as_deref())?;
    let (_, parse) = call.times();
    let deadline = call.deadline();
    let patience = call.admit(query.questions.len(), deadline)?;
    let working = Instant::now();
    let caller = Caller::new(call.request, deadline);
    let params = RequestParams {
        priority: caller.priority(engine::Priority::default()),
        client: caller.client,
        salt: query.cache_key.as_deref().map_or(0, salt),
        deadline: Some(deadline),
    };
    let (queues, items) = (&state.scorer_queues, query.questions.len());
    let _share = queues.enter(served.name(), items, params.priority, patience).await?;
    let deciding = decide(&call, &served, query, (params, &wire));
    let decided = tokio::time::timeout_at(deadline.into(), deciding).await;
    let decided = decided.map_err(|_| deadline_passed())??;
    let exec = working.elapsed();

    let replying = Instant::now();
    let n_answers = decided.answers.len();
    let model = served.adapter.as_ref().unwrap_or(&served.host.name);
    let notes = reply_notes(&decided, &served.host.digest);
    let reply = wire.reply(model.to_string(), decided, notes);
    let bytes = reply.map_err(ApiError::internal)?;
    // The permit is dropped without its time: admission learns the pace of verifiers only, and the
    // engine counts its own tokens.
    let times = [parse, exec, replying.elapsed()];
    call.count_read(&served.host.name, n_answers, times);
    Ok(json(bytes))
}

async fn decide(
    call: &Call<'_>,
    served: &Served,
    query: DecisionQuery,
    (params, wire): (RequestParams, &impl Wire),
) -> Result<rubrics::decide::Decisions, ApiError> {
    let own = || call.state.calibrations.get(&served.host.name).cloned();
    let temperature = query.temperature.and_then(Temperature::new);
    let asking = DecideOptions {
        adapter: served.adapter.clone(),
        calibrations: temperature
            .map(|temperature| Arc::new(Calibrations::uniform("request", temperature)))
            .or_else(own),
        template_kwargs: query.template_kwargs,
    };
    let host = served.host.clone();
    let longest = call.body_bytes().min(host.max_text_bytes());
    let work = move |_: &ClientWaits| Ok(prepare(&host, &query.input, query.questions, asking));
    let prepared = encode_aside(call.state, call.held(), longest, work).await?;
    let decided = async { prepared?.run(params).await };
    decided.await.map_err(|error| api_error(&error, wire))
}

/// Assumed tokens per second of an engine for `Retry-After`, which is between a second and a minute
/// in any case.
const TOKENS_PER_SECOND: f64 = 1_000.0;

fn api_error(error: &DecideError, wire: &impl Wire) -> ApiError {
    match error {
        DecideError::Question { question, place, what } => {
            invalid(wire.path(*question, *place), what)
        }
        DecideError::TooLong { question, .. } => {
            let path = wire.input_path();
            let question = wire.path(*question, FieldPath::Whole);
            let message = format!("{path}: with {question}, {error}");
            ApiError::new(Code::InvalidBody, message).at(path)
        }
        DecideError::TextTooLong { .. } => {
            let path = wire.input_path();
            ApiError::new(Code::ContextLength, format!("{path}: {error}")).at(path)
        }
        DecideError::Unsupported(_) => invalid("model", error),
        DecideError::Submit(SubmitError::Overloaded { queued, .. }) => {
            ApiError::overloaded(engine::error::retry_after(*queued, TOKENS_PER_SECOND))
        }
        DecideError::Submit(SubmitError::TooLong { .. }) => invalid(wire.input_path(), error),
        DecideError::Submit(SubmitError::UnknownAdapter { .. })
        | DecideError::Failed(RequestError::AdapterGone(_)) => not_found(error.to_string()),
        DecideError::Submit(SubmitError::ShuttingDown)
        | DecideError::Failed(RequestError::ShuttingDown) => {
            ApiError::new(Code::Draining, error.to_string())
        }
        DecideError::Failed(RequestError::Deadline) => deadline_passed(),
        DecideError::Submit(SubmitError::Invalid { .. })
        | DecideError::Failed(
            RequestError::Model(_) | RequestError::NotFinite { .. } | RequestError::Constraint(_),
        ) => ApiError::internal(error),
    }
}
