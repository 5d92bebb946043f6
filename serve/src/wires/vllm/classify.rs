//! `POST /classify`: the outputs of a head as classes. verl reads a reward model's logit here.

use std::time::Instant;

use actix_web::HttpResponse;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, post};
use engine::RequestOutput;
use openapi::{
    Classified, ClassifyBody, ClassifyBodyReply, ClassifyReply, PooledUsage, VllmClassifyRequest,
    parse_classify,
};

use crate::call::Call;
use crate::error::ApiError;
use crate::hosts::Served;
use crate::names;
use crate::state::{State, unix_seconds};
use crate::wires::failures::ClassifyFailures;
use crate::wires::reading::{self, Tokens};
use crate::wires::{Dialect, Refusal, pooled, sglang};

/// Reads a model's head, as vLLM and `SGLang` do.
///
/// A body with `input` or `messages` is vLLM's: classes with their probabilities, or with logits
/// where `use_activation` (or `activation`) is false. A body with `text` or `input_ids` is
/// `SGLang`'s: the head's outputs as they are. Special tokens in texts are meant.
#[utoipa::path(
    tag = "wires",
    request_body = ClassifyBody,
    responses(
        (status = 200, description = "One for each text, in order, in the shape of the request.",
         body = ClassifyBodyReply),
        ClassifyFailures,
    )
)]
#[post("/classify")]
pub(crate) async fn classify(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Refusal> {
    let begun = Call::begin(&request, payload, &state).await;
    let call = begun.map_err(Dialect::Vllm.refusal())?;
    match call.parse_shape(parse_classify).await? {
        ClassifyBody::Vllm(asked) => answer(call, asked).await.map_err(Dialect::Vllm.refusal()),
        ClassifyBody::Sglang(asked) => {
            let answered = sglang::rewards(call, asked).await;
            answered.map_err(Dialect::Sglang.refusal())
        }
    }
}

async fn answer(
    mut call: Call<'_>,
    mut asked: VllmClassifyRequest,
) -> Result<HttpResponse, ApiError> {
    let asked = asked.take_pooled();
    let served = names::model(call.state, asked.model.as_deref())?;
    reading::check_whole(&served)?;
    let activate = pooled::activates(asked.use_activation, asked.activation)?;
    let terms = reading::salted(asked.cache_salt.as_deref());
    let tokens = pooled::sequences(&served, asked).await?;
    let working = Instant::now();
    let sequences = tokens.into_iter().map(Tokens::last).collect();
    let answers = reading::read(&mut call, &served, sequences, terms).await?;
    let data = answers.iter().enumerate().map(|(index, answer)| {
        let probabilities = outputs(&served, answer, activate)?;
        Ok(classified(&served, index, probabilities))
    });
    let reply = ClassifyReply {
        id: format!("classify-{}", call.id()),
        object: "list".to_owned(),
        created: unix_seconds(),
        model: served.name().to_string(),
        data: data.collect::<Result<_, ApiError>>()?,
        usage: PooledUsage::of(reading::tokens(&answers)),
    };
    call.read_reply(&served, (answers.len(), working), reply)
}

/// A head's outputs at a text's last token, as probabilities or as they are.
pub(crate) fn outputs(
    served: &Served,
    answer: &RequestOutput,
    activate: bool,
) -> Result<Vec<f64>, ApiError> {
    let logits = reading::lone(answer)?;
    Ok(if activate { served.labels.activated(&logits) } else { logits })
}

/// With the likeliest class, the first of several.
pub(crate) fn classified(served: &Served, index: usize, probs: Vec<f64>) -> Classified {
    let mut best = 0;
    for (at, p) in probs.iter().enumerate() {
        if *p > probs[best] {
            best = at;
        }
    }
    Classified { index, label: Some(served.labels.name(best)), num_classes: probs.len(), probs }
}
