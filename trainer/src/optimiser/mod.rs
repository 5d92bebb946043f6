//! `AdamW` on f32 masters, learning-rate schedules, and clipping by the global norm.

mod adamw;
mod schedule;

pub use adamw::{AdamW, AdamWConfig, Moments};
pub use schedule::{Schedule, ScheduleShape};
