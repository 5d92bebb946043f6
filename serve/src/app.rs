//! The application: all routes, behind one guard.

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, web};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa_actix_web::AppExt as _;
use utoipa_actix_web::service_config::ServiceConfig;
use utoipa_swagger_ui::{Config as SwaggerConfig, SwaggerUi};

use crate::compat::openai_batches::{batches, files};
use crate::compat::openai_chat::{completions, responses};
use crate::compat::shared::error_bodies::{
    ClassifyFailure, DetailError, RerankFailure, SglangError, TeiError, VllmError,
};
use crate::compat::shared_routes::{chat, classify, decisions, rerank as shared_rerank};
use crate::compat::vllm::{generative, lora, pooling, rerank, score as pairs, tokenize};
use crate::compat::{
    nemo_gym, openai_graders as graders, openrlhf, sandbox_fusion, sglang, slime, tei,
};
use crate::examples;
use crate::middleware::{guard, observe};
use crate::playground;
use crate::routes::{keys, meta, score};
use crate::state::State;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Tribunal",
        description = "Scores model outputs: verifiers, step scorers and pipelines behind one \
                       endpoint. A failed measurement is a status and never a number.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    components(schemas(ClassifyFailure, DetailError, RerankFailure, SglangError, TeiError, VllmError)),
    tags(
        (name = "scoring", description = "Turn model outputs into rewards."),
        (name = "generation", description = "Text from models, as OpenAI's clients ask for it."),
        (name = "decisions", description = "Typed questions, answered with probabilities."),
        (name = "compat", description = "Interfaces of other servers and libraries."),
        (name = "operations", description = "Run the server."),
    )
)]
struct Base;

/// Registers the documented routes. A route that is not registered here does not exist.
///
/// To add a native route:
///
/// 1. a handler with `#[utoipa::path]` in a file of `serve/src/routes`, with a `mod` line in
///    `routes/mod.rs` if the file is new, and its body types in the crate `openapi`;
/// 2. its `.service(…)` below;
/// 3. its path in `ApiFlavor::listed` (`serve/src/compat/shared/flavor.rs`);
/// 4. its scope in `Scope::of` (`serve/src/keys.rs`) and in the table of `docs/security.md`, if it
///    is not `score`;
/// 5. a request in `soak/src/routes.json`;
/// 6. a description in `docs`, tests in `tests/http`, and `cargo xtask openapi` for
///    `openapi/openapi.json`.
///
/// The key check applies to every route. The limits of `body` apply to handlers that call
/// `Call::begin`. Work is admitted by `Call::score` or `Call::admit`.
fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(score::score)
        .service(chat::chat_completions)
        .service(completions::completions)
        .service(responses::responses)
        .service(decisions::decisions)
        .service(decisions::systemone)
        .service(openrlhf::get_reward)
        .service(slime::remote_rm)
        .service(nemo_gym::verify)
        .service(nemo_gym::verify_observed)
        .service(nemo_gym::seed_session)
        .service(nemo_gym::seed_observed)
        .service(nemo_gym::aggregate_metrics)
        .service(nemo_gym::reverify_mode)
        .service(nemo_gym::compare)
        .service(sandbox_fusion::run_code)
        .service(classify::classify)
        .service(pairs::score)
        .service(shared_rerank::rerank)
        .service(shared_rerank::reranking)
        .service(rerank::v1_rerank)
        .service(rerank::v1_reranking)
        .service(rerank::v2_rerank)
        .service(pooling::pooling)
        .service(generative::generative_scoring)
        .service(tokenize::tokenize)
        .service(tokenize::detokenize)
        .service(lora::load_lora_adapter)
        .service(lora::unload_lora_adapter)
        .service(sglang::classify)
        .service(sglang::embeddings)
        .service(tei::predict)
        .service(tei::info)
        .service(graders::run_grader)
        .service(graders::validate_grader)
        .service(files::upload_file)
        .service(files::list_files)
        .service(files::retrieve_file)
        .service(files::file_content)
        .service(files::delete_file)
        .service(batches::create_batch)
        .service(batches::list_batches)
        .service(batches::retrieve_batch)
        .service(batches::cancel_batch)
        .service(meta::health)
        .service(meta::models)
        .service(keys::public_keys)
        .service(meta::healthz)
        .service(meta::livez)
        .service(meta::readyz)
        .service(meta::metrics)
        .service(meta::openapi_json);
}

/// Builds the OpenAPI document from the registered routes.
pub fn document() -> OpenApi {
    let app = App::new().into_utoipa_app().openapi(Base::openapi()).configure(routes);
    let (_, mut document) = app.split_for_parts();
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = document.components.get_or_insert_default();
    components.security_schemes.insert("api_key".to_owned(), scheme.into());
    // The key is optional: a server without a key file is open to local clients.
    let optional = SecurityRequirement::default();
    document.security = Some(vec![SecurityRequirement::new("api_key", [""; 0]), optional]);
    document
}

/// Returns the OpenAPI document as the text that is served and committed.
pub fn document_text() -> String {
    let mut document = serde_json::to_value(document()).expect("the document serialises");
    examples::insert(&mut document);
    format!("{document:#}\n")
}

/// Builds the application over shared state.
pub fn app(
    state: web::Data<State>,
    document: web::Data<meta::Document>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    let swagger = SwaggerUi::new("/docs/{_:.*}").config(SwaggerConfig::from("/openapi.json"));
    let app = App::new().into_utoipa_app().configure(routes).into_app();
    app.app_data(state)
        .app_data(document)
        .service(web::redirect("/docs", "/docs/"))
        .service(swagger)
        .configure(playground::configure)
        .default_service(web::to(meta::fallback))
        .wrap(from_fn(guard))
        .wrap(from_fn(observe))
}
