//! The server over real connections.

mod contract;
mod harness;
mod hostile;
mod lifecycle;
mod limits;
