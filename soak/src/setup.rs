//! The folder of the server: models, adapters, keys, configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

use crate::SoakError;

/// Keys by what their client does.
pub(crate) const STEADY: &str = "steady-client-0123456789";
pub(crate) const MIXED: &str = "mixed-clients-0123456789";
pub(crate) const HOSTILE: &str = "hostile-clients-0123456789";
pub(crate) const WATCH: &str = "watching-client-0123456789";

/// Adapter folders below `adapters`.
pub(crate) const ADAPTERS: [&str; 2] = ["one", "two"];

/// Positions of the models; those of the presets hold a few sentences.
const POSITIONS: u64 = 4096;

const SCORERS: &str = "
[compat]
scorer = 'math'
adapters = 'adapters'

[batches]
folder = 'batches'

[[model]]
name = 'rm'
path = 'rm'

[[model]]
name = 'chat'
path = 'chat'

[[scorer]]
name = 'good'
kind = 'reward'
model = 'rm'

[[scorer]]
name = 'judged'
kind = 'judge'
model = 'chat'
rationale = 'none'
min_label_mass = 0

[[scorer]]
name = 'pairs'
kind = 'judge'
model = 'chat'
mode = 'pair'
rationale = 'none'
min_label_mass = 0
inconsistent = 'average'
";

/// Short times, few connections and small caches, so that a soak meets these limits too. A cache that is
/// full early leaves the slope of memory to what should not grow.
const SHORT_LIMITS: &str = "
connections = 512
head_timeout = '2s'
body_timeout = '3s'
idle_timeout = '3s'
write_timeout = '5s'
reply_timeout = '30s'

[engine]
kv_memory = '16MiB'

[cache]
memory = '4MiB'
";

/// The files of a server. They go with this value.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Makes the files. With `memory` the limits are the defaults, and the server gets the figure
    /// if nothing else will hold it to it.
    pub(crate) fn make(memory: Option<u64>, tell_memory: bool) -> Result<Self, SoakError> {
        let folder = tempfile::tempdir().map_err(|error| SoakError::at("a folder", error))?;
        let place = Self { folder };
        place.model("rm", TinyHead::Sequence)?;
        place.model("chat", TinyHead::Vocab)?;
        for (seed, name) in (11..).zip(ADAPTERS) {
            let spec = adapter_spec(seed);
            let path = place.path("adapters").join(name);
            make_adapter(&path, &tiny_spec(TinyHead::Sequence), &spec)
                .map_err(|error| SoakError::at("an adapter", error))?;
        }
        place.write_keys(0)?;
        let limits = if memory.is_some() { "" } else { SHORT_LIMITS };
        let limit = memory.filter(|_| tell_memory);
        let limit =
            limit.map_or(String::new(), |b| format!("[limits]\nmemory = '{}MiB'\n", b >> 20));
        let server = format!("[server]\napi_keys_file = 'keys.txt'\n{limits}{limit}{SCORERS}");
        place.write("tribunal.toml", &server)?;
        Ok(place)
    }

    fn model(&self, name: &str, head: TinyHead) -> Result<(), SoakError> {
        let doing = || format!("model {name}");
        let path = self.path(name);
        make(&path, &tiny_spec(head)).map_err(|error| SoakError::at(doing(), error))?;
        let file = path.join("config.json");
        let text = std::fs::read_to_string(&file).map_err(|error| SoakError::at(doing(), error))?;
        let mut config: Value =
            serde_json::from_str(&text).map_err(|error| SoakError::at(doing(), error))?;
        config["max_position_embeddings"] = POSITIONS.into();
        std::fs::write(&file, config.to_string()).map_err(|error| SoakError::at(doing(), error))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), SoakError> {
        base::file::write_atomic(&self.path(name), text.as_bytes())
            .map_err(|error| SoakError::at(name, error))
    }

    /// Puts another key file in the place of the old one: the rotating key is that of this round.
    pub(crate) fn write_keys(&self, round: usize) -> Result<(), SoakError> {
        let rotating = rotating_key(round);
        let text = format!(
            "{STEADY} scopes=score name=steady\n{MIXED} name=mixed\n{HOSTILE} name=hostile\n\
             {WATCH} scopes=metrics name=watching\n{rotating} scopes=score name=rotating\n"
        );
        self.write("keys.txt", &text)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }
}

/// The rotating key of a round.
pub(crate) fn rotating_key(round: usize) -> String {
    format!("rotating-key-of-round-{round:06}")
}

fn tiny_spec(head: TinyHead) -> TinySpec {
    TinySpec { head, ..TinySpec::from(Preset::Qwen2) }
}

fn adapter_spec(seed: u64) -> AdapterSpec {
    AdapterSpec {
        seed,
        r: 4,
        alpha: 64,
        targets: vec!["q_proj".to_owned(), "down_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    }
}
