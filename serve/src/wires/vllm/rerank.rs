//! Ranking: one query, many documents, best first. Cohere, Jina, vLLM and llama.cpp share one body
//! and one reply; Text Embeddings Inference has its own, told by its fields.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{
    PooledUsage, RerankBody, RerankBodyReply, RerankReply, RerankRequest, RerankText, Reranked,
    TeiError, parse_body, parse_rerank,
};

use crate::call::Call;
use crate::error::ApiError;
use crate::state::State;
use crate::wires::failures::{RerankFailures, VllmFailures};
use crate::wires::pairs::{self, Pair};
use crate::wires::{Dialect, Refusal, check_count, pooled, reading, target, tei};

/// Ranks documents by how well they go with a query.
///
/// A body with `documents` is Cohere's, Jina's, vLLM's or llama.cpp's; one with `texts` is that of
/// Text Embeddings Inference. A scorer judges each document as the response to the query; a reward
/// model by its own name reads both as one text.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    either(&request, payload, &state).await
}

/// The same under the name that llama.cpp gives it too.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    either(&request, payload, &state).await
}

/// The same in the shape of Cohere's first version and of Jina.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    cohere(&request, payload, &state).await
}

/// The same under the name that llama.cpp gives it too.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    cohere(&request, payload, &state).await
}

/// The same in the shape of Cohere's second version.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    cohere(&request, payload, &state).await
}

async fn either(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
) -> Result<HttpResponse, Refusal> {
    let begun = Call::begin(request, payload, state).await;
    let call = begun.map_err(Dialect::Vllm.refusal())?;
    match call.parse_shape(parse_rerank).await? {
        RerankBody::Cohere(asked) => answer(call, asked).await.map_err(Dialect::Vllm.refusal()),
        RerankBody::Tei(asked) => {
            let answered = tei::ranked(call, asked).await;
            answered.map_err(Dialect::Tei.refusal())
        }
    }
}

async fn cohere(
    request: &HttpRequest,
    payload: Payload,
    state: &State,
) -> Result<HttpResponse, Refusal> {
    let answering = async {
        let call = Call::begin(request, payload, state).await?;
        let asked = call.parse(parse_body).await?;
        answer(call, asked).await
    };
    answering.await.map_err(Dialect::Vllm.refusal())
}

async fn answer(call: Call<'_>, asked: RerankRequest) -> Result<HttpResponse, ApiError> {
    pooled::check_truncation(asked.truncate_prompt_tokens)?;
    check_count("documents", asked.documents.len(), 1..=openapi::MAX_INPUTS)?;
    let activate = pooled::activates(asked.use_activation, asked.activation)?;
    let terms = reading::salted(asked.cache_salt.as_deref());
    let target = target::of_body(&call, asked.model.as_deref())?;
    let texts: Vec<String> = asked.documents.into_iter().map(|one| one.text).collect();
    let pairs = against("documents", &asked.query, &texts);
    let id = format!("score-{}", call.id());
    let scored = pairs::score(call, target, pairs, (activate, terms)).await?;
    let repeats = asked.return_documents.unwrap_or(true);
    let document = |index: usize| RerankText { text: texts[index].clone() };
    let results = best(&scored.scores, asked.top_n).map(|(index, score)| Reranked {
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

/// Every text against one query.
pub(crate) fn against(path: &str, query: &str, texts: &[String]) -> Vec<Pair> {
    let texts = texts.iter().enumerate();
    texts
        .map(|(at, text)| Pair {
            path: format!("{path}[{at}]"),
            query: query.to_owned(),
            document: text.clone(),
        })
        .collect()
}

/// Indexes and scores, best first, equal ones in their own order; so many of them, or all.
pub(crate) fn best(scores: &[f64], top_n: Option<u64>) -> impl Iterator<Item = (usize, f64)> {
    let mut ranked: Vec<(usize, f64)> = scores.iter().copied().enumerate().collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let most =
        top_n.filter(|n| *n > 0).map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    ranked.into_iter().take(most)
}
