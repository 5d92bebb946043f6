//! A load generator for scoring servers: `tribunal bench serve`.
//!
//! It puts load on `POST /v1/score`, or on another route that scores, in a closed loop (how fast can it go?), in an open loop (how
//! does it behave at this rate?) or in a sweep of open loops (where is the knee?), and reports
//! latency, throughput, goodput and errors as a table, as JSON and as one HTML file.
//!
//! Two rules keep the figures honest. In an open loop latency counts from the time at which a
//! request was *due*, so that a stall of the server shows in every request that a user would have
//! sent meanwhile. And every request that was meant to be sent ends in exactly one [`Class`]: none
//! is dropped in silence.
//!
//! The crate knows the wire types and nothing else of the server. Everything runs on one thread,
//! because the generator usually shares a machine with the server that it measures.

mod args;
mod arrivals;
mod bench;
mod client;
mod closed;
mod config;
mod error;
mod histogram;
mod memory;
mod open;
mod outcome;
mod phase;
mod progress;
mod reply;
mod report;
mod run;
mod sweep;
mod target;
mod wire;
mod workload;

pub use args::{BenchServe, Cache, Generate};
pub use error::{LoadError, WrongRows};
pub use histogram::{Latencies, Quantiles};
pub use memory::Memory;
pub use outcome::{Class, Tally, Verdicts};
pub use phase::{Load, Phase, Second};
pub use progress::{Bar, Lines, Progress, on_stderr};
pub use report::{About, Machine, Report};
pub use run::run;
pub use sweep::Knee;
pub use wire::Wire;

#[cfg(test)]
mod tests;
