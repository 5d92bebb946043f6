//! Middleware of every request: request id, key check, metrics and access log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, web};
use connections::{Connection, ReplyBody};
use tracing::Instrument as _;

use crate::compat::shared::ApiFlavor;
use crate::error::ApiError;
use crate::extensions::{Arrived, AuditSubject, BatchLine, RequestId, Sender, StageTimes};
use crate::key_limits::{KeyShare, SharedBody};
use crate::keys::Scope;
use crate::reply_end::{ReplyEnd, UNKNOWN};
use crate::request_trace::{RequestTrace, TRACERESPONSE};
use crate::routed_path::routed_path;
use crate::state::State;
use crate::{origin, playground};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// Makes a browser show a form for the key.
const PASSWORD: HeaderValue =
    HeaderValue::from_static("Basic realm=\"the password is an API key\", charset=\"UTF-8\"");

/// Counts a request that is dropped without a reply, as happens when its client disconnects.
struct Leaving {
    state: web::Data<State>,
    answered: bool,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.answered {
            self.state.metrics.cancelled();
        }
    }
}

/// Gives the request its id; counts and logs the reply, and fills the body of framework errors. The
/// outermost layer.
pub(crate) async fn observe(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let arrived = Instant::now();
    let state = shared(&request).clone();
    let id = request_id(request.request());
    request.extensions_mut().insert(RequestId(id.clone()));
    request.extensions_mut().insert(Arrived(arrived));
    let connection = request.conn_data::<Arc<Connection>>().cloned();
    if let Some(connection) = &connection {
        connection.begin_request();
    }
    let trace = RequestTrace::begin(&request, &state, arrived);
    let end = ReplyEnd::begin(request.request(), &id, arrived, trace.as_ref());
    if let Some(trace) = &trace {
        request.extensions_mut().insert(Arc::clone(trace));
    }
    let mut leaving = Leaving { state, answered: false };
    let answering = next.call(request);
    let answered = match &trace {
        Some(trace) => answering.instrument(trace.log_span(&id)).await,
        None => answering.await,
    };
    let reply = match answered {
        Ok(reply) => reply.map_into_boxed_body(),
        Err(error) => {
            if let Some(connection) = &connection {
                connection.end_reply();
            }
            return Err(error);
        }
    };
    leaving.answered = true;
    let mut reply = finish(reply, &id, (trace, end), arrived, &leaving.state);
    let Some(connection) = connection else {
        return Ok(reply);
    };
    if leaving.state.is_draining() {
        reply.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    Ok(reply.map_body(|_, body| BoxBody::new(ReplyBody::begin(body, connection))))
}

/// Checks the API key on every route, including unknown ones.
pub(crate) async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // A line of a batch is the server's own request: its batch has passed here.
    if BatchLine::of(request.request()).is_none() {
        if let Some(reply) = origin::preflight(request.request(), &shared(&request).config) {
            return Ok(request.into_response(reply));
        }
        match identify(request.request(), shared(&request)) {
            Ok(None) => {}
            Ok(Some(sender)) => {
                if let Some(connection) = request.conn_data::<Arc<Connection>>() {
                    connection.mark_known();
                }
                request.extensions_mut().insert(sender);
            }
            Err(error) => {
                let path = routed_path(request.request());
                let mut reply = ApiFlavor::of(path).response(&error);
                if is_page(path) && reply.status() == StatusCode::UNAUTHORIZED {
                    reply.headers_mut().append(WWW_AUTHENTICATE, PASSWORD);
                }
                return Ok(request.into_response(reply));
            }
        }
    }
    let scopes = Scope::of(routed_path(request.request()));
    let share = if scopes.is_empty() || scopes == [Scope::Metrics] {
        None
    } else {
        match key_share(&request) {
            Ok(share) => share,
            Err(error) => {
                let path = routed_path(request.request());
                let reply = ApiFlavor::of(path).response(&error);
                return Ok(request.into_response(reply));
            }
        }
    };
    if scopes != [Scope::Admin] {
        let reply = next.call(request).await?.map_into_boxed_body();
        return Ok(match share {
            None => reply,
            Some(share) => reply.map_body(|_, body| BoxBody::new(SharedBody::new(body, share))),
        });
    }
    let reply = next.call(request).await?.map_into_boxed_body();
    audit(&reply);
    Ok(reply)
}

/// Counts the request against its key's limit on concurrent requests; `None` for the server's own
/// requests.
fn key_share(request: &ServiceRequest) -> Result<Option<KeyShare>, ApiError> {
    let Some(sender) = Sender::of(request.request()) else {
        return Ok(None);
    };
    let state = shared(request);
    state.key_limits.enter(sender.client).map_err(|reached| {
        state.metrics.key_refused(reached.limit);
        reached.into()
    })
}

/// Writes the line of an action that changes what the server serves.
fn audit(reply: &ServiceResponse<BoxBody>) {
    let request = reply.request();
    let key = Sender::of(request).and_then(|sender| sender.key);
    let extensions = request.extensions();
    let id = extensions.get::<RequestId>().map_or("", |id| id.0.as_str());
    let subject = extensions.get::<AuditSubject>().map_or("", |subject| subject.0.as_str());
    tracing::info!(
        target: "audit",
        action = routed_path(request),
        subject,
        status = reply.status().as_u16(),
        key = key.as_ref().map_or("none", |key| key.label()),
        address = request.peer_addr().map(|address| address.ip().to_string()),
        request_id = id,
        trace_id = extensions.get::<Arc<RequestTrace>>().map(|trace| trace.id()),
        "admin",
    );
}

/// The sender of a request that may pass; `None` for one that needs no key where there are keys: a
/// file of the playground, and a probe of health that sends none.
///
/// # Errors
/// 401 without a known key, 429 where the address has sent too many wrong ones, 403 where the key
/// has not the scope of the route; without keys, those of [`origin::check`].
fn identify(request: &HttpRequest, state: &State) -> Result<Option<Sender>, ApiError> {
    let keys = state.keys.current();
    if !keys.is_open() && (playground::is_page_file(request) || is_keyless_probe(request)) {
        return Ok(None);
    }
    let address = request.peer_addr().map(|address| address.ip());
    let path = routed_path(request);
    let checked = if is_page(path) || path == "/openapi.json" {
        keys.check_page(request.headers())
    } else {
        keys.check(request.headers())
    };
    let key = match checked {
        Ok(key) => key,
        Err(error) => {
            if address.is_some() {
                let failures = state.key_failures.take(state.addresses.of(address), Instant::now());
                let rate = state.config.key_failures;
                failures.map_err(|wait| ApiError::too_many_wrong_keys(rate, wait))?;
            }
            return Err(error);
        }
    };
    match &key {
        Some(key) => key.allow(path)?,
        None => origin::check(request, &state.config)?,
    }
    let client = key.as_ref().map_or_else(|| state.addresses.of(address), |key| key.id());
    Ok(Some(Sender { client, key }))
}

/// Whether a path is of the pages that describe the interface.
fn is_page(path: &str) -> bool {
    path == "/docs" || path.starts_with("/docs/")
}

/// Whether a request is a probe of health without a key: what probes (a kubelet, a balancer) keeps no
/// secrets.
fn is_keyless_probe(request: &HttpRequest) -> bool {
    matches!(routed_path(request), "/livez" | "/readyz")
        && *request.method() == Method::GET
        && !request.headers().contains_key(AUTHORIZATION)
}

fn shared(request: &ServiceRequest) -> &web::Data<State> {
    request.app_data::<web::Data<State>>().expect("the app is built with its state")
}

fn finish(
    mut reply: ServiceResponse<BoxBody>,
    id: &str,
    (trace, end): (Option<Arc<RequestTrace>>, Option<ReplyEnd>),
    arrived: Instant,
    state: &State,
) -> ServiceResponse<BoxBody> {
    let total = arrived.elapsed();
    let route = reply.request().match_pattern().unwrap_or_else(|| UNKNOWN.to_owned());
    let stages = reply.request().extensions_mut().remove::<StageTimes>();
    let mut timing = stages.unwrap_or_default();
    timing.push("total", total);
    origin::add_headers(&mut reply, &state.config);
    let headers = reply.headers_mut();
    headers.insert(REQUEST_ID, header_value(id));
    headers.insert(SERVER_TIMING, header_value(&timing.into_value()));
    if let Some(trace) = &trace {
        headers.insert(TRACERESPONSE, trace.response_header());
    }
    let status = reply.status().as_u16();
    state.metrics.reply(&route, status);
    // Under overload one log line per request would add to the load; it has its own counter.
    let loud = status >= 500 && !matches!(status, 503 | 504);
    if loud {
        let micros = u64::try_from(total.as_micros()).unwrap_or(u64::MAX);
        let trace_id = trace.map(|trace| trace.id());
        tracing::error!(request_id = id, trace_id, route, status, micros, "reply");
    }
    let Some(end) = end else {
        return reply;
    };
    let (request, response) = reply.into_parts();
    let response = response.map_body(|_, body| end.count(&request, (&route, status), body));
    ServiceResponse::new(request, response)
}

fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("request ids and timings are printable ASCII")
}

/// Returns the client's `x-request-id` if it is short and printable, else a new one.
fn request_id(request: &HttpRequest) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let usable =
        |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    given.filter(usable).map_or_else(new_id, str::to_owned)
}

/// Creates an id that is unique in this process and unlikely to repeat in another: start time and a
/// counter, mixed so that ids do not appear ordered.
fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static START: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let start = *START.get_or_init(|| {
        use std::hash::{BuildHasher as _, RandomState};
        RandomState::new().hash_one(std::process::id())
    });
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // SplitMix64's finaliser: a bijection, so that ids cannot collide within a process.
    let mut mixed = count.wrapping_add(start);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    format!("{mixed:016x}")
}
