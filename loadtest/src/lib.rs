//! A load generator for scoring servers: `tribunal bench serve`.
//!
//! It sends requests to `POST /v1/score`, or to another scoring route, in a closed loop (how fast
//! can it go?), in an open loop (how does it behave at this rate?) or in a sweep of open loops
//! (where is the knee?), and reports latency, throughput, goodput and errors as a table, as JSON
//! and as one HTML file.
//!
//! Two rules keep the figures honest. In an open loop latency counts from the time at which a
//! request was *due*, so that a server stall shows in every request that a user would have sent
//! meanwhile. And every intended request ends in exactly one [`Class`]: none is dropped silently.
//!
//! The crate must use nothing of the server but its wire types. Everything runs on one thread,
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
pub use progress::{Bar, Lines, LoadProgress, on_stderr};
pub use report::{About, LoadReport, Machine, Page, TimeSeries};
pub use run::run;
pub use sweep::Knee;
pub use wire::Wire;

#[cfg(test)]
mod tests;
