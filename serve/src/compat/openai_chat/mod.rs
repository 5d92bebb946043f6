//! Text generation as OpenAI's clients request it: receives requests and sends replies, complete or
//! streamed. The chat route is in [`super::shared_routes`], because NIM has it too.

pub(crate) mod completions;
pub(crate) mod responses;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::{CACHE_CONTROL, ContentType, HeaderName};
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use engine::Host;
use serde::Serialize;

use crate::admit::Permit;
use crate::call::Call;
use crate::caller::Caller;
use crate::compat::shared::generation::{
    Generated, PreparedRequest, ReplyFormat, RunningGeneration, answer, stream,
};
use crate::encoding::{self, ClientWaits, TOKEN_COST, encode_aside};
use crate::error::{ApiError, Code};
use crate::extensions::StageTimes;
use crate::hosts::Served;
use crate::metrics::Stage;
use crate::names::shown;
use crate::request_trace::RequestTrace;
use crate::state::State;

/// A parsed generation request, with the permit that it holds until its reply is made.
pub(crate) struct GenerationCall {
    pub(crate) caller: Caller,
    /// Request id, of which the ids in the reply are made.
    pub(crate) id: String,
    /// Length of the body.
    body_bytes: usize,
    permit: Permit,
    read: Duration,
    parsing: Instant,
}

impl GenerationCall {
    /// Takes over a request whose body is parsed.
    pub(crate) fn of(call: Call<'_>) -> GenerationCall {
        GenerationCall {
            caller: Caller::new(call.request, call.deadline()),
            id: call.id(),
            body_bytes: call.body_bytes(),
            read: call.times().0,
            parsing: call.parsing(),
            permit: call.into_permit(),
        }
    }

    /// Runs `work`, which renders and encodes the prompts, on a blocking thread, once there is room
    /// for the longest that `host` can read.
    ///
    /// # Errors
    /// 504 past the deadline, and those of [`encoding::hold`], [`encoding::encode_aside`] and `work`.
    pub(crate) async fn encode<T: Send + 'static>(
        &mut self,
        state: &State,
        host: &Host,
        work: impl FnOnce(&ClientWaits) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let held = self.permit.held();
        encoding::hold(held, self.body_bytes.saturating_mul(TOKEN_COST))?;
        let longest = self.body_bytes.min(host.max_text_bytes());
        self.caller.in_time(encode_aside(state, held, longest, work)).await
    }
}

/// Resolves a model or adapter by name.
///
/// # Errors
/// 404 for an unknown name.
pub(crate) fn find(state: &State, name: &str) -> Result<Served, ApiError> {
    if let Some(served) = state.hosts.get(name) {
        return Ok(served);
    }
    let shown = shown(name);
    let message = if state.registry.get(name).is_some() {
        format!(
            "{shown:?} is a scorer: it judges a conversation that the assistant has ended, and generates nothing"
        )
    } else {
        let near = state.hosts.near(name);
        let hint = if near.is_empty() {
            "GET /v1/models lists the models".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        format!("no model {shown:?}; {hint}")
    };
    Err(ApiError::new(Code::ScorerNotFound, message).at("model"))
}

/// Enters the queue of the model and submits a request.
async fn submit(
    prepared: &Arc<PreparedRequest>,
    state: &State,
    caller: Caller,
) -> Result<RunningGeneration, ApiError> {
    let items = usize::try_from(prepared.n_sequences()).unwrap_or(usize::MAX);
    let (name, priority) = (prepared.served.name(), prepared.params.priority);
    let share = state.scorer_queues.enter(name, items, priority, caller.time_left()).await?;
    let running = RunningGeneration::submit(prepared, &state.grammars).await?;
    Ok(running.holding(share))
}

/// Submits a request and sends its reply, complete or streamed.
pub(crate) async fn reply<W, R>(
    request: &HttpRequest,
    state: Data<State>,
    incoming: GenerationCall,
    (prepared, format): (PreparedRequest, W),
    whole: impl FnOnce(W, Generated) -> R,
) -> Result<HttpResponse, ApiError>
where
    W: ReplyFormat + 'static,
    R: Serialize,
{
    // Metrics are labelled by model and not by adapter, since adapters come and go without bound.
    let name = prepared.served.host.name.clone();
    let prepared = Arc::new(prepared);
    let running = incoming.caller.in_time(submit(&prepared, &state, incoming.caller)).await?;
    let trace = RequestTrace::recorded(request);
    if let Some(trace) = &trace {
        let (parsing, now) = (incoming.parsing, Instant::now());
        let reading = parsing.checked_sub(incoming.read).unwrap_or(parsing);
        trace.stage("read", [reading, parsing], vec![]);
        trace.stage("parse", [parsing, now], vec![]);
    }
    let running = running.traced(trace);
    let parse = incoming.parsing.elapsed();
    for (stage, time) in [(Stage::Read, incoming.read), (Stage::Parse, parse)] {
        state.metrics.stage(&name, stage, [time]);
    }
    if prepared.stream {
        let events = stream(prepared, running, format, incoming.permit, state);
        return Ok(HttpResponse::Ok()
            .content_type("text/event-stream; charset=utf-8")
            .insert_header((CACHE_CONTROL, "no-cache"))
            .insert_header((HeaderName::from_static("x-accel-buffering"), "no"))
            .streaming(events));
    }
    let working = Instant::now();
    let generated = incoming.caller.in_time(answer(&prepared, running)).await?;
    let (exec, replying) = (working.elapsed(), Instant::now());
    let body = serde_json::to_vec(&whole(format, generated)).map_err(ApiError::internal)?;
    let last = replying.elapsed();
    for (stage, time) in [(Stage::Exec, exec), (Stage::Reply, last)] {
        state.metrics.stage(&name, stage, [time]);
    }
    let times = [("read", incoming.read), ("parse", parse), ("exec", exec), ("reply", last)];
    request.extensions_mut().insert(StageTimes::of(times));
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(body))
}
