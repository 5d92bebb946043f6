//! Finds scorers by name and loads their models.

use std::path::Path;
use std::sync::Arc;

use engine::DeviceName;
use rubrics::{Models, NoModels, Registry, Scorer};
use serve::config::{Given, Override};

use crate::error::RunError;

/// Scorers and their models.
pub type ScorersWithModels = (Vec<Arc<Scorer>>, Arc<dyn Models>);

/// Returns the built-in scorers and those of a configuration file.
///
/// # Errors
/// Every problem of the file, one a line.
pub fn registry(config: Option<&Path>) -> Result<Registry, RunError> {
    let Some(path) = config else {
        return Ok(Registry::with_default_model());
    };
    let read = serve::config::read_scorers(path);
    let (registry, problems) = read.map_err(RunError::named(path))?;
    if problems.is_empty() {
        return Ok(registry);
    }
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(RunError::Usage(lines.join("\n")))
}

/// Loads the models of the configuration and checks that these scorers can use them. Loads nothing
/// where no scorer uses a model.
///
/// # Errors
/// Every problem of the file, and a model that cannot be loaded or lacks a head.
fn models(
    (config, device): (Option<&Path>, Option<DeviceName>),
    scorers: &[Arc<Scorer>],
) -> Result<Arc<dyn Models>, RunError> {
    if !scorers.iter().any(|scorer| scorer.uses_models()) {
        return Ok(Arc::new(NoModels));
    }
    let hosts = hosts(&loaded(config, device)?)?;
    for scorer in scorers {
        scorer.check(&hosts).map_err(RunError::Failed)?;
    }
    Ok(Arc::new(hosts))
}

/// Finds scorers by name and loads their models, on this device if one is given. The name of a model or
/// an adapter of the configuration stands for its head.
///
/// # Errors
/// An unknown name, every problem of the file, and a model that cannot be loaded or lacks a head.
pub fn load_by_name(
    registry: &Registry,
    (config, device): (Option<&Path>, Option<DeviceName>),
    names: &[String],
) -> Result<ScorersWithModels, RunError> {
    let configured = || names.iter().filter_map(|name| registry.get(name).cloned());
    let scorers: Vec<Arc<Scorer>> = configured().collect();
    if scorers.len() == names.len() {
        let models = models((config, device), &scorers)?;
        return Ok((scorers, models));
    }
    let loaded = loaded(config, device)?;
    let served = served(&loaded.catalogue);
    let unknown_name =
        |name: &&String| registry.get(name).is_none() && !served.contains(&name.as_str());
    if let Some(name) = names.iter().find(unknown_name) {
        let known = registry.iter().map(|scorer| scorer.name());
        return Err(unknown_scorer(name, known.chain(served)));
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
    Ok((scorers.map_err(RunError::Failed)?, Arc::new(hosts)))
}

fn loaded(
    config: Option<&Path>,
    device: Option<DeviceName>,
) -> Result<serve::config::Loaded, RunError> {
    let device = device.map(|device| Override {
        origin: "--device".to_owned(),
        name: "engine.device".to_owned(),
        value: device.to_string(),
    });
    let given = Given { settings: device.into_iter().collect(), ..Given::default() };
    let loaded = serve::config::load(config, &given);
    loaded.map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        RunError::Usage(lines.join("\n"))
    })
}

fn hosts(loaded: &serve::config::Loaded) -> Result<serve::hosts::Hosts, RunError> {
    let hosts = serve::load_models(&loaded.config, &loaded.catalogue);
    hosts.map_err(|error| RunError::Failed(error.to_string()))
}

/// Loads every model of the configuration, or the default model without a configuration, on this device
/// if one is given.
///
/// # Errors
/// Every problem of the file, and a model that cannot be loaded.
pub fn all_models(
    config: Option<&Path>,
    device: Option<DeviceName>,
) -> Result<serve::hosts::Hosts, RunError> {
    hosts(&loaded(config, device)?)
}

/// The names of models and adapters.
fn served(catalogue: &serve::config::Catalogue) -> Vec<&str> {
    let models = catalogue.models.iter().map(|model| model.name.as_str());
    let adapters = catalogue.adapters.iter();
    let adapters = adapters.map(|adapter| adapter.name.as_str());
    models.chain(adapters).collect()
}

/// The error for an unknown scorer, which lists the known ones.
pub fn unknown_scorer<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> RunError {
    let names: Vec<&str> = known.collect();
    let near = rubrics::config::nearest(name, names.iter().copied());
    let near = || near.map(|near| format!("; did you mean '{near}'?"));
    let absent = Registry::absent_default(name).map(|why| format!(": {why}"));
    let hint = absent.or_else(near).unwrap_or_default();
    RunError::Usage(format!(
        "there is no scorer '{name}'{hint} (the scorers are {})",
        names.join(", ")
    ))
}

/// Refuses a name that is given twice.
///
/// # Errors
/// [`RunError::Usage`] for the first repeated name.
pub fn refuse_repeated(names: &[String]) -> Result<(), RunError> {
    let repeated = (1..names.len()).find(|index| names[..*index].contains(&names[*index]));
    match repeated {
        Some(index) => Err(RunError::Usage(format!("scorer '{}' is named twice", names[index]))),
        None => Ok(()),
    }
}
