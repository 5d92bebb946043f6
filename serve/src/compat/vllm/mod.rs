//! vLLM: its routes for models that are read and not continued.
//!
//! verl calls `/classify` and tries again after a 5xx alone, so that nothing here answers 429.

pub(crate) mod classify;
pub(crate) mod generative;
pub(crate) mod lora;
pub(crate) mod pooling;
pub(crate) mod rerank;
pub(crate) mod score;
pub(crate) mod tokenize;
pub(crate) mod types;
