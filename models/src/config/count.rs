//! The number of parameters of a configuration.

use super::{HeadConfig, MlpConfig, ModelConfig, NormPlacement, QkNorm};

/// All parameters; `None` if the count exceeds 64 bits.
pub(super) fn parameters(config: &ModelConfig) -> Option<u64> {
    let hidden = config.hidden_size as u64;
    let embedding = (config.vocab_size as u64).checked_mul(hidden)?;
    let vocab = if config.head.has_vocabulary() && !config.tie_embeddings { embedding } else { 0 };
    let mut total = embedding.checked_add(vocab)?.checked_add(hidden)?;
    let fixed = attention(config)?.checked_add(norms(config)?)?;
    for layer in &config.layers {
        let mlp = mlp(config, &layer.mlp)?;
        total = total.checked_add(fixed)?.checked_add(mlp)?;
    }
    total.checked_add(head_parameters(config.head, hidden)?)
}

/// Weight and bias, if any, of a linear layer.
fn linear(n: u64, k: u64, bias: bool) -> Option<u64> {
    n.checked_mul(k.checked_add(u64::from(bias))?)
}

fn attention(config: &ModelConfig) -> Option<u64> {
    let (hidden, dim) = (config.hidden_size as u64, config.head_dim as u64);
    let q = (config.num_heads as u64).checked_mul(dim)?;
    let kv = (config.num_kv_heads as u64).checked_mul(dim)?;
    let qk_norm = match config.qk_norm {
        None => 0,
        Some(QkNorm::PerHead) => dim.checked_mul(2)?,
        Some(QkNorm::Whole) => q.checked_add(kv)?,
    };
    linear(q, hidden, config.biases.qkv)?
        .checked_add(linear(kv, hidden, config.biases.qkv)?.checked_mul(2)?)?
        .checked_add(linear(hidden, q, config.biases.output)?)?
        .checked_add(qk_norm)
}

fn norms(config: &ModelConfig) -> Option<u64> {
    let per_layer = match config.norm.placement {
        NormPlacement::Pre | NormPlacement::Post => 2,
        NormPlacement::Both => 4,
    };
    (config.hidden_size as u64).checked_mul(per_layer)
}

fn mlp(config: &ModelConfig, mlp: &MlpConfig) -> Option<u64> {
    let hidden = config.hidden_size as u64;
    let gated = |inner: usize, bias| {
        linear(inner as u64, hidden, bias)?.checked_mul(2)?.checked_add(linear(
            hidden,
            inner as u64,
            bias,
        )?)
    };
    match mlp {
        MlpConfig::Dense { intermediate_size } => gated(*intermediate_size, config.biases.mlp),
        MlpConfig::Experts { intermediate_size, num_experts, .. } => {
            let experts = *num_experts as u64;
            gated(*intermediate_size, false)?
                .checked_mul(experts)?
                .checked_add(linear(experts, hidden, false)?)
        }
    }
}

fn head_parameters(head: HeadConfig, hidden: u64) -> Option<u64> {
    match head {
        HeadConfig::Vocab => Some(0),
        HeadConfig::Value => linear(1, hidden, true),
        HeadConfig::Sequence { n_labels } => linear(n_labels as u64, hidden, false),
        HeadConfig::Token { n_labels } => linear(n_labels as u64, hidden, true),
        HeadConfig::Reward { n_labels } | HeadConfig::Process { n_labels } => {
            linear(hidden, hidden, true)?.checked_add(linear(n_labels as u64, hidden, true)?)
        }
    }
}
