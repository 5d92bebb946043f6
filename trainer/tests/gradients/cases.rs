//! The models and the adapter of the goldens.

use std::collections::BTreeMap;
use std::path::Path;

use models::ModelError;
use serde::Deserialize;
use tiny_models::{AdapterSpec, TinySpec, make, make_adapter};

/// The model under the adapter.
pub(crate) const BASE: &str = "qwen3";
/// The adapter's folder.
pub(crate) const ADAPTER: &str = "adapter";

#[derive(Debug, Deserialize)]
pub(crate) struct Cases {
    models: BTreeMap<String, TinySpec>,
    adapter: AdapterSpec,
}

impl Cases {
    pub(crate) fn read() -> Cases {
        serde_json::from_str(include_str!("../../goldens/gradients_cases.json"))
            .expect("the cases are well formed")
    }

    /// Makes every folder inside `parent`.
    pub(crate) fn make(&self, parent: &Path) -> Result<(), ModelError> {
        for (name, spec) in &self.models {
            make(&parent.join(name), spec)?;
        }
        make_adapter(&parent.join(ADAPTER), &self.models[BASE], &self.adapter).map(drop)
    }
}
