//! Adapters from PEFT folders: what loads, what is refused, and many of them in one batch.

mod batches;
mod loads;
mod refused;
mod support;
