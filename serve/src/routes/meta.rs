//! What the server says about itself.

use actix_web::http::header::ContentType;
use actix_web::{HttpResponse, get, web};
use openapi::{
    Digests, ErrorBody, Health, MAX_INPUTS, ModelInfo, ModelLimits, ModelList, Readiness,
};

use crate::error::ApiError;
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
        .body(document.0.clone())
}

/// The rendered OpenAPI document.
#[derive(Debug)]
pub struct Document(pub String);
