//! A served model: its engine, tokenizer and identity.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use chat::{Folder, Tokenizer};
use gpu::Gpu;
use models::adapter::{Adapter, Base};
use models::live::{LiveWeights, View, live_digest};
use models::weights::{Checkpoint, Numerics, NumericsChoice};
use models::{LoadOptions, ModelConfig};

use crate::capacity::Capacity;
use crate::card;
use crate::device::Device;
use crate::device_model::DeviceModel;
use crate::engine::Engine;
use crate::error::LoadError;
use crate::sampling::{ConstraintError, Vocabulary};
use crate::start::start;

/// A model folder to serve, and its resources.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// The name that requests use.
    pub name: String,
    /// A folder in the Hugging Face layout.
    pub folder: Folder,
    /// The storage of weight matrices in memory, and the arithmetic. On a card both are bf16.
    pub options: LoadOptions,
    /// Where it computes.
    pub device: Device,
    /// The engine's resources.
    pub capacity: Capacity,
}

/// A model to serve while it is trained.
#[derive(Clone, Debug)]
pub struct LiveSpec {
    /// The name that requests use.
    pub name: String,
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// Decoder and head without gradients: [`models::LiveModel::detached`], or those of a frozen
    /// base whose adapters are trained.
    pub view: View,
    /// The card that computes with copies of the view's variables; `None` for the processor.
    pub card: Option<(Gpu, LiveWeights)>,
    /// Its tokenizer and chat template.
    pub tokenizer: Arc<Tokenizer>,
    /// Digest of the initial weights: see [`Model::digest_of`].
    pub digest: String,
    /// The engine's resources.
    pub capacity: Capacity,
}

/// A served model. [`Host::load_adapter`] adds adapters.
#[derive(Debug)]
pub struct Host {
    /// The name that requests use.
    pub name: Arc<str>,
    /// The folder that it was loaded from; `None` for a live model.
    folder: Option<Folder>,
    /// Its engine.
    pub engine: Engine,
    /// Its tokenizer and chat template.
    pub tokenizer: Arc<Tokenizer>,
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    /// Digest of its configuration, weights and arithmetic ([`Numerics::digest_of`]). For a live
    /// model, `live:` and the initial digest; together with [`Host::revision`] it identifies the
    /// weights.
    pub digest: Arc<str>,
    /// The digest without the arithmetic: adapters name it as that of their base.
    files_digest: Arc<str>,
    /// The arithmetic of its linear layers.
    pub numerics: NumericsChoice,
    /// Bytes of its weights in memory.
    pub weight_bytes: u64,
    /// Number of parameters, tied embeddings counted once.
    pub parameters: u64,
    /// Built for the first constraint, because it is slow and often not needed.
    vocabulary: OnceLock<Result<Vocabulary, ConstraintError>>,
}

/// Bytes of text for each token of the context, above which a text is not encoded. Prose has about
/// four bytes in a token, indented code eight.
const MAX_BYTES_PER_TOKEN: usize = 16;
/// The least bound on the bytes of a text, for models with a short context.
const MIN_TEXT_BOUND: usize = 64 << 10;

impl Host {
    /// Loads a folder and starts its engine.
    ///
    /// # Errors
    /// [`LoadError`], with the file and the field or tensor, or the memory that is too small.
    pub fn load(spec: &HostSpec) -> Result<Host, LoadError> {
        let tokenizer = Tokenizer::of_folder(&spec.folder)?;
        let model = DeviceModel::load(&spec.folder, &spec.options, &spec.device)?;
        tokenizer.check_against(model.config.vocab_size)?;
        Ok(Host {
            name: spec.name.as_str().into(),
            folder: Some(spec.folder.clone()),
            engine: model.start(spec.capacity)?,
            tokenizer: Arc::new(tokenizer),
            config: model.config,
            digest: model.numerics.numerics.digest_of(&model.digest).into(),
            files_digest: model.digest.into(),
            numerics: model.numerics,
            weight_bytes: model.weight_bytes,
            parameters: model.parameters,
            vocabulary: OnceLock::new(),
        })
    }

    /// Starts an engine over weights that the caller changes by [`Engine::update_weights`]. Nothing
    /// is copied, except to a card.
    ///
    /// # Errors
    /// [`LoadError`] if tokenizer and model do not fit, or the memory is too small.
    pub fn live(spec: LiveSpec) -> Result<Host, LoadError> {
        spec.tokenizer.check_against(spec.config.vocab_size)?;
        let parameters = spec.config.parameters().unwrap_or(u64::MAX);
        let digest = live_digest(&spec.digest);
        let (engine, numerics, bytes_each) = match spec.card {
            None => {
                let engine = start(spec.view, &spec.config, spec.capacity)?;
                (engine, Numerics::F32, size_of::<f32>() as u64)
            }
            Some((gpu, weights)) => {
                let (engine, numerics) =
                    card::start_live(&gpu, weights, &spec.config, spec.capacity)?;
                (engine, numerics, card::WEIGHT_BYTES)
            }
        };
        Ok(Host {
            name: spec.name.into(),
            folder: None,
            engine,
            tokenizer: spec.tokenizer,
            config: spec.config,
            digest: numerics.digest_of(&digest).into(),
            files_digest: digest.into(),
            numerics: NumericsChoice { numerics, reason: "weights that change" },
            weight_bytes: parameters.saturating_mul(bytes_each),
            parameters,
            vocabulary: OnceLock::new(),
        })
    }

    /// Whether its weights may change while it is served.
    pub fn is_live(&self) -> bool {
        self.folder.is_none() || self.engine.revision() > 0
    }

    /// Number of weight updates; `None` for a model served as it was loaded.
    pub fn revision(&self) -> Option<u64> {
        self.is_live().then(|| self.engine.revision())
    }

    /// The vocabulary that constraints are compiled against. The first call takes about a second
    /// for a large vocabulary.
    ///
    /// # Errors
    /// [`ConstraintError::Grammar`] if llguidance cannot use the vocabulary.
    pub fn vocabulary(&self) -> Result<&Vocabulary, &ConstraintError> {
        self.vocabulary
            .get_or_init(|| Vocabulary::new(&self.tokenizer, self.engine.limits().vocab_size))
            .as_ref()
    }

    /// The longest text in bytes that is worth encoding: the tokens of a longer one do not fit the
    /// context, and encoding takes far more time and memory than measuring its length.
    pub fn max_text_bytes(&self) -> usize {
        let context = self.engine.limits().context();
        context.saturating_mul(MAX_BYTES_PER_TOKEN).max(MIN_TEXT_BOUND)
    }

    /// The folder that it was loaded from; `None` for a live model.
    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }

    /// Loads a PEFT folder and serves it under a name, replacing an adapter that had it. Blocks
    /// while it reads the folder.
    ///
    /// # Errors
    /// [`LoadError`]; the replaced adapter then stays in service. A live model refuses an adapter
    /// that names its base.
    pub async fn load_adapter(&self, name: &str, dir: &Path) -> Result<Arc<Adapter>, LoadError> {
        let files = self.folder.as_ref().map(Checkpoint::of_folder).transpose()?;
        let digest = Some(&*self.files_digest);
        let base = Base { config: &self.config, digest, files: files.as_ref() };
        let adapter = Arc::new(Adapter::load(dir, &base)?);
        self.engine.insert_adapter(name.into(), adapter.clone()).await?;
        Ok(adapter)
    }
}
