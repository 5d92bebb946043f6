//! A LoRA adapter in memory, with random factors.

use std::collections::BTreeMap;
use std::sync::Arc;

use models::adapter::{Adapter, AdapterReport, LoraPair};
use models::config::{MlpConfig, ModelConfig};
use models::random::RandomWeights;
use models::weights::Site;
use models::weights::{FloatType, LayerPart, Param, Projection};
use models::{Matrix, Result};

/// Makes an adapter with factors from the seed, on the attention of every layer and on the MLP of
/// layers without experts.
///
/// # Errors
/// An error of the tensor library.
pub fn random_adapter(config: &ModelConfig, seed: u64, rank: usize) -> Result<Arc<Adapter>> {
    let random = RandomWeights { seed, dtype: FloatType::F32.dtype() };
    let mut pairs = BTreeMap::new();
    for (index, layer) in config.layers.iter().enumerate() {
        let inner = match layer.mlp {
            MlpConfig::Dense { intermediate_size } => Some(intermediate_size),
            MlpConfig::Experts { .. } => None,
        };
        for (projection, n, k) in sites(config, inner) {
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
        report: AdapterReport::default(),
    }))
}

/// Projection, outputs and inputs of a layer's linear layers.
fn sites(config: &ModelConfig, inner: Option<usize>) -> Vec<(Projection, usize, usize)> {
    let hidden = config.hidden_size;
    let q = config.num_heads * config.head_dim;
    let kv = config.num_kv_heads * config.head_dim;
    let mut sites = vec![
        (Projection::Q, q, hidden),
        (Projection::K, kv, hidden),
        (Projection::V, kv, hidden),
        (Projection::O, hidden, q),
    ];
    if let Some(inner) = inner {
        sites.extend([
            (Projection::Gate, inner, hidden),
            (Projection::Up, inner, hidden),
            (Projection::Down, hidden, inner),
        ]);
    }
    sites
}
