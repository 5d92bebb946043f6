//! The server over real connections.

mod chat;
mod compat;
mod completions;
mod connections;
mod contract;
mod decision_prompts;
mod decisions;
mod examples;
mod generation;
mod harness;
mod hostile;
mod key_limits;
mod keys;
mod lifecycle;
mod limits;
mod live;
mod mixed;
mod models;
mod models_route;
mod playground;
mod programs;
mod request_cost;
mod scorers;
mod serving;
mod signing;
mod traces;
