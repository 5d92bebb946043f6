//! `POST /pooling`: raw outputs of a head, one row per text or per token, as numbers or base64.

use std::time::Instant;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use engine::RequestOutput;

use super::types::{PooledNumbers, PooledRows, PoolingReply, PoolingRequest, PoolingTask};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::pooling::types::{Encoding, PooledUsage};
use crate::compat::shared::pooling::{self as heads, Head, Tokens};
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError, base64, handle, invalid};
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names;
use crate::state::State;

/// Reads a model's head, as vLLM does: at the last token of each text, or at every token for heads
/// of process reward models.
#[utoipa::path(
    tag = "compat",
    request_body = PoolingRequest,
    responses(
        (status = 200, description = "One for each text, in order.", body = PoolingReply),
        VllmFailures,
    )
)]
#[post("/pooling")]
pub(crate) async fn pooling(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Vllm, &request, payload, &state, answer).await
}

async fn answer(mut call: Call<'_>, mut request: PoolingRequest) -> Result<HttpResponse, ApiError> {
    let params = request.take_pooled();
    let served = names::model(call.state, params.model.as_deref())?;
    let task = task(&served, request.task)?;
    let activate = heads::activates(params.use_activation, params.activation)?;
    let engine_params = heads::salted(params.cache_salt.as_deref());
    let tokens = heads::sequences(&mut call, &served, params).await?;
    let sequence = match task {
        PoolingTask::Classify => Tokens::last,
        PoolingTask::TokenClassify => Tokens::everywhere,
    };
    let working = Instant::now();
    let sequences = tokens.into_iter().map(sequence).collect();
    let answers = heads::read(&mut call, &served, sequences, engine_params).await?;
    let data = answers.iter().enumerate().map(|(index, answer)| {
        let rows = rows(&served, answer, activate)?;
        Ok(PooledRows {
            index,
            object: "pooling".to_owned(),
            data: written(rows, task, request.encoding_format),
        })
    });
    let reply = PoolingReply {
        id: format!("pooling-{}", call.id()),
        object: "list".to_owned(),
        created: unix_seconds(),
        model: served.name().to_string(),
        data: data.collect::<Result<_, ApiError>>()?,
        usage: PooledUsage::of(heads::tokens(&answers)),
    };
    call.read_reply(&served, (answers.len(), working), reply)
}

fn task(served: &Served, params: Option<PoolingTask>) -> Result<PoolingTask, ApiError> {
    match (heads::head(served)?, params) {
        (Head::Whole { .. }, None) => Ok(PoolingTask::Classify),
        (Head::Tokens, None) => Ok(PoolingTask::TokenClassify),
        (Head::Tokens, Some(PoolingTask::Classify)) => {
            let what = format_args!("the head of '{}' reads steps", served.name());
            Err(invalid("task", what))
        }
        (Head::Whole { .. } | Head::Tokens, Some(task)) => Ok(task),
    }
}

fn rows(
    served: &Served,
    answer: &RequestOutput,
    activate: bool,
) -> Result<Vec<Vec<f64>>, ApiError> {
    let rows = heads::rows(answer)?.iter().map(|row| {
        let logits = heads::logits(row)?;
        Ok(if activate { served.labels.activated(&logits) } else { logits })
    });
    rows.collect()
}

fn written(mut rows: Vec<Vec<f64>>, task: PoolingTask, encoding: Encoding) -> PooledNumbers {
    match (encoding, task) {
        (Encoding::Base64, _) => {
            PooledNumbers::Base64(base64::floats(rows.iter().flatten().copied()))
        }
        (Encoding::Float, PoolingTask::Classify) => {
            PooledNumbers::Row(rows.pop().unwrap_or_default())
        }
        (Encoding::Float, PoolingTask::TokenClassify) => PooledNumbers::Tokens(rows),
    }
}
