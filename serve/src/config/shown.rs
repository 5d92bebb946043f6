//! A configuration in force as the text of a configuration file.

use std::fmt::{self, Display, Formatter};

use serde_json::{Value, json};

use super::catalogue::{COMPUTES, STORAGES};
use super::settings::SETTINGS;
use super::{Config, Loaded};
use crate::scorer_queues::QueuePolicy;

/// The width that comments are aligned at.
const WIDTH: usize = 34;

/// Every setting in force, with a comment that says what gave it; then the models, adapters and
/// queues, and the names of the scorers as comments. The options of scorers are those of the file.
impl Display for Loaded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.config.write_settings(f)?;
        for model in &self.catalogue.models {
            let Some(path) = &model.path else {
                writeln!(f, "\n# Model {}: part of the program", model.name)?;
                continue;
            };
            let options = [
                ("name", json!(model.name)),
                ("path", json!(path.to_string())),
                ("storage", word(STORAGES, &(model.options.storage, None))),
                ("compute", model.options.compute.map(|c| word(COMPUTES, &c)).into()),
                ("calibration", json!(model.calibration)),
            ];
            write_table(f, "model", &options)?;
        }
        for adapter in &self.catalogue.adapters {
            let path = json!(adapter.path.to_string());
            let options =
                [("name", json!(adapter.name)), ("model", json!(adapter.model)), ("path", path)];
            write_table(f, "adapter", &options)?;
        }
        for queue in &self.config.queues {
            let options = [
                ("scorer", json!(queue.scorer)),
                ("size", json!(queue.size)),
                ("timeout", json!(format!("{}ms", queue.timeout.as_millis()))),
                ("policy", word(QueuePolicy::NAMES, &queue.policy)),
            ];
            write_table(f, "queue", &options)?;
        }
        writeln!(f, "\n# Scorers:")?;
        for scorer in self.registry.iter() {
            writeln!(f, "#   {} ({})", scorer.name(), scorer.kind())?;
        }
        if self.catalogue.models.iter().any(|model| model.path.is_some()) {
            let model = rubrics::DEFAULT_MODEL;
            writeln!(f, "# Those of {model} are served only where no model is configured.")?;
        }
        Ok(())
    }
}

impl Config {
    fn write_settings(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let default = Config::default();
        let mut table = "";
        for setting in SETTINGS {
            if setting.table != table {
                let before = if table.is_empty() { "" } else { "\n" };
                table = setting.table;
                writeln!(f, "{before}[{table}]")?;
            }
            let value = (setting.show)(self);
            let origin = match self.given.get(&(setting.table, setting.key)) {
                Some(origin) => origin,
                None if value == (setting.show)(&default) => "default",
                None => "fits this machine",
            };
            let line = if value.is_null() {
                format!("# {} is not set", setting.key)
            } else {
                // JSON's texts and numbers are TOML's.
                format!("{} = {value}", setting.key)
            };
            writeln!(f, "{line:WIDTH$} # {origin}")?;
        }
        Ok(())
    }
}

fn write_table(f: &mut Formatter<'_>, name: &str, options: &[(&str, Value)]) -> fmt::Result {
    writeln!(f, "\n[[{name}]]")?;
    for (key, value) in options.iter().filter(|(_, value)| !value.is_null()) {
        writeln!(f, "{key} = {value}")?;
    }
    Ok(())
}

/// The word that is read as `value`.
fn word<T: PartialEq>(words: &[(&str, T)], value: &T) -> Value {
    words.iter().find(|(_, of)| of == value).map(|(word, _)| *word).into()
}
