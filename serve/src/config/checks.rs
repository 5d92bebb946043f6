//! Checks of a configuration as a unit, once all sources are read.

use std::net::IpAddr;

use rubrics::Registry;
use rubrics::config::Problem;

use super::catalogue::{self, Catalogue};
use super::{Config, problem};
use crate::keys::Keys;

pub(super) fn read_keys(config: &Config, problems: &mut Vec<Problem>) -> Keys {
    let Some(path) = &config.api_keys_file else {
        return Keys::default();
    };
    let name = path.display().to_string();
    let read = std::fs::read_to_string(path);
    let parsed = read.map(|text| Keys::parse(&text));
    match parsed {
        Ok(Ok(keys)) => return keys,
        Ok(Err(found)) => problems.extend(found.into_iter().map(|p| Problem {
            file: name.clone(),
            line: Some(p.line),
            key: String::new(),
            message: p.message,
        })),
        Err(error) => problems.push(problem(&name, "", format!("cannot be read: {error}"))),
    }
    Keys::default()
}

/// Checks that scorers exist which other settings name.
pub(super) fn check_names(
    config: &Config,
    registry: &Registry,
    catalogue: &Catalogue,
    problems: &mut Vec<Problem>,
) {
    if let Some(folder) = &config.compat_adapters
        && let Some(message) = catalogue::not_a_folder(folder)
    {
        problems.push(problem("configuration", "compat.adapters", message));
    }
    let models = catalogue.models.iter().map(|model| model.name.as_str());
    let adapters = catalogue.adapters.iter().map(|adapter| adapter.name.as_str());
    let scorers = registry.iter().map(|scorer| scorer.name());
    let names: Vec<&str> = scorers.chain(models).chain(adapters).collect();
    let default = config.compat_scorer.iter().map(|name| ("compat.scorer", name));
    let queues = config.queues.iter().map(|queue| ("queue.scorer", &queue.scorer));
    for (key, name) in default.chain(queues) {
        if !names.contains(&name.as_str()) {
            let near = rubrics::config::nearest(name, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            let message = format!("no scorer, model or adapter is called '{name}'{hint}");
            problems.push(problem("configuration", key, message));
        }
    }
}

/// Checks that a server that is not local has keys.
pub(super) fn check_exposure(config: &Config, problems: &mut Vec<Problem>) {
    let reachable = match config.bind.ip() {
        IpAddr::V4(ip) => !ip.is_loopback(),
        IpAddr::V6(ip) => !ip.is_loopback(),
    };
    if reachable && config.api_keys_file.is_none() {
        let message = format!(
            "{} can be reached from other machines; set server.api_keys_file, or bind to 127.0.0.1",
            config.bind
        );
        problems.push(problem("configuration", "server.bind", message));
    }
}
