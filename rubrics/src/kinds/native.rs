//! A model that requests name in the place of a scorer: its head decides the kind.

use engine::HeadConfig;

use super::{ScorerKind, process, reward};
use crate::models::Served;

/// The kind that a model or an adapter is by itself, with default options: `process` for a head
/// that reads steps, else `reward`.
///
/// # Errors
/// What the model lacks, as a sentence without its full stop.
pub(crate) fn native(served: &Served) -> Result<Box<dyn ScorerKind>, String> {
    match served.host.config.head {
        HeadConfig::Token { .. } | HeadConfig::Process { .. } => process::native(served),
        HeadConfig::Vocab
        | HeadConfig::Value
        | HeadConfig::Sequence { .. }
        | HeadConfig::Reward { .. } => reward::native(served),
    }
}
