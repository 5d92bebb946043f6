//! Inspection of an adapter's folder: its configuration, and with its base, its effect.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::files::{WeightFiles, unreadable};
use super::model::digest_of;
use super::{InspectOptions, Inspection};
use crate::adapter::{Adapter, AdapterReport, Base, Outline, WEIGHTS_FILE};
use crate::config::ModelConfig;
use crate::error::Result;
use crate::weights::Checkpoint;
use crate::weights::names::detect_head;
use chat::Folder;

/// Facts about an adapter.
#[derive(Debug, Serialize)]
pub struct AdapterFacts {
    /// The content of its configuration.
    pub outline: Option<Outline>,
    /// The digest of its content; needs the base.
    pub digest: Option<String>,
    /// Its effect on the base; needs the base.
    pub report: Option<AdapterReport>,
}

/// Fills in the facts of an adapter's folder.
pub(super) fn inspect(dir: &Path, options: &InspectOptions, found: &mut Inspection) {
    let checkpoint = Checkpoint::of_file(&dir.join(WEIGHTS_FILE));
    if let Some(checkpoint) = found.keep(checkpoint) {
        found.weights = Some(WeightFiles::of(&checkpoint));
        if options.check {
            found.problems.extend(unreadable(&checkpoint));
        }
    }
    let mut facts =
        AdapterFacts { outline: found.keep(Outline::read(dir)), digest: None, report: None };
    match &options.base {
        None => found
            .notes
            .push("without its base (--base DIR), nothing can be said of its tensors".into()),
        Some(base) => {
            if let Some(adapter) = found.keep(load(dir, base, options.check)) {
                found.notes.extend(adapter.report.warnings.iter().cloned());
                facts.digest = Some(adapter.digest);
                facts.report = Some(adapter.report);
            }
        }
    }
    // Several readers report the same mistake.
    found.problems.dedup();
    found.adapter = Some(facts);
}

/// The base's weights are hashed only with `check`: they are large.
fn load(dir: &Path, base: &Path, check: bool) -> Result<Adapter> {
    let (text, config) = ModelConfig::read_file(&Folder::directory(base))?;
    let files = Checkpoint::open(base)?;
    let config = Arc::new(ModelConfig {
        head: detect_head(config.head, base, |name| files.has(name))?,
        ..config
    });
    let digest = if check { Some(digest_of(&text, Some(&files))?) } else { None };
    Adapter::load(dir, &Base { config: &config, digest: digest.as_deref(), files: Some(&files) })
}
