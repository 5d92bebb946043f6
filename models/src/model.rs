//! A model loaded from a folder in the Hugging Face layout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ModelConfig;
use crate::decoder::Decoder;
use crate::digest::{DigestPart, digest};
use crate::error::Result;
use crate::head::Head;
use crate::weights::names::detect_head;
use crate::weights::{
    Checkpoint, Compute, FileWeights, Loaded, Memory, NumericsChoice, Storage, WeightSource,
};
use chat::Folder;

/// Options of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Storage type of matrices in memory.
    pub storage: Storage,
    /// Arithmetic of the linear layers; `None` for the default of the device: f32 on a processor,
    /// bf16 on a card.
    pub compute: Option<Compute>,
}

/// A model ready to run: configuration, decoder and head, and facts for reports.
#[derive(Clone, Debug)]
pub struct Model {
    /// The content of `config.json`, with the head found in the files.
    pub config: Arc<ModelConfig>,
    /// Embedding, layers and final norm.
    pub decoder: Decoder,
    /// The head beside the vocabulary; `None` without one.
    pub head: Option<Head>,
    /// The digest ([`crate::digest`]) of `config.json` and the weight files, each named by its file
    /// name: equal for equal content anywhere. The index of shards is excluded, because the shards
    /// determine it. [`crate::weights::Numerics::digest_of`] makes it that of the scores.
    pub digest: String,
    /// The files covered by the digest.
    pub files: Vec<PathBuf>,
    /// The arithmetic of the linear layers.
    pub numerics: NumericsChoice,
    /// Bytes of weights in memory, by storage type.
    pub memory: Memory,
    /// Numbers in the model; a tied vocabulary counts once.
    pub parameters: u64,
}

impl Model {
    /// Loads a folder: `config.json`, and `model.safetensors` or shards with an index.
    ///
    /// Weights are packed block by block while the files are read, so that peak memory is that of
    /// the packed model and a few blocks.
    ///
    /// # Errors
    /// [`crate::ModelError`] names the file and the field or the tensor: a configuration that is
    /// not understood, a tensor that is missing, left over, misshapen, of a wrong type or not
    /// finite, and any fault of the files themselves.
    pub fn load(dir: &Path, options: &LoadOptions) -> Result<Model> {
        Model::of_folder(&Folder::directory(dir), options)
    }

    /// [`Model::digest`] of a folder without loading it.
    ///
    /// # Errors
    /// As [`Model::load`] for `config.json` and the headers of the weight files.
    pub fn digest_of(folder: &Folder) -> Result<String> {
        folder.check()?;
        let (config_file, _) = ModelConfig::read_file(folder)?;
        let checkpoint = Checkpoint::of_folder(folder)?;
        digest(&parts(&config_file, &checkpoint))
    }

    /// As [`Model::load`], for a folder that may be in memory: equal content has an equal digest.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn of_folder(folder: &Folder, options: &LoadOptions) -> Result<Model> {
        let files = ModelFiles::of_folder(folder)?;
        let numerics =
            options.compute.unwrap_or_default().choose(&files.checkpoint, options.storage);
        let source = files.weights(options.storage).with_numerics(numerics.numerics);
        // Hashing is as much work as packing, and needs one thread.
        let (digest, built) = rayon::join(|| files.digest(), || build(&files.config, source));
        let (decoder, head, loaded) = built?;
        Ok(Model {
            files: files.paths(),
            digest: digest?,
            config: files.config,
            decoder,
            head,
            numerics,
            memory: loaded.memory,
            parameters: loaded.parameters,
        })
    }
}

/// The files of a model, opened and checked, of which no weight was read.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// The content of `config.json`, with the head found in the weight files.
    pub config: Arc<ModelConfig>,
    /// The weight files.
    pub checkpoint: Arc<Checkpoint>,
    folder: Folder,
    /// The text of `config.json`.
    config_file: String,
}

impl ModelFiles {
    /// Opens a folder in the Hugging Face layout.
    ///
    /// # Errors
    /// As [`Model::load`] for `config.json` and the headers of the weight files.
    pub fn open(dir: &Path) -> Result<ModelFiles> {
        ModelFiles::of_folder(&Folder::directory(dir))
    }

    /// As [`ModelFiles::open`], for a folder that may be in memory.
    ///
    /// # Errors
    /// As [`ModelFiles::open`].
    pub fn of_folder(folder: &Folder) -> Result<ModelFiles> {
        folder.check()?;
        let (config_file, config) = ModelConfig::read_file(folder)?;
        let checkpoint = Arc::new(Checkpoint::of_folder(folder)?);
        let config = Arc::new(ModelConfig {
            head: detect_head(config.head, folder.path(), |name| checkpoint.has(name))?,
            ..config
        });
        Ok(ModelFiles { config, checkpoint, folder: folder.clone(), config_file })
    }

    /// The weights, to be stored in this type.
    pub fn weights(&self, storage: Storage) -> FileWeights {
        FileWeights::new(&self.checkpoint, &self.config, storage)
    }

    /// [`Model::digest`].
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn digest(&self) -> Result<String> {
        digest(&parts(&self.config_file, &self.checkpoint))
    }

    /// The files covered by the digest.
    pub fn paths(&self) -> Vec<PathBuf> {
        let parts = parts(&self.config_file, &self.checkpoint);
        parts.keys().map(|name| self.folder.path_of(name)).collect()
    }
}

/// The parts of the digest.
fn parts<'a>(
    config_file: &'a str,
    checkpoint: &'a Checkpoint,
) -> BTreeMap<&'a str, DigestPart<'a>> {
    let files = checkpoint.files().iter().map(|file| {
        let name = file.path().file_name().and_then(|name| name.to_str());
        (name.expect("checked when it was opened"), DigestPart::File(file))
    });
    let config = (CONFIG, DigestPart::Bytes(config_file.as_bytes()));
    files.chain([config]).collect()
}

const CONFIG: &str = "config.json";

fn build(
    config: &Arc<ModelConfig>,
    mut source: FileWeights,
) -> Result<(Decoder, Option<Head>, Loaded)> {
    let (decoder, head) = assemble(config, &mut source)?;
    Ok((decoder, head, source.finish()?))
}

/// Builds decoder and head of a configuration from any source of weights.
pub fn assemble(
    config: &Arc<ModelConfig>,
    source: &mut impl WeightSource,
) -> Result<(Decoder, Option<Head>)> {
    let decoder = Decoder::load(config, source)?;
    let head = Head::load(config.head, config.hidden_size, source)?;
    Ok((decoder, head))
}
