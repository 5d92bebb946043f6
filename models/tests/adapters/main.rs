//! Adapters from PEFT folders: loading, refusals, and many of them in one batch.

#![expect(
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test stops at whatever it does not expect"
)]
#![expect(
    clippy::float_cmp,
    reason = "factors are copied, not computed, and the norms here are exact"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "small counts and 24-bit fractions"
)]

mod batches;
mod loads;
mod refused;
mod support;
