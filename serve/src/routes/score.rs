//! `POST /v1/score`: a scoring request at the HTTP edge.

use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};
use openapi::{MAX_INPUTS, ScoreInput, ScoreRequest, ScoreResponse, ScoreResult, Usage};
use rubrics::Scorer;

use crate::blocking::blocking;
use crate::cached_score::CachedOutcome;
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::error_bodies::ScoreFailure;
use crate::compat::shared::{ApiFlavor, FlavoredApiError};
use crate::compat::shared_routes::bodies::{ScoreBody, ScoreReply, parse_score};
use crate::compat::{sglang, shared_routes, vllm};
use crate::convert::{self, InputEcho};
use crate::error::{ApiError, Code};
use crate::names;
use crate::signing::input_digest;
use crate::state::State;

/// Scores a batch of inputs with one scorer.
///
/// The reply is 200 for every valid request: each result has its own status, and only the status
/// `ok` has a score.
///
/// The bodies of vLLM (`queries` with `documents`, and its other names) and of `SGLang` (`query`
/// with `items`) are detected by their fields, and answered in their own shapes, errors included.
#[utoipa::path(
    tag = "scoring",
    request_body = ScoreBody,
    responses(
        (status = 200, description = "One result for each input, in order.", body = ScoreReply),
        (status = 400, description = "The body is not JSON.", body = ScoreFailure),
        (status = 401, description = "No valid API key.", body = ScoreFailure),
        (status = 404, description = "No such scorer; near names are listed.", body = ScoreFailure),
        (status = 408, description = "The body did not arrive in time.", body = ScoreFailure),
        (status = 413, description = "The body is too large.", body = ScoreFailure),
        (status = 422, description = "JSON of the wrong shape; `param` is its path.", body = ScoreFailure),
        (status = 500, description = "A fault of the server.", body = ScoreFailure),
        (status = 502, description = "A tool failed, where the body is another's.",
         body = ScoreFailure),
        (status = 503, description = "Overloaded or draining.", body = ScoreFailure,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
        (status = 504, description = "The deadline passed before any work.", body = ScoreFailure),
    )
)]
#[post("/v1/score")]
pub(crate) async fn score(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let begun = Call::begin(&request, payload, &state).await;
    let call = begun.map_err(ApiFlavor::Own.refusal())?;
    match shared_routes::parse(&call, parse_score).await? {
        ScoreBody::Own(params) => {
            score_inputs(call, params).await.map_err(ApiFlavor::Own.refusal())
        }
        ScoreBody::Vllm(params) => {
            let answered = vllm::score::answer(call, params).await;
            answered.map_err(ApiFlavor::Vllm.refusal())
        }
        ScoreBody::Sglang(params) => {
            let answered = sglang::score(call, params).await;
            answered.map_err(ApiFlavor::Sglang.refusal())
        }
    }
}

/// Scores the inputs of a request.
async fn score_inputs(call: Call<'_>, params: ScoreRequest) -> Result<HttpResponse, ApiError> {
    check_count(params.inputs.len())?;
    let scorer = names::scorer(call.state, &params.model)?;
    let (id, state) = (call.id(), call.state);
    let (given, digests) = digested(call.state, params.inputs).await?;
    let (inputs, echoes): (Vec<_>, Vec<_>) = given.into_iter().map(convert::input).unzip();
    let inputs: Vec<Arc<_>> = inputs.into_iter().map(Arc::new).collect();
    let scored = call.score(scorer, &inputs, &params.options).await?;
    let created = unix_seconds();
    let results = results(&scored.scorer, echoes, &scored.answers);
    let results = signed(state, results, digests, created).await?;
    let body = ScoreResponse {
        id: format!("score-{id}"),
        object: "score".to_owned(),
        created,
        model: scored.scorer.name().to_owned(),
        usage: total(&results),
        results,
    };
    scored.reply_written(move || body.to_json()).await
}

/// Returns inputs with their digests; without digests where results are not signed.
async fn digested(
    state: &State,
    inputs: Vec<ScoreInput>,
) -> Result<(Vec<ScoreInput>, Vec<String>), ApiError> {
    if state.signing.signer().is_none() {
        return Ok((inputs, Vec::new()));
    }
    let digesting = blocking(move || {
        let digests = inputs.iter().map(input_digest).collect();
        (inputs, digests)
    });
    digesting.await.map_err(ApiError::internal)
}

/// Signs results where the server signs: about 20 microseconds each, away from the event loop.
async fn signed(
    state: &State,
    mut results: Vec<ScoreResult>,
    digests: Vec<String>,
    created: u64,
) -> Result<Vec<ScoreResult>, ApiError> {
    let Some(signer) = state.signing.signer().cloned() else {
        return Ok(results);
    };
    let signing = blocking(move || {
        for (result, input) in results.iter_mut().zip(digests) {
            signer.sign(result, input, created);
        }
        results
    });
    signing.await.map_err(ApiError::internal)
}

fn check_count(count: usize) -> Result<(), ApiError> {
    if (1..=MAX_INPUTS).contains(&count) {
        return Ok(());
    }
    let message = format!("inputs: {count} inputs; a request takes 1 to {MAX_INPUTS}");
    Err(ApiError::new(Code::InvalidBody, message).at("inputs"))
}

fn results(scorer: &Scorer, echoes: Vec<InputEcho>, answers: &[CachedOutcome]) -> Vec<ScoreResult> {
    let digest = scorer.digest_text();
    let pairs = echoes.into_iter().zip(answers).enumerate();
    let result = |(index, (echo, answer)): (usize, (InputEcho, &CachedOutcome))| {
        convert::result(index, echo, &answer.outcome, answer.frame(&digest))
    };
    pairs.map(result).collect()
}

/// Sums the usage of all results.
fn total(results: &[ScoreResult]) -> Usage {
    let mut sum = Usage::default();
    for Usage { input_tokens, cached_tokens, output_tokens, total_tokens } in
        results.iter().map(|result| &result.usage)
    {
        sum.input_tokens += input_tokens;
        sum.cached_tokens += cached_tokens;
        sum.output_tokens += output_tokens;
        sum.total_tokens += total_tokens;
    }
    sum
}
