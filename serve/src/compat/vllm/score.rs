//! `POST /score`, and the same body at `POST /v1/score`: scores pairs of texts.

use std::sync::Arc;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, post};

use super::types::{PairScore, PairScores, VllmScoreRequest};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::generation::types::Texts;
use crate::compat::shared::pairs::{self, TextPair};
use crate::compat::shared::pooling::types::PooledUsage;
use crate::compat::shared::responses::VllmFailures;
use crate::compat::shared::{
    ApiFlavor, FlavoredApiError, check_count, handle, invalid, pooling, target,
};
use crate::error::ApiError;
use crate::state::State;

/// Scores pairs of texts, as vLLM does: one against one, one against many, or as many against as
/// many.
///
/// A scorer judges the second text as the response to the first. A reward model by its own name
/// reads both as one text.
#[utoipa::path(
    tag = "compat",
    operation_id = "score_pairs",
    request_body = VllmScoreRequest,
    responses(
        (status = 200, description = "A score for each pair, in order.", body = PairScores),
        VllmFailures,
    )
)]
#[post("/score")]
pub(crate) async fn score(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    handle(ApiFlavor::Vllm, &request, payload, &state, answer).await
}

/// Scores the pairs of a request.
///
/// # Errors
/// Texts that form no pairs, and pairs that cannot be scored.
pub(crate) async fn answer(
    call: Call<'_>,
    params: VllmScoreRequest,
) -> Result<HttpResponse, ApiError> {
    pooling::check_truncation(params.truncate_prompt_tokens)?;
    let activate = pooling::activates(params.use_activation, params.activation)?;
    let engine_params = pooling::salted(params.cache_salt.as_deref());
    let target = target::of_body(&call, params.model.as_deref())?;
    let pairs = pairs(params)?;
    let id = format!("score-{}", call.id());
    let scored = pairs::score(call, target, pairs, (activate, engine_params)).await?;
    let data = scored.scores.iter().enumerate();
    let reply = PairScores {
        id,
        object: "list".to_owned(),
        created: unix_seconds(),
        model: scored.model.clone(),
        data: data
            .map(|(index, own)| PairScore { index, object: "score".to_owned(), score: *own })
            .collect(),
        usage: PooledUsage::of(scored.tokens),
    };
    scored.reply(reply).await
}

/// A list of texts with its field name.
type Named = (&'static str, Texts);

fn pairs(params: VllmScoreRequest) -> Result<Vec<TextPair>, ApiError> {
    let (one, other) = lists(params)?;
    let (name, documents) = (other.0, other.1.into_list());
    check_count(name, documents.len(), 1..=openapi::MAX_INPUTS)?;
    let queries = one.1.into_list();
    if queries.len() != 1 && queries.len() != documents.len() {
        let what = format_args!(
            "{} given for {} in {name}: one goes with all, or each with its own",
            queries.len(),
            documents.len()
        );
        return Err(invalid(one.0, what));
    }
    let queries: Vec<Arc<str>> = queries.into_iter().map(Arc::from).collect();
    let queries = queries.into_iter().cycle();
    let pairs = queries.zip(documents).enumerate();
    Ok(pairs
        .map(|(at, (query, document))| TextPair { path: format!("{name}[{at}]"), query, document })
        .collect())
}

/// Returns the two lists, each of which has several field names that belong together.
fn lists(params: VllmScoreRequest) -> Result<(Named, Named), ApiError> {
    let mut given: Vec<Named> = Vec::new();
    for (name, texts) in [
        ("queries", params.queries),
        ("data_1", params.data_1),
        ("text_1", params.text_1),
        ("documents", params.documents),
        ("items", params.items),
        ("data_2", params.data_2),
        ("text_2", params.text_2),
    ] {
        given.extend(texts.map(|texts| (name, texts)));
    }
    let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
    match names[..] {
        ["queries", "documents" | "items"] | ["data_1", "data_2"] | ["text_1", "text_2"] => {}
        _ => {
            let what = "give `queries` with `documents` or `items`, `data_1` with `data_2`, or \
                        `text_1` with `text_2`";
            return Err(invalid(*names.first().unwrap_or(&"queries"), what));
        }
    }
    let other = given.pop().expect("two were given");
    let one = given.pop().expect("two were given");
    Ok((one, other))
}
