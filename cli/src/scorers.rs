//! Scorers by the names that the command line gives.

use std::path::Path;
use std::sync::Arc;

use rubrics::{Models, NoModels, Registry, Scorer};

use crate::error::CliError;

/// Scorers, and what they ask.
pub(crate) type Asked = (Vec<Arc<Scorer>>, Arc<dyn Models>);

/// The built-in scorers and those of a configuration file.
///
/// # Errors
/// Every problem of the file, one a line.
pub(crate) fn registry(config: Option<&Path>) -> Result<Registry, CliError> {
    let Some(path) = config else {
        return Ok(Registry::with_default_model());
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
fn models(config: Option<&Path>, scorers: &[Arc<Scorer>]) -> Result<Arc<dyn Models>, CliError> {
    if !scorers.iter().any(|scorer| scorer.asks_models()) {
        return Ok(Arc::new(NoModels));
    }
    let hosts = hosts(&loaded(config)?)?;
    for scorer in scorers {
        scorer.check(&hosts).map_err(CliError::Failed)?;
    }
    Ok(Arc::new(hosts))
}

/// The scorers of these names, and what they ask as [`models`] gives it. A name that no scorer has
/// may be that of a model or an adapter of the configuration, whose head is the scorer then.
///
/// # Errors
/// A name that nobody has, and those of [`models`].
pub(crate) fn named(
    registry: &Registry,
    config: Option<&Path>,
    names: &[String],
) -> Result<Asked, CliError> {
    let configured = || names.iter().filter_map(|name| registry.get(name).cloned());
    let scorers: Vec<Arc<Scorer>> = configured().collect();
    if scorers.len() == names.len() {
        let models = models(config, &scorers)?;
        return Ok((scorers, models));
    }
    let loaded = loaded(config)?;
    let served = served(&loaded.catalogue);
    let unknown_name =
        |name: &&String| registry.get(name).is_none() && !served.contains(&name.as_str());
    if let Some(name) = names.iter().find(unknown_name) {
        let known = registry.iter().map(|scorer| scorer.name());
        return Err(unknown(name, known.chain(served)));
    }
    let hosts = hosts(&loaded)?;
    let find = |name: &String| {
        let Some(scorer) = registry.get(name) else {
            let served = hosts.find(name).expect("it was just loaded");
            return Scorer::native(&served).map(Arc::new);
        };
        scorer.check(&hosts).map(|()| scorer.clone())
    };
    let scorers = names.iter().map(find).collect::<Result<_, _>>();
    Ok((scorers.map_err(CliError::Failed)?, Arc::new(hosts)))
}

fn loaded(config: Option<&Path>) -> Result<serve::config::Loaded, CliError> {
    let loaded = serve::config::load(config, &serve::config::Given::default());
    loaded.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        CliError::Usage(lines.join("\n"))
    })
}

fn hosts(loaded: &serve::config::Loaded) -> Result<serve::hosts::Hosts, CliError> {
    let hosts = serve::load_models(&loaded.config, &loaded.catalogue);
    hosts.map_err(|error| CliError::Failed(error.to_string()))
}

/// Every model of the configuration, or the one that comes with the program.
///
/// # Errors
/// Every problem of the file, and a model that cannot be loaded.
pub(crate) fn all_models(config: Option<&Path>) -> Result<serve::hosts::Hosts, CliError> {
    hosts(&loaded(config)?)
}

/// The names of models and adapters.
fn served(catalogue: &serve::config::Catalogue) -> Vec<&str> {
    let models = catalogue.models.iter().map(|model| model.name.as_str());
    let adapters = catalogue.adapters.iter();
    let adapters = adapters.map(|adapter| adapter.name.as_str());
    models.chain(adapters).collect()
}

/// There is no scorer of this name, but these.
pub(crate) fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> CliError {
    let names: Vec<&str> = known.collect();
    let near = rubrics::config::nearest(name, names.iter().copied());
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    CliError::Usage(format!(
        "there is no scorer '{name}'{hint} (the scorers are {})",
        names.join(", ")
    ))
}

/// Every name may be given once.
pub(crate) fn refuse_repeated(names: &[String]) -> Result<(), CliError> {
    let repeated = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
    match repeated {
        Some(index) => Err(CliError::Usage(format!("scorer '{}' is named twice", names[index]))),
        None => Ok(()),
    }
}
