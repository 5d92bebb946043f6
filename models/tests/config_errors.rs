//! Refusals of a `config.json`: each edit of a good file, and the error's text.

use std::path::Path;

use models::config::ModelConfig;
use serde_json::{Value, json};

fn base(name: &str) -> Value {
    let path = format!("{}/tests/configs/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the file is in the repository");
    serde_json::from_str(&text).expect("the file is JSON")
}

/// The error of a good file with one field set to some JSON.
fn refusal(name: &str, field: &str, value: &str) -> String {
    let mut json = base(name);
    json[field] = serde_json::from_str(value).expect("the case is JSON");
    let path = Path::new("folder/config.json");
    let error = ModelConfig::from_json(path, &json.to_string())
        .expect_err(&format!("{name} with `{field}` {value} is refused"))
        .to_string();
    assert!(error.starts_with("folder/config.json: field `"), "{error}");
    error
}

/// Checks a table with one case per line: the file, the field, its value without spaces, and after
/// `=>` the texts that the error must hold, separated by `;`.
fn check(table: &str) {
    for line in table.lines().filter(|line| !line.is_empty()) {
        let (edit, says) = line.split_once(" => ").expect("a case has an arrow");
        let (name, edit) = edit.split_once(' ').expect("a case names a file");
        let (field, value) = edit.split_once(' ').expect("a case names a field");
        let error = refusal(name, field, value);
        for text in says.split("; ") {
            assert!(error.contains(text), "{line}: `{text}` in `{error}`");
        }
    }
}

#[test]
fn unknown_fields_and_values() {
    check(
        r#"
llama_old residual_multiplier 0.22 => `residual_multiplier`; not understood
llama_old residual_multiplier null => `residual_multiplier`; not understood
llama_old sliding_window 4096 => `sliding_window`; 4096
llama_old pretraining_tp 2 => `pretraining_tp`; 2; only 1
llama_old rope_interleaved true => `rope_interleaved`; true
llama_old is_decoder false => `is_decoder`; false
llama_old is_causal false => `is_causal`; false
llama_old is_encoder_decoder true => `is_encoder_decoder`; true
llama_old pruned_heads {"0":[1]} => `pruned_heads`
llama_old quantization_config {"quant_method":"gptq"} => `quantization_config`; gptq
llama_old hidden_act "relu2" => `hidden_act`; relu2; silu
llama_old attention_bias "yes" => `attention_bias`; yes; true or false
llama_old partial_rotary_factor 0.5 => `rope_scaling.partial_rotary_factor`; 0.5
llama_old layer_types ["sliding_attention"] => `layer_types`; 1 entries for 16
mistral_old attention_bias true => `attention_bias`; true; only false
mistral_old num_labels 0 => `num_labels`; 0
mistral_old id2label {} => `id2label`; 0 labels
mistral_old id2label [] => `id2label`; an object
qwen2_old attention_bias true => `attention_bias`; not understood
qwen2_old dual_chunk_attention_config {} => `dual_chunk_attention_config`; not understood
qwen2_old num_nextn_predict_layers 1 => `num_nextn_predict_layers`; 1; 0 or null
qwen2_old use_mrope true => `use_mrope`; true
qwen2_new layer_types ["full_attention","linear_attention"] => `layer_types`; 2 entries for 24
gemma2_old use_bidirectional_attention true => `use_bidirectional_attention`; true
gemma2_old hidden_act "gelu" => `hidden_act`; contradicts
gemma2_old sliding_window_size 1024 => `sliding_window_size`; contradicts
gemma2_old query_pre_attn_scalar null => `query_pre_attn_scalar`; null
gemma2_old final_logit_softcapping 0 => `final_logit_softcapping`; 0
gemma3_text_old attn_logit_softcapping 50.0 => `attn_logit_softcapping`
gemma3_text_old sliding_window_pattern 0 => `sliding_window_pattern`; from 1
gemma3_text_old sliding_window null => `layer_types`; no window
phi3_old lm_head_bias true => `lm_head_bias`; true
phi3_old full_attn_mod 2 => `full_attn_mod`; 2
smollm3_old no_rope_layers [1,0] => `no_rope_layers`; 2 entries for 36
smollm3_old no_rope_layers [2] => `no_rope_layers`; 0 to 1
smollm3_old no_rope_layer_interval 0 => `no_rope_layer_interval`
qwen3_moe_old num_experts_per_tok 129 => `num_experts_per_tok`; 129 of 128
qwen3_moe_old num_experts 65536 => `num_experts`; 3145728 experts in all layers
qwen3_moe_old num_experts 1000000000 => `num_experts`; 1000000000
qwen3_moe_old num_local_experts 64 => `num_experts`; contradicts
qwen3_moe_old decoder_sparse_step 0 => `decoder_sparse_step`; 0
qwen3_moe_old mlp_only_layers [-1] => `mlp_only_layers`; -1
qwen3_moe_old shared_expert_intermediate_size 64 => `shared_expert_intermediate_size`
"#,
    );
    let sliding = json!(vec!["sliding_attention"; 24]).to_string();
    let error = refusal("qwen2_new", "layer_types", &sliding);
    assert!(error.contains("no window to slide"), "{error}");
    let linear = json!(vec!["linear_attention"; 24]).to_string();
    let error = refusal("qwen2_new", "layer_types", &linear);
    assert!(error.contains("`linear_attention`"), "{error}");
}

#[test]
fn architectures() {
    check(
        r#"
qwen2_old architectures ["Qwen2ForCausalML"] => `Qwen2ForCausalML`; supported are Qwen2ForCausalLM,
qwen2_old architectures ["BertForMaskedLM"] => `architectures`; Olmo2ForCausalLM; LlamaForCausalLM
qwen2_old architectures ["Qwen2ForCausalLM","Qwen2ForRewardModel"] => `architectures`; 2 names
qwen2_old architectures "Qwen2ForCausalLM" => `architectures`; list of strings
qwen2_old architectures ["LlamaForCausalLM"] => `model_type`; `qwen2`; `llama`
qwen2_old model_type "qwen3" => `model_type`; `qwen3`; `qwen2`
qwen2_old model_type 2 => `model_type`; a string
"#,
    );
    let mut nameless = base("qwen2_old");
    nameless["architectures"] = Value::Null;
    for (model_type, says) in
        [(json!("qwen33"), "supported are qwen3, "), (Value::Null, "`model_type`: is missing")]
    {
        nameless["model_type"] = model_type;
        let path = Path::new("config.json");
        let error = ModelConfig::from_json(path, &nameless.to_string()).expect_err("no family");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn sizes() {
    check(
        r#"
qwen2_old vocab_size 0 => `vocab_size`; from 1
qwen2_old vocab_size 1000000000000 => `vocab_size`; 1000000000000
qwen2_old vocab_size null => `vocab_size`; null
qwen2_old hidden_size 1000000000000 => `hidden_size`; to 131072
qwen2_old hidden_size -896 => `hidden_size`; -896
qwen2_old hidden_size 896.0 => `hidden_size`; 896.0; a whole number
qwen2_old hidden_size "896" => `hidden_size`; a whole number
qwen2_old hidden_size 900 => `num_attention_heads`; do not divide
qwen2_old num_hidden_layers 1000000000 => `num_hidden_layers`; to 4096
qwen2_old num_hidden_layers 0 => `num_hidden_layers`
qwen2_old num_attention_heads 13 => `num_key_value_heads`; does not divide the 13
qwen2_old num_attention_heads 18446744073709551615 => `num_attention_heads`
qwen2_old num_attention_heads 99999999999999999999999 => `num_attention_heads`
qwen2_old num_key_value_heads 4 => `num_key_value_heads`; 4 does not divide the 14
qwen2_old num_key_value_heads 0 => `num_key_value_heads`
qwen2_old head_dim 63 => 63 rotated dimensions; not pairs
qwen2_old head_dim 0 => `head_dim`
qwen2_old head_dim 1000000 => `head_dim`
qwen2_old intermediate_size 1099511627776 => `intermediate_size`
qwen2_old max_position_embeddings 1099511627776 => `max_position_embeddings`
qwen2_old max_window_layers -1 => `max_window_layers`; -1
qwen2_old sliding_window 0 => `sliding_window`; from 1
qwen2_old rms_norm_eps 0.0 => `rms_norm_eps`; 0.0
qwen2_old rms_norm_eps -1e-6 => `rms_norm_eps`; -1e-6
qwen2_old rms_norm_eps "tiny" => `rms_norm_eps`; tiny
qwen2_old rms_norm_eps 1e-300 => `rms_norm_eps`; 1e-300
qwen2_old rope_theta 0 => `rope_theta`; 0
qwen2_old rope_theta 0.5 => `rope_theta`; 0.5 is not above 1
qwen2_old rope_theta 1e300 => `rope_theta`; 1e+300
qwen2_old tie_word_embeddings 1 => `tie_word_embeddings`; true or false
"#,
    );
    // Each size is within its bound, but not all of them together.
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
    check(
        r#"
qwen2_old rope_scaling {"type":"dynamic","factor":2.0} => `rope_scaling.rope_type`; `dynamic`; neighbours
qwen2_old rope_scaling {"type":"ntk-by-parts"} => `ntk-by-parts`
qwen2_old rope_scaling {"type":"linear"} => `rope_scaling.factor`; missing
qwen2_old rope_scaling {"type":"linear","factor":0} => `rope_scaling.factor`; 0
qwen2_old rope_scaling {"type":"linear","factor":2.0,"mrope_section":[1]} => `rope_scaling.mrope_section`; not understood
qwen2_old rope_scaling {"type":"linear","rope_type":"yarn","factor":2.0} => contradicts `linear`
qwen2_old rope_scaling {"rope_theta":10000.0} => `rope_scaling.rope_theta`; 10000 contradicts 1000000
qwen2_old rope_scaling {"rope_type":"default","partial_rotary_factor":0.5} => partial_rotary_factor; 0.5
qwen2_old rope_scaling {"type":"yarn","factor":4.0,"original_max_position_embeddings":1} => original_max_position_embeddings
qwen2_old rope_scaling [1] => `rope_scaling`; an object
llama_old rope_scaling {"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":4} => high_freq_factor; not above
llama_old rope_parameters {"rope_type":"default"} => `rope_scaling`; `rope_parameters`
phi3_old rope_scaling {"type":"linear","factor":2} => `linear`; family
phi3_old rope_scaling {"type":"longrope","short_factor":[1.0],"long_factor":[1.0]} => short_factor; 1 factors for 48
phi3_old rope_scaling {"type":"longrope"} => short_factor; missing
phi3_old partial_rotary_factor 2 => partial_rotary_factor; 2
gemma3_text_new rope_parameters {"rope_type":"linear","factor":8.0} => `rope_parameters.rope_type`; not understood
qwen2_new rope_parameters {"full_attention":{"rope_type":"default"}} => `rope_parameters.full_attention`
"#,
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
    let path = dir.path().join("config.json");
    std::fs::write(&path, b"{\"\xff\": 1}").expect("it is written");
    let bytes = ModelConfig::read(dir.path()).expect_err("it is not text");
    assert!(bytes.to_string().contains("not UTF-8"), "{bytes}");
    let file = std::fs::File::create(&path).expect("it is created");
    file.set_len(1 << 40).expect("a sparse file");
    let long = ModelConfig::read(dir.path()).expect_err("it is too long");
    assert!(long.to_string().contains("longer than"), "{long}");
}
