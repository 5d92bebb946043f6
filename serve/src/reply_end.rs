//! What is written once a reply has ended: the line of the access log and the span of the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::HttpRequest;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::Method;
use actix_web::web::Bytes;
use traces::{AttributeValue, Attributes};
use tracing::Level;

use crate::extensions::Sender;
use crate::request_trace::RequestTrace;

/// Methods by their own names; others are `_OTHER`, so that clients make no names of spans.
const METHODS: [Method; 9] = [
    Method::GET,
    Method::POST,
    Method::DELETE,
    Method::PUT,
    Method::HEAD,
    Method::OPTIONS,
    Method::PATCH,
    Method::CONNECT,
    Method::TRACE,
];

/// The route of a path that is none.
pub(crate) const UNKNOWN: &str = "unknown";

/// A request whose reply has not ended. When it is dropped, its span and its line are written.
pub(crate) struct ReplyEnd {
    request_id: String,
    arrived: Instant,
    method: Method,
    path: String,
    route: String,
    /// `None` until there is a reply: a client that leaves before has none.
    status: Option<u16>,
    key: Option<String>,
    address: Option<String>,
    bytes: usize,
    /// Whether the reply is complete.
    is_whole: bool,
    trace: Option<Arc<RequestTrace>>,
}

impl ReplyEnd {
    /// Begins with a request; `None` where nothing is to be written.
    pub(crate) fn begin(
        request: &HttpRequest,
        request_id: &str,
        arrived: Instant,
        trace: Option<&Arc<RequestTrace>>,
    ) -> Option<ReplyEnd> {
        let trace = trace.cloned();
        if trace.is_none() && !tracing::enabled!(target: "access", Level::DEBUG) {
            return None;
        }
        Some(ReplyEnd {
            request_id: request_id.to_owned(),
            arrived,
            method: request.method().clone(),
            path: request.path().to_owned(),
            route: UNKNOWN.to_owned(),
            status: None,
            key: None,
            address: request.peer_addr().map(|address| address.ip().to_string()),
            bytes: 0,
            is_whole: false,
            trace,
        })
    }

    /// Takes over the reply and returns the body that counts its bytes.
    pub(crate) fn count(
        mut self,
        request: &HttpRequest,
        (route, status): (&str, u16),
        body: BoxBody,
    ) -> BoxBody {
        route.clone_into(&mut self.route);
        self.status = Some(status);
        let key = Sender::of(request).and_then(|sender| sender.key);
        self.key = key.as_ref().map(|key| key.label().to_owned());
        // Bodies without a byte are not polled.
        self.is_whole = matches!(body.size(), BodySize::None | BodySize::Sized(0))
            || self.method == Method::HEAD;
        BoxBody::new(CountedBody { size: body.size(), body, end: self })
    }

    fn method_name(&self) -> &str {
        let known = METHODS.iter().find(|known| **known == self.method);
        known.map_or("_OTHER", Method::as_str)
    }

    fn write_line(&self) {
        let micros = u64::try_from(self.arrived.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(
            target: "access",
            request_id = self.request_id,
            trace_id = self.trace.as_ref().map(|trace| trace.id()),
            method = self.method.as_str(),
            route = self.route,
            status = self.status,
            bytes = self.bytes,
            micros,
            complete = self.is_whole,
            key = self.key,
            address = self.address,
            "reply",
        );
    }

    /// The attributes of the conventions for HTTP servers, and our own.
    fn attributes(&self) -> Attributes {
        let mut attributes: Attributes = vec![
            ("http.request.method", self.method_name().into()),
            ("url.path", self.path.as_str().into()),
            ("url.scheme", "http".into()),
            ("http.response.body.size", self.bytes.into()),
            ("tribunal.request.id", self.request_id.as_str().into()),
        ];
        if self.route != UNKNOWN {
            attributes.push(("http.route", self.route.as_str().into()));
        }
        if let Some(key) = &self.key {
            attributes.push(("tribunal.key", key.as_str().into()));
        }
        if let Some(status) = self.status {
            attributes.push(("http.response.status_code", usize::from(status).into()));
        }
        let error = match self.status {
            Some(status) if status >= 500 => Some(status.to_string()),
            Some(_) if self.is_whole => None,
            Some(_) | None => Some("cancelled".to_owned()),
        };
        let error = error.map(|error| ("error.type", AttributeValue::from(error.as_str())));
        attributes.extend(error);
        attributes
    }
}

impl Drop for ReplyEnd {
    fn drop(&mut self) {
        if self.status.is_some() {
            self.write_line();
        }
        if let Some(trace) = &self.trace {
            let method = match self.method_name() {
                "_OTHER" => "HTTP",
                name => name,
            };
            let name = match self.route.as_str() {
                UNKNOWN => method.to_owned(),
                route => format!("{method} {route}"),
            };
            trace.end(name, self.attributes(), self.status.is_some_and(|status| status >= 500));
        }
    }
}

/// A reply's body that counts its bytes.
struct CountedBody {
    /// Before its first byte was sent.
    size: BodySize,
    body: BoxBody,
    end: ReplyEnd,
}

impl MessageBody for CountedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(bytes))) => {
                self.end.bytes += bytes.len();
                // A body of a known size is not polled after its last byte.
                let sent = BodySize::Sized(self.end.bytes as u64);
                self.end.is_whole |= self.size == sent;
            }
            Poll::Ready(None) => self.end.is_whole = true,
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled
    }
}
