//! Scorers by name: the built-in ones and those of a configuration.

mod built_in;
mod kind_table;
mod pipelines;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use kind_table::Scope;
use serde_json::{Value, json};

use crate::config::{Document, NAME_RULE, Section, fits_name, merge, nearest};
use crate::scorer::ScorersByName;
use crate::{Models, Scorer};

/// Name of the embedded model, which is served if no other model is configured.
pub const DEFAULT_MODEL: &str = "tribunal-tiny";

/// The scorers of [`DEFAULT_MODEL`], as `[[scorer]]` tables.
pub const DEFAULT_SCORERS: &str = include_str!("default_model.toml");

/// Scorers by name, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    scorers: ScorersByName,
}

impl Registry {
    /// The scorers that need no configuration.
    pub fn built_in() -> Self {
        Self::default().beside("built-in scorers", built_in::SCORERS, &[])
    }

    /// The built-in scorers and [`DEFAULT_SCORERS`], for servers of [`DEFAULT_MODEL`].
    pub fn with_default_model() -> Self {
        let models = [DEFAULT_MODEL.to_owned()];
        Self::built_in().beside("default scorers", DEFAULT_SCORERS, &models)
    }

    /// Says why a name of [`DEFAULT_SCORERS`] may be missing; `None` for every other name.
    pub fn absent_default(name: &str) -> Option<&'static str> {
        DEFAULT_SCORERS.contains(&format!("\nname = \"{name}\"\n")).then_some(
            "it asks the model that is part of the program, which is served only where no other model is \
             configured; a [[scorer]] of this name can ask another",
        )
    }

    /// Adds scorers that are part of the program.
    fn beside(mut self, name: &str, text: &str, models: &[String]) -> Self {
        let document = Document::new(name, text);
        {
            let table = document.parse();
            let root = document.root(&table);
            self.add(&root, models, None);
            root.finish();
        }
        let problems = document.into_problems();
        assert!(problems.is_empty(), "the {name} are valid: {problems:?}");
        self
    }

    /// Builds the built-in scorers and the `[[scorer]]` tables of `root`, which may redefine them.
    /// Errors become problems of the document. `models` are models and adapters configured
    /// elsewhere, beside those of the file's own tables.
    pub fn read(root: &Section<'_, '_>, models: &[&str]) -> Self {
        Self::read_beside(root, models, None)
    }

    /// Builds the registry with files of scorers, such as rubrics, relative to `base`; without
    /// `base`, a scorer that names a file is a problem. Without a configured model, the scorers of
    /// [`Registry::with_default_model`] are added.
    pub fn read_beside(root: &Section<'_, '_>, models: &[&str], base: Option<&Path>) -> Self {
        let tables = ["model", "adapter"].into_iter();
        let own = tables.flat_map(|key| root.sections(key));
        let own = own.filter_map(|section| section.text("name"));
        let mut names: Vec<String> = models.iter().map(ToString::to_string).collect();
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut registry = if names.is_empty() {
            names.push(DEFAULT_MODEL.to_owned());
            Self::with_default_model()
        } else {
            Self::built_in()
        };
        registry.add(root, &names, base);
        registry
    }

    /// The names of all kinds of scorers.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        kind_table::kind_names()
    }

    /// The JSON schemas of the `[[scorer]]` tables, one for each kind.
    pub fn kind_schemas() -> Vec<Value> {
        kind_table::kind_names().map(Self::kind_schema).collect()
    }

    /// What the reader of a kind asks for, alone and with each word that may decide what else it
    /// asks for.
    fn kind_schema(kind: &str) -> Value {
        let record = |word: &str, all_present: bool| {
            let text =
                format!("[[scorer]]\nname = \"x\"\nkind = \"{kind}\"\nmodel = \"m\"\n{word}");
            let document = Document::recording(&text, all_present);
            {
                let table = document.parse();
                Self::read(&document.root(&table), &["m"]);
            }
            document.schema()["properties"]["scorer"]["items"].take()
        };
        let mut schema = record("", false);
        merge(&mut schema, &record("", true));
        let keys = schema["properties"].as_object().cloned().unwrap_or_default();
        for (key, values) in keys {
            let words = values["enum"].as_array().into_iter().flatten();
            let lists = values["items"].get("enum").into_iter();
            for value in words.chain(lists) {
                for all_present in [false, true] {
                    merge(&mut schema, &record(&format!("{key} = {value}"), all_present));
                }
            }
        }
        schema["properties"]["kind"] = json!({ "const": kind });
        schema
    }

    /// Checks every scorer against the served models.
    ///
    /// # Errors
    /// Missing requirements of each unusable scorer.
    pub fn check(&self, models: &dyn Models) -> Result<(), Vec<String>> {
        let problems = self.iter().filter_map(|scorer| scorer.check(models).err());
        let problems: Vec<String> = problems.collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(problems)
    }

    /// The scorer called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Scorer>> {
        self.scorers.get(name)
    }

    /// All scorers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Scorer>> {
        self.scorers.values()
    }

    /// The scorers that are not part of the program, and those that are with other options.
    pub fn configured(&self) -> impl Iterator<Item = &Arc<Scorer>> {
        let own = Self::with_default_model();
        let is_own = move |scorer: &&Arc<Scorer>| {
            own.get(scorer.name()).is_some_and(|own| own.digest() == scorer.digest())
        };
        self.iter().filter(move |scorer| !is_own(scorer))
    }

    /// Number of scorers.
    pub fn len(&self) -> usize {
        self.scorers.len()
    }

    /// Whether the registry is empty.
    pub fn is_empty(&self) -> bool {
        self.scorers.is_empty()
    }

    /// Up to three names similar to `given`, most similar first.
    pub fn near(&self, given: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self.scorers.keys().map(String::as_str).collect();
        let mut near = Vec::new();
        while near.len() < 3
            && let Some(name) = nearest(given, names.iter().copied())
        {
            names.retain(|other| *other != name);
            near.push(name);
        }
        near
    }

    fn add(&mut self, root: &Section<'_, '_>, model_names: &[String], base: Option<&Path>) {
        let mut defined: Vec<String> = Vec::new();
        let mut pipelines = Vec::new();
        for section in root.sections("scorer") {
            let (name, kind) = (section.required_text("name"), section.required_text("kind"));
            let (Some(name), Some(kind)) = (name, kind) else {
                continue;
            };
            check_name(&section, &name, &defined);
            defined.push(name.clone());
            if kind == pipelines::KIND {
                pipelines.push(pipelines::Draft::read(name, section));
            } else {
                let scope = Scope { scorers: &self.scorers, models: model_names, base };
                if let Some(scorer) = kind_table::build(&section, name, &kind, &scope) {
                    self.insert(scorer);
                }
                section.finish();
            }
        }
        pipelines::resolve(&mut self.scorers, pipelines);
    }

    fn insert(&mut self, scorer: Scorer) {
        self.scorers.insert(scorer.name().to_owned(), Arc::new(scorer));
    }
}

fn check_name(section: &Section<'_, '_>, name: &str, defined: &[String]) {
    if !fits_name(name) {
        section.problem("name", NAME_RULE);
    }
    if defined.iter().any(|other| other == name) {
        section.problem("name", format!("another scorer of this file is called '{name}'"));
    }
}
