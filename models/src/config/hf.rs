//! Reads `config.json` of a Hugging Face folder as a [`ModelConfig`].
//!
//! Every field is accounted for: read here, known to be harmless, or refused by name. An absent
//! field takes the family's default in transformers. Sizes are checked before they determine an
//! allocation.

use std::path::Path;

use serde_json::Value;

use super::family::{self, BiasRule, FAMILIES, Family, ModelTask};
use super::fields::{ConfigFields, Given};
use super::layers::LayerKind;
use super::limits::{
    MAX_ALL_EXPERTS, MAX_EXPERTS, MAX_HEAD_DIM, MAX_HEADS, MAX_HIDDEN, MAX_INTERMEDIATE,
    MAX_LABELS, MAX_LAYERS, MAX_PARAMETERS, MAX_POSITIONS, MAX_VOCAB,
};
use super::{
    Activation, Biases, HeadConfig, LayerConfig, MlpConfig, ModelConfig, NormConfig, known, rope,
};
use crate::error::{ModelError, Result};
use chat::Folder;

/// Longest `config.json`.
const MAX_BYTES: u64 = 16 << 20;

/// Reads `config.json` of a folder: its text and its content.
pub(super) fn read_config(folder: &Folder) -> Result<(String, ModelConfig)> {
    let file = folder.open("config.json")?;
    let text = String::from_utf8(file.read_all(MAX_BYTES)?)
        .map_err(|error| file.error(format!("not UTF-8: {error}")))?;
    let config = from_json(file.path(), &text)?;
    Ok((text, config))
}

/// Parses the text of a `config.json`; errors name `path`.
pub(super) fn from_json(path: &Path, json: &str) -> Result<ModelConfig> {
    let file_error = |what: String| ModelError::File { path: path.to_path_buf(), what };
    let value: Value =
        serde_json::from_str(json).map_err(|error| file_error(format!("not JSON: {error}")))?;
    let Some(map) = value.as_object() else {
        return Err(file_error("not a JSON object".into()));
    };
    let mut fields = ConfigFields::new(path, map);
    let (family, task) = architecture(&mut fields)?;
    let config = assemble(&mut fields, family, task)?;
    known::check_rest(&fields, family)?;
    match config.parameters() {
        Some(n) if n <= MAX_PARAMETERS => Ok(config),
        Some(_) | None => Err(fields.error(
            "hidden_size",
            format!("the sizes together make more than {MAX_PARAMETERS} parameters"),
        )),
    }
}

/// The family by `architectures` and `model_type`, which must agree. A file without `architectures`
/// is a causal model.
fn architecture(fields: &mut ConfigFields<'_>) -> Result<(&'static Family, ModelTask)> {
    let model_type = fields.text("model_type")?.value();
    let names = fields.texts("architectures")?.value().unwrap_or_default();
    let (family, task) = match (names.as_slice(), model_type) {
        ([], None) => return Err(fields.error("model_type", "is missing")),
        ([], Some(model_type)) => {
            let known = FAMILIES.iter().map(|family| family.model_type);
            let family = family::of(model_type)
                .ok_or_else(|| fields.error("model_type", family::supported(model_type, known)))?;
            (family, ModelTask::CausalLm)
        }
        ([name], _) => {
            let rows = FAMILIES.iter().flat_map(|family| family.architectures);
            family::of_architecture(name).ok_or_else(|| {
                let known = rows.map(|(known, _)| *known);
                fields.error("architectures", family::supported(name, known))
            })?
        }
        (names, _) => {
            let what = format!("{} names, and one is expected", names.len());
            return Err(fields.error("architectures", what));
        }
    };
    match model_type {
        Some(model_type) if model_type != family.model_type => Err(fields.error(
            "model_type",
            format!(
                "`{model_type}` contradicts `architectures`, which belongs to `{}`",
                family.model_type
            ),
        )),
        Some(_) | None => Ok((family, task)),
    }
}

fn assemble(
    fields: &mut ConfigFields<'_>,
    family: &Family,
    task: ModelTask,
) -> Result<ModelConfig> {
    let defaults = &family.defaults;
    let vocab_size = fields.size_or("vocab_size", 1..=MAX_VOCAB, defaults.vocab_size)?;
    let hidden_size = fields.size_or("hidden_size", 1..=MAX_HIDDEN, defaults.hidden_size)?;
    let n_layers = fields.size_or("num_hidden_layers", 1..=MAX_LAYERS, defaults.layers)?;
    let (num_heads, num_kv_heads, head_dim) = heads(fields, family, hidden_size)?;
    let trained =
        fields.size_or("max_position_embeddings", 1..=MAX_POSITIONS, defaults.max_positions)?;
    let kinds = (family.layers)(fields, n_layers)?;
    let rope::Ropes { ropes, max_positions } = rope::read_rope(fields, family, head_dim, trained)?;
    let scale = scalar(fields, family, head_dim)?.powf(-0.5);
    let (attention_softcap, logit_softcap) = softcaps(fields, family)?;
    let eps = fields.positive("rms_norm_eps")?;
    Ok(ModelConfig {
        model_type: family.model_type.into(),
        vocab_size,
        hidden_size,
        num_heads,
        num_kv_heads,
        head_dim,
        max_positions,
        tie_embeddings: fields.flag("tie_word_embeddings", defaults.tie)?,
        embedding_scale: family.gemma.map(|_| single((hidden_size as f64).sqrt())),
        norm: NormConfig {
            eps: single(eps.value().unwrap_or(defaults.eps)),
            unit_offset: family.gemma.is_some(),
            placement: family.norm,
        },
        qk_norm: family.qk_norm,
        biases: biases(fields, family.biases)?,
        attention_scale: single(scale),
        attention_softcap,
        logit_softcap,
        activation: activation(fields, family)?,
        layers: layers(fields, family, kinds)?,
        ropes,
        head: head_config(fields, task)?,
        pad_token_id: fields.token("pad_token_id")?.absent_as(Some(defaults.pad)).flatten(),
    })
}

/// Query heads, key and value heads, and the width of one.
fn heads(
    fields: &mut ConfigFields<'_>,
    family: &Family,
    hidden: usize,
) -> Result<(usize, usize, usize)> {
    let defaults = &family.defaults;
    let heads = fields.size_or("num_attention_heads", 1..=MAX_HEADS, defaults.heads)?;
    let kv_heads = fields
        .size("num_key_value_heads", 1..=MAX_HEADS)?
        .absent_as(defaults.kv_heads)
        .unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        let what = format!("{kv_heads} does not divide the {heads} query heads");
        return Err(fields.error("num_key_value_heads", what));
    }
    let given = fields.size("head_dim", 1..=MAX_HEAD_DIM)?.absent_as(defaults.head_dim);
    let head_dim = match given {
        Some(head_dim) => head_dim,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            let what = format!("{heads} heads do not divide a width of {hidden}");
            return Err(fields.error("num_attention_heads", what));
        }
    };
    // Both factors are bounded, so the product cannot overflow.
    if heads * head_dim > MAX_HIDDEN {
        let what = format!("{heads} heads of {head_dim} are more than {MAX_HIDDEN} numbers");
        return Err(fields.error("head_dim", what));
    }
    Ok((heads, kv_heads, head_dim))
}

/// The number whose inverse square root scales query · key.
fn scalar(fields: &mut ConfigFields<'_>, family: &Family, head_dim: usize) -> Result<f64> {
    if family.gemma.is_none() {
        return Ok(head_dim as f64);
    }
    let name = "query_pre_attn_scalar";
    let scalar = fields.positive(name)?.absent_as(Some(256.0));
    scalar.ok_or_else(|| fields.error(name, "null is not a number"))
}

/// The caps on attention scores and on logits.
fn softcaps(fields: &mut ConfigFields<'_>, family: &Family) -> Result<(Option<f32>, Option<f32>)> {
    let Some(gemma) = family.gemma else {
        return Ok((None, None));
    };
    let attention = fields.positive("attn_logit_softcapping")?;
    let logit = fields.positive("final_logit_softcapping")?;
    // Gemma 3's attention in transformers stores the number and does not apply it, so the training
    // of a file that sets it is unknown.
    if gemma.attention_softcap.is_none() && attention.value().is_some() {
        return Err(fields.error("attn_logit_softcapping", "is not supported in this family"));
    }
    Ok((
        attention.absent_as(gemma.attention_softcap).map(single),
        logit.absent_as(gemma.logit_softcap).map(single),
    ))
}

/// A number as f32; never zero or infinite for a positive field.
#[expect(clippy::cast_possible_truncation, reason = "rounded to the precision of activations")]
fn single(number: f64) -> f32 {
    number as f32
}

fn biases(fields: &mut ConfigFields<'_>, rule: BiasRule) -> Result<Biases> {
    let (qkv, output, mlp) = match rule {
        BiasRule::Never => (false, false, false),
        BiasRule::Qkv => (true, false, false),
        BiasRule::Attention => {
            let attention = fields.flag("attention_bias", false)?;
            (attention, attention, false)
        }
        BiasRule::AttentionAndMlp => {
            let attention = fields.flag("attention_bias", false)?;
            (attention, attention, fields.flag("mlp_bias", false)?)
        }
    };
    Ok(Biases { qkv, output, mlp })
}

fn activation(fields: &mut ConfigFields<'_>, family: &Family) -> Result<Activation> {
    let act = fields.text("hidden_act")?.value();
    let (name, act) = if family.gemma.is_some() {
        let activation = fields.text("hidden_activation")?.value();
        let activation = activation.unwrap_or("gelu_pytorch_tanh");
        if act.is_some_and(|act| act != activation) {
            return Err(fields.error("hidden_act", "contradicts `hidden_activation`"));
        }
        ("hidden_activation", activation)
    } else {
        ("hidden_act", act.unwrap_or("silu"))
    };
    match act {
        "silu" | "swish" => Ok(Activation::Silu),
        "gelu" => Ok(Activation::Gelu),
        // Three names of one formula.
        "gelu_pytorch_tanh" | "gelu_new" | "gelu_fast" => Ok(Activation::GeluTanh),
        other => Err(fields.error(
            name,
            family::supported(other, ["silu", "gelu", "gelu_pytorch_tanh"].into_iter()),
        )),
    }
}

fn layers(
    fields: &mut ConfigFields<'_>,
    family: &Family,
    kinds: Vec<LayerKind>,
) -> Result<Vec<LayerConfig>> {
    let intermediate_size = fields.size_or(
        "intermediate_size",
        1..=MAX_INTERMEDIATE,
        family.defaults.intermediate_size,
    )?;
    let experts = if family.experts { experts(fields)? } else { None };
    let sliding_rope = matches!(family.rope, family::RopeRule::ByLayerType { .. });
    let layer = |(i, kind): (usize, LayerKind)| LayerConfig {
        window: kind.window,
        rope: kind.rotated.then_some(usize::from(sliding_rope && kind.window.is_some())),
        mlp: match &experts {
            Some((sparse, experts)) if sparse(i) => experts.clone(),
            Some(_) | None => MlpConfig::Dense { intermediate_size },
        },
    };
    let layers: Vec<LayerConfig> = kinds.into_iter().enumerate().map(layer).collect();
    let experts = layers.iter().map(|layer| match layer.mlp {
        MlpConfig::Experts { num_experts, .. } => num_experts,
        MlpConfig::Dense { .. } => 0,
    });
    let n: usize = experts.sum();
    if n > MAX_ALL_EXPERTS {
        let what = format!("{n} experts in all layers are more than {MAX_ALL_EXPERTS}");
        return Err(fields.error("num_experts", what));
    }
    Ok(layers)
}

/// The layers that have experts, and their shape.
type Experts = (Box<dyn Fn(usize) -> bool>, MlpConfig);

/// Qwen3-MoE's experts, with transformers' defaults.
fn experts(fields: &mut ConfigFields<'_>) -> Result<Option<Experts>> {
    let step = fields.size_or("decoder_sparse_step", 1..=MAX_LAYERS, 1)?;
    let dense = fields.sizes("mlp_only_layers", 0..=MAX_LAYERS)?;
    let dense = dense.value().unwrap_or_default();
    let mlp = MlpConfig::Experts {
        intermediate_size: fields.size_or("moe_intermediate_size", 1..=MAX_INTERMEDIATE, 768)?,
        num_experts: num_experts(fields)?,
        experts_per_token: fields.size_or("num_experts_per_tok", 1..=MAX_EXPERTS, 8)?,
        normalise: fields.flag("norm_topk_prob", false)?,
    };
    match mlp {
        MlpConfig::Dense { .. } | MlpConfig::Experts { num_experts: 0, .. } => Ok(None),
        MlpConfig::Experts { num_experts, experts_per_token, .. }
            if experts_per_token > num_experts =>
        {
            let what = format!("{experts_per_token} of {num_experts} experts");
            Err(fields.error("num_experts_per_tok", what))
        }
        MlpConfig::Experts { .. } => {
            let sparse = move |i| !dense.contains(&i) && (i + 1) % step == 0;
            Ok(Some((Box::new(sparse), mlp)))
        }
    }
}

/// `num_experts`, or `num_local_experts` as transformers 5 writes it.
fn num_experts(fields: &mut ConfigFields<'_>) -> Result<usize> {
    let old = fields.size("num_experts", 0..=MAX_EXPERTS)?;
    let new = fields.size("num_local_experts", 0..=MAX_EXPERTS)?;
    match (old, new) {
        (Given::Is(old), Given::Is(new)) if old != new => {
            Err(fields.error("num_experts", "contradicts `num_local_experts`"))
        }
        (Given::Is(n), _) | (Given::Absent | Given::Null, Given::Is(n)) => Ok(n),
        (Given::Absent | Given::Null, Given::Absent | Given::Null) => Ok(128),
    }
}

fn head_config(fields: &mut ConfigFields<'_>, task: ModelTask) -> Result<HeadConfig> {
    let n_labels = n_labels(fields)?;
    Ok(match task {
        ModelTask::CausalLm => HeadConfig::Vocab,
        ModelTask::SequenceClassification => HeadConfig::Sequence { n_labels },
        ModelTask::TokenClassification => HeadConfig::Token { n_labels },
        // Both architectures fix their number of outputs, whatever the file says.
        ModelTask::Reward => HeadConfig::Reward { n_labels: 1 },
        ModelTask::ProcessReward => HeadConfig::Process { n_labels: 2 },
    })
}

/// `id2label`'s length, or `num_labels`, or two.
fn n_labels(fields: &mut ConfigFields<'_>) -> Result<usize> {
    let given = fields.size("num_labels", 1..=MAX_LABELS)?.value();
    let names = fields.object("id2label")?.value();
    let named = names.map(|names| names.unread().count());
    match (given, named) {
        (Some(given), Some(named)) if given != named => Err(fields
            .error("num_labels", format!("{given} contradicts the {named} entries of `id2label`"))),
        (_, Some(named)) if !(1..=MAX_LABELS).contains(&named) => {
            Err(fields.error("id2label", format!("{named} labels")))
        }
        (Some(n), _) | (None, Some(n)) => Ok(n),
        (None, None) => Ok(2),
    }
}
