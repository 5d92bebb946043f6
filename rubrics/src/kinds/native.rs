//! A model that is named in the place of a scorer: its native head is the scorer.

use engine::HeadConfig;

use super::{Kind, process, reward};
use crate::Scorer;
use crate::method::Common;
use crate::models::Served;

/// The scorer that a model or an adapter is by itself: `process` where the head reads steps, else
/// `reward`, each with the defaults of its kind.
///
/// # Errors
/// What the model lacks, as a sentence without its full stop.
pub(crate) fn native(served: &Served) -> Result<Scorer, String> {
    let kind: Box<dyn Kind> = match served.host.config.head {
        HeadConfig::Token { .. } | HeadConfig::Process { .. } => process::native(served)?,
        HeadConfig::Vocab
        | HeadConfig::Value
        | HeadConfig::Sequence { .. }
        | HeadConfig::Reward { .. } => reward::native(served)?,
    };
    Ok(Scorer::model(served.name().to_string(), kind, Common::default()))
}
