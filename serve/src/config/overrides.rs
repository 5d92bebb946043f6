//! Settings of the environment and of the command line.

use std::path::PathBuf;

use rubrics::config::Problem;

use super::settings::{FORMER_TABLES, SETTINGS, Setting, present_table};
use super::{Config, problem};

/// A setting from the command line, as `--set TABLE.KEY=VALUE` or its own flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Where it was written, for error messages: `--bind`.
    pub origin: String,
    /// `server.bind`.
    pub name: String,
    /// The value as written.
    pub value: String,
}

/// Reads settings from the environment; the only place that does.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule names")]
pub(super) fn environment() -> Vec<Override> {
    let given = SETTINGS.iter().flat_map(environment_names).filter_map(|(origin, name)| {
        let value = std::env::var(&origin).ok()?;
        Some(Override { origin, name, value })
    });
    given.collect()
}

/// Reads a variable that another specification names.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule names")]
pub(super) fn standard_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The log filter of commands that have no flag for one.
#[expect(clippy::disallowed_methods, reason = "this is the place that the rule names")]
pub fn log_filter() -> Option<String> {
    std::env::var("TRIBUNAL_LOG").ok()
}

/// The folder of compiled kernels where none is given, below the user's cache folder.
pub fn user_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|f| f.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("tribunal").join("kernels"))
}

/// Where the Hub and its cache are: the variables of `huggingface_hub`.
pub fn hub_settings() -> hub::HubSettings {
    hub::HubSettings::read(|name| std::env::var_os(name))
}

/// The variables of a setting, each with the setting's name; one of a former table comes first, so
/// that the present one takes precedence.
pub(super) fn environment_names(
    setting: &'static Setting,
) -> impl Iterator<Item = (String, String)> {
    let former = FORMER_TABLES.iter().filter(|(_, present)| *present == setting.table);
    former.map(|(former, _)| *former).chain([setting.table]).map(|table| {
        // `cache.memory` would otherwise be TRIBUNAL_MEMORY, which is too general.
        let key = match (setting.table, setting.key) {
            ("cache" | "compat" | "batches" | "signing" | "telemetry", key) => {
                format!("{table}_{key}")
            }
            (_, key) => key.to_owned(),
        };
        (format!("TRIBUNAL_{}", key.to_uppercase()), format!("{}.{}", setting.table, setting.key))
    })
}

/// Applies a setting; a value that is not accepted becomes a problem.
pub(super) fn apply(config: &mut Config, given: &Override, problems: &mut Vec<Problem>) {
    let named = |s: &&Setting| {
        let name = given.name.split_once('.');
        name.is_some_and(|(table, key)| present_table(table) == s.table && key == s.key)
    };
    let Some(setting) = SETTINGS.iter().find(named) else {
        let names: Vec<String> =
            SETTINGS.iter().map(|s| format!("{}.{}", s.table, s.key)).collect();
        let near = rubrics::config::nearest(&given.name, names.iter().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
        problems.push(problem(&given.origin, &given.name, format!("no such setting{hint}")));
        return;
    };
    if let Err(expected) = config.set(setting, &given.value, &given.origin) {
        problems.push(problem(&given.origin, &given.name, format!("expected {expected}")));
    }
}
