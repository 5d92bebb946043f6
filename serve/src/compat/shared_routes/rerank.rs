//! `POST /rerank` and `POST /reranking`, which rerankers share with Text Embeddings Inference.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};

use super::bodies::{RerankBody, RerankBodyReply, parse_rerank};
use crate::call::Call;
use crate::compat::shared::error_bodies::TeiError;
use crate::compat::shared::responses::RerankFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError};
use crate::compat::{shared_routes, tei, vllm};
use crate::state::State;

/// Ranks documents by relevance to a query.
///
/// A body with `documents` is Cohere's, Jina's, vLLM's or llama.cpp's; one with `texts` is Text
/// Embeddings Inference's. A scorer judges each document as the response to the query; a reward
/// model by its own name reads both as one text.
#[utoipa::path(
    tag = "compat",
    request_body = RerankBody,
    responses(
        (status = 200, description = "Best first, in the shape of the request.",
         body = RerankBodyReply),
        (status = 424, description = "The model failed, where the body is TEI's.",
         body = TeiError),
        (status = 429, description = "Overloaded, where the body is TEI's; `retry-after` says \
                                      when to try again.",
         body = TeiError),
        RerankFailures,
    )
)]
#[post("/rerank")]
pub(crate) async fn rerank(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    either(&request, payload, &state).await
}

/// Ranks documents, as `POST /rerank`; llama.cpp has this path too.
#[utoipa::path(
    tag = "compat",
    request_body = RerankBody,
    responses(
        (status = 200, description = "Best first, in the shape of the request.",
         body = RerankBodyReply),
        (status = 424, description = "The model failed, where the body is TEI's.",
         body = TeiError),
        (status = 429, description = "Overloaded, where the body is TEI's; `retry-after` says \
                                      when to try again.",
         body = TeiError),
        RerankFailures,
    )
)]
#[post("/reranking")]
pub(crate) async fn reranking(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    either(&request, payload, &state).await
}

async fn either(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
) -> Result<HttpResponse, FlavoredApiError> {
    let begun = Call::begin(request, payload, state).await;
    let call = begun.map_err(ApiFlavor::Vllm.refusal())?;
    match shared_routes::parse(&call, parse_rerank).await? {
        RerankBody::Cohere(params) => {
            vllm::rerank::answer(call, params).await.map_err(ApiFlavor::Vllm.refusal())
        }
        RerankBody::Tei(params) => {
            let answered = tei::ranked(call, params).await;
            answered.map_err(ApiFlavor::Tei.refusal())
        }
    }
}
