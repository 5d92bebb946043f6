//! Text Embeddings Inference: its routes for classifiers and rerankers. Their bodies name no model:
//! the URL or the configuration does.

pub(crate) mod types;

use std::time::Instant;

use actix_web::web::{Data, Json, Payload};
use actix_web::{HttpRequest, HttpResponse, get, post};
use engine::RequestParams;

use self::types::{
    PredictInputs, PredictReply, PredictRequest, Prediction, TeiInfo, TeiLabels, TeiModelType,
    TeiRank, TeiRerankRequest,
};
use super::shared::pooling::{self, Tokens};
use super::shared::responses::TeiFailures;
use super::shared::target::{self, Target};
use super::shared::{ApiFlavor, FlavoredApiError, check_count, handle, invalid, pairs};
use crate::call::Call;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::state::State;

/// Classifies texts or pairs of texts, most probable class first.
///
/// `?model=` names the model; without it `compat.scorer` or the only reward model is used. A pair is
/// read as one text. Special tokens in texts are encoded as such.
#[utoipa::path(
    tag = "compat",
    params(("model" = Option<String>, Query, description = "A model or an adapter.")),
    request_body = PredictRequest,
    responses(
        (status = 200, description = "The classes.", body = PredictReply),
        TeiFailures,
    )
)]
#[post("/predict")]
pub(crate) async fn predict(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Tei, &request, payload, &state, predicted).await
}

/// Describes the server in the form of Text Embeddings Inference.
#[utoipa::path(
    tag = "compat",
    params(("model" = Option<String>, Query, description = "A model or an adapter.")),
    responses(
        (status = 200, description = "A model and the limits.", body = TeiInfo),
        TeiFailures,
    )
)]
#[get("/info")]
pub(crate) async fn info(
    request: HttpRequest,
    state: Data<State>,
) -> Result<Json<TeiInfo>, FlavoredApiError> {
    let info = target::of_query(&state, request.query_string())
        .and_then(|target| model(&target).and_then(|served| describe(&state, served)));
    info.map(Json).map_err(ApiFlavor::Tei.refusal())
}

async fn predicted(mut call: Call<'_>, params: PredictRequest) -> Result<HttpResponse, ApiError> {
    let target = target::of_url(&call)?;
    let served = model(&target)?;
    pooling::check_whole(served)?;
    let (texts, is_batch) = match params.inputs {
        PredictInputs::Text(text) => (vec![("inputs".to_owned(), text)], false),
        PredictInputs::Pair(pair) => (vec![("inputs".to_owned(), pair.concat())], false),
        PredictInputs::Batch(batch) => {
            check_count("inputs", batch.len(), 1..=openapi::MAX_INPUTS)?;
            let batch = batch.into_iter().enumerate();
            let texts = batch.map(|(at, pair)| (format!("inputs[{at}]"), pair.concat()));
            (texts.collect(), true)
        }
    };
    let encoded = pooling::encode(&mut call, served, texts, pooling::as_written).await?;
    let working = Instant::now();
    let sequences = encoded.into_iter().map(Tokens::last).collect();
    let answers = pooling::read(&mut call, served, sequences, RequestParams::default()).await?;
    let all = answers.iter().map(|answer| {
        Ok(predictions(served, &pooling::outputs(served, answer, !params.raw_scores)?))
    });
    let mut all: Vec<Vec<Prediction>> = all.collect::<Result<_, ApiError>>()?;
    let reply = match all.pop() {
        Some(one) if !is_batch => PredictReply::One(one),
        last => {
            all.extend(last);
            PredictReply::Batch(all)
        }
    };
    call.read_reply(served, (answers.len(), working), reply)
}

fn predictions(served: &Served, outputs: &[f64]) -> Vec<Prediction> {
    pairs::best(outputs, None)
        .map(|(at, score)| Prediction { score, label: served.labels.name(at) })
        .collect()
}

/// Ranks texts: the body of `POST /rerank` with `texts`.
///
/// # Errors
/// No texts, and texts that cannot be scored.
pub(crate) async fn ranked(
    call: Call<'_>,
    params: TeiRerankRequest,
) -> Result<HttpResponse, ApiError> {
    check_count("texts", params.texts.len(), 1..=openapi::MAX_INPUTS)?;
    let target = target::of_body(&call, params.model.as_deref())?;
    let pairs = pairs::against("texts", params.query, &params.texts);
    let manner = (!params.raw_scores, RequestParams::default());
    let scored = pairs::score(call, target, pairs, manner).await?;
    let ranks = pairs::best(&scored.scores, params.top_n).map(|(index, score)| TeiRank {
        index,
        text: params.return_text.then(|| params.texts[index].clone()),
        score,
    });
    let ranks: Vec<TeiRank> = ranks.collect();
    scored.reply(ranks).await
}

fn model(target: &Target) -> Result<&Served, ApiError> {
    match target {
        Target::Model(served) => Ok(served),
        Target::Scorer(scorer) => {
            let what = format_args!("'{}' is a scorer, and this reads models", scorer.name());
            Err(invalid("model", what))
        }
    }
}

fn describe(state: &State, served: &Served) -> Result<TeiInfo, ApiError> {
    let n_labels = pooling::check_whole(served)?;
    let names: Vec<String> = (0..n_labels).map(|at| served.labels.name(at)).collect();
    let labels = TeiLabels {
        label2id: names.iter().cloned().zip(0..).collect(),
        id2label: (0_usize..).map(|at| at.to_string()).zip(names).collect(),
    };
    let config = &state.config;
    Ok(TeiInfo {
        model_id: served.name().to_string(),
        model_sha: Some(served.host.digest.to_string()),
        model_dtype: "as_stored".to_owned(),
        served_model_name: served.name().to_string(),
        model_type: if n_labels == 1 {
            TeiModelType::Reranker(labels)
        } else {
            TeiModelType::Classifier(labels)
        },
        max_concurrent_requests: config.queue_requests,
        max_input_length: served.host.engine.limits().context(),
        max_batch_tokens: config.batch_tokens,
        max_batch_requests: Some(config.max_sequences),
        max_client_batch_size: openapi::MAX_INPUTS,
        auto_truncate: false,
        tokenization_workers: config.threads,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sha: None,
        docker_label: None,
    })
}
