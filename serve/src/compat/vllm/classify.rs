//! `POST /classify`: the outputs of a head as classes. verl reads a reward model's logit here.

use std::time::Instant;

use actix_web::HttpResponse;

use super::types::VllmClassifyRequest;
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::pooling::types::{ClassifyReply, PooledUsage};
use crate::compat::shared::pooling::{self, Tokens};
use crate::error::ApiError;
use crate::names;

/// Answers a vLLM body.
pub(crate) async fn answer(
    mut call: Call<'_>,
    mut request: VllmClassifyRequest,
) -> Result<HttpResponse, ApiError> {
    let request = request.take_pooled();
    let served = names::model(call.state, request.model.as_deref())?;
    pooling::check_whole(&served)?;
    let activate = pooling::activates(request.use_activation, request.activation)?;
    let engine_params = pooling::salted(request.cache_salt.as_deref());
    let tokens = pooling::sequences(&mut call, &served, request).await?;
    let working = Instant::now();
    let sequences = tokens.into_iter().map(Tokens::last).collect();
    let answers = pooling::read(&mut call, &served, sequences, engine_params).await?;
    let data = answers.iter().enumerate().map(|(index, answer)| {
        let probabilities = pooling::outputs(&served, answer, activate)?;
        Ok(pooling::classified(&served, index, probabilities))
    });
    let reply = ClassifyReply {
        id: format!("classify-{}", call.id()),
        object: "list".to_owned(),
        created: unix_seconds(),
        model: served.name().to_string(),
        data: data.collect::<Result<_, ApiError>>()?,
        usage: PooledUsage::of(pooling::tokens(&answers)),
    };
    call.read_reply(&served, (answers.len(), working), reply)
}
