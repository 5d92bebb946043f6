//! A LoRA adapter in memory, with random factors.

use std::collections::BTreeMap;
use std::sync::Arc;

use models::adapter::{Adapter, LoraPair};
use models::config::{MlpConfig, ModelConfig};
use models::random::RandomWeights;
use models::weights::Site;
use models::weights::{FloatType, LayerPart, Param, Projection};
use models::{Matrix, Result};

/// Makes an adapter with factors from the seed, on the attention and on the MLP or the experts of
/// every layer.
///
/// # Errors
/// An error of the tensor library.
pub fn random_adapter(config: &ModelConfig, seed: u64, rank: usize) -> Result<Arc<Adapter>> {
    let random = RandomWeights { seed, dtype: FloatType::F32.dtype() };
    let mut pairs = BTreeMap::new();
    for (index, layer) in config.layers.iter().enumerate() {
        for (projection, n, k) in sites(config, &layer.mlp) {
            let place = |part| Param::Layer(index, part);
            let a = random.numbers(place(LayerPart::Weight(projection)), rank, k);
            let b = random.numbers(place(LayerPart::Bias(projection)), n, rank);
            let pair = LoraPair {
                a: Matrix::from_rows(&a, rank, k)?,
                b: Matrix::from_rows(&b, n, rank)?,
                scale: 0.1,
            };
            pairs.insert(Site::Layer(index, projection), pair);
        }
    }
    Ok(Arc::new(Adapter {
        digest: format!("random {seed}"),
        pairs,
        head: None,
        ..Adapter::default()
    }))
}

/// Projection, outputs and inputs of a layer's linear layers.
fn sites(config: &ModelConfig, mlp: &MlpConfig) -> Vec<(Projection, usize, usize)> {
    let hidden = config.hidden_size;
    let q = config.num_heads * config.head_dim;
    let kv = config.num_kv_heads * config.head_dim;
    let mut sites = vec![
        (Projection::Q, q, hidden),
        (Projection::K, kv, hidden),
        (Projection::V, kv, hidden),
        (Projection::O, hidden, q),
    ];
    let gated = |[gate, up, down]: [Projection; 3], inner: usize| {
        [(gate, inner, hidden), (up, inner, hidden), (down, hidden, inner)]
    };
    match *mlp {
        MlpConfig::Dense { intermediate_size } => {
            let names = [Projection::Gate, Projection::Up, Projection::Down];
            sites.extend(gated(names, intermediate_size));
        }
        MlpConfig::Experts { intermediate_size, num_experts, .. } => {
            let count = u32::try_from(num_experts).unwrap_or(u32::MAX);
            sites.extend((0..count).flat_map(|expert| {
                let names = [
                    Projection::ExpertGate(expert),
                    Projection::ExpertUp(expert),
                    Projection::ExpertDown(expert),
                ];
                gated(names, intermediate_size)
            }));
        }
    }
    sites
}
