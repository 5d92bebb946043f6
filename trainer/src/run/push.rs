//! Pushes adapters to the server whose scorers a run uses (`[[remote.push]]`).

use std::path::Path;

use models::save::Stage;

use crate::error::{Result, TrainError};
use crate::policy::Policy;
use crate::rollout::{AdapterToLoad, PushedAdapter, RemoteScorers};

/// Writes an adapter into the folder of the server's adapters, lets the server load it, and removes
/// the files: the server keeps the weights in memory.
pub(super) fn push(
    server: &dyn RemoteScorers,
    pushed: &PushedAdapter,
    base: &Path,
    policy: &Policy,
    step: u64,
) -> Result<()> {
    let folder = base.join(&pushed.folder);
    let file = |path: &Path| {
        let path = path.display().to_string();
        move |source| TrainError::File { path, source }
    };
    if !folder.is_dir() {
        return Err(TrainError::Invalid(format!(
            "remote: {} is no folder; it is the one that the server reads adapters from",
            folder.display()
        )));
    }
    // One folder a step, since the server may still read that of the last.
    let name = format!("{}-{step:06}", pushed.served_name());
    let target = folder.join(&name);
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(file(&target))?;
    }
    let stage = Stage::begin(&target)?;
    policy.save_adapter(&pushed.adapter, &stage)?;
    stage.finish()?;
    let adapter =
        AdapterToLoad { name: pushed.served_name(), model: pushed.model.as_deref(), path: &name };
    let loaded = server.load_adapter(adapter);
    std::fs::remove_dir_all(&target).map_err(file(&target))?;
    loaded
}
