//! `adapter_config.json`, as PEFT writes it.
//!
//! Every field is accounted for: it has an effect here, or it has none on a forward pass, or it is
//! not supported and refused by name. A field of a later PEFT is accepted if it is null, false or
//! empty, and refused otherwise.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fields::{AdapterFields, alpha, rank, refuse};
use super::pattern::Pattern;
use super::targets::Targets;
use crate::error::{ModelError, Result};

/// The configuration's name in an adapter's folder.
pub const CONFIG: &str = "adapter_config.json";
/// Maximum size, more than any list of patterns needs.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The fields of an adapter's configuration that affect a forward pass.
#[derive(Clone, Debug)]
pub(super) struct PeftConfig {
    path: PathBuf,
    /// The rank, unless a pattern overrides it.
    pub(super) r: usize,
    /// α, unless a pattern overrides it.
    pub(super) alpha: f64,
    /// Whether the scale is `α / √r` (Kalajdzievski, 2023, "rsLoRA").
    pub(super) rank_stabilised: bool,
    rank_pattern: Vec<(Pattern, usize)>,
    alpha_pattern: Vec<(Pattern, f64)>,
    /// The modules that it changes.
    pub(super) targets: Targets,
    /// The modules that it replaces.
    pub(super) modules_to_save: Vec<String>,
    /// The task that it was trained for, such as `SEQ_CLS`.
    pub(super) task_type: Option<String>,
    /// The trainer's path or name of the base. Information only: folders move.
    pub(super) base_model: Option<String>,
    /// Digest of the base that it was trained on, if the trainer recorded one.
    pub(super) base_digest: Option<String>,
}

impl PeftConfig {
    /// Reads the configuration of an adapter's folder.
    ///
    /// # Errors
    /// [`ModelError::Config`] names the field, [`ModelError::File`] says where the JSON breaks.
    pub(super) fn read(path: &Path) -> Result<PeftConfig> {
        let io = |source| ModelError::Io { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(io)?;
        if !metadata.is_file() || metadata.len() > MAX_CONFIG_BYTES {
            return Err(ModelError::File {
                path: path.to_owned(),
                what: format!("not a file of at most {MAX_CONFIG_BYTES} bytes"),
            });
        }
        Self::parse(path, &std::fs::read(path).map_err(io)?)
    }

    fn parse(path: &Path, json: &[u8]) -> Result<PeftConfig> {
        let broken = |what: String| ModelError::File { path: path.to_owned(), what };
        let value: Value =
            serde_json::from_slice(json).map_err(|error| broken(format!("not JSON: {error}")))?;
        let Value::Object(rest) = value else {
            return Err(broken("not a JSON object".into()));
        };
        let mut fields = AdapterFields::new(path, rest);
        fields.lora_only()?;
        fields.refuse_unsupported()?;
        let config = PeftConfig {
            path: path.to_owned(),
            r: fields.rank()?,
            alpha: fields.alpha()?,
            rank_stabilised: fields.flag("use_rslora")?,
            rank_pattern: fields.patterns("rank_pattern", rank)?,
            alpha_pattern: fields.patterns("alpha_pattern", alpha)?,
            modules_to_save: fields.names("modules_to_save")?.unwrap_or_default(),
            targets: fields.targets()?,
            task_type: fields.text("task_type")?,
            base_model: fields.text("base_model_name_or_path")?,
            base_digest: fields.text("base_model_digest")?,
        };
        fields.nothing_left()?;
        Ok(config)
    }

    /// The rank at a module, by the first pattern that matches.
    pub(super) fn rank(&self, module: &str) -> Result<usize> {
        Ok(*self.find(&self.rank_pattern, "rank_pattern", module)?.unwrap_or(&self.r))
    }

    /// The factor on the update at a module: `α / r`, or `α / √r`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a factor of a product in f32, where PyTorch rounds it too"
    )]
    pub(super) fn scale(&self, module: &str) -> Result<f32> {
        let alpha =
            *self.find(&self.alpha_pattern, "alpha_pattern", module)?.unwrap_or(&self.alpha);
        let rank = self.rank(module)? as f64;
        let divisor = if self.rank_stabilised { rank.sqrt() } else { rank };
        Ok((alpha / divisor) as f32)
    }

    /// An error that names a field.
    pub(super) fn refuse(&self, field: &str, what: impl Into<String>) -> ModelError {
        refuse(&self.path, field, what)
    }

    fn find<'a, T>(
        &self,
        patterns: &'a [(Pattern, T)],
        field: &str,
        module: &str,
    ) -> Result<Option<&'a T>> {
        for (pattern, value) in patterns {
            let matches = pattern.matches(module).map_err(|what| self.refuse(field, what))?;
            if matches {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
