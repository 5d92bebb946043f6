//! Middleware of every request: request id, key check, metrics and access log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, web};

use crate::compat::ApiFlavor;
use crate::extensions::{Arrived, BatchLine, RequestId, StageTimes};
use crate::state::State;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

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
    let mut leaving = Leaving { state, answered: false };
    let reply = match next.call(request).await {
        Ok(reply) => reply.map_into_boxed_body(),
        Err(error) => return Err(error),
    };
    leaving.answered = true;
    Ok(finish(reply, &id, arrived, &leaving.state))
}

/// Checks the API key on every route, including unknown ones.
pub(crate) async fn guard(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // Batch lines are the server's own requests: the batch itself passed this check.
    if BatchLine::of(request.request()).is_none()
        && let Err(error) = shared(&request).keys.check(request.headers())
    {
        let reply = ApiFlavor::of(request.path()).response(&error);
        return Ok(request.into_response(reply));
    }
    next.call(request).await.map(ServiceResponse::map_into_boxed_body)
}

fn shared(request: &ServiceRequest) -> &web::Data<State> {
    request.app_data::<web::Data<State>>().expect("the app is built with its state")
}

fn finish(
    mut reply: ServiceResponse<BoxBody>,
    id: &str,
    arrived: Instant,
    state: &State,
) -> ServiceResponse<BoxBody> {
    let total = arrived.elapsed();
    let route = reply.request().match_pattern().unwrap_or_else(|| "unknown".to_owned());
    let stages = reply.request().extensions().get::<StageTimes>().cloned();
    let stages = stages.map_or_else(String::new, |times| times.0 + ", ");
    let timing = format!("{stages}total;dur={:.3}", total.as_secs_f64() * 1e3);
    let headers = reply.headers_mut();
    headers.insert(REQUEST_ID, header_value(id));
    headers.insert(SERVER_TIMING, header_value(&timing));
    let status = reply.status().as_u16();
    state.metrics.reply(&route, status);
    let micros = u64::try_from(total.as_micros()).unwrap_or(u64::MAX);
    // Under overload one log line per request would add to the load; it has its own counter.
    let loud = status >= 500 && !matches!(status, 503 | 504);
    if loud {
        tracing::error!(request_id = id, route, status, micros, "reply");
    } else {
        tracing::debug!(request_id = id, route, status, micros, "reply");
    }
    reply
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
