//! Foreign interfaces: one folder each, with its types.
//!
//! Each translates its requests into inputs of [`rubrics::score`], questions or token sequences for
//! an engine, and results into its own replies, errors in its own [`shared::ApiFlavor`]. Nothing
//! here judges anything. What several interfaces use is in [`shared`]; no interface uses another.
//! Routes whose path several interfaces have are in [`shared_routes`].
//!
//! verl has no folder: its reward client calls vLLM's `POST /classify`.
//!
//! To add an interface:
//! 1. a folder here with its types and routes, and its `mod` line below;
//! 2. a `.service(…)` per route in `serve/src/app.rs`;
//! 3. its paths in [`shared::ApiFlavor::of`], which gives errors before the body is parsed their
//!    shape; for a new error shape a variant with its `status` and `response`, a body in
//!    `shared/error_bodies.rs`, and a table in `shared/responses.rs`;
//! 4. for a path that another interface has too, its body in `shared_routes/bodies.rs`, detected by
//!    the fields that only it has (`shared_routes/detect.rs`);
//! 5. for a route that a batch line may name, its path in `batches::ENDPOINTS`;
//! 6. a row in `tests/http/compat/refusals.rs` and tests beside it, a row in `docs/compat.md`, and
//!    `cargo xtask openapi` for `openapi/openapi.json`.

pub(crate) mod nemo_gym;
mod nim;
pub(crate) mod openai_batches;
pub(crate) mod openai_chat;
mod openai_decisions;
pub(crate) mod openai_graders;
pub(crate) mod openrlhf;
pub(crate) mod sglang;
pub(crate) mod shared;
pub(crate) mod shared_routes;
pub(crate) mod slime;
mod systemone;
pub(crate) mod tei;
pub(crate) mod vllm;
