//! Any `adapter_config.json` beside good factors: it is refused, or loads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use models::ModelConfig;
use models::adapter::{Adapter, Base, CONFIG_FILE, Outline};
use tempfile::TempDir;
use tiny_models::{AdapterSpec, Preset, TinySpec, make, make_adapter};

/// A base and an adapter's folder.
struct Made {
    config: Arc<ModelConfig>,
    adapter: PathBuf,
    _folder: TempDir,
}

fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (base, adapter) = (folder.path().join("base"), folder.path().join("adapter"));
        let spec = TinySpec::from(Preset::Qwen2);
        make(&base, &spec).expect("a model");
        let factors = AdapterSpec {
            seed: 7,
            r: 4,
            alpha: 64,
            targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
            rank_pattern: BTreeMap::new(),
            alpha_pattern: BTreeMap::new(),
            rslora: false,
            score_labels: None,
        };
        make_adapter(&adapter, &spec, &factors).expect("an adapter");
        let path = base.join("config.json");
        let text = std::fs::read_to_string(&path).expect("it was made");
        let config = ModelConfig::from_json(&path, &text).expect("it is good");
        Made { config: Arc::new(config), adapter, _folder: folder }
    })
}

/// Reads the outline, and loads the adapter.
pub(crate) fn run(data: &[u8]) {
    let made = made();
    std::fs::write(made.adapter.join(CONFIG_FILE), data).expect("the folder takes files");
    let outline = Outline::read(&made.adapter);
    let adapter = Adapter::load(&made.adapter, &Base::of(&made.config));
    assert!(outline.is_ok() || adapter.is_err(), "it loads without an outline");
}
