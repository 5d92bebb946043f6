//! The numbers of a generated model's tensors, and its weight files.

use std::io;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Made, TinySpec};
use base::digest;
use models::random::RandomWeights;
use models::save::{Stage, TensorPlan, Writer, io_error, plan};
use models::weights::{LayerPart, Param};
use models::{ModelConfig, ModelError, Result};

/// Numbers made and written at once.
const PIECE: usize = 1 << 16;

/// Maximum weight files of one model.
const MAX_SHARDS: usize = 1000;

/// Writes the weight files, and the index if there are several.
pub(crate) fn write(
    stage: &Stage,
    config: &Arc<ModelConfig>,
    random: &RandomWeights,
    spec: &TinySpec,
) -> Result<Made> {
    let plans = plan(config)?;
    let shards = shards(&plans, spec.shards).ok_or_else(|| ModelError::Config {
        path: stage.path("model.safetensors.index.json"),
        field: "shards".into(),
        what: format!(
            "{} files; from 1 to {} can be made",
            spec.shards,
            plans.len().min(MAX_SHARDS)
        ),
    })?;
    let mut hash = Sha256::new();
    let mut made = Made {
        architecture: String::new(),
        n_parameters: plans.iter().map(|plan| plan.entry.n_numbers()).sum(),
        n_bytes: 0,
        files: Vec::new(),
        digest: String::new(),
    };
    for (index, shard) in shards.iter().enumerate() {
        let name = shard_name(index, shards.len());
        let path = stage.path(&name);
        let entries: Vec<_> = shard.iter().map(|plan| plan.entry.clone()).collect();
        let written = Writer::create(&path, spec.storage, &entries, &mut hash)
            .and_then(|writer| fill(writer, shard, config, random));
        made.n_bytes += written.map_err(io_error(&path))?;
        made.files.push(name);
    }
    if shards.len() > 1 {
        let size = made.n_parameters * spec.storage.byte_len() as u64;
        stage.json("model.safetensors.index.json", &index(&shards, size))?;
    }
    made.digest = digest::finish(hash);
    Ok(made)
}

fn fill(
    mut writer: Writer<'_>,
    shard: &[TensorPlan],
    config: &ModelConfig,
    random: &RandomWeights,
) -> io::Result<u64> {
    for part in shard.iter().flat_map(|plan| &plan.parts) {
        let len = part.n * part.k;
        // Such a norm multiplies by 1 + weight.
        let offset = f32::from(config.norm.unit_offset && is_norm(part.place));
        for start in (0..len).step_by(PIECE) {
            let piece = start as u64..len.min(start + PIECE) as u64;
            let mut numbers = random.numbers_in(part.place, part.k, piece);
            for number in &mut numbers {
                *number -= offset;
            }
            writer.numbers(&numbers)?;
        }
    }
    writer.finish()
}

fn is_norm(place: Param) -> bool {
    matches!(place, Param::FinalNorm | Param::Layer(_, LayerPart::Norm(_)))
}

/// Runs of tensors of about equal size, none empty; `None` if there are too few tensors.
fn shards(plans: &[TensorPlan], n: usize) -> Option<Vec<&[TensorPlan]>> {
    if n == 0 || n > plans.len().min(MAX_SHARDS) {
        return None;
    }
    let total: u64 = plans.iter().map(|plan| plan.entry.n_numbers()).sum();
    let mut shards = Vec::with_capacity(n);
    let (mut begin, mut seen) = (0, 0);
    for (at, plan) in plans.iter().enumerate() {
        seen += plan.entry.n_numbers();
        let open = n - shards.len() - 1;
        let left = plans.len() - at - 1;
        let full = seen * n as u64 >= total * (shards.len() as u64 + 1);
        if open > 0 && (full || left == open) && left >= open {
            shards.push(&plans[begin..=at]);
            begin = at + 1;
        }
    }
    shards.push(&plans[begin..]);
    Some(shards)
}

fn shard_name(index: usize, of: usize) -> String {
    match of {
        1 => "model.safetensors".into(),
        _ => format!("model-{:05}-of-{of:05}.safetensors", index + 1),
    }
}

fn index(shards: &[&[TensorPlan]], total_size: u64) -> Value {
    let mut map = Map::new();
    for (at, shard) in shards.iter().enumerate() {
        for plan in *shard {
            map.insert(plan.entry.name.clone(), shard_name(at, shards.len()).into());
        }
    }
    json!({ "metadata": { "total_size": total_size }, "weight_map": map })
}
