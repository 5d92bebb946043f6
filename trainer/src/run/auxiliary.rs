//! Loads the models that are trained beside the policy, new or from a checkpoint.

use std::path::{Path, PathBuf};

use super::adapters::workers;
use super::checkpoint::{AUXILIARY, restore_moments};
use super::config::RunConfig;
use super::new_head::{HeadStart, NewHead, make_with_head};
use crate::auxiliary::AuxiliaryModel;
use crate::error::Result;
use crate::methods::MethodConfig;
use crate::methods::policy_gradient::{AuxiliarySpec, AuxiliaryStart};
use crate::policy::Policy;

/// The models beside the policy of a run, whose own model is `base`.
pub(super) fn models(
    config: &RunConfig,
    base: &Path,
    run: &Path,
    newest: Option<&Path>,
) -> Result<Vec<AuxiliaryModel>> {
    let MethodConfig::PolicyGradient(method) = &config.method else {
        return Ok(Vec::new());
    };
    let mut models = Vec::new();
    for spec in method.auxiliary() {
        let saved = newest.map(|newest| newest.join(AUXILIARY).join(spec.name));
        let folder = match &saved {
            Some(saved) => saved.clone(),
            None => start(config, &spec, base, run)?,
        };
        let mut policy = Policy::full(&folder)?;
        policy.checkpointing = config.policy.checkpointing;
        policy.workers = workers(config, &policy)?;
        let mut model = AuxiliaryModel::new(spec.name, policy, spec.rate, config.optimiser.adamw);
        if let Some(saved) = &saved {
            let (optimiser, policy) = model.restorable();
            restore_moments(saved, optimiser, policy)?;
        }
        models.push(model);
    }
    Ok(models)
}

/// The folder of a model at the start of a run.
fn start(config: &RunConfig, spec: &AuxiliarySpec, base: &Path, run: &Path) -> Result<PathBuf> {
    match &spec.start {
        AuxiliaryStart::Copy => Ok(base.to_owned()),
        AuxiliaryStart::Folder(path) => Ok(config.path(path)),
        AuxiliaryStart::Scores => {
            let target = run.join(AUXILIARY).join(spec.name);
            make_with_head(base, NewHead::Sequence, HeadStart::Zeros, &target)?;
            Ok(target)
        }
    }
}
