//! `POST /pooling`: the outputs of a head as they are, one row a text or one a token, as numbers or
//! as base64.

use std::time::Instant;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use engine::RequestOutput;
use openapi::{
    Encoding, PooledRows, PooledUsage, PoolingReply, PoolingRequest, PoolingTask, Rows, parse_body,
};

use crate::call::Call;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names;
use crate::state::{State, unix_seconds};
use crate::wires::failures::VllmFailures;
use crate::wires::reading::{self, Head, Tokens};
use crate::wires::{Dialect, Refusal, base64, invalid, pooled};

/// Reads a model's head, as vLLM does: at the last token of each text, or, for heads that read
/// steps, at every token.
#[utoipa::path(
    tag = "wires",
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
) -> Result<HttpResponse, Refusal> {
    let answering = async {
        let call = Call::begin(&request, payload, &state).await?;
        let asked = call.parse(parse_body).await?;
        answer(call, asked).await
    };
    answering.await.map_err(Dialect::Vllm.refusal())
}

async fn answer(mut call: Call<'_>, mut request: PoolingRequest) -> Result<HttpResponse, ApiError> {
    let asked = request.take_pooled();
    let served = names::model(call.state, asked.model.as_deref())?;
    let task = task(&served, request.task)?;
    let activate = pooled::activates(asked.use_activation, asked.activation)?;
    let terms = reading::salted(asked.cache_salt.as_deref());
    let tokens = pooled::sequences(&served, asked).await?;
    let sequence = match task {
        PoolingTask::Classify => Tokens::last,
        PoolingTask::TokenClassify => Tokens::everywhere,
    };
    let working = Instant::now();
    let sequences = tokens.into_iter().map(sequence).collect();
    let answers = reading::read(&mut call, &served, sequences, terms).await?;
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
        usage: PooledUsage::of(reading::tokens(&answers)),
    };
    call.read_reply(&served, (answers.len(), working), reply)
}

fn task(served: &Served, asked: Option<PoolingTask>) -> Result<PoolingTask, ApiError> {
    match (reading::head(served)?, asked) {
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
    let rows = reading::rows(answer)?.iter().map(|row| {
        let logits = reading::logits(row)?;
        Ok(if activate { served.labels.activated(&logits) } else { logits })
    });
    rows.collect()
}

fn written(mut rows: Vec<Vec<f64>>, task: PoolingTask, encoding: Encoding) -> Rows {
    match (encoding, task) {
        (Encoding::Base64, _) => Rows::Base64(base64::floats(rows.iter().flatten().copied())),
        (Encoding::Float, PoolingTask::Classify) => Rows::Row(rows.pop().unwrap_or_default()),
        (Encoding::Float, PoolingTask::TokenClassify) => Rows::Tokens(rows),
    }
}
