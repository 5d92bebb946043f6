//! The server over real connections.

mod contract;
mod decisions;
mod harness;
mod hostile;
mod lifecycle;
mod limits;
mod models;
