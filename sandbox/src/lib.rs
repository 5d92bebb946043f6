//! Runs untrusted programs under limits of the kernel; knows processes, and nothing of scorers.
//!
//! A [`Sandbox`] has a fixed number of slots. The thread of a slot owns a worker: one warm Python
//! interpreter that isolated itself (the rungs of [`Rung`]) before any untrusted code ran. A worker
//! runs one submission at a time, each test of it in a fork, and ends every process of a test
//! before the next one. Programs of other languages ([`Language`]) have a worker of their own, whose
//! forks become installed tools and what those compile. What a guest writes is data; nothing here
//! compares it with anything.
//!
//! A worker that dies is replaced and the test is run once more; [`SandboxError`] is what is left,
//! and it is never the guest's fault.

mod cancel;
mod config;
mod group;
mod languages;
mod native;
mod pool;
mod pressure;
mod report;
mod seccomp;
mod session;
mod status;
mod test;
mod worker;

pub use config::{Floor, Limits, Rung, SandboxConfig};
pub use languages::{Language, Tool};
pub use native::NativeProgram;
pub use pool::{Sandbox, Ticket};
pub use pressure::PressureWatch;
pub use report::{Ending, LimitReached, Loaded, ProcessEnd, Report};
pub use session::Session;
pub use status::SandboxStatus;
pub use test::{CheckFiles, Test, TestFile};
pub use worker::{Isolation, SandboxError};
