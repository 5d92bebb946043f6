//! The server over real connections.

mod contract;
mod decision_prompts;
mod decisions;
mod harness;
mod hostile;
mod lifecycle;
mod limits;
mod models;
