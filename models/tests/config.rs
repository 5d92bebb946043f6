//! Configurations as published and as transformers writes them, and refusals.
//!
//! `configs/*_old.json` are files in the style of the hub; `*_new.json` are the same ones after
//! transformers 5.23 read and wrote them.

#![expect(clippy::cast_precision_loss, reason = "sizes of a head and indices of a frequency")]
#![expect(clippy::float_cmp, reason = "a configuration's numbers are read and not computed")]

use std::path::Path;

use models::config::{
    Activation, Biases, HeadConfig, LayerConfig, MlpConfig, ModelConfig, NormPlacement, QkNorm,
    RopeScaling,
};
use serde_json::{Value, json};

fn json(name: &str) -> Value {
    let path = format!("{}/tests/configs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is in the repository");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn parse(value: &Value) -> Result<ModelConfig, String> {
    ModelConfig::from_json(Path::new("config.json"), &value.to_string())
        .map_err(|error| error.to_string())
}

/// The value with fields set (by `/`-paths) or, for `"-"`, removed.
fn edited(name: &str, edits: &[(&str, Value)]) -> Value {
    let mut value = json(name);
    for (path, new) in edits {
        let (parent, field) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
        let object = value.pointer_mut(&parent).and_then(Value::as_object_mut);
        let object = object.expect("the edit's parent is an object");
        if new.as_str() == Some("-") {
            object.shift_remove(field);
        } else {
            object.insert((*field).into(), new.clone());
        }
    }
    value
}

/// The expected content of both files of a family.
#[derive(Debug, PartialEq)]
struct Expected {
    /// Vocabulary, width, layers, query heads, key heads, width of a head, positions.
    sizes: [usize; 7],
    tied: bool,
    embedding_scale: Option<f32>,
    eps: f32,
    unit_offset: bool,
    placement: NormPlacement,
    qk_norm: Option<QkNorm>,
    biases: [bool; 3],
    /// The attention's scale, its cap and the logits' cap.
    scales: (f32, Option<f32>, Option<f32>),
    activation: Activation,
    parameters: u64,
}

/// Llama's choices at sizes that no model has; a family overrides the differences.
fn llama_like(sizes: [usize; 7], parameters: u64) -> Expected {
    Expected {
        sizes,
        tied: true,
        embedding_scale: None,
        eps: 1e-6,
        unit_offset: false,
        placement: NormPlacement::Pre,
        qk_norm: None,
        biases: [false; 3],
        scales: ((sizes[5] as f32).powf(-0.5), None, None),
        activation: Activation::Silu,
        parameters,
    }
}

fn check(family: &str, expected: &Expected) -> ModelConfig {
    let old = parse(&json(&format!("{family}_old"))).expect("the old style is read");
    let new = parse(&json(&format!("{family}_new"))).expect("the new style is read");
    assert_eq!(old, new, "{family}: two styles of one configuration");
    assert_eq!(old.model_type, family);
    assert_eq!(old.head, HeadConfig::Vocab);
    let Biases { qkv, output, mlp } = old.biases;
    let found = Expected {
        sizes: [
            old.vocab_size,
            old.hidden_size,
            old.layers.len(),
            old.num_heads,
            old.num_kv_heads,
            old.head_dim,
            old.max_positions,
        ],
        tied: old.tie_embeddings,
        embedding_scale: old.embedding_scale,
        eps: old.norm.eps,
        unit_offset: old.norm.unit_offset,
        placement: old.norm.placement,
        qk_norm: old.qk_norm,
        biases: [qkv, output, mlp],
        scales: (old.attention_scale, old.attention_softcap, old.logit_softcap),
        activation: old.activation,
        parameters: old.parameters().expect("the count fits"),
    };
    assert_eq!(&found, expected, "{family}");
    old
}

/// Checks that every layer is dense of this inner width, with these windows and ropes.
fn check_layers(
    config: &ModelConfig,
    inner: usize,
    kind: impl Fn(usize) -> (Option<usize>, Option<usize>),
) {
    for (i, layer) in config.layers.iter().enumerate() {
        let (window, rope) = kind(i);
        let mlp = MlpConfig::Dense { intermediate_size: inner };
        assert_eq!(layer, &LayerConfig { window, rope, mlp }, "layer {i}");
    }
}

/// Checks for one rotary embedding over full heads without scaling.
fn check_plain_rope(config: &ModelConfig, theta: f64) {
    assert_eq!(config.ropes.len(), 1);
    assert_eq!(config.ropes[0].theta, theta);
    assert_eq!(config.ropes[0].rotary_dim, config.head_dim);
    assert_eq!(config.ropes[0].scaling, RopeScaling::Default);
}

#[test]
fn llama() {
    let sizes = [128_256, 2048, 16, 32, 8, 64, 131_072];
    let config = check("llama", &Expected { eps: 1e-5, ..llama_like(sizes, 1_235_814_400) });
    check_layers(&config, 8192, |_| (None, Some(0)));
    assert_eq!(config.ropes[0].theta, 5e5);
    assert_eq!(
        config.ropes[0].scaling,
        RopeScaling::Llama3 {
            factor: 32.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_positions: 8192,
        }
    );
}

#[test]
fn mistral() {
    let sizes = [32_000, 4096, 32, 32, 8, 128, 32_768];
    let config =
        check("mistral", &Expected { eps: 1e-5, tied: false, ..llama_like(sizes, 7_241_732_096) });
    check_layers(&config, 14_336, |_| (Some(4096), Some(0)));
    check_plain_rope(&config, 1e4);
}

#[test]
fn qwen2() {
    let sizes = [151_936, 896, 24, 14, 2, 64, 32_768];
    let config = check(
        "qwen2",
        &Expected { biases: [true, false, false], ..llama_like(sizes, 494_032_768) },
    );
    check_layers(&config, 4864, |_| (None, Some(0)));
    check_plain_rope(&config, 1e6);
}

#[test]
fn qwen3() {
    let sizes = [151_936, 1024, 28, 16, 8, 128, 40_960];
    let config = check(
        "qwen3",
        &Expected { qk_norm: Some(QkNorm::PerHead), ..llama_like(sizes, 596_049_920) },
    );
    check_layers(&config, 3072, |_| (None, Some(0)));
    check_plain_rope(&config, 1e6);
}

#[test]
fn qwen3_moe() {
    let sizes = [151_936, 2048, 48, 32, 4, 128, 40_960];
    let config = check(
        "qwen3_moe",
        &Expected {
            qk_norm: Some(QkNorm::PerHead),
            tied: false,
            ..llama_like(sizes, 30_532_122_624)
        },
    );
    let experts = MlpConfig::Experts {
        intermediate_size: 768,
        num_experts: 128,
        experts_per_token: 8,
        normalise: true,
    };
    assert!(config.layers.iter().all(|layer| layer.mlp == experts));
    check_plain_rope(&config, 1e6);
}

#[test]
fn qwen3_moe_with_dense_layers() {
    let edits = [("decoder_sparse_step", json!(2)), ("mlp_only_layers", json!([3, 5]))];
    let config = parse(&edited("qwen3_moe_old", &edits)).expect("it is read");
    for (i, layer) in config.layers.iter().enumerate() {
        let sparse = i % 2 == 1 && i != 3 && i != 5;
        let found = matches!(layer.mlp, MlpConfig::Experts { .. });
        assert_eq!(found, sparse, "layer {i}");
    }
}

#[test]
fn gemma2() {
    let sizes = [256_000, 2304, 26, 8, 4, 256, 8192];
    let config = check(
        "gemma2",
        &Expected {
            embedding_scale: Some(48.0),
            unit_offset: true,
            placement: NormPlacement::Both,
            scales: (0.0625, Some(50.0), Some(30.0)),
            activation: Activation::GeluTanh,
            ..llama_like(sizes, 2_614_341_888)
        },
    );
    let window = |i: usize| i.is_multiple_of(2).then_some(4096);
    check_layers(&config, 9216, |i| (window(i), Some(0)));
    check_plain_rope(&config, 1e4);
}

#[test]
fn gemma3() {
    let sizes = [262_144, 1152, 26, 4, 1, 256, 32_768];
    let config = check(
        "gemma3_text",
        &Expected {
            embedding_scale: Some(1152_f32.sqrt()),
            unit_offset: true,
            placement: NormPlacement::Both,
            qk_norm: Some(QkNorm::PerHead),
            scales: (0.0625, None, None),
            activation: Activation::GeluTanh,
            ..llama_like(sizes, 999_885_952)
        },
    );
    check_layers(&config, 6912, |i| match (i + 1) % 6 {
        0 => (None, Some(0)),
        _ => (Some(512), Some(1)),
    });
    let found: Vec<_> =
        config.ropes.iter().map(|rope| (rope.theta, rope.rotary_dim, &rope.scaling)).collect();
    let linear = RopeScaling::Linear { factor: 8.0 };
    let expected = vec![(1e6, 256, &linear), (1e4, 256, &RopeScaling::Default)];
    assert_eq!(found, expected);
}

#[test]
fn phi3() {
    // Long factors would make a row depend on its neighbours, so positions end at the short ones'.
    let sizes = [200_064, 3072, 32, 24, 8, 128, 4096];
    let config = check("phi3", &Expected { eps: 1e-5, ..llama_like(sizes, 3_836_021_760) });
    check_layers(&config, 8192, |_| (Some(262_144), Some(0)));
    assert_eq!(config.ropes[0].rotary_dim, 96);
    let RopeScaling::PerDimension { factors, attention_factor } = &config.ropes[0].scaling else {
        panic!("{:?}", config.ropes[0].scaling);
    };
    // As transformers computes it.
    assert!((attention_factor - 1.190_238_071_423_808).abs() < 1e-12);
    assert_eq!((factors.len(), factors[0], factors[47]), (48, 1.0, 1.94));
}

#[test]
fn olmo2() {
    let sizes = [100_352, 2048, 16, 16, 16, 128, 4096];
    let config = check(
        "olmo2",
        &Expected {
            placement: NormPlacement::Post,
            qk_norm: Some(QkNorm::Whole),
            tied: false,
            ..llama_like(sizes, 1_484_916_736)
        },
    );
    check_layers(&config, 8192, |_| (None, Some(0)));
    check_plain_rope(&config, 5e5);
}

#[test]
fn smollm3() {
    let sizes = [128_256, 2048, 36, 16, 4, 128, 65_536];
    let config = check("smollm3", &llama_like(sizes, 3_075_098_624));
    let rope = |i: usize| (!(i + 1).is_multiple_of(4)).then_some(0);
    check_layers(&config, 11_008, |i| (None, rope(i)));
    check_plain_rope(&config, 5e6);
}

/// A text that ends with the token of padding is read before it, as transformers reads it.
#[test]
fn scores_of_whole_texts_are_read_before_padding() {
    let of = |task: &str, pad: Value| {
        let name = format!("Qwen2For{task}");
        let edits = [("architectures", json!([name])), ("pad_token_id", pad)];
        parse(&edited("qwen2_old", &edits)).expect("it is read")
    };
    let check = |config: &ModelConfig, token_ids: &[u32], expected: usize| {
        assert_eq!(config.whole_text_position(token_ids), expected, "{token_ids:?}");
    };
    let padded = of("SequenceClassification", json!(7));
    check(&padded, &[1, 7, 2], 2);
    check(&padded, &[1, 2, 7], 1);
    check(&padded, &[1, 2, 7, 7], 1);
    check(&padded, &[7, 7], 0);
    for none in [Value::Null, json!(-1), json!("-")] {
        check(&of("SequenceClassification", none), &[1, 2, 7], 2);
    }
    check(&of("RewardModel", json!(7)), &[1, 2, 7], 2);
    check(&of("CausalLM", json!(7)), &[1, 2, 7], 1);
    let error = parse(&edited("qwen2_old", &[("pad_token_id", json!("pad"))]));
    assert!(error.expect_err("no id").contains("pad_token_id"));
}

/// A file of `model_type` alone is transformers' default model of the family.
#[test]
fn defaults() {
    let cases = [
        ("llama", [32_000, 4096, 32, 32, 32, 128, 2048], 1e4, false, None),
        ("mistral", [32_000, 4096, 32, 32, 8, 128, 131_072], 1e4, false, None),
        ("qwen2", [151_936, 4096, 32, 32, 32, 128, 32_768], 1e4, false, None),
        ("qwen3", [151_936, 4096, 32, 32, 32, 128, 32_768], 1e4, false, None),
        ("qwen3_moe", [151_936, 2048, 24, 32, 4, 64, 32_768], 1e4, false, None),
        ("gemma2", [256_000, 2304, 26, 8, 4, 256, 8192], 1e4, true, Some(0)),
        ("gemma3_text", [262_208, 2304, 26, 8, 4, 256, 131_072], 1e6, true, Some(0)),
        ("phi3", [32_064, 3072, 32, 32, 32, 96, 4096], 1e4, false, Some(32_000)),
        ("olmo2", [50_304, 4096, 32, 32, 32, 128, 2048], 1e4, false, Some(1)),
        ("smollm3", [128_256, 2048, 36, 16, 4, 128, 32_768], 2e6, true, Some(128_004)),
    ];
    for (family, sizes, theta, tied, pad) in cases {
        let config = parse(&json!({ "model_type": family })).expect("defaults are a model");
        let found = [
            config.vocab_size,
            config.hidden_size,
            config.layers.len(),
            config.num_heads,
            config.num_kv_heads,
            config.head_dim,
            config.max_positions,
        ];
        assert_eq!(found, sizes, "{family}");
        assert_eq!(config.ropes[0].theta, theta, "{family}");
        assert_eq!(config.tie_embeddings, tied, "{family}");
        assert_eq!(config.pad_token_id, pad, "{family}");
    }
}

/// Windows by `layer_types`, by `max_window_layers` and by the window alone.
#[test]
fn windows() {
    let window = |name: &str, edits: &[(&str, Value)]| {
        let config = parse(&edited(name, edits)).expect("it is read");
        let layers = config.layers.iter();
        layers.map(|layer| layer.window).collect::<Vec<_>>()
    };
    let late = [("use_sliding_window", json!(true))];
    let expected: Vec<_> = (0..24).map(|i| (i >= 21).then_some(32_768)).collect();
    assert_eq!(window("qwen2_old", &late), expected);

    let none = [("sliding_window", Value::Null)];
    assert_eq!(window("mistral_old", &none), vec![None; 32]);
    let absent = [("sliding_window", json!("-"))];
    assert_eq!(window("mistral_old", &absent), vec![Some(4096); 32]);
    assert_eq!(window("phi3_old", &absent), vec![None; 32]);

    let moe = [
        ("use_sliding_window", json!(true)),
        ("sliding_window", json!(128)),
        ("max_window_layers", json!("-")),
    ];
    assert_eq!(window("qwen3_moe_old", &moe), vec![Some(128); 48]);

    let pattern = [("sliding_window_pattern", json!(2))];
    let expected: Vec<_> = (0..26).map(|i: usize| i.is_multiple_of(2).then_some(512)).collect();
    assert_eq!(window("gemma3_text_old", &pattern), expected);

    let positionless = [
        ("use_sliding_window", json!(true)),
        ("sliding_window", json!(64)),
        ("layer_types", json!("-")),
    ];
    let expected: Vec<_> = (0..36).map(|i| (i % 4 == 3).then_some(64)).collect();
    assert_eq!(window("smollm3_old", &positionless), expected);
}

/// The heads that architectures name.
#[test]
fn heads() {
    let cases = [
        (
            "qwen2_old",
            "Qwen2ForSequenceClassification",
            json!(null),
            HeadConfig::Sequence { n_labels: 2 },
        ),
        (
            "llama_old",
            "LlamaForSequenceClassification",
            json!({"0": "LABEL_0"}),
            HeadConfig::Sequence { n_labels: 1 },
        ),
        (
            "qwen3_old",
            "Qwen3ForTokenClassification",
            json!({"0": "a", "1": "b", "2": "c"}),
            HeadConfig::Token { n_labels: 3 },
        ),
        (
            "gemma3_text_old",
            "Gemma3TextForSequenceClassification",
            json!({"0": "a"}),
            HeadConfig::Sequence { n_labels: 1 },
        ),
        ("qwen2_old", "Qwen2ForRewardModel", json!(null), HeadConfig::Reward { n_labels: 1 }),
        (
            "qwen2_old",
            "Qwen2ForProcessRewardModel",
            json!(null),
            HeadConfig::Process { n_labels: 2 },
        ),
    ];
    for (name, architecture, labels, head) in cases {
        let edits = [("architectures", json!([architecture])), ("id2label", labels)];
        let config = parse(&edited(name, &edits)).expect("it is read");
        assert_eq!(config.head, head, "{architecture}");
        assert!(!config.head.has_vocabulary(), "{architecture}");
    }
}

/// Asserts agreement with numbers that are given to nine digits and were computed in f32.
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let relative = |(found, expected): (&f64, &f64)| ((found - expected) / expected).abs();
    let differences: Vec<f64> = found.iter().zip(expected).map(relative).collect();
    let max = differences.iter().copied().fold(0.0, f64::max);
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    assert!(max < 1e-6, "relative difference: max {max:e}, mean {mean:e}");
}

/// `YaRN` against the frequencies and the factor on cos and sin that transformers 5.23 computes
/// (`_compute_yarn_parameters`) for heads of 64, θ = 10⁶ and 32,768 original positions.
#[test]
fn yarn() {
    let cases: [(Value, f64, [f64; 7]); 3] = [
        (
            json!({"factor": 4.0}),
            1.138_629_436_111_989,
            [
                1.0,
                0.013_335_214_9,
                0.008_659_643_12,
                0.005_154_795_48,
                0.000_175_706_868,
                9.128_064_99e-5,
                4.445_698_51e-5,
            ],
        ),
        (
            json!({"factor": 4.0, "beta_fast": 16.0, "truncate": false}),
            1.138_629_436_111_989,
            [
                1.0,
                0.013_335_214_9,
                0.008_659_643_12,
                0.005_623_413_25,
                0.000_195_324_275,
                9.485_894_41e-5,
                4.445_698_51e-5,
            ],
        ),
        (
            json!({"factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0.7}),
            1.054_456_507_566_931_4,
            [
                1.0,
                0.013_335_214_9,
                0.008_659_643_12,
                0.005_076_692_44,
                0.000_134_708_593,
                6.085_376_66e-5,
                2.222_849_25e-5,
            ],
        ),
    ];
    let dimensions = [0, 10, 11, 12, 18, 19, 20];
    for (mut scaling, factor, expected) in cases {
        scaling["type"] = json!("yarn");
        scaling["original_max_position_embeddings"] = json!(32_768);
        let edits = [("rope_scaling", scaling.clone())];
        let config = parse(&edited("qwen2_old", &edits)).expect("it is read");
        let RopeScaling::PerDimension { factors, attention_factor } = &config.ropes[0].scaling
        else {
            panic!("{:?}", config.ropes[0].scaling);
        };
        assert_close(&[*attention_factor], &[factor]);
        let frequency = |i: usize| 1e6_f64.powf(-(i as f64) / 32.0) / factors[i];
        assert_close(&dimensions.map(frequency), &expected);
        let stretch = scaling["factor"].as_f64().expect("it is a number");
        assert_eq!(config.max_positions as f64, 32_768.0 * stretch);
    }
}
