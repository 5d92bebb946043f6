//! Engines over real models that are made on the spot.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod card;
mod draws;
mod equal;
mod faults;
mod live;
mod subject;
