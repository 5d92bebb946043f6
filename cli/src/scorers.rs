//! Scorers by the names that the command line gives.

use std::path::Path;
use std::sync::Arc;

use rubrics::{Models, NoModels, Registry, Scorer};

use crate::error::CliError;

/// The built-in scorers and those of a configuration file.
///
/// # Errors
/// Every problem of the file, one a line.
pub(crate) fn registry(config: Option<&Path>) -> Result<Registry, CliError> {
    let Some(path) = config else {
        return Ok(Registry::built_in());
    };
    let read = serve::config::read_scorers(path);
    let (registry, problems) = read.map_err(CliError::named(path))?;
    if problems.is_empty() {
        return Ok(registry);
    }
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(CliError::Usage(lines.join("\n")))
}

/// Loads what these scorers ask, from the configuration that names it, and checks that it can do
/// what is asked. Nothing is loaded where no model is asked.
///
/// # Errors
/// Every problem of the file, a model that cannot be loaded, or what it lacks.
pub(crate) fn models(
    config: Option<&Path>,
    scorers: &[Arc<Scorer>],
) -> Result<Arc<dyn Models>, CliError> {
    if !scorers.iter().any(|scorer| scorer.asks_models()) {
        return Ok(Arc::new(NoModels));
    }
    let loaded = serve::config::load(config, &serve::config::Given::default());
    let loaded = loaded.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        CliError::Usage(lines.join("\n"))
    })?;
    let hosts = serve::load_models(&loaded.config, &loaded.catalogue)
        .map_err(|error| CliError::Failed(error.to_string()))?;
    for scorer in scorers {
        scorer.check(&hosts).map_err(CliError::Failed)?;
    }
    Ok(Arc::new(hosts))
}

/// There is no scorer of this name, but these.
pub(crate) fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> CliError {
    let names: Vec<&str> = known.collect();
    let near = rubrics::config::nearest(name, names.iter().copied());
    let hint = near
        .map(|near| format!("; did you mean '{near}'?"))
        .unwrap_or_default();
    CliError::Usage(format!(
        "there is no scorer '{name}'{hint} (the scorers are {})",
        names.join(", ")
    ))
}

/// Every name may be given once.
pub(crate) fn refuse_repeated(names: &[String]) -> Result<(), CliError> {
    let repeated = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
    match repeated {
        Some(index) => Err(CliError::Usage(format!(
            "scorer '{}' is named twice",
            names[index]
        ))),
        None => Ok(()),
    }
}
