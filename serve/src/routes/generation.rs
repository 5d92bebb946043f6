//! What the routes that generate text have in common: how a request comes in, and how its reply
//! goes out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::header::{CACHE_CONTROL, ContentType, HeaderName};
use actix_web::web::{self, Data, Payload};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::admit::Permit;
use crate::body;
use crate::error::{ApiError, Code};
use crate::generate::{Answered, Asking, Order, Wire, answer, stream};
use crate::hosts::Served;
use crate::metrics::Stage;
use crate::middleware::{Arrived, RequestId, StageTimes};
use crate::state::State;

/// A request that was read, and what it holds until its reply is made.
pub(super) struct Incoming {
    pub(super) asking: Asking,
    /// Its id, of which ids in the reply are made.
    pub(super) id: String,
    permit: Permit,
    read: Duration,
    parsing: Instant,
}

/// Reads a request within the server's limits.
pub(super) async fn incoming<T>(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
) -> Result<(T, Incoming), ApiError>
where
    T: DeserializeOwned + Send + 'static,
{
    let Arrived(arrived) = *request
        .extensions()
        .get()
        .expect("observe gives every request one");
    let id = request
        .extensions()
        .get::<RequestId>()
        .map(|id| id.0.clone());
    let (bytes, permit) = body::read(request, payload, state).await?;
    let (read, parsing) = (arrived.elapsed(), Instant::now());
    let incoming = Incoming {
        asking: Asking::new(request, arrived + state.config.deadline),
        id: id.unwrap_or_default(),
        permit,
        read,
        parsing,
    };
    Ok((body::parse(bytes).await?, incoming))
}

/// The model or adapter of a name.
pub(super) fn find(state: &State, name: &str) -> Result<Served, ApiError> {
    if let Some(served) = state.hosts.get(name) {
        return Ok(served);
    }
    // The name is echoed as Rust quotes it, so that control characters in it stay harmless.
    let shown: String = name.chars().take(64).collect();
    let message = if state.registry.get(name).is_some() {
        format!("{shown:?} is a scorer, and generates nothing")
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

/// Runs what takes longer than an event loop has: rendering, encoding, compiling.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    web::block(work).await.map_err(ApiError::internal)?
}

/// Submits an order and answers by it, whole or in pieces.
pub(super) async fn reply<W, R>(
    request: &HttpRequest,
    state: Data<State>,
    incoming: Incoming,
    (order, wire): (Order, W),
    whole: impl FnOnce(W, Answered) -> R,
) -> Result<HttpResponse, ApiError>
where
    W: Wire + 'static,
    R: Serialize,
{
    // Time series go by the model: adapters may come and go without number.
    let name = order.served.host.name.clone();
    let order = Arc::new(order);
    let submitting = order.clone();
    let progress = aside(move || submitting.submit()).await?;
    let parse = incoming.parsing.elapsed();
    for (stage, time) in [(Stage::Read, incoming.read), (Stage::Parse, parse)] {
        state.metrics.stage(&name, stage, [time]);
    }
    if order.stream {
        let events = stream(order, progress, wire, incoming.permit, state);
        return Ok(HttpResponse::Ok()
            .content_type("text/event-stream; charset=utf-8")
            .insert_header((CACHE_CONTROL, "no-cache"))
            .insert_header((HeaderName::from_static("x-accel-buffering"), "no"))
            .streaming(events));
    }
    let running = Instant::now();
    let answered = in_time(incoming.asking, answer(&order, progress)).await?;
    let (exec, replying) = (running.elapsed(), Instant::now());
    let body = serde_json::to_vec(&whole(wire, answered)).map_err(ApiError::internal)?;
    let last = replying.elapsed();
    for (stage, time) in [(Stage::Exec, exec), (Stage::Reply, last)] {
        state.metrics.stage(&name, stage, [time]);
    }
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let times = format!(
        "read;dur={:.3}, parse;dur={:.3}, exec;dur={:.3}, reply;dur={:.3}",
        millis(incoming.read),
        millis(parse),
        millis(exec),
        millis(last)
    );
    request.extensions_mut().insert(StageTimes(times));
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(body))
}

/// Waits no longer than the request can: a text that was begun and is not done is no reply.
pub(super) async fn in_time<T>(
    asking: Asking,
    work: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    let done = tokio::time::timeout(asking.patience(), work).await;
    done.unwrap_or_else(|_| {
        let message = "the deadline passed before the text was done";
        Err(ApiError::new(Code::DeadlinePassed, message))
    })
}
