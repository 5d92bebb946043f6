//! A model that is being served: its engine, its tokenizer, and what identifies it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use chat::{Folder, Tokenizer};
use models::BLOCK;
use models::adapter::{Adapter, Base};
use models::kv::KvCache;
use models::live::View;
use models::weights::{Checkpoint, Storage};
use models::{LoadOptions, Model, ModelConfig, Runner};

use crate::config::EngineConfig;
use crate::engine::Engine;
use crate::error::LoadError;
use crate::sampling::{ConstraintError, Vocabulary};

/// What to load and how much it may take.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// The name that requests use.
    pub name: String,
    /// A folder in the Hugging Face layout.
    pub folder: Folder,
    /// How matrices are kept in memory.
    pub storage: Storage,
    /// How much it may take.
    pub capacity: Capacity,
}

/// A model that is trained while it is served.
#[derive(Clone, Debug)]
pub struct LiveSpec {
    /// The name that requests use.
    pub name: String,
    /// Its shape.
    pub config: Arc<ModelConfig>,
    /// Decoder and head that record no gradient: [`models::LiveModel::detached`], or those of a
    /// base that stays as it is while its adapters are trained.
    pub view: View,
    /// Its tokenizer and chat template.
    pub tokenizer: Arc<Tokenizer>,
    /// Digest of what the weights are before the first change: see [`Model::digest_of`].
    pub digest: String,
    /// How much it may take.
    pub capacity: Capacity,
}

/// How much an engine may take.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Bytes for keys and values.
    pub kv_memory: u64,
    /// Tokens in one step at most.
    pub batch_tokens: usize,
    /// Sequences that are computed at a time, at most.
    pub max_sequences: usize,
    /// Input tokens of all work in hand, at most.
    pub queue_tokens: usize,
}

/// A model that is being served. Cheap to share; adapters come and go by [`Host::load_adapter`].
#[derive(Debug)]
pub struct Host {
    /// The name that requests use.
    pub name: Arc<str>,
    /// Where it was loaded from; none for one that is trained.
    folder: Option<Folder>,
    /// Runs it.
    pub engine: Engine,
    /// Its tokenizer and chat template.
    pub tokenizer: Arc<Tokenizer>,
    /// Its shape.
    pub config: Arc<ModelConfig>,
    /// Digest of its configuration and weights; of one that is trained `live:` and the digest that
    /// it began with, which with [`Host::revision`] says what it is.
    pub digest: Arc<str>,
    /// Bytes of its weights in memory.
    pub weight_bytes: u64,
    /// Numbers in its weights, a tied vocabulary counted once.
    pub parameters: u64,
    /// Made when the first constraint comes: it takes a while, and many models never see one.
    vocabulary: OnceLock<Result<Vocabulary, ConstraintError>>,
}

/// KV blocks beyond which nothing is gained: a million tokens.
const MOST_BLOCKS: usize = 1 << 16;

impl Host {
    /// Loads a folder and starts its engine.
    ///
    /// # Errors
    /// [`LoadError`] names the file and the field or tensor, or the memory that is too small.
    pub fn load(spec: &HostSpec) -> Result<Host, LoadError> {
        let tokenizer = Tokenizer::of_folder(&spec.folder)?;
        let options = LoadOptions { storage: spec.storage };
        let model = Model::of_folder(&spec.folder, &options)?;
        tokenizer.check_against(model.config.vocab_size)?;
        let view = View { decoder: model.decoder, head: model.head };
        Ok(Host {
            name: spec.name.as_str().into(),
            folder: Some(spec.folder.clone()),
            engine: start(view, &model.config, spec.capacity)?,
            tokenizer: Arc::new(tokenizer),
            config: model.config,
            digest: model.digest.into(),
            weight_bytes: model.memory.total_bytes(),
            parameters: model.parameters,
            vocabulary: OnceLock::new(),
        })
    }

    /// Starts an engine over weights that somebody else changes, each time by
    /// [`Engine::update_weights`]. Nothing is copied.
    ///
    /// # Errors
    /// [`LoadError`] where tokenizer and model do not fit, or the memory is too small.
    pub fn live(spec: LiveSpec) -> Result<Host, LoadError> {
        spec.tokenizer.check_against(spec.config.vocab_size)?;
        let parameters = spec.config.parameters().unwrap_or(u64::MAX);
        Ok(Host {
            name: spec.name.into(),
            folder: None,
            engine: start(spec.view, &spec.config, spec.capacity)?,
            tokenizer: spec.tokenizer,
            config: spec.config,
            digest: format!("live:{}", spec.digest).into(),
            weight_bytes: parameters.saturating_mul(size_of::<f32>() as u64),
            parameters,
            vocabulary: OnceLock::new(),
        })
    }

    /// Whether what it computes may change while it is served.
    pub fn is_live(&self) -> bool {
        self.folder.is_none() || self.engine.revision() > 0
    }

    /// How often the weights were changed; none for a model that is served as it was loaded.
    pub fn revision(&self) -> Option<u64> {
        self.is_live().then(|| self.engine.revision())
    }

    /// What constraints on its text are compiled against. The first call takes a second or so for
    /// a large vocabulary.
    ///
    /// # Errors
    /// [`ConstraintError::Grammar`] where the vocabulary cannot be used.
    pub fn vocabulary(&self) -> Result<&Vocabulary, &ConstraintError> {
        let made = self
            .vocabulary
            .get_or_init(|| Vocabulary::new(&self.tokenizer, self.engine.limits().vocab_size));
        made.as_ref()
    }

    /// Where it was loaded from; none for one that is trained.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Loads a PEFT folder and serves it under a name, in the place of any that had it before.
    /// Reading the folder takes a while: call it where blocking is allowed, or in its own thread.
    ///
    /// # Errors
    /// [`LoadError`]; then what was served before still is. An adapter that names its base is not
    /// that of a model in training.
    pub async fn load_adapter(&self, name: &str, dir: &Path) -> Result<Arc<Adapter>, LoadError> {
        let files = self.folder.as_ref().map(Checkpoint::of_folder).transpose()?;
        let base = Base { config: &self.config, digest: Some(&self.digest), files: files.as_ref() };
        let adapter = Arc::new(Adapter::load(dir, &base)?);
        self.engine.insert_adapter(name.into(), adapter.clone()).await?;
        Ok(adapter)
    }
}

fn start(view: View, config: &ModelConfig, capacity: Capacity) -> Result<Engine, LoadError> {
    let n_blocks = blocks_in(capacity.kv_memory, config)?;
    let engine = EngineConfig {
        n_blocks,
        batch_tokens: capacity.batch_tokens,
        max_sequences: capacity.max_sequences,
        queue_tokens: capacity.queue_tokens,
        max_positions: config.max_positions,
        vocab_size: config.vocab_size,
        has_vocabulary: view.decoder.vocabulary().is_some(),
        head_labels: view.head.as_ref().map(models::head::Head::n_labels),
    };
    let runner = Runner::new(view.decoder, view.head).with_kv(n_blocks)?;
    Engine::start(runner, engine)
}

/// Blocks that fit into the memory, at most as many as are of use.
fn blocks_in(kv_memory: u64, config: &ModelConfig) -> Result<usize, LoadError> {
    let block = (KvCache::bytes_per_token(config) * BLOCK) as u64;
    let n_blocks = usize::try_from(kv_memory / block.max(1)).unwrap_or(MOST_BLOCKS);
    if n_blocks < 2 {
        return Err(LoadError::KvMemory {
            given_bytes: kv_memory,
            tokens: n_blocks * BLOCK,
            least_tokens: 2 * BLOCK,
        });
    }
    Ok(n_blocks.min(MOST_BLOCKS))
}
