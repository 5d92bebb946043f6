//! Error responses of routes in the OpenAPI document: one table per flavor.

use std::collections::BTreeMap;

use openapi::ErrorBody;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoResponses, PartialSchema as _, ToSchema};

use super::error_bodies::{
    ClassifyFailure, DetailError, RerankFailure, SglangError, TeiError, VllmError,
};

/// A status, its meaning, and whether the reply has retry headers.
type ResponseRow = (u16, &'static str, Retry);

/// The retry headers of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    Undocumented,
    Seconds,
    SecondsAndMillis,
}

const fn row(status: u16, description: &'static str) -> ResponseRow {
    (status, description, Retry::Undocumented)
}

const NOT_JSON: ResponseRow = row(400, "The body is not JSON.");
const UNUSABLE: ResponseRow = row(400, "A body that cannot be used, or a text that is too long.");
const UNAUTHORIZED: ResponseRow = row(401, "No valid API key.");
const TIMEOUT: ResponseRow = row(408, "The body did not arrive in time.");
const TOO_LARGE: ResponseRow = row(413, "The body is too large.");
const INTERNAL: ResponseRow = row(500, "A fault of the server.");
const TOOL_FAILED: ResponseRow = row(502, "A tool failed.");
const OVERLOADED: ResponseRow = (503, "Overloaded or draining.", Retry::Seconds);
const DEADLINE: ResponseRow = row(504, "The deadline passed.");

/// Declares the error responses of a flavor's routes. A route that differs in a status lists it
/// after the table.
macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident: $body:ty = $rows:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                const ROWS: &[ResponseRow] = &$rows;
                ROWS.iter().map(response::<$body>).collect()
            }
        }
    )*};
}

failures! {
    /// Errors of OpenAI's routes that use a model.
    OpenAiFailures: ErrorBody = [
        NOT_JSON, UNAUTHORIZED, row(404, "No such model; near names are listed."), TIMEOUT,
        TOO_LARGE, INTERNAL, OVERLOADED, DEADLINE,
    ];
    /// Errors of OpenAI's grader routes.
    GraderFailures: ErrorBody = [
        NOT_JSON, UNAUTHORIZED, row(404, "No such model."), TIMEOUT, TOO_LARGE,
        row(422, "A grader that cannot be; `param` is the place."),
        (429, "Overloaded.", Retry::SecondsAndMillis), INTERNAL, row(503, "Draining."),
    ];
    /// Errors of the file routes.
    FileFailures: ErrorBody = [
        UNAUTHORIZED, row(403, "Files are off; the message says by what."),
        row(404, "No such file."), INTERNAL,
    ];
    /// Errors of the batch routes.
    BatchFailures: ErrorBody = [
        UNAUTHORIZED, row(403, "Batches are off; the message says by what."),
        row(404, "No such batch."), INTERNAL,
    ];
    /// Errors of the trainers' reward routes, in the shape of `FastAPI`.
    RewardFailures: DetailError = [
        UNAUTHORIZED, row(404, "No such scorer."), TIMEOUT, TOO_LARGE,
        row(422, "A body of the wrong shape, or a sample that cannot be measured."), INTERNAL,
        TOOL_FAILED, OVERLOADED, DEADLINE,
    ];
    /// Errors of `NeMo`-Gym's verification route.
    VerifyFailures: DetailError = [
        UNAUTHORIZED, row(404, "No such scorer."), TIMEOUT, TOO_LARGE,
        row(422, "A body of the wrong shape."), INTERNAL, OVERLOADED, DEADLINE,
    ];
    /// Errors of `NeMo`-Gym's session route.
    SessionFailures: DetailError = [
        UNAUTHORIZED, TIMEOUT, TOO_LARGE, row(422, "The body is no object."),
        row(503, "Overloaded or draining."),
    ];
    /// Errors of vLLM's routes.
    VllmFailures: VllmError = VLLM;
    /// Errors of the route that vLLM and `SGLang` share.
    ClassifyFailures: ClassifyFailure = VLLM;
    /// Errors of the routes that rerankers and Text Embeddings Inference share.
    RerankFailures: RerankFailure = VLLM;
    /// Errors of `SGLang`'s routes.
    SglangFailures: SglangError = [
        UNUSABLE, UNAUTHORIZED, NO_MODEL, TIMEOUT, TOO_LARGE, INTERNAL, BUSY, DEADLINE,
    ];
    /// Errors of the routes of Text Embeddings Inference.
    TeiFailures: TeiError = [
        row(400, "The body is not JSON, or there is nothing in it."), UNAUTHORIZED,
        row(404, "No such model."), TIMEOUT, TOO_LARGE,
        row(422, "A body that cannot be used, or a text that is too long."),
        row(424, "The model failed."), row(429, "Overloaded; `retry-after` says when to try again."),
        TOOL_FAILED, row(503, "Draining."), DEADLINE,
    ];
}

const NO_MODEL: ResponseRow = row(404, "No such model, or one that cannot do this.");
const BUSY: ResponseRow = row(503, "Overloaded or draining; `retry-after` says when to try again.");
const VLLM: [ResponseRow; 10] = [
    UNUSABLE,
    UNAUTHORIZED,
    NO_MODEL,
    TIMEOUT,
    TOO_LARGE,
    row(422, "A scorer could not measure it."),
    INTERNAL,
    TOOL_FAILED,
    BUSY,
    DEADLINE,
];

fn response<T: ToSchema>((status, description, retry): &ResponseRow) -> (String, RefOr<Response>) {
    let schema = Ref::from_schema_name(T::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response =
        ResponseBuilder::new().description(*description).content("application/json", content);
    let header = |what: &str| {
        HeaderBuilder::new().schema(Some(u64::schema())).description(Some(what)).build()
    };
    let seconds = || ("retry-after", header("Seconds to wait."));
    let headers = match retry {
        Retry::Undocumented => Vec::new(),
        Retry::Seconds => vec![seconds()],
        Retry::SecondsAndMillis => {
            vec![seconds(), ("retry-after-ms", header("Milliseconds to wait."))]
        }
    };
    let response = headers
        .into_iter()
        .fold(response, |response, (name, header)| response.header(name, header));
    (status.to_string(), response.build().into())
}
