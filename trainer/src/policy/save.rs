//! A policy as a folder in the Hugging Face layout, and its adapters as folders that PEFT reads.

use std::path::Path;
use std::sync::Arc;

use models::adapter::Adapter;
use models::config::HeadConfig;
use models::head::Head;
use models::kernels::panels::unpack;
use models::save::{self, Stage};
use models::weights::FloatType;
use models::weights::Site;
use models::weights::{LayerPart, Names, Param};
use models::{Matrix, ModelConfig};
use serde_json::{Map, Value, json};

use super::model::{Base, Policy, VALUE_HEAD};
use crate::error::{Result, TrainError};

/// Files of a model folder beside its weights that a checkpoint copies.
pub(crate) const COMPANIONS: &[&str] = &[
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
];

impl Policy {
    /// Writes the model into a staged folder: weights in f32, and unchanged configuration,
    /// tokenizer and template. The folder can be served and loaded anywhere.
    ///
    /// # Errors
    /// A file that cannot be read or written. A policy of adapters alone has no model to write.
    pub fn save(&self, stage: &Stage) -> Result<()> {
        let Base::Live(live) = &self.base else {
            return Err(TrainError::Invalid(
                "only adapters are trained; the model itself is as it was".to_owned(),
            ));
        };
        let names = Names::new(&self.config, |name| live.variables.contains_key(name));
        save::weights(stage, "model.safetensors", &self.config, FloatType::F32, |place, n, k| {
            let var = &live.variables[&names.unfused(place)];
            let numbers = var.as_tensor().flatten_all()?.to_vec1::<f32>()?;
            Ok(if var.dims().len() == 1 { numbers } else { unpack(&numbers, n, k) })
        })?;
        if let (HeadConfig::Vocab, Some(head)) = (self.config.head, &live.detached.head) {
            save_head(head, stage, VALUE_HEAD)?;
        }
        for name in COMPANIONS {
            let path = self.origin.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => stage.bytes(name, &bytes)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(TrainError::File { path: path.display().to_string(), source });
                }
            }
        }
        Ok(())
    }

    /// Writes an adapter into a staged folder that PEFT, vLLM and Tribunal read, its head in a file
    /// of its own, which only Tribunal reads. `alpha` and rank are uniform, as vLLM requires.
    ///
    /// # Errors
    /// A file that cannot be written, or an unknown adapter.
    pub fn save_adapter(&self, name: &str, stage: &Stage) -> Result<()> {
        let at = self
            .adapter(name)
            .ok_or_else(|| TrainError::Invalid(format!("no adapter `{name}` is trained")))?;
        let adapter = &self.adapters[at].live.detached;
        let mut tensors: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
        for (site, pair) in &adapter.pairs {
            for (factor, matrix) in [("A", &pair.a), ("B", &pair.b)] {
                let (name, shape, numbers) = factor_tensor(&self.config, *site, factor, matrix)?;
                tensors.push((name, shape, numbers));
            }
        }
        let borrowed = tensors.iter();
        save::tensors(
            stage,
            models::adapter::WEIGHTS_FILE,
            FloatType::F32,
            borrowed.map(|(name, shape, numbers)| (name.clone(), shape.clone(), &numbers[..])),
        )?;
        if let Some(head) = &adapter.head {
            save_head(head, stage, models::adapter::HEAD_FILE)?;
        }
        stage.json(
            models::adapter::CONFIG_FILE,
            &adapter_config(adapter, &self.origin, &self.config)?,
        )?;
        Ok(())
    }
}

/// Writes a linear head beside the vocabulary: `score.weight` `[n, d]` and, if it has one,
/// `score.bias`.
fn save_head(head: &Head, stage: &Stage, file: &str) -> Result<()> {
    let mut tensors: Vec<(&str, Vec<usize>, Vec<f32>)> = Vec::new();
    for (weight, bias) in head.layers() {
        let weight = weight.trainable()?;
        tensors.push(("score.weight", vec![weight.n(), weight.k()], weight.to_rows()?));
        if let Some(bias) = bias {
            tensors.push(("score.bias", vec![bias.elem_count()], bias.to_vec1()?));
        }
    }
    let borrowed = tensors.iter();
    save::tensors(
        stage,
        file,
        FloatType::F32,
        borrowed.map(|(name, shape, numbers)| ((*name).to_owned(), shape.clone(), &numbers[..])),
    )?;
    Ok(())
}

/// Name, shape and numbers of one factor, as PEFT stores it.
fn factor_tensor(
    config: &Arc<ModelConfig>,
    site: Site,
    factor: &str,
    matrix: &Matrix,
) -> Result<(String, Vec<usize>, Vec<f32>)> {
    let numbers = matrix.to_rows()?;
    let (n, k) = (matrix.n(), matrix.k());
    match site {
        Site::Embedding => {
            // PEFT stores the embedding's A transposed, [r, vocab].
            let name = format!("base_model.model.model.embed_tokens.lora_embedding_{factor}");
            if factor == "A" {
                let mut turned = vec![0.0; n * k];
                for row in 0..n {
                    for col in 0..k {
                        turned[col * n + row] = numbers[row * k + col];
                    }
                }
                return Ok((name, vec![k, n], turned));
            }
            Ok((name, vec![n, k], numbers))
        }
        Site::Layer(layer, projection) => {
            let place = Param::Layer(layer, LayerPart::Weight(projection));
            let names = Names::new(config, |_| false);
            let location = names.locate(place);
            if location.part.is_some() {
                return Err(TrainError::Invalid(format!(
                    "{} holds several projections, and adapters of such modules are not saved",
                    location.name
                )));
            }
            let module = location.name.trim_end_matches(".weight").to_owned();
            Ok((format!("base_model.model.{module}.lora_{factor}.weight"), vec![n, k], numbers))
        }
        Site::Vocab => {
            Err(TrainError::Invalid("an adapter of the vocabulary head is not trained".to_owned()))
        }
    }
}

/// `adapter_config.json`, with every field that PEFT writes and readers need.
fn adapter_config(adapter: &Adapter, base: &Path, config: &Arc<ModelConfig>) -> Result<Value> {
    let names = Names::new(config, |_| false);
    let mut targets: Vec<String> = Vec::new();
    let mut shape: Option<(usize, f32)> = None;
    for (site, pair) in &adapter.pairs {
        let (r, scale) = (pair.b.k(), pair.scale);
        match shape {
            None => shape = Some((r, scale)),
            Some(known) if known == (r, scale) => {}
            Some(_) => {
                return Err(TrainError::Invalid(
                    "an adapter whose ranks or scales differ is not saved".to_owned(),
                ));
            }
        }
        let leaf = match site {
            Site::Embedding => "embed_tokens".to_owned(),
            Site::Vocab => "lm_head".to_owned(),
            Site::Layer(layer, projection) => {
                let place = Param::Layer(*layer, LayerPart::Weight(*projection));
                let name = names.unfused(place);
                let module = name.trim_end_matches(".weight");
                module.rsplit('.').next().unwrap_or(module).to_owned()
            }
        };
        if !targets.contains(&leaf) {
            targets.push(leaf);
        }
    }
    targets.sort();
    let (r, scale) = shape.ok_or_else(|| TrainError::Invalid("an empty adapter".to_owned()))?;
    let mut fields = Map::new();
    let alpha = f64::from(scale) * r as f64;
    for (key, value) in [
        ("peft_type", json!("LORA")),
        ("task_type", json!("CAUSAL_LM")),
        ("base_model_name_or_path", json!(base.display().to_string())),
        ("revision", Value::Null),
        ("inference_mode", json!(true)),
        ("r", json!(r)),
        ("lora_alpha", json!(alpha)),
        ("lora_dropout", json!(0.0)),
        ("bias", json!("none")),
        ("target_modules", json!(targets)),
        ("fan_in_fan_out", json!(false)),
        ("use_rslora", json!(false)),
        ("use_dora", json!(false)),
        ("modules_to_save", Value::Null),
        ("layers_to_transform", Value::Null),
        ("layers_pattern", Value::Null),
        ("rank_pattern", json!({})),
        ("alpha_pattern", json!({})),
        ("init_lora_weights", json!(true)),
    ] {
        fields.insert(key.to_owned(), value);
    }
    Ok(Value::Object(fields))
}
