//! What the server says about itself.

use std::collections::BTreeMap;

use actix_web::http::header::{ALLOW, ContentType, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _, get, web};
use openapi::{
    Digests, ErrorBody, Health, MAX_INPUTS, ModelInfo, ModelLimits, ModelList, Readiness,
};

use crate::error::{ApiError, Code};
use crate::state::State;

/// Whether the process answers.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "The process answers.", body = Health),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/healthz")]
pub(crate) async fn healthz() -> web::Json<Health> {
    web::Json(Health {
        status: "ok".to_owned(),
    })
}

/// Whether the server takes work.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "Scorers are loaded and work is taken.", body = Readiness),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 503, description = "The server is shutting down.", body = Readiness),
    )
)]
#[get("/readyz")]
pub(crate) async fn readyz(state: web::Data<State>) -> HttpResponse {
    let draining = state.is_draining();
    let body = Readiness {
        status: if draining { "draining" } else { "ready" }.to_owned(),
        scorers: state.registry.len(),
    };
    if draining {
        HttpResponse::ServiceUnavailable().json(body)
    } else {
        HttpResponse::Ok().json(body)
    }
}

/// The scorers that can be called.
#[utoipa::path(
    tag = "scoring",
    responses(
        (status = 200, description = "Scorers with kinds, digests and limits.", body = ModelList),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/v1/models")]
pub(crate) async fn models(state: web::Data<State>) -> web::Json<ModelList> {
    let limits = ModelLimits {
        inputs: MAX_INPUTS,
        body_bytes: state.config.max_body,
        deadline_ms: u64::try_from(state.config.deadline.as_millis()).unwrap_or(u64::MAX),
    };
    let info = |scorer: &rubrics::Scorer| ModelInfo {
        id: scorer.name().to_owned(),
        object: "model".to_owned(),
        created: state.started,
        owned_by: "tribunal".to_owned(),
        kind: scorer.kind().to_owned(),
        description: scorer.description().to_owned(),
        digests: Digests {
            scorer: scorer.digest_text(),
            ..Digests::default()
        },
        limits,
    };
    let data = state.registry.iter().map(|scorer| info(scorer)).collect();
    web::Json(ModelList {
        object: "list".to_owned(),
        data,
    })
}

/// Metrics for Prometheus.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "OpenMetrics text.", body = String,
         content_type = "application/openmetrics-text"),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/metrics")]
pub(crate) async fn metrics(state: web::Data<State>) -> Result<HttpResponse, ApiError> {
    let held = [
        ("requests", state.admission.requests()),
        ("items", state.admission.items()),
        ("bytes", state.admission.bytes()),
        ("jobs", state.tools.pool.queued()),
        (
            "stored_verdicts",
            usize::try_from(state.cache.len()).unwrap_or(usize::MAX),
        ),
    ];
    let text = state.metrics.render(&held).map_err(ApiError::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(HttpResponse::Ok().content_type(kind).body(text))
}

/// This API as an OpenAPI document.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "The OpenAPI document.", body = Object),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/openapi.json")]
pub(crate) async fn openapi_json(document: web::Data<Document>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(document.text.clone())
}

/// The OpenAPI document as it is served, and what it says about methods.
#[derive(Debug)]
pub struct Document {
    text: String,
    /// Method names by path.
    methods: BTreeMap<String, Vec<String>>,
}

impl Document {
    /// Of an OpenAPI document's text.
    pub fn new(text: String) -> Self {
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let paths = parsed["paths"].as_object().into_iter().flatten();
        let methods = paths.map(|(path, item)| {
            let names = item.as_object().into_iter().flatten();
            (
                path.clone(),
                names.map(|(name, _)| name.to_uppercase()).collect(),
            )
        });
        let methods = methods.collect();
        Self { text, methods }
    }
}

/// What no route takes: 405 where the path has other methods, else 404.
pub(crate) async fn fallback(
    request: HttpRequest,
    document: web::Data<Document>,
) -> Result<HttpResponse, ApiError> {
    let (method, path) = (request.method(), request.path());
    let Some(methods) = document.methods.get(path) else {
        let shown: String = path.chars().take(200).collect();
        return Err(ApiError::new(
            Code::RouteNotFound,
            format!("no route {shown}; see /docs"),
        ));
    };
    let allowed = methods.join(", ");
    let error = ApiError::new(
        Code::MethodNotAllowed,
        format!("{path} does not take {method}"),
    );
    let mut response = error.error_response();
    let allow = HeaderValue::from_str(&allowed).map_err(ApiError::internal)?;
    response.headers_mut().insert(ALLOW, allow);
    Ok(response)
}
