//! The files beside tokenizer.json: special tokens by name, and the tokens that end a generation.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{ChatError, Result};
use crate::folder::Folder;

/// The largest file that is read; the largest vocabularies in use take some 35 MB.
pub(super) const MAX_BYTES: u64 = 256 << 20;
const CONFIG: &str = "tokenizer_config.json";
/// The file in which older folders name the special tokens.
const LEGACY: &str = "special_tokens_map.json";
const GENERATION: &str = "generation_config.json";
/// The names of tokens that templates and callers use.
const NAMES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The fields of those files that are used.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// `tokenizer_config.json`, or null.
    pub(super) raw: Value,
    /// Named tokens, in the order of [`NAMES`].
    pub(super) named: Vec<(String, String)>,
    /// Further tokens that the files mark as special.
    pub(super) special: Vec<String>,
    /// `eos_token_id` of `generation_config.json`.
    pub(super) eos_ids: Vec<u32>,
    /// `add_bos_token` and `add_eos_token`, which tokenizer.json overrules.
    pub(super) declared: Declared,
}

/// The tokens that `tokenizer_config.json` declares to be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// `add_bos_token`.
    pub add_bos_token: Option<bool>,
    /// `add_eos_token`.
    pub add_eos_token: Option<bool>,
}

fn read_object(folder: &Folder, name: &str) -> Result<Option<Map<String, Value>>> {
    let Some(bytes) = folder.read(name, MAX_BYTES)? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| ChatError::File { path: folder.path_of(name), what: e.to_string() })
}

/// Reads the files of a folder. All of them may be absent.
pub(super) fn load(folder: &Folder) -> Result<Config> {
    let path = folder.path_of(CONFIG);
    let mut fields = read_object(folder, CONFIG)?.unwrap_or_default();
    let legacy_path = folder.path_of(LEGACY);
    let legacy = read_object(folder, LEGACY)?.unwrap_or_default();
    let mut config = Config::default();
    for name in NAMES {
        let found = match token(&path, name, fields.get(name))? {
            Some(content) => Some(content),
            None => token(&legacy_path, name, legacy.get(name))?,
        };
        if let Some(content) = found {
            config.named.push((name.to_owned(), content));
        }
    }
    for name in ["additional_special_tokens", "extra_special_tokens"] {
        config.special.extend(token_names(&path, name, fields.get(name))?);
    }
    if let Some(Value::Object(added)) = fields.get("added_tokens_decoder") {
        let special = added.values().filter(|t| t["special"] == Value::Bool(true));
        config.special.extend(special.filter_map(|t| Some(t["content"].as_str()?.to_owned())));
    }
    config.declared = Declared {
        add_bos_token: flag(&path, "add_bos_token", &fields)?,
        add_eos_token: flag(&path, "add_eos_token", &fields)?,
    };
    config.eos_ids = eos_ids(folder)?;
    fields.remove("added_tokens_decoder");
    config.raw = Value::Object(fields);
    Ok(config)
}

fn wrong(path: &Path, field: &str, what: &str) -> ChatError {
    ChatError::Config { path: path.to_owned(), field: field.to_owned(), what: what.to_owned() }
}

/// A token given as a text, or as an object with `content`.
fn token(path: &Path, field: &str, value: Option<&Value>) -> Result<Option<String>> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(content)) => Ok(Some(content.clone())),
        Some(Value::Object(token)) => match token.get("content").and_then(Value::as_str) {
            Some(content) => Ok(Some(content.to_owned())),
            None => Err(wrong(path, &format!("{field}.content"), "is not a text")),
        },
        Some(_) => Err(wrong(path, field, "is neither a text nor a token object")),
    }
}

/// A list of tokens, or an object of tokens by name.
fn token_names(path: &Path, field: &str, value: Option<&Value>) -> Result<Vec<String>> {
    let entries: Vec<&Value> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(entries)) => entries.iter().collect(),
        Some(Value::Object(entries)) => entries.values().collect(),
        Some(_) => return Err(wrong(path, field, "is not a list of tokens")),
    };
    let found: Result<Vec<Option<String>>> =
        entries.into_iter().map(|entry| token(path, field, Some(entry))).collect();
    Ok(found?.into_iter().flatten().collect())
}

fn flag(path: &Path, field: &str, fields: &Map<String, Value>) -> Result<Option<bool>> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(b)) => Ok(Some(*b)),
        Some(_) => Err(wrong(path, field, "is neither true nor false")),
    }
}

/// `eos_token_id`: one id or several.
fn eos_ids(folder: &Folder) -> Result<Vec<u32>> {
    let Some(fields) = read_object(folder, GENERATION)? else {
        return Ok(Vec::new());
    };
    let path = folder.path_of(GENERATION);
    let id = |value: &Value| {
        value
            .as_u64()
            .and_then(|id| u32::try_from(id).ok())
            .ok_or_else(|| wrong(&path, "eos_token_id", "is not a token id"))
    };
    match fields.get("eos_token_id") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(ids)) => ids.iter().map(id).collect(),
        Some(single) => Ok(vec![id(single)?]),
    }
}
