//! Binds the tensor names of an adapter file to modules of the base. Every tensor must have a
//! place, and every place that the configuration names must have its tensors.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::copies::{FullCopy, Original};
use super::modules::{Module, Modules, is_bare};
use super::peft::PeftConfig;
use super::targets::{Meant, Names, names};
use crate::config::ModelConfig;
use crate::error::Result;
use crate::weights::Checkpoint;

/// PEFT's prefix of module paths.
const PREFIX: &str = "base_model.model.";

/// Heads that an adapter may replace entirely.
const HEADS: &[&str] = &["score", "classifier"];

/// Infixes that older versions of PEFT left between a head's name and its tensor's.
const HEAD_WRAPPERS: &[&str] = &["", ".modules_to_save", ".modules_to_save.default"];

/// Tasks whose trainers replace the head without an entry in the configuration.
const HEAD_TASKS: &[&str] = &["SEQ_CLS", "TOKEN_CLS"];

/// The tensors of a file by their role.
#[derive(Debug)]
pub(super) struct Bindings {
    /// By module path, as the file spells it.
    pub(super) factors: BTreeMap<String, Factors>,
    /// The head's weight and bias.
    pub(super) head: Option<HeadTensors>,
    /// Full copies of the base's matrices, to be compared with them.
    pub(super) copies: Vec<FullCopy>,
    /// The base that the paths belong to.
    pub(super) modules: Modules,
}

/// Names of the two factors of a module.
#[derive(Debug)]
pub(super) struct Factors {
    pub(super) a: String,
    pub(super) b: String,
}

/// Names of a head's tensors.
#[derive(Debug)]
pub(super) struct HeadTensors {
    pub(super) weight: String,
    pub(super) bias: Option<String>,
}

/// The role of a tensor, by its name.
#[derive(Debug, PartialEq, Eq)]
enum TensorRole<'a> {
    Factor { module: &'a str, which: Which, embedding: bool },
    Head { head: &'static str, bias: bool },
    Copy(Original),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    A,
    B,
}

/// The tensors of one module or head found so far.
#[derive(Debug, Default)]
struct FoundTensors {
    a: Option<String>,
    b: Option<String>,
}

/// Binds all tensors of a file.
///
/// # Errors
/// [`crate::ModelError::Tensor`] names a tensor without a place or without its other half,
/// [`crate::ModelError::Config`] a field that names a module without tensors.
pub(super) fn bind(
    config: &PeftConfig,
    base: &Arc<ModelConfig>,
    file: &Checkpoint,
) -> Result<Bindings> {
    let mut modules: BTreeMap<String, FoundTensors> = BTreeMap::new();
    let mut heads: BTreeMap<&'static str, FoundTensors> = BTreeMap::new();
    let mut copies = Vec::new();
    let bare = file.names().any(|name| name.strip_prefix(PREFIX).is_some_and(is_bare));
    let base = Modules::new(base, bare);
    for name in file.names() {
        let refuse = |what: String| file.tensor_error(name, what);
        let slot = match role(name).map_err(refuse)? {
            TensorRole::Factor { module, which, embedding } => {
                check_kind(base.get(module).map_err(refuse)?, embedding).map_err(refuse)?;
                let found = modules.entry(module.to_owned()).or_default();
                match which {
                    Which::A => &mut found.a,
                    Which::B => &mut found.b,
                }
            }
            TensorRole::Copy(of) => {
                let name = name.to_owned();
                copies.push(FullCopy { name, of });
                continue;
            }
            TensorRole::Head { head, bias } => {
                let found = heads.entry(head).or_default();
                if bias { &mut found.b } else { &mut found.a }
            }
        };
        if let Some(other) = slot.replace(name.to_owned()) {
            return Err(refuse(format!("stands for the same as `{other}`")));
        }
    }
    let bindings = Bindings {
        factors: pair_factors(modules, file)?,
        head: bind_head(heads, config, file)?,
        copies,
        modules: base,
    };
    bindings.check_targets(config, file)?;
    Ok(bindings)
}

fn check_kind(module: &Module, embedding: bool) -> Result<(), String> {
    match (module.is_embedding(), embedding) {
        (true, false) => Err("a linear layer's factor at the embedding".into()),
        (false, true) => Err("an embedding's factor at a linear layer".into()),
        (true, true) | (false, false) => Ok(()),
    }
}

/// The role of a tensor; the error says why it has none.
fn role(name: &str) -> Result<TensorRole<'_>, String> {
    let path = name
        .strip_prefix(PREFIX)
        .ok_or_else(|| format!("its name does not start with `{PREFIX}`"))?;
    let factors = [
        (".lora_A.weight", Which::A, false),
        (".lora_B.weight", Which::B, false),
        (".lora_embedding_A", Which::A, true),
        (".lora_embedding_B", Which::B, true),
    ];
    for (end, which, embedding) in factors {
        if let Some(module) = path.strip_suffix(end) {
            return Ok(TensorRole::Factor { module, which, embedding });
        }
    }
    for head in HEADS {
        for wrapper in HEAD_WRAPPERS {
            let leaf = path.strip_prefix(head).and_then(|rest| rest.strip_prefix(wrapper));
            match leaf {
                Some(".weight") => return Ok(TensorRole::Head { head, bias: false }),
                Some(".bias") => return Ok(TensorRole::Head { head, bias: true }),
                Some(_) | None => {}
            }
        }
    }
    match path.strip_prefix("model.").unwrap_or(path) {
        "embed_tokens.weight" | "embed_tokens.base_layer.weight" => {
            Ok(TensorRole::Copy(Original::Embedding))
        }
        "lm_head.weight" | "lm_head.base_layer.weight" => Ok(TensorRole::Copy(Original::Vocab)),
        _ => Err(stray(path).into()),
    }
}

/// The reason for refusing a tensor that is neither a factor nor a head.
fn stray(path: &str) -> &'static str {
    if path.contains("lora_magnitude_vector") {
        "a magnitude of DoRA, which is not supported"
    } else if path.ends_with(".lora_B.bias") {
        "a bias on the update, which is not supported"
    } else if path.contains(".lora_") {
        "no factor that is read: those end in .lora_A.weight, .lora_B.weight, .lora_embedding_A \
         or .lora_embedding_B"
    } else if HEADS.iter().any(|head| path.starts_with(head)) {
        "no part of a linear head: those end in .weight or .bias"
    } else {
        "stray: neither a factor nor a head"
    }
}

fn pair_factors(
    modules: BTreeMap<String, FoundTensors>,
    file: &Checkpoint,
) -> Result<BTreeMap<String, Factors>> {
    let pair = |(module, found): (String, FoundTensors)| match (found.a, found.b) {
        (Some(a), Some(b)) => Ok((module, Factors { a, b })),
        (Some(a), None) => Err(file.tensor_error(&a, "has no other factor, B")),
        (None, Some(b)) => Err(file.tensor_error(&b, "has no other factor, A")),
        (None, None) => unreachable!("a module is found by a factor"),
    };
    modules.into_iter().map(pair).collect()
}

/// The adapter's head, if the configuration replaces one; at most one.
fn bind_head(
    heads: BTreeMap<&'static str, FoundTensors>,
    config: &PeftConfig,
    file: &Checkpoint,
) -> Result<Option<HeadTensors>> {
    for name in &config.modules_to_save {
        if !HEADS.contains(&name.as_str()) {
            let what = format!("`{name}` would be replaced whole; only heads may be: {HEADS:?}");
            return Err(config.refuse("modules_to_save", what));
        }
    }
    let mut heads = heads.into_iter();
    let Some((head, found)) = heads.next() else {
        return match config.modules_to_save.first() {
            None => Ok(None),
            Some(name) => Err(config.refuse("modules_to_save", format!("`{name}` has no tensors"))),
        };
    };
    let weight = match (found.a, &found.b) {
        (Some(weight), _) => weight,
        (None, Some(bias)) => {
            return Err(file.tensor_error(bias, "a head's bias without its weight"));
        }
        (None, None) => unreachable!("a head is found by a tensor"),
    };
    if let Some((other, _)) = heads.next() {
        return Err(file.tensor_error(&weight, format!("there is a second head, `{other}`")));
    }
    let task = config.task_type.as_deref();
    let spoken = config.modules_to_save.iter().any(|name| name == head)
        || (config.modules_to_save.is_empty() && HEAD_TASKS.iter().any(|t| Some(*t) == task));
    if !spoken {
        let what = format!("modules_to_save does not name `{head}`");
        return Err(file.tensor_error(&weight, what));
    }
    Ok(Some(HeadTensors { weight, bias: found.b }))
}

impl Bindings {
    /// Checks that the configuration and the file name the same modules.
    fn check_targets(&self, config: &PeftConfig, file: &Checkpoint) -> Result<()> {
        self.check_entries(config)?;
        for (path, _) in self.modules.iter() {
            let meant = config.targets.mean(path);
            let meant = meant.map_err(|(field, what)| config.refuse(field, what))?;
            match (meant, self.factors.get(path)) {
                (Meant::Yes, None) => {
                    let what = format!("they mean `{path}`, and the file has no tensors for it");
                    return Err(config.refuse("target_modules", what));
                }
                (Meant::No, Some(factors)) => {
                    let what = format!("target_modules do not mean `{path}`");
                    return Err(file.tensor_error(&factors.a, what));
                }
                (Meant::Yes | Meant::Perhaps, Some(_)) | (Meant::No | Meant::Perhaps, None) => {}
            }
        }
        Ok(())
    }

    /// Checks that each entry of a list names a module: otherwise it is a typing error, or the
    /// adapter belongs to another base.
    fn check_entries(&self, config: &PeftConfig) -> Result<()> {
        let Names::List(entries) = &config.targets.included else {
            return Ok(());
        };
        for entry in entries {
            let replaced = config.modules_to_save.contains(entry);
            if !replaced && !self.modules.iter().any(|(path, _)| names(entry, path)) {
                let what = format!("the base has no linear layer `{entry}`");
                return Err(config.refuse("target_modules", what));
            }
        }
        Ok(())
    }
}
