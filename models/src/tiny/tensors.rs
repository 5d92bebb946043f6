//! Which tensors a model has, and their numbers.
//!
//! The decoder is loaded from a source that only takes notes, so the list cannot differ from what
//! loading asks for; names come from the table that loading uses.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::safetensors::{Entry, Writer};
use super::stage::{Stage, io_error};
use super::{Made, TinySpec};
use crate::config::ModelConfig;
use crate::error::{ModelError, Result};
use crate::model::assemble;
use crate::packed::{Matrix, PANEL, Weight};
use crate::random::RandomWeights;
use crate::weights::names::Names;
use crate::weights::{LayerPart, Place, WeightSource};

/// Numbers made and written at once.
const PIECE: usize = 1 << 16;

/// Most weight files of one model.
const MAX_SHARDS: usize = 1000;

/// A tensor of the files and the places whose rows it holds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorPlan {
    pub(super) entry: Entry,
    parts: Vec<Request>,
}

/// What the decoder asked for: a matrix `[n, k]`, or a vector `[n]` with `k` 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    place: Place,
    n: usize,
    k: usize,
    is_vector: bool,
}

/// The tensors of a model, in the order of loading.
pub(super) fn plan(config: &Arc<ModelConfig>) -> Result<Vec<TensorPlan>> {
    let mut recorder = Recorder::default();
    assemble(config, &mut recorder)?;
    let names = Names::new(config, |_| false);
    let mut tensors: Vec<(TensorPlan, Vec<usize>)> = Vec::new();
    for request in recorder.requests {
        let location = names.locate(request.place);
        let start = location.part.as_ref().map_or(0, |part| part.rows.start);
        if let Some((plan, starts)) = tensors
            .iter_mut()
            .find(|(plan, _)| plan.entry.name == location.name)
        {
            let at = starts.partition_point(|other| *other < start);
            starts.insert(at, start);
            plan.parts.insert(at, request);
            continue;
        }
        let n = location.part.map_or(request.n, |part| part.of);
        let shape = if request.is_vector {
            vec![n]
        } else {
            vec![n, request.k]
        };
        let entry = Entry {
            name: location.name,
            shape,
        };
        let plan = TensorPlan {
            entry,
            parts: vec![request],
        };
        tensors.push((plan, vec![start]));
    }
    Ok(tensors.into_iter().map(|(plan, _)| plan).collect())
}

/// Writes the weight files, and the index where there is more than one.
pub(super) fn write(
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
    let mut digest = Sha256::new();
    let mut made = Made {
        architecture: String::new(),
        n_parameters: plans.iter().map(|plan| plan.entry.len()).sum(),
        n_bytes: 0,
        files: Vec::new(),
        digest: String::new(),
    };
    for (index, shard) in shards.iter().enumerate() {
        let name = shard_name(index, shards.len());
        let path = stage.path(&name);
        let entries: Vec<_> = shard.iter().map(|plan| plan.entry.clone()).collect();
        let written = Writer::create(&path, spec.storage, &entries, &mut digest)
            .and_then(|writer| fill(writer, shard, config, random));
        made.n_bytes += written.map_err(io_error(&path))?;
        made.files.push(name);
    }
    if shards.len() > 1 {
        let size = made.n_parameters * spec.storage.size();
        stage.json("model.safetensors.index.json", &index(&shards, size))?;
    }
    made.digest = hex(digest);
    Ok(made)
}

/// A digest as it is written everywhere.
pub(super) fn hex(digest: Sha256) -> String {
    let mut text = String::from("sha256:");
    for byte in digest.finalize() {
        write!(text, "{byte:02x}").expect("writing to memory does not fail");
    }
    text
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

fn is_norm(place: Place) -> bool {
    matches!(
        place,
        Place::FinalNorm | Place::Layer(_, LayerPart::Norm(_))
    )
}

/// Runs of tensors of about equal size, none empty; none if there are too few tensors.
fn shards(plans: &[TensorPlan], n: usize) -> Option<Vec<&[TensorPlan]>> {
    if n == 0 || n > plans.len().min(MAX_SHARDS) {
        return None;
    }
    let total: u64 = plans.iter().map(|plan| plan.entry.len()).sum();
    let mut shards = Vec::with_capacity(n);
    let (mut begin, mut seen) = (0, 0);
    for (at, plan) in plans.iter().enumerate() {
        seen += plan.entry.len();
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

/// A source that notes what it is asked for and gives zeros that take no memory.
#[derive(Debug, Default)]
struct Recorder {
    requests: Vec<Request>,
}

impl Recorder {
    fn zeros(&mut self, request: Request, shape: &[usize]) -> Result<Tensor> {
        self.requests.push(request);
        Ok(Tensor::zeros(1, DType::F32, &Device::Cpu)?.broadcast_as(shape)?)
    }
}

impl WeightSource for Recorder {
    fn weight(&mut self, place: Place, n: usize, k: usize) -> Result<Weight> {
        Ok(Weight::Panels(self.matrix(place, n, k)?))
    }

    fn matrix(&mut self, place: Place, n: usize, k: usize) -> Result<Matrix> {
        let request = Request {
            place,
            n,
            k,
            is_vector: false,
        };
        let panels = self.zeros(request, &[n.div_ceil(PANEL), k, PANEL])?;
        Matrix::from_panels(panels, n, k)
    }

    fn vector(&mut self, place: Place, n: usize) -> Result<Tensor> {
        let request = Request {
            place,
            n,
            k: 1,
            is_vector: true,
        };
        self.zeros(request, &[n])
    }
}
