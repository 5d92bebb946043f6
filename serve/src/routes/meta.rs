//! Operations routes: health, models, metrics and the OpenAPI document.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header::{ALLOW, ContentType, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _, get, web};
use openapi::{
    ErrorBody, Health, Liveness, MAX_INPUTS, ModelDigests, ModelInfo, ModelLimits, ModelList,
    Readiness,
};

use crate::compat::shared::generation::types::MAX_PROMPTS;
use crate::error::{ApiError, Code, unavailable};
use crate::extensions::Sender;
use crate::routed_path::routed_path;
use crate::state::State;

/// Reports whether the process is alive.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "The process answers.", body = Health),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/healthz")]
pub(crate) async fn healthz() -> web::Json<Health> {
    healthy()
}

/// Reports whether the process is alive, under the name that vLLM, `SGLang` and others use.
#[utoipa::path(
    tag = "compat",
    responses(
        (status = 200, description = "The process answers.", body = Health),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/health")]
pub(crate) async fn health() -> web::Json<Health> {
    healthy()
}

fn healthy() -> web::Json<Health> {
    web::Json(Health { status: "ok".to_owned() })
}

/// Whether the parts that do the work make progress. A server that fails here should be restarted.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "Every part that has work makes progress.", body = Liveness),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 503, description = "A part has had work and made no progress for server.stall_timeout.", body = Liveness,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
    )
)]
#[get("/livez")]
pub(crate) async fn livez(request: HttpRequest, state: web::Data<State>) -> HttpResponse {
    let mut stalled = state.liveness.stalled(Instant::now());
    let dead = state.hosts.iter().filter(|host| !host.engine.is_alive());
    stalled.extend(dead.map(|host| format!("engine {}", host.name)));
    if stalled.is_empty() {
        return HttpResponse::Ok().json(Liveness { status: "ok".to_owned(), stalled });
    }
    if Sender::of(&request).is_none() {
        // Names of models are for those with a key.
        stalled.clear();
    }
    unavailable(Liveness { status: "stalled".to_owned(), stalled })
}

/// Reports whether the server accepts work.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "Scorers and models are loaded and work is taken.", body = Readiness),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 503, description = "The models are being loaded, the server is shutting down or holds as much work as it takes, or a model's engine has stopped.", body = Readiness,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
    )
)]
#[get("/readyz")]
pub(crate) async fn readyz(state: web::Data<State>) -> HttpResponse {
    let alive = state.hosts.iter().all(|host| host.engine.is_alive());
    let status = match (state.is_draining(), alive, state.is_overloaded()) {
        (true, ..) => "draining",
        (false, false, _) => "failed",
        (false, true, true) => "overloaded",
        (false, true, false) => "ready",
    };
    let body = Readiness {
        status: status.to_owned(),
        scorers: state.registry.len(),
        models: state.hosts.len(),
    };
    if status == "ready" { HttpResponse::Ok().json(body) } else { unavailable(body) }
}

/// Lists the scorers, models and adapters.
#[utoipa::path(
    tag = "scoring",
    responses(
        (status = 200, description = "Scorers, models and adapters with kinds, digests and limits.", body = ModelList),
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
    let scorer = |scorer: &rubrics::Scorer| ModelInfo {
        kind: scorer.kind().to_owned(),
        description: scorer.description().to_owned(),
        digests: scorer_digests(scorer, &state),
        ..blank(scorer.name(), &state, limits)
    };
    let mut data: Vec<ModelInfo> = state.registry.iter().map(|one| scorer(one)).collect();
    let limits = ModelLimits { inputs: MAX_PROMPTS, ..limits };
    for host in state.hosts.iter() {
        data.extend(served(host, &state, limits));
    }
    web::Json(ModelList { object: "list".to_owned(), data })
}

/// Digests of a scorer: alone, and with the weights that it uses now.
fn scorer_digests(scorer: &rubrics::Scorer, state: &State) -> ModelDigests {
    let weights = || base::digest::text(&scorer.digest_with(&*state.tools.models));
    ModelDigests {
        scorer: Some(scorer.digest_text()),
        scorer_weights: scorer.uses_models().then(weights),
        ..ModelDigests::default()
    }
}

/// Describes a model and its adapters.
fn served(host: &Arc<engine::Host>, state: &State, limits: ModelLimits) -> Vec<ModelInfo> {
    let shape = |name: &str| ModelInfo {
        context_tokens: Some(host.engine.limits().context()),
        parameters: Some(host.parameters),
        ..blank(name, state, limits)
    };
    let about = |name: &str, what: String, adapter: Option<String>| {
        let served = rubrics::Served::of(host, name);
        let scorer = served.and_then(|served| rubrics::Scorer::native(&served).ok());
        ModelInfo {
            description: match &scorer {
                None => what,
                Some(scorer) => format!(
                    "{what} POST /v1/score takes its name: it is a scorer of kind {}.",
                    scorer.kind()
                ),
            },
            source: state
                .hosts
                .source(adapter.as_deref().unwrap_or(&host.digest))
                .map(str::to_owned),
            digests: ModelDigests {
                model: Some(host.digest.to_string()),
                adapter,
                revision: host.revision(),
                ..scorer.map(|scorer| scorer_digests(&scorer, state)).unwrap_or_default()
            },
            ..shape(name)
        }
    };
    let what = if host.engine.limits().has_vocabulary {
        "A model that generates text and answers questions."
    } else {
        "A model that is read by its own head."
    };
    let mut all =
        vec![ModelInfo { kind: "model".to_owned(), ..about(&host.name, what.to_owned(), None) }];
    for adapter in host.engine.status().adapters {
        let what = format!("An adapter of {}.", host.name);
        all.push(ModelInfo {
            kind: "adapter".to_owned(),
            parent: Some(host.name.to_string()),
            ..about(&adapter.name, what, Some(adapter.digest.to_string()))
        });
    }
    all
}

fn blank(name: &str, state: &State, limits: ModelLimits) -> ModelInfo {
    ModelInfo {
        id: name.to_owned(),
        object: "model".to_owned(),
        created: state.started,
        owned_by: "tribunal".to_owned(),
        kind: String::new(),
        description: String::new(),
        digests: ModelDigests::default(),
        source: None,
        parent: None,
        context_tokens: None,
        parameters: None,
        limits,
    }
}

/// Returns metrics for Prometheus.
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
    let batches = state.batches.as_deref();
    let file_bytes = batches.map_or(0, crate::batches::Batches::bytes);
    let held = [
        ("batches", batches.map_or(0, crate::batches::Batches::running)),
        ("batch_bytes", usize::try_from(file_bytes).unwrap_or(usize::MAX)),
        ("requests", state.admission.requests()),
        ("items", state.admission.items()),
        ("bytes", state.admission.bytes()),
        ("encoding_bytes", state.admission.encoding_bytes()),
        ("grammars", state.grammars.compiling(state.config.grammar_compilations)),
        ("jobs", state.tools.pool.queued()),
        ("key_requests", state.key_limits.held()),
        ("connections", state.connections.len()),
        ("output_bytes", state.connections.output_bytes()),
        ("stored_verdicts", usize::try_from(state.cache.len()).unwrap_or(usize::MAX)),
    ];
    state.metrics.memory(&state.memory);
    for host in state.hosts.iter() {
        let status = host.engine.status();
        state.metrics.engine(&host.name, host.engine.queued_tokens(), &status);
    }
    for scorer in state.registry.iter() {
        if let Some(status) = scorer.sandbox_status() {
            state.metrics.sandbox(scorer.name(), &status);
        }
    }
    state.metrics.sandbox("programs", &state.programs.status());
    state.metrics.connections(state.connections.events());
    if let Some(tracer) = &state.tracer {
        state.metrics.spans(tracer.counts());
    }
    let text = state.metrics.render(&held).map_err(ApiError::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(HttpResponse::Ok().content_type(kind).body(text))
}

/// Returns this API as an OpenAPI document.
#[utoipa::path(
    tag = "operations",
    responses(
        (status = 200, description = "The OpenAPI document.", body = Object),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/openapi.json")]
pub(crate) async fn openapi_json(document: web::Data<Document>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(document.text.clone())
}

/// The OpenAPI document as served, with the methods of each path.
#[derive(Debug)]
pub struct Document {
    text: String,
    /// Method names by path.
    methods: BTreeMap<String, Vec<String>>,
}

impl Document {
    /// Parses the text of an OpenAPI document.
    pub fn new(text: String) -> Self {
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let paths = parsed["paths"].as_object().into_iter().flatten();
        let methods = paths.map(|(path, item)| {
            let names = item.as_object().into_iter().flatten();
            (path.clone(), names.map(|(name, _)| name.to_uppercase()).collect())
        });
        let methods = methods.collect();
        Self { text, methods }
    }

    /// Returns the methods of a path, which may match a pattern with parameters.
    fn methods_of(&self, path: &str) -> Option<&Vec<String>> {
        let fits = |pattern: &str| {
            let same = |(part, given): (&str, &str)| {
                part == given || (part.starts_with('{') && !given.is_empty())
            };
            pattern.split('/').count() == path.split('/').count()
                && pattern.split('/').zip(path.split('/')).all(same)
        };
        let patterned = || self.methods.iter().find(|(pattern, _)| fits(pattern));
        let exact = self.methods.get(path);
        exact.or_else(|| patterned().map(|(_, methods)| methods))
    }
}

/// Answers requests that match no route: 405 where the path has other methods, else 404.
pub(crate) async fn fallback(
    request: HttpRequest,
    document: web::Data<Document>,
) -> Result<HttpResponse, ApiError> {
    let (method, path) = (request.method(), routed_path(&request));
    let Some(methods) = document.methods_of(path) else {
        let shown: String = path.chars().take(200).collect();
        return Err(ApiError::new(Code::RouteNotFound, format!("no route {shown}; see /docs")));
    };
    let allowed = methods.join(", ");
    let error = ApiError::new(Code::MethodNotAllowed, format!("{path} does not take {method}"));
    let mut response = error.error_response();
    let allow = HeaderValue::from_str(&allowed).map_err(ApiError::internal)?;
    response.headers_mut().insert(ALLOW, allow);
    Ok(response)
}
