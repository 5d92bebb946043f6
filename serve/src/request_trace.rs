//! The trace of a request: its context, and the spans of its stages until the reply has ended.
//!
//! Spans have names, numbers and digests of the configuration, never texts of requests.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use actix_web::dev::ServiceRequest;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest, web};
use traces::{Attributes, Span, SpanId, SpanKind, TraceContext};

use crate::routed_path::routed_path;
use crate::state::State;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// W3C Trace Context, level 2.
pub(crate) const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// Paths that are called every few seconds by probes and scrapers: they are traced only where their
/// caller traces them.
const QUIET: [&str; 5] = ["/livez", "/readyz", "/healthz", "/health", "/metrics"];

/// The trace of a request.
pub(crate) struct RequestTrace {
    state: web::Data<State>,
    /// The place of the request's own span.
    context: TraceContext,
    caller: Option<SpanId>,
    arrived: Instant,
    /// Unix time of `arrived`, in nanoseconds.
    arrived_nanos: u64,
    stages: Mutex<Vec<Span>>,
}

impl Debug for RequestTrace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestTrace").field("context", &self.context).finish_non_exhaustive()
    }
}

impl RequestTrace {
    /// Begins the trace of a request, or continues that of its `traceparent`; `None` where nothing is
    /// traced.
    pub(crate) fn begin(
        request: &ServiceRequest,
        state: &web::Data<State>,
        arrived: Instant,
    ) -> Option<Arc<RequestTrace>> {
        let tracer = state.tracer.as_ref()?;
        let values = |name: HeaderName| request.headers().get_all(name).map(HeaderValue::as_bytes);
        let caller = TraceContext::read(values(TRACEPARENT), values(TRACESTATE));
        let context =
            tracer.begin(caller.as_ref(), QUIET.contains(&routed_path(request.request())));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let arrived_at = now.saturating_sub(arrived.elapsed());
        Some(Arc::new(RequestTrace {
            state: state.clone(),
            context,
            caller: caller.map(|caller| caller.span_id),
            arrived,
            arrived_nanos: u64::try_from(arrived_at.as_nanos()).unwrap_or(u64::MAX),
            stages: Mutex::default(),
        }))
    }

    /// The trace of a request, if its spans are recorded.
    pub(crate) fn recorded(request: &HttpRequest) -> Option<Arc<RequestTrace>> {
        let trace = request.extensions().get::<Arc<RequestTrace>>().cloned();
        trace.filter(|trace| trace.context.is_sampled())
    }

    /// Returns the trace's id.
    pub(crate) fn id(&self) -> String {
        self.context.trace_id.to_string()
    }

    /// Returns the value of the header `traceresponse`.
    pub(crate) fn response_header(&self) -> HeaderValue {
        HeaderValue::try_from(self.context.header()).expect("hexadecimal digits and dashes")
    }

    /// Returns the span that gives its ids to the log lines of a request.
    pub(crate) fn log_span(&self, request_id: &str) -> tracing::Span {
        tracing::error_span!("request", request_id, trace_id = %self.context.trace_id)
    }

    /// Records a finished stage below the request; returns its id, for stages of its own.
    pub(crate) fn stage(
        &self,
        name: &'static str,
        times: [Instant; 2],
        attributes: Attributes,
    ) -> SpanId {
        self.stage_of(self.context.span_id, name, times, attributes)
    }

    /// Records a finished stage below another.
    pub(crate) fn stage_of(
        &self,
        parent: SpanId,
        name: &'static str,
        times: [Instant; 2],
        attributes: Attributes,
    ) -> SpanId {
        let Some(tracer) = self.state.tracer.as_ref().filter(|_| self.context.is_sampled()) else {
            return parent;
        };
        let id = tracer.span_id();
        let span = Span {
            context: self.context.with_span(id),
            parent: Some((parent, false)),
            name: name.into(),
            kind: SpanKind::Internal,
            times: times.map(|time| self.nanos(time)),
            attributes,
            failed: false,
        };
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).push(span);
        id
    }

    /// Records the request, which ends now, and queues it with its stages for export.
    pub(crate) fn end(&self, name: String, attributes: Attributes, failed: bool) {
        let Some(tracer) = self.state.tracer.as_ref().filter(|_| self.context.is_sampled()) else {
            return;
        };
        let span = Span {
            context: self.context.clone(),
            parent: self.caller.map(|caller| (caller, true)),
            name: name.into(),
            kind: SpanKind::Server,
            times: [self.arrived_nanos, self.nanos(Instant::now())],
            attributes,
            failed,
        };
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spans = std::mem::take(&mut *stages);
        drop(stages);
        spans.push(span);
        tracer.record(spans);
    }

    fn nanos(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.arrived).as_nanos();
        self.arrived_nanos.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
