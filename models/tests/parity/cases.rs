//! The cases of the parity test: folders by name.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tiny_models::{AdapterSpec, Made, TinySpec, make, make_adapter};

/// All cases, as `goldens/cases.json` lists them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cases {
    pub(crate) models: Vec<ModelCase>,
    pub(crate) adapters: Vec<AdapterCase>,
}

/// A model folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelCase {
    pub(crate) name: String,
    pub(crate) spec: TinySpec,
}

/// An adapter folder over one of the models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdapterCase {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) spec: AdapterSpec,
}

/// The folder of the goldens.
pub(crate) fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

impl Cases {
    /// Reads the list.
    pub(crate) fn read() -> Cases {
        let text = std::fs::read(goldens().join("cases.json")).expect("the list is committed");
        serde_json::from_slice(&text).expect("the list is well formed")
    }

    /// The model of a name.
    pub(crate) fn model(&self, name: &str) -> Result<&ModelCase, String> {
        let found = self.models.iter().find(|case| case.name == name);
        found.ok_or_else(|| format!("no model case is called `{name}`"))
    }
}

impl ModelCase {
    /// Makes the folder inside `parent`.
    pub(crate) fn make(&self, parent: &Path) -> Result<(PathBuf, Made), String> {
        let dir = parent.join(&self.name);
        let made = make(&dir, &self.spec).map_err(|error| error.to_string())?;
        Ok((dir, made))
    }
}

impl AdapterCase {
    /// Makes the folder inside `parent`.
    pub(crate) fn make(&self, parent: &Path, base: &TinySpec) -> Result<(PathBuf, Made), String> {
        let dir = parent.join(&self.name);
        let made = make_adapter(&dir, base, &self.spec).map_err(|error| error.to_string())?;
        Ok((dir, made))
    }
}
