//! Loads a PEFT folder as an adapter.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use candle_core::{DType, Device, Tensor};

use super::bind::{Bindings, Factors, HeadTensors, bind};
use super::copies;
use super::digest::ContentDigest;
use super::lora::{Adapter, LoraPair};
use super::norm::Gram;
use super::peft::{CONFIG, PeftConfig};
use super::report::{AdapterReport, HeadReport, SiteReport};
use crate::config::{MAX_LABELS, ModelConfig};
use crate::error::{ModelError, Result};
use crate::head::Head;
use crate::packed::Matrix;
use crate::weights::{Checkpoint, Site, pack};

/// The file of the factors in an adapter's folder.
pub const WEIGHTS_FILE: &str = "adapter_model.safetensors";
/// A head beside the adapter, with `score.weight` `[n, hidden]` and optionally `score.bias`; not
/// part of PEFT's format.
pub const HEAD_FILE: &str = "reward_head.safetensors";

/// The base that an adapter is loaded for.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// Its shape and names.
    pub config: &'a Arc<ModelConfig>,
    /// Its digest, if known. An adapter that names another is refused.
    pub digest: Option<&'a str>,
    /// Its files, if available: with them an adapter may hold copies of the embedding or the
    /// vocabulary head, as PEFT writes them, provided that they are equal.
    pub files: Option<&'a Checkpoint>,
}

impl<'a> Base<'a> {
    /// A base of which only the configuration is known.
    pub fn of(config: &'a Arc<ModelConfig>) -> Base<'a> {
        Base { config, digest: None, files: None }
    }
}

/// An adapter under construction.
struct Loading {
    file: Checkpoint,
    pairs: BTreeMap<Site, LoraPair>,
    sites: BTreeMap<Site, SiteReport>,
    report: AdapterReport,
    digest: ContentDigest,
}

impl Adapter {
    /// Loads the adapter of a PEFT folder: `adapter_config.json`, `adapter_model.safetensors`, and
    /// `reward_head.safetensors` if it exists. The factors are kept in the type of the file.
    ///
    /// # Errors
    /// [`ModelError::Config`] names a field that is not supported or contradicts the tensors;
    /// [`ModelError::Tensor`] names a tensor that has no place in this base, lacks its other half,
    /// is misshapen, has a wrong type or is not finite; `Io` and `File` concern the folder and its
    /// files.
    pub fn load(dir: &Path, base: &Base<'_>) -> Result<Adapter> {
        check_folder(dir)?;
        let config = PeftConfig::read(&dir.join(CONFIG))?;
        check_base(&config, base)?;
        let file = Checkpoint::of_file(&dir.join(WEIGHTS_FILE))?;
        let bindings = bind(&config, base.config, &file)?;
        for copy in &bindings.copies {
            copies::check_copy(copy, &file, base.files)?;
        }
        let mut loading = Loading {
            file,
            pairs: BTreeMap::new(),
            sites: BTreeMap::new(),
            report: AdapterReport {
                base_model: config.base_model.clone(),
                task_type: config.task_type.clone(),
                ..AdapterReport::default()
            },
            digest: ContentDigest::new(),
        };
        for (path, factors) in &bindings.factors {
            loading.module(&config, &bindings, (path, factors))?;
        }
        let head = loading.head(dir, bindings.head.as_ref(), base.config.hidden_size)?;
        Ok(loading.finish(head))
    }
}

/// Explains what the folder holds if it is not an adapter.
pub(super) fn check_folder(dir: &Path) -> Result<()> {
    let io = |source| ModelError::Io { path: dir.to_owned(), source };
    let broken = |what: String| ModelError::File { path: dir.to_owned(), what };
    if !std::fs::metadata(dir).map_err(io)?.is_dir() {
        return Err(broken("not a folder".into()));
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        names.push(entry.map_err(io)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    let is_there = |name: &str| names.iter().any(|there| there == name);
    let missing = [CONFIG, WEIGHTS_FILE].into_iter().find(|n| !is_there(n));
    match missing {
        None => Ok(()),
        Some(WEIGHTS_FILE) if is_there("adapter_model.bin") => Err(broken(format!(
            "no {WEIGHTS_FILE}; adapter_model.bin is a pickle, and those are not read"
        ))),
        Some(missing) => Err(broken(format!("no {missing}; {}", listed(dir, &names)))),
    }
}

fn listed(dir: &Path, names: &[String]) -> String {
    const SHOWN: usize = 8;
    let inner = names.iter().find(|name| dir.join(name).join(CONFIG).is_file());
    if let Some(inner) = inner {
        return format!("there is an adapter in its folder {inner}");
    }
    if names.is_empty() {
        return "the folder is empty".into();
    }
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    match more {
        0 => format!("there is {shown}"),
        more => format!("there is {shown} and {more} more"),
    }
}

fn check_base(config: &PeftConfig, base: &Base<'_>) -> Result<()> {
    match (config.base_digest.as_deref(), base.digest) {
        (Some(wanted), Some(given)) if wanted != given => Err(config.refuse(
            "base_model_digest",
            format!("it was trained on {wanted}, and this base is {given}"),
        )),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

impl Loading {
    /// Reads the factors of one module and assigns them to its sites.
    fn module(
        &mut self,
        config: &PeftConfig,
        bindings: &Bindings,
        (path, factors): (&str, &Factors),
    ) -> Result<()> {
        let module = bindings.modules.get(path).expect("factors are bound to modules of the base");
        let rank = config.rank(path)?;
        let scale = config.scale(path)?;
        let (a, a_type) = read_factor(&self.file, &factors.a, &[rank, module.k])?;
        let (b, b_type) = read_factor(&self.file, &factors.b, &[module.n, rank])?;
        for info in [&factors.a, &factors.b].map(|name| self.file.info(name)) {
            self.report.dtypes.extend(info.map(|info| info.dtype.to_string()));
        }
        self.report.parameters += (a.len() + b.len()) as u64;
        let gram = Gram::of_rows(&a, rank);
        let packed = if module.is_embedding() {
            // A token's factor is a row here and a column in the file.
            Matrix::from_rows(&transposed(&a, rank, module.k), module.k, rank)?
        } else {
            Matrix::from_rows(&a, rank, module.k)?
        };
        // As in the file: batches of many adapters spend much of their time on reading factors.
        let packed = packed.to_dtype(a_type)?;
        for (site, rows) in &module.sites {
            let b = &b[rows.start * rank..rows.end * rank];
            self.digest.factor(*site, scale, [rank, module.k], &a);
            self.digest.factor(*site, scale, [rows.len(), rank], b);
            let norm = gram.norm_of_product(&Gram::of_columns(b, rank)) * f64::from(scale);
            self.sites.insert(
                *site,
                SiteReport { module: path.to_owned(), site: site.to_string(), rank, scale, norm },
            );
            let b = Matrix::from_rows(b, rows.len(), rank)?.to_dtype(b_type)?;
            self.pairs.insert(*site, LoraPair { a: packed.clone(), b, scale });
        }
        Ok(())
    }

    /// The head in the adapter's file or beside it; both are an error.
    fn head(
        &mut self,
        dir: &Path,
        inside: Option<&HeadTensors>,
        hidden_size: usize,
    ) -> Result<Option<Head>> {
        let beside = dir.join(HEAD_FILE);
        match (inside, beside.exists()) {
            (None, false) => Ok(None),
            (Some(_), true) => Err(ModelError::File {
                path: beside,
                what: format!("a second head; {WEIGHTS_FILE} has one"),
            }),
            (Some(tensors), false) => {
                let (weight, bias) = read_head(&self.file, tensors, hidden_size)?;
                self.keep_head(&weight, bias, hidden_size).map(Some)
            }
            (None, true) => {
                let (weight, bias) = head_beside(&beside, hidden_size)?;
                self.keep_head(&weight, bias, hidden_size).map(Some)
            }
        }
    }

    fn keep_head(
        &mut self,
        weight: &[f32],
        bias: Option<Vec<f32>>,
        hidden_size: usize,
    ) -> Result<Head> {
        let n_labels = weight.len() / hidden_size;
        self.digest.head([n_labels, hidden_size], weight);
        if let Some(bias) = &bias {
            self.digest.head([n_labels, 1], bias);
        }
        self.report.parameters += (weight.len() + bias.as_ref().map_or(0, Vec::len)) as u64;
        self.report.head = Some(HeadReport { n_labels, bias: bias.is_some() });
        let bias = bias.map(|bias| Tensor::from_vec(bias, n_labels, &Device::Cpu));
        Ok(Head::linear(Matrix::from_rows(weight, n_labels, hidden_size)?, bias.transpose()?))
    }

    fn finish(mut self, head: Option<Head>) -> Adapter {
        for site in std::mem::take(&mut self.sites).into_values() {
            self.report.add(site);
        }
        self.report.warn();
        Adapter {
            digest: self.digest.finish(),
            pairs: self.pairs,
            rounded: BTreeMap::new(),
            head,
            report: self.report,
        }
    }
}

/// A tensor as f32; an error unless it has the shape required by base and configuration and all its
/// numbers are finite.
fn read_finite(file: &Checkpoint, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    read_factor(file, name, shape).map(|(numbers, _)| numbers)
}

/// As [`read_finite`], with the type of the numbers in the file.
fn read_factor(file: &Checkpoint, name: &str, shape: &[usize]) -> Result<(Vec<f32>, DType)> {
    let tensor = file.tensor(name, shape)?;
    let stored = tensor.dtype.dtype();
    Ok((pack::to_f32(tensor, 0..shape.iter().product())?, stored))
}

fn read_head(
    file: &Checkpoint,
    tensors: &HeadTensors,
    hidden_size: usize,
) -> Result<(Vec<f32>, Option<Vec<f32>>)> {
    let name = &tensors.weight;
    let shape = file.info(name).map_or(&[][..], |info| &info.shape);
    let n_labels = match *shape {
        [n, width] if width == hidden_size && (1..=MAX_LABELS).contains(&n) => n,
        _ => {
            let what = format!(
                "shape {shape:?}; [labels, {hidden_size}] with 1 to {MAX_LABELS} labels is a head"
            );
            return Err(file.tensor_error(name, what));
        }
    };
    let weight = read_finite(file, name, shape)?;
    let bias = match &tensors.bias {
        None => None,
        Some(bias) => Some(read_finite(file, bias, &[n_labels])?),
    };
    Ok((weight, bias))
}

fn head_beside(path: &Path, hidden_size: usize) -> Result<(Vec<f32>, Option<Vec<f32>>)> {
    const WEIGHT: &str = "score.weight";
    const BIAS: &str = "score.bias";
    let file = Checkpoint::of_file(path)?;
    let mut others = file.names();
    if let Some(stray) = others.find(|name| *name != WEIGHT && *name != BIAS) {
        return Err(file.tensor_error(stray, format!("stray: {WEIGHT} and {BIAS} are read")));
    }
    if !file.has(WEIGHT) {
        return Err(ModelError::Tensor {
            path: path.to_owned(),
            name: WEIGHT.into(),
            what: "missing".into(),
        });
    }
    let bias = file.has(BIAS);
    let tensors = HeadTensors { weight: WEIGHT.into(), bias: bias.then(|| BIAS.into()) };
    read_head(&file, &tensors, hidden_size)
}

/// Transposes `[n, k]` to `[k, n]`, row-major.
fn transposed(rows: &[f32], n: usize, k: usize) -> Vec<f32> {
    (0..k).flat_map(|col| (0..n).map(move |row| rows[row * k + col])).collect()
}
