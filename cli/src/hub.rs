//! Models of the Hugging Face Hub for commands that take folders.

use std::path::{Path, PathBuf};

use hub::{ModelLocation, WantedFiles};

use crate::error::CliError;

/// The folder of a model or an adapter: `given` itself, or that of the cache for `hf:org/name@revision`.
///
/// # Errors
/// A text after `hf:` that names no repository, and a repository that cannot be fetched.
pub(crate) fn folder(given: &Path) -> Result<PathBuf, CliError> {
    let Some(text) = given.to_str() else {
        return Ok(given.to_owned());
    };
    let location = ModelLocation::parse(text).map_err(CliError::Usage)?;
    let local = serve::local_folder(&location, WantedFiles::Folder);
    Ok(local.map_err(|error| CliError::Failed(error.to_string()))?.path)
}
