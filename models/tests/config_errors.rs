//! What is refused in a `config.json`: each edit of a good file, and what the error says.

use std::path::Path;

use models::config::ModelConfig;
use serde_json::{Value, json};

fn base(name: &str) -> Value {
    let path = format!("{}/tests/configs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is in the repository");
    serde_json::from_str(&text).expect("the file is JSON")
}

/// Sets one field and expects an error that names it and holds every other text.
fn check(name: &str, field: &str, value: Value, says: &[&str]) {
    let mut json = base(name);
    json[field] = value.clone();
    let error = ModelConfig::from_json(Path::new("folder/config.json"), &json.to_string())
        .expect_err(&format!("{name} with `{field}` {value} is refused"))
        .to_string();
    assert!(error.starts_with("folder/config.json: field `"), "{error}");
    for text in says {
        assert!(
            error.contains(text),
            "`{field}` {value}: `{text}` in `{error}`"
        );
    }
}

#[test]
fn unknown_fields_and_values() {
    let cases: &[(&str, &str, Value, &[&str])] = &[
        (
            "llama_old",
            "residual_multiplier",
            json!(0.22),
            &["`residual_multiplier`", "not understood"],
        ),
        (
            "llama_old",
            "sliding_window",
            json!(4096),
            &["`sliding_window`", "4096"],
        ),
        (
            "llama_old",
            "pretraining_tp",
            json!(2),
            &["`pretraining_tp`", "2", "only 1"],
        ),
        (
            "llama_old",
            "rope_interleaved",
            json!(true),
            &["`rope_interleaved`", "true"],
        ),
        (
            "llama_old",
            "is_decoder",
            json!(false),
            &["`is_decoder`", "false"],
        ),
        ("llama_old", "is_causal", json!(false), &["`is_causal`"]),
        (
            "llama_old",
            "quantization_config",
            json!({"quant_method": "gptq"}),
            &["`quantization_config`", "gptq"],
        ),
        (
            "llama_old",
            "hidden_act",
            json!("relu2"),
            &["`hidden_act`", "relu2", "silu"],
        ),
        (
            "llama_old",
            "attention_bias",
            json!("yes"),
            &["`attention_bias`", "yes", "true or false"],
        ),
        (
            "llama_old",
            "partial_rotary_factor",
            json!(0.5),
            &["`rope_scaling.partial_rotary_factor`", "0.5"],
        ),
        (
            "llama_old",
            "layer_types",
            json!(["sliding_attention"]),
            &["`layer_types`", "1 entries for 16"],
        ),
        (
            "mistral_old",
            "attention_bias",
            json!(true),
            &["`attention_bias`", "true", "only false"],
        ),
        (
            "qwen2_old",
            "attention_bias",
            json!(true),
            &["`attention_bias`", "not understood"],
        ),
        (
            "qwen2_old",
            "dual_chunk_attention_config",
            json!({}),
            &["`dual_chunk_attention_config`"],
        ),
        (
            "qwen2_old",
            "num_nextn_predict_layers",
            json!(1),
            &["`num_nextn_predict_layers`", "1"],
        ),
        (
            "qwen2_new",
            "layer_types",
            json!(vec!["sliding_attention"; 24]),
            &["`layer_types`", "no window"],
        ),
        (
            "qwen2_new",
            "layer_types",
            json!(vec!["linear_attention"; 24]),
            &["`layer_types`", "linear_attention"],
        ),
        (
            "gemma2_old",
            "use_bidirectional_attention",
            json!(true),
            &["`use_bidirectional_attention`", "true"],
        ),
        (
            "gemma2_old",
            "hidden_act",
            json!("gelu"),
            &["`hidden_act`", "contradicts"],
        ),
        (
            "gemma2_old",
            "sliding_window_size",
            json!(1024),
            &["`sliding_window_size`", "contradicts"],
        ),
        (
            "gemma3_text_old",
            "attn_logit_softcapping",
            json!(50.0),
            &["`attn_logit_softcapping`"],
        ),
        (
            "phi3_old",
            "lm_head_bias",
            json!(true),
            &["`lm_head_bias`", "true"],
        ),
        (
            "smollm3_old",
            "no_rope_layers",
            json!([1, 0]),
            &["`no_rope_layers`", "2 entries for 36"],
        ),
        (
            "smollm3_old",
            "no_rope_layers",
            json!(vec![2; 36]),
            &["`no_rope_layers`", "0 to 1"],
        ),
        (
            "qwen3_moe_old",
            "num_experts_per_tok",
            json!(129),
            &["`num_experts_per_tok`", "129 of 128"],
        ),
        (
            "qwen3_moe_old",
            "num_local_experts",
            json!(64),
            &["`num_experts`", "contradicts"],
        ),
        (
            "qwen3_moe_old",
            "shared_expert_intermediate_size",
            json!(64),
            &["`shared_expert_intermediate_size`"],
        ),
        ("qwen2_old", "num_labels", json!(0), &["`num_labels`", "0"]),
    ];
    for (name, field, value, says) in cases {
        check(name, field, value.clone(), says);
    }
}

#[test]
fn architectures() {
    let cases: &[(&str, Value, &[&str])] = &[
        (
            "architectures",
            json!(["Qwen2ForCausalML"]),
            &[
                "`Qwen2ForCausalML`",
                "supported are Qwen2ForCausalLM, ",
                "LlamaForCausalLM",
            ],
        ),
        (
            "architectures",
            json!(["BertForMaskedLM"]),
            &["`architectures`", "Olmo2ForCausalLM"],
        ),
        (
            "architectures",
            json!(["Qwen2ForCausalLM", "Qwen2ForRewardModel"]),
            &["2 names"],
        ),
        (
            "architectures",
            json!("Qwen2ForCausalLM"),
            &["list of strings"],
        ),
        (
            "architectures",
            json!(["LlamaForCausalLM"]),
            &["`model_type`", "`qwen2`", "`llama`"],
        ),
        (
            "model_type",
            json!("qwen3"),
            &["`model_type`", "`qwen3`", "`qwen2`"],
        ),
    ];
    for (field, value, says) in cases {
        check("qwen2_old", field, value.clone(), says);
    }
    let mut nameless = base("qwen2_old");
    nameless["architectures"] = Value::Null;
    let path = Path::new("config.json");
    nameless["model_type"] = json!("qwen33");
    let error = ModelConfig::from_json(path, &nameless.to_string()).expect_err("unknown");
    assert!(
        error.to_string().contains("supported are qwen3, "),
        "{error}"
    );
    nameless["model_type"] = Value::Null;
    let error = ModelConfig::from_json(path, &nameless.to_string()).expect_err("nameless");
    assert!(
        error.to_string().contains("`model_type`: is missing"),
        "{error}"
    );
}

#[test]
fn sizes() {
    let cases: &[(&str, Value)] = &[
        ("vocab_size", json!(0)),
        ("vocab_size", json!(1_000_000_000_000_u64)),
        ("vocab_size", json!(null)),
        ("hidden_size", json!(1_000_000_000_000_u64)),
        ("hidden_size", json!(-896)),
        ("hidden_size", json!(896.0)),
        ("hidden_size", json!("896")),
        ("num_hidden_layers", json!(1_000_000_000)),
        ("num_hidden_layers", json!(0)),
        ("num_attention_heads", json!(13)),
        ("num_attention_heads", json!(u64::MAX)),
        ("num_key_value_heads", json!(4)),
        ("num_key_value_heads", json!(0)),
        ("head_dim", json!(63)),
        ("head_dim", json!(0)),
        ("head_dim", json!(1_000_000)),
        ("intermediate_size", json!(1_u64 << 40)),
        ("max_position_embeddings", json!(1_u64 << 40)),
        ("max_window_layers", json!(-1)),
        ("sliding_window", json!(0)),
        ("rms_norm_eps", json!(0.0)),
        ("rms_norm_eps", json!(-1e-6)),
        ("rms_norm_eps", json!("tiny")),
        ("rope_theta", json!(0)),
        ("rope_theta", json!(0.5)),
    ];
    for (field, value) in cases {
        let named = match *field {
            // The head's width decides how many of its dimensions are rotated.
            "head_dim" if value == &json!(63) => "`partial_rotary_factor`",
            "num_attention_heads" if value == &json!(13) => "`num_key_value_heads`",
            field => &format!("`{field}`"),
        };
        check("qwen2_old", field, value.clone(), &[named]);
    }
    // Each size is within its bound, and all of them together are not.
    let mut huge = base("qwen2_old");
    huge["hidden_size"] = json!(1 << 17);
    huge["intermediate_size"] = json!(1 << 20);
    huge["num_hidden_layers"] = json!(4096);
    huge["num_attention_heads"] = json!(1024);
    let path = Path::new("config.json");
    let error = ModelConfig::from_json(path, &huge.to_string()).expect_err("too large");
    assert!(error.to_string().contains("parameters"), "{error}");
}

#[test]
fn ropes() {
    let cases: &[(&str, Value, &[&str])] = &[
        (
            "qwen2_old",
            json!({"type": "dynamic", "factor": 2.0}),
            &["rope_type", "dynamic", "neighbours"],
        ),
        (
            "qwen2_old",
            json!({"type": "ntk-by-parts"}),
            &["ntk-by-parts"],
        ),
        (
            "qwen2_old",
            json!({"type": "linear"}),
            &["`rope_scaling.factor`", "missing"],
        ),
        (
            "qwen2_old",
            json!({"type": "linear", "factor": 0}),
            &["`rope_scaling.factor`", "0"],
        ),
        (
            "qwen2_old",
            json!({"type": "linear", "factor": 2.0, "mrope_section": [1]}),
            &["`rope_scaling.mrope_section`", "not understood"],
        ),
        (
            "qwen2_old",
            json!({"type": "linear", "rope_type": "yarn", "factor": 2.0}),
            &["contradicts `linear`"],
        ),
        (
            "qwen2_old",
            json!({"rope_theta": 10000.0}),
            &["`rope_scaling.rope_theta`", "10000 contradicts 1000000"],
        ),
        (
            "qwen2_old",
            json!({"rope_type": "default", "partial_rotary_factor": 0.5}),
            &["partial_rotary_factor", "0.5"],
        ),
        ("qwen2_old", json!([1]), &["`rope_scaling`", "object"]),
        (
            "llama_old",
            json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}),
            &["high_freq_factor", "not above"],
        ),
        (
            "phi3_old",
            json!({"type": "linear", "factor": 2}),
            &["linear", "family"],
        ),
        (
            "phi3_old",
            json!({"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}),
            &["short_factor", "1 factors for 48"],
        ),
        (
            "phi3_old",
            json!({"type": "longrope", "short_factor": vec![1.0; 48]}),
            &["long_factor", "missing"],
        ),
    ];
    for (name, scaling, says) in cases {
        check(name, "rope_scaling", scaling.clone(), says);
    }
    let both = json!({"rope_type": "default"});
    check(
        "llama_old",
        "rope_parameters",
        both,
        &["`rope_scaling`", "`rope_parameters`"],
    );
    let flat = json!({"rope_type": "linear", "factor": 8.0});
    check(
        "gemma3_text_new",
        "rope_parameters",
        flat,
        &["`rope_parameters.rope_type`"],
    );
    let nested = json!({"full_attention": {"rope_type": "default"}});
    check(
        "qwen2_new",
        "rope_parameters",
        nested,
        &["`rope_parameters.full_attention`"],
    );
}

#[test]
fn files() {
    let error = |text: &str| {
        let path = Path::new("folder/config.json");
        let error = ModelConfig::from_json(path, text).expect_err("it is refused");
        error.to_string()
    };
    assert!(error("").contains("folder/config.json: not JSON"));
    assert!(error("{\"hidden_size\": NaN}").contains("not JSON"));
    assert!(error("[]").contains("not a JSON object"));
    assert!(error(&"[".repeat(100_000)).contains("not JSON"));

    let dir = tempfile::tempdir().expect("a temporary folder");
    let missing = ModelConfig::read(dir.path()).expect_err("there is no file");
    assert!(missing.to_string().contains("config.json"), "{missing}");
    let file = std::fs::File::create(dir.path().join("config.json")).expect("it is created");
    file.set_len(1 << 40).expect("a sparse file");
    let long = ModelConfig::read(dir.path()).expect_err("it is too long");
    assert!(long.to_string().contains("longer than"), "{long}");
}
