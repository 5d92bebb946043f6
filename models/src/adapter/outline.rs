//! The configuration of an adapter, without a base to bind it to.

use std::path::Path;

use serde::Serialize;

use super::load::check_folder;
use super::peft::{CONFIG, PeftConfig};
use super::targets::Names;
use crate::error::Result;

/// An adapter's configuration, read and accepted.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// The base's path or name as the trainer had it. Information only.
    pub base_model: Option<String>,
    /// Digest of the base that it was trained on, where the trainer wrote one.
    pub base_digest: Option<String>,
    /// The task that it was trained for, such as `SEQ_CLS`.
    pub task_type: Option<String>,
    /// The rank where no pattern says otherwise.
    pub rank: usize,
    /// α where no pattern says otherwise.
    pub alpha: f64,
    /// Whether the scale is `α / √r`.
    pub rank_stabilised: bool,
    /// Target modules: names, a pattern, or `all-linear`.
    pub targets: Vec<String>,
    /// Modules that it replaces.
    pub modules_to_save: Vec<String>,
}

impl Outline {
    /// Reads the configuration of an adapter's folder.
    ///
    /// # Errors
    /// As [`super::Adapter::load`], as far as the configuration goes.
    pub fn read(dir: &Path) -> Result<Outline> {
        check_folder(dir)?;
        let config = PeftConfig::read(&dir.join(CONFIG))?;
        Ok(Outline {
            base_model: config.base_model,
            base_digest: config.base_digest,
            task_type: config.task_type,
            rank: config.r,
            alpha: config.alpha,
            rank_stabilised: config.rank_stabilised,
            targets: match config.targets.included {
                Names::List(names) => names,
                Names::Pattern(_, text) => vec![text],
                Names::AllLinear => vec![super::targets::ALL_LINEAR.into()],
            },
            modules_to_save: config.modules_to_save,
        })
    }
}
