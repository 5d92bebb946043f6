//! Models and adapters to serve: the `[[model]]` and `[[adapter]]` tables and the flags that
//! override them. Nothing is loaded here.

use std::path::{Path, PathBuf};

use hub::ModelLocation;
use models::LoadOptions;
use models::weights::{Compute, Storage};
use rubrics::Registry;
use rubrics::config::{NAME_RULE, Problem, Section, fits_name, nearest};

use super::{FileContext, problem};

/// A model to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpec {
    /// The name that requests use.
    pub name: String,
    /// A folder in the Hugging Face layout, or a repository of the Hub; `None` for the embedded model.
    pub path: Option<ModelLocation>,
    /// How the weight matrices are stored in memory, and the arithmetic.
    pub options: LoadOptions,
    /// The calibration file of its decisions.
    pub calibration: Option<PathBuf>,
}

impl ModelSpec {
    /// Returns the model that is served if none is configured.
    pub fn default_model() -> ModelSpec {
        ModelSpec {
            name: rubrics::DEFAULT_MODEL.to_owned(),
            path: None,
            options: LoadOptions { storage: Storage::F32, ..LoadOptions::default() },
            calibration: None,
        }
    }
}

/// An adapter to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterSpec {
    /// The name that requests use.
    pub name: String,
    /// The base model.
    pub model: String,
    /// A PEFT folder, or a repository of the Hub.
    pub path: ModelLocation,
    /// Whether a request may replace its weights.
    pub replaceable: bool,
}

/// Models and adapters to load; all names differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Models.
    pub models: Vec<ModelSpec>,
    /// Adapters; each names one of the models.
    pub adapters: Vec<AdapterSpec>,
}

/// Models and adapters of the command line, not yet checked against the file.
#[derive(Debug, Default)]
pub(super) struct Flags {
    models: Vec<ModelSpec>,
    adapters: Vec<AdapterSpec>,
}

/// Storage types, and the older word for `compute = "int8"`.
pub(super) const STORAGES: &[(&str, (Storage, Option<Compute>))] = &[
    ("as_stored", (Storage::AsStored, None)),
    ("f32", (Storage::F32, None)),
    ("f16", (Storage::F16, None)),
    ("bf16", (Storage::Bf16, None)),
    ("int8", (Storage::AsStored, Some(Compute::Int8))),
];

pub(super) const COMPUTES: &[(&str, Compute)] = &[
    ("auto", Compute::Auto),
    ("f32", Compute::F32),
    ("bf16", Compute::Bf16),
    ("int8", Compute::Int8),
];

impl Flags {
    /// Parses `--model NAME=PATH` and `--adapter NAME=MODEL:PATH`. Names contain neither `=` nor
    /// `:`, so that paths may. A repository of the Hub without a name is served under its own.
    pub(super) fn read(
        models: &[String],
        adapters: &[String],
        problems: &mut Vec<Problem>,
    ) -> Flags {
        let mut flags = Flags::default();
        for given in models {
            let Some((name, path)) = named_model(given) else {
                let message = format!("'{given}' is not NAME=PATH or hf:ORG/NAME");
                problems.push(problem("--model", "", message));
                continue;
            };
            let taken = flags.models.iter().any(|model| model.name == name);
            check_flag(("--model", "model"), name, taken, problems);
            let Some(path) = location_flag("--model", name, path, problems) else { continue };
            flags.models.push(ModelSpec {
                name: name.to_owned(),
                path: Some(path),
                options: LoadOptions::default(),
                calibration: None,
            });
        }
        for given in adapters {
            let parts = pair(given, '=').and_then(|(name, rest)| Some((name, pair(rest, ':')?)));
            let Some((name, (model, path))) = parts else {
                let message = format!("'{given}' is not NAME=MODEL:PATH");
                problems.push(problem("--adapter", "", message));
                continue;
            };
            let taken = flags.adapters.iter().any(|adapter| adapter.name == name);
            check_flag(("--adapter", "adapter"), name, taken, problems);
            let Some(path) = location_flag("--adapter", name, path, problems) else { continue };
            flags.adapters.push(AdapterSpec {
                name: name.to_owned(),
                model: model.to_owned(),
                path,
                replaceable: false,
            });
        }
        flags
    }
}

impl Flags {
    /// Lists the names of all models and adapters.
    pub(super) fn names(&self) -> Vec<&str> {
        let models = self.models.iter().map(|model| model.name.as_str());
        let adapters = self.adapters.iter().map(|adapter| adapter.name.as_str());
        models.chain(adapters).collect()
    }
}

fn pair(text: &str, at: char) -> Option<(&str, &str)> {
    let (before, after) = text.split_once(at)?;
    (!before.is_empty() && !after.is_empty()).then_some((before, after))
}

/// Name and place of a model of the command line.
fn named_model(given: &str) -> Option<(&str, &str)> {
    if !ModelLocation::is_hub(given) {
        return pair(given, '=');
    }
    let name = given.split_once(':')?.1;
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    Some((name, given))
}

fn check_flag((flag, what): (&str, &str), name: &str, taken: bool, problems: &mut Vec<Problem>) {
    if !fits_name(name) {
        problems.push(problem(flag, name, NAME_RULE.to_owned()));
    }
    if taken {
        problems.push(problem(flag, name, format!("two flags give this {what}")));
    }
}

/// Reads the place of a flag; a folder must exist.
fn location_flag(
    flag: &str,
    name: &str,
    given: &str,
    problems: &mut Vec<Problem>,
) -> Option<ModelLocation> {
    match ModelLocation::parse(given) {
        Ok(location) => {
            problems.extend(no_folder(&location).map(|message| problem(flag, name, message)));
            Some(location)
        }
        Err(message) => {
            problems.push(problem(flag, name, message));
            None
        }
    }
}

/// Explains why a place has no folder; a repository of the Hub is not looked at here.
fn no_folder(location: &ModelLocation) -> Option<String> {
    match location {
        ModelLocation::Folder(path) => not_a_folder(path),
        ModelLocation::Hub(_) => None,
    }
}

pub(super) fn not_a_folder(path: &Path) -> Option<String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!("{shown} is not a folder")),
        Err(error) => Some(format!("{shown} cannot be read: {error}")),
    }
}

fn not_a_file(path: &Path) -> Option<String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some(format!("{shown} is not a file")),
        Err(error) => Some(format!("{shown} cannot be read: {error}")),
    }
}

impl Catalogue {
    /// Reads the tables of a file; adapters may refer to models of the flags.
    pub(super) fn read(
        root: &Section<'_, '_>,
        registry: &Registry,
        place: FileContext<'_>,
    ) -> Catalogue {
        let mut reader = CatalogueReader { registry, place, catalogue: Catalogue::default() };
        for section in root.sections("model") {
            reader.model(&section);
            section.finish();
        }
        for section in root.sections("adapter") {
            reader.adapter(&section);
            section.finish();
        }
        reader.catalogue
    }

    /// Adds the models and adapters of the command line, which replace those of the file with the
    /// same name.
    pub(super) fn add(&mut self, flags: Flags, registry: &Registry, problems: &mut Vec<Problem>) {
        for given in flags.models {
            if let Some(message) = self.taken(&given.name, NamedKind::Model, registry) {
                problems.push(problem("--model", &given.name, message));
            }
            match self.models.iter_mut().find(|m| m.name == given.name) {
                // Options and calibration stay as the file has them.
                Some(model) => model.path = given.path,
                None => self.models.push(given),
            }
        }
        for given in flags.adapters {
            if let Some(message) = self.taken(&given.name, NamedKind::Adapter, registry) {
                problems.push(problem("--adapter", &given.name, message));
            }
            if let Some(message) = self.no_model(&given.model, &Flags::default()) {
                problems.push(problem("--adapter", &given.name, message));
            }
            match self.adapters.iter_mut().find(|a| a.name == given.name) {
                // What a request may do stays as the file has it.
                Some(adapter) => {
                    *adapter = AdapterSpec { replaceable: adapter.replaceable, ..given };
                }
                None => self.adapters.push(given),
            }
        }
    }

    /// Explains why a name cannot be given to an entry of another kind; `None` if it can.
    fn taken(&self, name: &str, kind: NamedKind, registry: &Registry) -> Option<String> {
        let model = self.models.iter().any(|model| model.name == name);
        let adapter = self.adapters.iter().any(|adapter| adapter.name == name);
        let by = if registry.get(name).is_some() {
            "a scorer"
        } else if model && kind == NamedKind::Adapter {
            "a model"
        } else if adapter && kind == NamedKind::Model {
            "an adapter"
        } else {
            return None;
        };
        Some(format!("{by} is called '{name}' already"))
    }

    /// Explains why an adapter cannot refer to a model of this name.
    fn no_model(&self, name: &str, flags: &Flags) -> Option<String> {
        let models = self.models.iter().chain(&flags.models);
        let names: Vec<&str> = models.map(|model| model.name.as_str()).collect();
        if names.contains(&name) {
            return None;
        }
        let hint = nearest(name, names.iter().copied())
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        Some(format!("no model is called '{name}'{hint}"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedKind {
    Model,
    Adapter,
}

/// Reads tables one by one, each checked against those before it.
struct CatalogueReader<'r> {
    registry: &'r Registry,
    place: FileContext<'r>,
    catalogue: Catalogue,
}

impl CatalogueReader<'_> {
    fn model(&mut self, section: &Section<'_, '_>) {
        let name = self.name(section, NamedKind::Model);
        let path = self.location(section);
        section.require("path");
        let options = load_options(section);
        let calibration = self.file(section, "calibration");
        if let (Some(name), Some(path)) = (name, path) {
            self.catalogue.models.push(ModelSpec { name, path: Some(path), options, calibration });
        }
    }

    fn adapter(&mut self, section: &Section<'_, '_>) {
        let name = self.name(section, NamedKind::Adapter);
        let model = section.required_text("model");
        if let Some(model) = &model
            && let Some(message) = self.catalogue.no_model(model, self.place.flags)
        {
            section.problem("model", message);
        }
        let path = self.location(section);
        section.require("path");
        let replaceable = section.boolean("replaceable").unwrap_or(false);
        if let (Some(name), Some(model), Some(path)) = (name, model, path) {
            self.catalogue.adapters.push(AdapterSpec { name, model, path, replaceable });
        }
    }

    fn name(&self, section: &Section<'_, '_>, kind: NamedKind) -> Option<String> {
        let name = section.required_text("name")?;
        if !fits_name(&name) {
            section.problem("name", NAME_RULE);
        }
        let Catalogue { models, adapters } = &self.catalogue;
        let same = match kind {
            NamedKind::Model => models.iter().any(|model| model.name == name),
            NamedKind::Adapter => adapters.iter().any(|adapter| adapter.name == name),
        };
        if same {
            let what = match kind {
                NamedKind::Model => "model",
                NamedKind::Adapter => "adapter",
            };
            section.problem("name", format!("another {what} of this file is called '{name}'"));
        } else if let Some(message) = self.catalogue.taken(&name, kind, self.registry) {
            section.problem("name", message);
        }
        Some(name)
    }

    /// The folder or the repository under the key `path`.
    fn location(&self, section: &Section<'_, '_>) -> Option<ModelLocation> {
        let given = path_text(section, "path")?;
        let location = match ModelLocation::parse(&given) {
            Ok(location) => location,
            Err(message) => {
                section.problem("path", message);
                return None;
            }
        };
        let Some(base) = self.place.base else {
            return Some(location);
        };
        let location = location.below(base);
        if let Some(message) = no_folder(&location) {
            section.problem("path", message);
        }
        Some(location)
    }

    fn file(&self, section: &Section<'_, '_>, key: &'static str) -> Option<PathBuf> {
        let given = path_text(section, key)?;
        let Some(base) = self.place.base else {
            return Some(given.into());
        };
        let path = base.join(given);
        if let Some(message) = not_a_file(&path) {
            section.problem(key, message);
        }
        Some(path)
    }
}

/// The text of a path, which is not empty.
fn path_text(section: &Section<'_, '_>, key: &'static str) -> Option<String> {
    let given = section.text(key)?;
    if given.is_empty() {
        section.problem(key, "expected a path");
        return None;
    }
    Some(given)
}

fn load_options(section: &Section<'_, '_>) -> LoadOptions {
    let (storage, by_storage) = section.word("storage", STORAGES).unwrap_or_default();
    let compute = section.word("compute", COMPUTES);
    if by_storage.is_some() && compute.is_some() && by_storage != compute {
        section.problem("compute", "storage = \"int8\" means compute = \"int8\", and this differs");
    }
    LoadOptions { storage, compute: compute.or(by_storage) }
}
