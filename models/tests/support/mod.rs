//! Small models of every shape of the families, for the tests of bits.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::DType;
use models::adapter::{Adapter, LoraPair};
use models::config::{
    Activation, Biases, HeadConfig, LayerConfig, MlpConfig, ModelConfig, NormConfig, NormPlacement,
    QkNorm, RopeConfig, RopeScaling,
};
use models::head::Head;
use models::random::RandomWeights;
use models::weights::Site;
use models::weights::{Compute, HeadPart, LayerPart, Param, Projection};
use models::{Decoder, LoadOptions, Matrix, Model, Runner};
use tiny_models::{Preset, TinyHead, TinySpec};

/// Tokens of every test model.
pub(crate) const VOCAB: usize = 70;

fn plain() -> ModelConfig {
    let layer = LayerConfig {
        window: None,
        rope: Some(0),
        mlp: MlpConfig::Dense { intermediate_size: 40 },
    };
    ModelConfig {
        model_type: "test".into(),
        vocab_size: VOCAB,
        hidden_size: 24,
        num_heads: 4,
        num_kv_heads: 2,
        head_dim: 8,
        max_positions: 512,
        tie_embeddings: false,
        embedding_scale: None,
        norm: NormConfig { eps: 1e-6, unit_offset: false, placement: NormPlacement::Pre },
        qk_norm: None,
        biases: Biases { qkv: false, output: false, mlp: false },
        attention_scale: 8.0_f32.powf(-0.5),
        attention_softcap: None,
        logit_softcap: None,
        activation: Activation::Silu,
        layers: vec![layer; 3],
        ropes: vec![RopeConfig { theta: 10_000.0, rotary_dim: 8, scaling: RopeScaling::Default }],
        head: HeadConfig::Vocab,
        pad_token_id: None,
    }
}

/// One configuration for each way in which families differ.
pub(crate) fn shapes() -> Vec<(&'static str, ModelConfig)> {
    let mut biased = plain();
    biased.biases = Biases { qkv: true, output: true, mlp: true };
    biased.tie_embeddings = true;
    let mut per_head = plain();
    (per_head.qk_norm, per_head.head_dim, per_head.ropes[0].rotary_dim) =
        (Some(QkNorm::PerHead), 12, 6);
    let mut capped = plain();
    capped.norm = NormConfig { eps: 1e-6, unit_offset: true, placement: NormPlacement::Both };
    (capped.attention_softcap, capped.logit_softcap) = (Some(5.0), Some(3.0));
    (capped.embedding_scale, capped.activation) = (Some(24.0_f32.sqrt()), Activation::GeluTanh);
    capped.layers[0].window = Some(7);
    capped.layers[2].window = Some(70);
    let mut post = plain();
    post.norm.placement = NormPlacement::Post;
    (post.qk_norm, post.activation) = (Some(QkNorm::Whole), Activation::Gelu);
    post.layers[1].rope = None;
    let mut experts = plain();
    experts.layers[1].mlp = MlpConfig::Experts {
        intermediate_size: 20,
        num_experts: 5,
        experts_per_token: 2,
        normalise: true,
    };
    let mut value = plain();
    value.head = HeadConfig::Value;
    let mut process = plain();
    process.head = HeadConfig::Process { n_labels: 2 };
    let mut sequence = plain();
    sequence.head = HeadConfig::Sequence { n_labels: 3 };
    vec![
        ("plain", plain()),
        ("biases, tied", biased),
        ("norms of heads, partial rotation", per_head),
        ("caps, windows, four norms", capped),
        ("post norms, no positions", post),
        ("experts", experts),
        ("value head", value),
        ("two-layer head", process),
        ("labels", sequence),
    ]
}

/// A model of this shape with weights from the seed.
pub(crate) fn runner(config: &ModelConfig, dtype: DType) -> Runner {
    let config = Arc::new(config.clone());
    let mut source = RandomWeights { seed: 7, dtype };
    let decoder = Decoder::load(&config, &mut source).expect("random weights fit");
    let head =
        Head::load(config.head, config.hidden_size, &mut source).expect("random weights fit");
    Runner::new(decoder, head).with_kv(96).expect("96 blocks fit in memory")
}

/// Generated models: every family with its vocabulary and with a score, and one of every head.
pub(crate) fn families_as(compute: Compute) -> Vec<(String, ModelConfig, Runner)> {
    let tiny = Preset::ALL.into_iter().filter(|preset| !preset.is_published_size());
    let heads = [TinyHead::Vocab, TinyHead::Sequence];
    let mut made: Vec<_> = tiny.flat_map(|preset| heads.map(|head| (preset, head))).collect();
    made.extend(TinyHead::ALL.map(|head| (Preset::Qwen2, head)));
    made.into_iter().map(|(preset, head)| family(preset, head, compute)).collect()
}

fn family(preset: Preset, head: TinyHead, compute: Compute) -> (String, ModelConfig, Runner) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("model");
    let spec = TinySpec { head, ..TinySpec::from(preset) };
    tiny_models::make(&dir, &spec).expect("every family has these heads");
    let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
    let model = Model::load(&dir, &options).expect("what was made can be loaded");
    let config = model.config.as_ref().clone();
    let runner =
        Runner::new(model.decoder, model.head).with_kv(96).expect("96 blocks fit in memory");
    (format!("{} by {}", preset.name(), head.name()), config, runner)
}

/// Sites of every kind that the model has, with outputs and inputs.
fn sites(config: &ModelConfig) -> Vec<(Site, usize, usize)> {
    let (hidden, q) = (config.hidden_size, config.num_heads * config.head_dim);
    let last = config.layers.len() - 1;
    let mut sites = vec![
        (Site::Layer(0, Projection::Q), q, hidden),
        (Site::Layer(last, Projection::O), hidden, q),
    ];
    for (index, layer) in config.layers.iter().enumerate() {
        sites.push(match layer.mlp {
            MlpConfig::Dense { intermediate_size } => {
                (Site::Layer(index, Projection::Down), hidden, intermediate_size)
            }
            MlpConfig::Experts { intermediate_size, .. } => {
                (Site::Layer(index, Projection::ExpertUp(1)), intermediate_size, hidden)
            }
        });
    }
    sites
}

/// An adapter of rank `r` on some layers of every kind, with a head of its own.
pub(crate) fn adapter(config: &ModelConfig, seed: u64, r: usize) -> Arc<Adapter> {
    let random = RandomWeights { seed, dtype: DType::F32 };
    let hidden = config.hidden_size;
    let sites = sites(config);
    let matrix = |place, n: usize, k: usize| {
        Matrix::from_rows(&random.numbers(place, n, k), n, k).expect("the numbers fill it")
    };
    let pair = |(site, n, k): (Site, usize, usize)| {
        let Site::Layer(layer, projection) = site else { unreachable!("only layers above") };
        let place = |part| Param::Layer(layer, part);
        let pair = LoraPair {
            a: matrix(place(LayerPart::Weight(projection)), r, k),
            b: matrix(place(LayerPart::Bias(projection)), n, r),
            scale: 0.5,
        };
        (site, pair)
    };
    let head = matrix(Param::Head(HeadPart::Weight), 2, hidden);
    Arc::new(Adapter {
        digest: format!("test {seed}"),
        pairs: sites.into_iter().map(pair).collect::<BTreeMap<_, _>>(),
        head: Some(Head::linear(head, None)),
        ..Adapter::default()
    })
}
