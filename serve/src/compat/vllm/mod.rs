//! vLLM: its routes without generation.
//!
//! verl calls `/classify` and retries only after a 5xx, so that these routes never answer 429.

pub(crate) mod classify;
pub(crate) mod generative;
pub(crate) mod lora;
pub(crate) mod pooling;
pub(crate) mod rerank;
pub(crate) mod score;
pub(crate) mod tokenize;
pub(crate) mod types;
