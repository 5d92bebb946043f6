//! Reranking: documents ordered by relevance to a query. Cohere, Jina, vLLM and llama.cpp share one
//! body and one reply; Text Embeddings Inference has its own, detected by its fields.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};

use super::types::{RerankReply, RerankRequest, RerankText, Reranked};
use crate::call::Call;
use crate::compat::shared::pooling::types::PooledUsage;
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{
    ApiFlavor, FlavoredApiError, check_count, handle, pairs, pooling, target,
};
use crate::error::ApiError;
use crate::state::State;

/// Ranks documents in the shape of Cohere's first version and of Jina.
#[utoipa::path(
    tag = "compat",
    request_body = RerankRequest,
    responses(
        (status = 200, description = "Best first.", body = RerankReply),
        VllmFailures,
    )
)]
#[post("/v1/rerank")]
pub(crate) async fn v1_rerank(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    cohere(&request, payload, &state).await
}

/// Ranks documents, as `POST /v1/rerank`; llama.cpp has this path too.
#[utoipa::path(
    tag = "compat",
    request_body = RerankRequest,
    responses(
        (status = 200, description = "Best first.", body = RerankReply),
        VllmFailures,
    )
)]
#[post("/v1/reranking")]
pub(crate) async fn v1_reranking(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    cohere(&request, payload, &state).await
}

/// Ranks documents in the shape of Cohere's second version.
#[utoipa::path(
    tag = "compat",
    request_body = RerankRequest,
    responses(
        (status = 200, description = "Best first.", body = RerankReply),
        VllmFailures,
    )
)]
#[post("/v2/rerank")]
pub(crate) async fn v2_rerank(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    cohere(&request, payload, &state).await
}

async fn cohere(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Vllm, request, payload, state, answer).await
}

/// Answers a Cohere body.
///
/// # Errors
/// No documents, and documents that cannot be scored.
pub(crate) async fn answer(
    call: Call<'_>,
    params: RerankRequest,
) -> Result<HttpResponse, ApiError> {
    pooling::check_truncation(params.truncate_prompt_tokens)?;
    check_count("documents", params.documents.len(), 1..=openapi::MAX_INPUTS)?;
    let activate = pooling::activates(params.use_activation, params.activation)?;
    let engine_params = pooling::salted(params.cache_salt.as_deref());
    let target = target::of_body(&call, params.model.as_deref())?;
    let texts: Vec<String> = params.documents.into_iter().map(|one| one.text).collect();
    let pairs = pairs::against("documents", params.query, &texts);
    let id = format!("score-{}", call.id());
    let scored = pairs::score(call, target, pairs, (activate, engine_params)).await?;
    let repeats = params.return_documents.unwrap_or(true);
    let document = |index: usize| RerankText { text: texts[index].clone() };
    let results = pairs::best(&scored.scores, params.top_n).map(|(index, score)| Reranked {
        index,
        document: repeats.then(|| document(index)),
        relevance_score: score,
    });
    let reply = RerankReply {
        id,
        object: "list".to_owned(),
        model: scored.model.clone(),
        usage: PooledUsage::of(scored.tokens),
        results: results.collect(),
    };
    scored.reply(reply).await
}
