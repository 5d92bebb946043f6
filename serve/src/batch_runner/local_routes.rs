//! Calls the server's own routes without a connection.
//!
//! A batch line is a request like any other: the same guard, admission, limits and handlers.
//! [`BatchLine`] marks its origin.

use std::rc::Rc;
use std::time::Duration;

use actix_http::{Payload, Request};
use actix_service::{IntoServiceFactory as _, Service as _, ServiceFactory as _};
use actix_web::body::{BoxBody, to_bytes};
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, Uri};
use actix_web::web::{Bytes, Data};
use actix_web::{Error, HttpMessage as _};
use futures_util::future::LocalBoxFuture;

use crate::app::app;
use crate::batches::output::LineReply;
use crate::extensions::BatchLine;
use crate::routes::meta::Document;
use crate::state::State;

type Calling = dyn Fn(Request) -> LocalBoxFuture<'static, Result<ServiceResponse<BoxBody>, Error>>;

/// The server's routes on this thread.
#[derive(Clone)]
pub(crate) struct LocalRoutes(Rc<Calling>);

impl LocalRoutes {
    /// Builds the routes of a server; `None` if they cannot be built.
    pub(crate) async fn new(state: Data<State>, document: Data<Document>) -> Option<LocalRoutes> {
        let factory = app(state, document).into_factory();
        let service = factory.new_service(AppConfig::default()).await.ok()?;
        let service = Rc::new(service);
        Some(LocalRoutes(Rc::new(move |request| {
            let service = Rc::clone(&service);
            Box::pin(async move { service.call(request).await })
        })))
    }

    /// Posts a JSON body to a path.
    ///
    /// # Errors
    /// A path or id that cannot be sent, or a reply that cannot be read.
    pub(crate) async fn post(
        &self,
        path: &'static str,
        id: &str,
        body: Bytes,
        line: BatchLine,
    ) -> Result<LineReply, String> {
        let length = HeaderValue::from(body.len());
        let mut request = Request::with_payload(Payload::from(body));
        let head = request.head_mut();
        head.method = Method::POST;
        head.uri = Uri::from_static(path);
        let json = HeaderValue::from_static("application/json");
        head.headers_mut().insert(CONTENT_TYPE, json);
        head.headers_mut().insert(HeaderName::from_static("content-length"), length);
        let id = HeaderValue::from_str(id).map_err(|error| error.to_string())?;
        head.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
        request.extensions_mut().insert(line);
        let response = match (self.0)(request).await {
            Ok(response) => response.into_parts().1,
            Err(error) => error.error_response().map_into_boxed_body(),
        };
        let status = response.status();
        let busy = busy(status, response.headers());
        let request_id = text(response.headers(), "x-request-id").to_owned();
        let body = to_bytes(response.into_body()).await;
        Ok(LineReply { status, request_id, body: body.map_err(|error| error.to_string())?, busy })
    }
}

/// Returns the time to retry after; `None` unless the reply says overload.
fn busy(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    const LEAST: Duration = Duration::from_millis(20);
    const MOST: Duration = Duration::from_secs(5);
    let full = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let wait = text(headers, "retry-after-ms").parse();
    let wait = wait.map_or(MOST, Duration::from_millis);
    full.contains(&status).then(|| wait.clamp(LEAST, MOST))
}

fn text<'h>(headers: &'h HeaderMap, name: &'static str) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}
