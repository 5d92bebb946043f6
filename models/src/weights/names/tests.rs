//! Module paths to sites, and places to tensors.

use std::path::Path;
use std::sync::Arc;

use super::{Names, TensorRows};
use crate::config::ModelConfig;
use crate::weights::{LayerPart, Norm, Param, Projection, Site};

fn names(model_type: &str) -> Names {
    let json = format!(
        r#"{{"model_type": "{model_type}", "vocab_size": 37, "hidden_size": 24,
            "intermediate_size": 20, "num_hidden_layers": 12, "num_attention_heads": 6,
            "num_key_value_heads": 3, "head_dim": 8{}}}"#,
        match model_type {
            "qwen3_moe" => r#", "num_experts": 11, "mlp_only_layers": [1]"#,
            _ => "",
        }
    );
    let config = ModelConfig::from_json(Path::new("config.json"), &json);
    Names::new(&Arc::new(config.expect("it is read")), |_| false)
}

/// Checks a module's linear layers and the end of the last one's rows; `None` for an unknown
/// module.
fn check(model_type: &str, module: &str, expected: Option<(&[Site], usize)>) {
    let sites = names(model_type).sites(module);
    let found = sites.as_ref().map(|sites| {
        let mut end = 0;
        for (_, rows) in sites {
            assert_eq!(rows.start, end, "{module}: rows follow each other");
            end = rows.end;
        }
        let sites: Vec<Site> = sites.iter().map(|(site, _)| *site).collect();
        (sites, end)
    });
    let expected = expected.map(|(sites, end)| (sites.to_vec(), end));
    assert_eq!(found, expected, "{model_type}: {module}");
}

#[test]
fn modules() {
    use Projection::{Down, ExpertDown, ExpertGate, Gate, K, O, Q, Router, Up, V};
    let layer = |layer, projection| Site::Layer(layer, projection);
    check("llama", "lm_head", Some((&[Site::Vocab], 37)));
    check("llama", "model.embed_tokens", Some((&[Site::Embedding], 24)));
    check("llama", "model.layers.11.self_attn.q_proj", Some((&[layer(11, Q)], 48)));
    check("llama", "model.layers.0.self_attn.k_proj", Some((&[layer(0, K)], 24)));
    check("llama", "model.layers.0.self_attn.o_proj", Some((&[layer(0, O)], 24)));
    check("llama", "model.layers.0.mlp.down_proj", Some((&[layer(0, Down)], 24)));
    let qkv = [layer(2, Q), layer(2, K), layer(2, V)];
    check("phi3", "model.layers.2.self_attn.qkv_proj", Some((&qkv, 96)));
    let gate_up = [layer(2, Gate), layer(2, Up)];
    check("phi3", "model.layers.2.mlp.gate_up_proj", Some((&gate_up, 40)));
    check("qwen3_moe", "model.layers.0.mlp.gate", Some((&[layer(0, Router)], 11)));
    let gate = [layer(0, ExpertGate(10))];
    check("qwen3_moe", "model.layers.0.mlp.experts.10.gate_proj", Some((&gate, 768)));
    let down = [layer(0, ExpertDown(0))];
    check("qwen3_moe", "model.layers.0.mlp.experts.0.down_proj", Some((&down, 24)));
    check("qwen3_moe", "model.layers.1.mlp.gate_proj", Some((&[layer(1, Gate)], 20)));
}

#[test]
fn unknown_module_has_no_sites() {
    for module in [
        "",
        "model",
        "score",
        "model.norm",
        "model.layers",
        "model.layers.12.self_attn.q_proj",
        "model.layers.01.self_attn.q_proj",
        "model.layers.+1.self_attn.q_proj",
        "model.layers.-1.self_attn.q_proj",
        "model.layers.99999999999999999999.self_attn.q_proj",
        "model.layers.0.self_attn",
        "model.layers.0.self_attn.qkv_proj",
        "model.layers.0.self_attn.q_norm",
        "model.layers.0.self_attn.q_proj.lora",
        "model.layers.0.mlp.gate",
        "model.layers.0.mlp.experts.0.gate_proj",
        "layers.0.self_attn.q_proj",
    ] {
        check("llama", module, None);
    }
    check("phi3", "model.layers.0.self_attn.q_proj", None);
    for module in ["mlp.gate_proj", "mlp.experts.11.up_proj", "mlp.experts.0", "mlp.experts.0.x"] {
        check("qwen3_moe", &format!("model.layers.0.{module}"), None);
    }
    check("qwen3_moe", "model.layers.1.mlp.gate", None);
}

#[test]
fn places() {
    let at = |model_type, part| {
        let names = names(model_type);
        let place = Param::Layer(1, part);
        (names.locate(place), names.unfused(place))
    };
    let key = LayerPart::Weight(Projection::K);
    let (location, unfused) = at("phi3", key);
    assert_eq!(location.name, "model.layers.1.self_attn.qkv_proj.weight");
    let part = TensorRows { rows: 48..72, of: 96 };
    assert_eq!(location.part, Some(part));
    assert_eq!(unfused, "model.layers.1.self_attn.k_proj.weight");
    let (location, unfused) = at("qwen2", LayerPart::Bias(Projection::K));
    assert_eq!((location.name.as_str(), location.part), (unfused.as_str(), None));
    assert_eq!(unfused, "model.layers.1.self_attn.k_proj.bias");
    // One name denotes two norms, depending on the layer's other norms.
    for (model_type, norm, name) in [
        ("llama", Norm::PreAttention, "input_layernorm"),
        ("llama", Norm::PreMlp, "post_attention_layernorm"),
        ("olmo2", Norm::PostAttention, "post_attention_layernorm"),
        ("olmo2", Norm::PostMlp, "post_feedforward_layernorm"),
        ("gemma2", Norm::PostAttention, "post_attention_layernorm"),
        ("gemma2", Norm::PreMlp, "pre_feedforward_layernorm"),
        ("gemma3_text", Norm::Q, "self_attn.q_norm"),
    ] {
        let (location, _) = at(model_type, LayerPart::Norm(norm));
        assert_eq!(location.name, format!("model.layers.1.{name}.weight"));
    }
}
