//! `POST /generative_scoring`: label probabilities of the next token.

use std::time::Instant;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};

use super::types::{GenerativeScoringRequest, PairScore, PairScores};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::next_token::{self, Normalisation, Prompts};
use crate::compat::shared::pooling::types::PooledUsage;
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError, handle};
use crate::error::ApiError;
use crate::names;
use crate::state::State;

/// Computes the probability of the first label as the token after the query and each item, as vLLM
/// does.
#[utoipa::path(
    tag = "compat",
    request_body = GenerativeScoringRequest,
    responses(
        (status = 200, description = "A score for each item, in order.", body = PairScores),
        VllmFailures,
    )
)]
#[post("/generative_scoring")]
pub(crate) async fn generative_scoring(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Vllm, &request, payload, &state, answer).await
}

async fn answer(
    mut call: Call<'_>,
    params: GenerativeScoringRequest,
) -> Result<HttpResponse, ApiError> {
    let served = names::model(call.state, params.model.as_deref())?;
    let labels = next_token::labels(&served, "label_token_ids", params.label_token_ids)?;
    let prompts = Prompts {
        query: params.query,
        items: params.items,
        item_first: params.item_first,
        special: params.add_special_tokens,
    };
    let sequences = next_token::sequences(&mut call, &served, prompts).await?;
    let sequences = sequences.into_iter().map(|tokens| (tokens, labels.clone()));
    let scale = if params.apply_softmax {
        Normalisation::Labels { temperature: 1.0 }
    } else {
        Normalisation::Vocabulary
    };
    let working = Instant::now();
    let (rows, tokens) = next_token::read(&mut call, &served, sequences.collect(), scale).await?;
    let data = rows.iter().enumerate().map(|(index, row)| PairScore {
        index,
        object: "score".to_owned(),
        score: row[0],
    });
    let reply = PairScores {
        id: format!("generative-scoring-{}", call.id()),
        object: "list".to_owned(),
        created: unix_seconds(),
        model: served.name().to_string(),
        data: data.collect(),
        usage: PooledUsage::of(tokens),
    };
    call.read_reply(&served, (rows.len(), working), reply)
}
