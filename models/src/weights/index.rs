//! `model.safetensors.index.json`: the shard of each tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

use crate::error::Result;
use chat::Positioned;

/// Maximum length of an index.
const MAX_BYTES: u64 = 100_000_000;

/// Shards by tensor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    /// Total sizes, redundant with the shards.
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
    weight_map: Unique,
}

/// A map whose repeated names are refused instead of overwritten.
#[derive(Debug)]
struct Unique(BTreeMap<String, String>);

impl Index {
    /// Reads the index. Every shard must be a file of the same folder.
    pub(super) fn read(file: &Positioned) -> Result<Index> {
        let json = file.read_all(MAX_BYTES)?;
        let index: Index = serde_json::from_slice(&json)
            .map_err(|error| file.error(format!("not an index of shards: {error}")))?;
        match index.weight_map.0.values().find(|shard| !is_plain(shard)) {
            None => Ok(index),
            Some(shard) => {
                let what = format!("the shard `{shard}` is not a file of this folder");
                Err(file.error(what).into())
            }
        }
    }

    /// Shards by tensor.
    pub(super) fn shards(&self) -> &BTreeMap<String, String> {
        &self.weight_map.0
    }
}

/// Whether a name has no folder, on any system.
fn is_plain(shard: &str) -> bool {
    let mut components = Path::new(shard).components();
    let one = matches!(components.next(), Some(Component::Normal(_)));
    one && components.next().is_none() && !shard.contains(['/', '\\', ':', '\0'])
}

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of shards by tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut shards = BTreeMap::new();
        while let Some((tensor, shard)) = map.next_entry::<String, String>()? {
            if let Some(other) = shards.insert(tensor.clone(), shard) {
                return Err(A::Error::custom(format!(
                    "tensor `{tensor}` is in `{other}` and in another shard"
                )));
            }
        }
        Ok(shards)
    }
}
