//! Which files of a repository are fetched.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use glob::{MatchOptions, Pattern};
use serde_json::Value;

use crate::error::HubFault;
use crate::listing::{Listed, Listing, is_inside, shown};

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const ADAPTER_CONFIG: &str = "adapter_config.json";
const ADAPTER: &str = "adapter_model.safetensors";
/// Files beside the weights of a model that change its results.
const BESIDE: &[&str] = &[
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "additional_chat_templates/*.jinja",
];
/// The same of an adapter: a head, an extension.
const BESIDE_ADAPTER: &[&str] = &["reward_head.safetensors"];
/// Longest index of shards.
const MAX_INDEX: u64 = 100_000_000;

/// Which files of a repository are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedFiles {
    /// Configuration, tokenizer, chat templates, and weights as safetensors.
    Model,
    /// Configuration and weights of an adapter.
    Adapter,
    /// An adapter if the repository has `adapter_config.json`, else a model.
    Folder,
    /// The files that match one of these patterns; `*` matches no slash.
    Matching(&'static [&'static str]),
}

impl WantedFiles {
    /// What to fetch first, in order: all but the shards that an index names. Weights come last, so
    /// that a folder with weights has all the rest.
    ///
    /// # Errors
    /// [`HubFault::Lacks`] if the repository has no files of this kind.
    pub(crate) fn files<'l>(&self, listing: &'l Listing) -> Result<Vec<&'l Listed>, HubFault> {
        match self {
            WantedFiles::Adapter => adapter(listing),
            WantedFiles::Folder if listing.file(ADAPTER_CONFIG).is_some() => adapter(listing),
            WantedFiles::Model | WantedFiles::Folder => model(listing),
            WantedFiles::Matching(patterns) => {
                let found: Vec<&Listed> = matching(listing, patterns).collect();
                if found.is_empty() {
                    let names = listing.files.iter().map(|file| file.path.as_str());
                    let names: Vec<&str> = names.take(20).collect();
                    let (wanted, names) = (patterns.join(" or "), shown(&names.join(", ")));
                    return Err(HubFault::Lacks(format!("no file is {wanted}; there are {names}")));
                }
                Ok(found)
            }
        }
    }

    /// The shards that the fetched index names; none without an index.
    ///
    /// # Errors
    /// [`HubFault::Refused`] if a shard is outside of the folder or not in the repository.
    pub(crate) fn shards<'l>(
        &self,
        listing: &'l Listing,
        first: &[&Listed],
        folder: &Path,
    ) -> Result<Vec<&'l Listed>, HubFault> {
        if matches!(self, WantedFiles::Matching(_)) || !first.iter().any(|file| file.path == INDEX)
        {
            return Ok(Vec::new());
        }
        let find = |name: &String| {
            let missing =
                || HubFault::Refused(format!("{INDEX} names {}, which is absent", shown(name)));
            listing.file(name).ok_or_else(missing)
        };
        shards_of(folder)?.iter().map(find).collect()
    }

    /// What a folder of the cache lacks of what is wanted. `listed` are the paths of the commit,
    /// where they are known: a cache that another program filled has none, and patterns without a
    /// wildcard are then what must be there.
    pub(crate) fn missing(&self, folder: &Path, listed: Option<&[String]>) -> Vec<String> {
        let is_there = |name: &str| fs::metadata(folder.join(name)).is_ok_and(|it| it.is_file());
        let lacking = |names: &[&str]| {
            let absent = names.iter().filter(|name| !is_there(name));
            absent.map(|name| (*name).to_owned()).collect::<Vec<String>>()
        };
        match self {
            WantedFiles::Adapter => lacking(&[ADAPTER_CONFIG, ADAPTER]),
            WantedFiles::Folder if is_there(ADAPTER_CONFIG) => lacking(&[ADAPTER_CONFIG, ADAPTER]),
            WantedFiles::Model | WantedFiles::Folder => {
                let mut missing = lacking(&[CONFIG, TOKENIZER]);
                if !is_there(INDEX) {
                    missing.extend(lacking(&[SINGLE]));
                    return missing;
                }
                match shards_of(folder) {
                    Ok(shards) => missing.extend(shards.into_iter().filter(|name| !is_there(name))),
                    Err(_) => missing.push(INDEX.to_owned()),
                }
                missing
            }
            WantedFiles::Matching(patterns) => {
                let needed: Vec<&str> = match listed {
                    Some(paths) => {
                        let is_match = matcher(patterns);
                        paths.iter().map(String::as_str).filter(|path| is_match(path)).collect()
                    }
                    None => patterns
                        .iter()
                        .copied()
                        .filter(|it| !it.contains(['*', '?', '[']))
                        .collect(),
                };
                let found = patterns.iter().any(|pattern| !cached(folder, pattern).is_empty());
                let missing = lacking(&needed);
                if found || !missing.is_empty() { missing } else { vec![patterns.join(" or ")] }
            }
        }
    }

    /// The paths of the wanted files of a folder of the cache; none for models and adapters, whose
    /// folder is what counts.
    pub(crate) fn paths(&self, folder: &Path) -> Vec<String> {
        match self {
            WantedFiles::Model | WantedFiles::Adapter | WantedFiles::Folder => Vec::new(),
            WantedFiles::Matching(patterns) => {
                let found = patterns.iter().flat_map(|pattern| cached(folder, pattern));
                found.collect::<BTreeSet<String>>().into_iter().collect()
            }
        }
    }
}

fn model(listing: &Listing) -> Result<Vec<&Listed>, HubFault> {
    let Some(config) = listing.file(CONFIG) else {
        let what = if listing.file(ADAPTER_CONFIG).is_some() {
            "it is an adapter, and not a model: serve it with --adapter over its base"
        } else {
            "it has no config.json: no model in the layout of transformers"
        };
        return Err(HubFault::Lacks(what.to_owned()));
    };
    let Some(weights) = listing.file(INDEX).or_else(|| listing.file(SINGLE)) else {
        let has = |end: &str| listing.files.iter().any(|file| file.path.ends_with(end));
        let what = match (has(".gguf"), has(".bin")) {
            (true, _) => "GGUF files are not read: name the repository that they were made from",
            (_, true) => "pickled weights (.bin) are not read, since they can run code when loaded",
            (false, false) => "neither is there",
        };
        return Err(HubFault::Lacks(format!("{SINGLE} or {INDEX} is needed; {what}")));
    };
    let beside = listing.file(TOKENIZER).into_iter().chain(matching(listing, BESIDE));
    Ok([config].into_iter().chain(beside).chain([weights]).collect())
}

fn adapter(listing: &Listing) -> Result<Vec<&Listed>, HubFault> {
    let (Some(config), Some(weights)) = (listing.file(ADAPTER_CONFIG), listing.file(ADAPTER))
    else {
        return Err(HubFault::Lacks(format!("an adapter has {ADAPTER_CONFIG} and {ADAPTER}")));
    };
    Ok([config].into_iter().chain(matching(listing, BESIDE_ADAPTER)).chain([weights]).collect())
}

fn matching<'l>(listing: &'l Listing, patterns: &[&str]) -> impl Iterator<Item = &'l Listed> {
    let is_match = matcher(patterns);
    listing.files.iter().filter(move |file| is_match(&file.path))
}

/// Whether a path fits one of these patterns.
fn matcher(patterns: &[&str]) -> impl Fn(&str) -> bool + use<> {
    let patterns: Vec<Pattern> = patterns.iter().map(|pattern| compiled(pattern)).collect();
    move |path| patterns.iter().any(|one| fits(one, path))
}

fn compiled(pattern: &str) -> Pattern {
    Pattern::new(pattern).expect("the patterns are ours")
}

fn fits(pattern: &Pattern, path: &str) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    pattern.matches_with(path, options)
}

/// The files of a folder that match; patterns have at most one folder, which is written out.
fn cached(folder: &Path, pattern: &str) -> Vec<String> {
    let prefix = pattern.rsplit_once('/').map(|(prefix, _)| prefix);
    let compiled = compiled(pattern);
    let entries = fs::read_dir(prefix.map_or(folder.to_owned(), |prefix| folder.join(prefix)));
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_file = fs::metadata(entry.path()).is_ok_and(|found| found.is_file());
        is_file.then(|| prefix.map_or(name.clone(), |prefix| format!("{prefix}/{name}")))
    });
    names.filter(|path| fits(&compiled, path)).collect()
}

/// The names of the shards in the index of a folder.
fn shards_of(folder: &Path) -> Result<BTreeSet<String>, HubFault> {
    let path = folder.join(INDEX);
    let size = fs::metadata(&path).map_err(HubFault::io(&path))?.len();
    let wrong = |what: &str| HubFault::Refused(format!("{INDEX}: {what}"));
    if size > MAX_INDEX {
        return Err(wrong("too long"));
    }
    let json = fs::read(&path).map_err(HubFault::io(&path))?;
    let index: Value =
        serde_json::from_slice(&json).map_err(|error| wrong(&format!("no index: {error}")))?;
    let Some(map) = index.get("weight_map").and_then(Value::as_object) else {
        return Err(wrong("no `weight_map`"));
    };
    let shard = |name: &Value| match name.as_str() {
        Some(name) if is_inside(name) && name.ends_with(".safetensors") => Ok(name.to_owned()),
        _ => Err(wrong(&format!(
            "the shard {} is no safetensors file of its folder",
            shown(&name.to_string())
        ))),
    };
    map.values().map(shard).collect()
}
