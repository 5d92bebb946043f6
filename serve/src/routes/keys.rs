//! `GET /v1/keys`: the public keys that check signed results.

use actix_web::{get, web};
use openapi::{ErrorBody, JwkSet};

use crate::state::State;

/// Returns the public keys of signed results as a JWK set (RFC 7517); none where results are not
/// signed.
#[utoipa::path(
    tag = "scoring",
    responses(
        (status = 200, description = "The key that signs, then those that have signed before.", body = JwkSet),
        (status = 401, description = "No valid API key.", body = ErrorBody),
    )
)]
#[get("/v1/keys")]
pub(crate) async fn public_keys(state: web::Data<State>) -> web::Json<JwkSet> {
    web::Json(state.signing.published().jwks())
}
