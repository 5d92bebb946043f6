//! `POST /classify`, which vLLM and `SGLang` share. verl reads a reward model's logit here.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};

use super::bodies::{ClassifyBody, ClassifyBodyReply, parse_classify};
use crate::call::Call;
use crate::compat::shared::responses::ClassifyFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError};
use crate::compat::{sglang, shared_routes, vllm};
use crate::state::State;

/// Reads a model's head, as vLLM and `SGLang` do.
///
/// A body with `input` or `messages` is vLLM's: classes with their probabilities, or with logits if
/// `use_activation` (or `activation`) is false. A body with `text` or `input_ids` is `SGLang`'s:
/// the head's raw outputs. Special tokens in texts are encoded as such.
#[utoipa::path(
    tag = "compat",
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
) -> Result<HttpResponse, FlavoredApiError> {
    let begun = Call::begin(&request, payload, &state).await;
    let call = begun.map_err(ApiFlavor::Vllm.refusal())?;
    match shared_routes::parse(&call, parse_classify).await? {
        ClassifyBody::Vllm(params) => {
            vllm::classify::answer(call, params).await.map_err(ApiFlavor::Vllm.refusal())
        }
        ClassifyBody::Sglang(params) => {
            let answered = sglang::rewards(call, params).await;
            answered.map_err(ApiFlavor::Sglang.refusal())
        }
    }
}
