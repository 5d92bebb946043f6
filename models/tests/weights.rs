//! Models from folders: every family and head, storage, shards, digests, variables.

mod folder;

use std::sync::Arc;

use candle_core::{DType, Tensor};
use chat::Positioned;
use folder::{Tensors, Written, config, model, parse, write, write_shards};
use models::config::{HeadConfig, ModelConfig};
use models::decoder::RowSelection;
use models::model::assemble;
use models::random::RandomWeights;
use models::weights::{Checkpoint, Compute, Names, Numerics, Storage, TrainableWeights};
use models::{Decoder, LoadOptions, Model, OutputSpec, PackItem, pack};
use serde_json::{Value, json};

const FAMILIES: &[&str] = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "gemma2",
    "gemma3_text",
    "phi3",
    "olmo2",
    "smollm3",
];

fn load(dir: &std::path::Path, storage: Storage) -> Model {
    let options = LoadOptions { storage, ..LoadOptions::default() };
    Model::load(dir, &options).expect("the folder is good")
}

/// The hidden states of a few tokens: `[5, hidden]`.
fn hidden(decoder: &Decoder) -> Tensor {
    let item = PackItem {
        token_ids: vec![3, 1, 36, 0, 7],
        start: 0,
        adapter: None,
        outputs: vec![(4, OutputSpec::Hidden)],
        blocks: Vec::new(),
    };
    let batch = pack(&[item]).expect("one item is a batch");
    decoder.forward(&batch, &[], None, RowSelection::All).expect("it runs")
}

fn rows(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.flatten_all().expect("it is contiguous");
    flat.to_vec1().expect("it is f32")
}

/// Checks that a model loaded from files computes the bits of the model that was written.
fn check(config_json: &Value) -> Model {
    let config = parse(config_json);
    let (tensors, decoder, head) = model(&config, "F32");
    let dir = tempfile::tempdir().expect("a temporary folder");
    write(dir.path(), config_json, &tensors);
    let loaded = load(dir.path(), Storage::AsStored);
    let expected = hidden(&decoder);
    assert_eq!(rows(&hidden(&loaded.decoder)), rows(&expected), "{config_json}");
    assert_eq!(head.is_some(), loaded.head.is_some(), "{config_json}");
    if let (Some(head), Some(loaded)) = (&head, &loaded.head) {
        let [head, loaded] = [head, loaded].map(|h| h.apply(&expected).expect("it runs"));
        assert_eq!(rows(&head), rows(&loaded), "{config_json}");
    }
    let numbers: usize = tensors.values().map(|tensor| tensor.bytes.len() / 4).sum();
    assert_eq!(loaded.parameters, numbers as u64, "{config_json}");
    assert_eq!(config.parameters(), Some(numbers as u64), "{config_json}");
    loaded
}

#[test]
fn every_family() {
    for family in FAMILIES {
        let mut json = config(family);
        check(&json);
        json["tie_word_embeddings"] = json!(true);
        check(&json);
    }
}

#[test]
fn biases() {
    for family in ["llama", "smollm3", "qwen3", "olmo2", "gemma2"] {
        let mut json = config(family);
        json["attention_bias"] = json!(true);
        if ["llama", "smollm3"].contains(&family) {
            json["mlp_bias"] = json!(true);
        }
        check(&json);
    }
}

#[test]
fn every_head() {
    let cases = [
        ("llama", "LlamaForSequenceClassification", HeadConfig::Sequence { n_labels: 3 }),
        ("qwen3", "Qwen3ForTokenClassification", HeadConfig::Token { n_labels: 3 }),
        ("qwen2", "Qwen2ForRewardModel", HeadConfig::Reward { n_labels: 1 }),
        ("qwen2", "Qwen2ForProcessRewardModel", HeadConfig::Process { n_labels: 2 }),
    ];
    for (family, architecture, head) in cases {
        let mut json = config(family);
        json["architectures"] = json!([architecture]);
        json["num_labels"] = json!(3);
        assert_eq!(check(&json).config.head, head, "{architecture}");
    }
}

/// A causal model's folder with a value head's tensors has a value head, under either name.
#[test]
fn value_heads() {
    let json = config("llama");
    let written = ModelConfig { head: HeadConfig::Value, ..(*parse(&json)).clone() };
    let (tensors, decoder, head) = model(&Arc::new(written), "F32");
    let expected = hidden(&decoder);
    let expected = head.expect("a value head").apply(&expected).expect("it runs");
    for prefix in ["v_head.summary.", "v_head."] {
        let renamed: Tensors = tensors
            .iter()
            .map(|(name, tensor)| (name.replace("v_head.summary.", prefix), tensor.clone()))
            .collect();
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(dir.path(), &json, &renamed);
        let loaded = load(dir.path(), Storage::AsStored);
        assert_eq!(loaded.config.head, HeadConfig::Value);
        let head = loaded.head.as_ref().expect("a value head");
        let values = head.apply(&hidden(&loaded.decoder)).expect("it runs");
        assert_eq!(rows(&values), rows(&expected), "{prefix}");
        assert!(loaded.decoder.vocabulary().is_some());
    }
}

/// Each storage of each file type is the conversion of the file's numbers, and is reported.
#[test]
fn storage() {
    let json = config("phi3");
    let config = parse(&json);
    for (dtype, stored) in [("F32", DType::F32), ("F16", DType::F16), ("BF16", DType::BF16)] {
        let (tensors, ..) = model(&config, dtype);
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(dir.path(), &json, &tensors);
        let exact = load(dir.path(), Storage::F32);
        let exact = exact.decoder.vocabulary().expect("a vocabulary");
        for (storage, kept) in [
            (Storage::AsStored, stored),
            (Storage::F32, DType::F32),
            (Storage::F16, DType::F16),
            (Storage::Bf16, DType::BF16),
        ] {
            let loaded = load(dir.path(), storage);
            let vocabulary = loaded.decoder.vocabulary().expect("a vocabulary");
            assert_eq!(vocabulary.tensor().dtype(), kept, "{dtype} as {storage:?}");
            let converted = exact.to_dtype(kept).expect("it converts");
            let [found, expected] =
                [vocabulary, &converted].map(|matrix| matrix.to_rows().expect("it unpacks"));
            assert_eq!(found, expected, "{dtype} as {storage:?}");
            check_memory(&loaded, kept);
        }
    }
}

/// Checks that norms are f32, and matrices, padding of the last panels included, have the requested
/// type.
fn check_memory(loaded: &Model, kept: DType) {
    let config = &loaded.config;
    let norms = 4 * (2 * config.layers.len() + 1) * config.hidden_size;
    let memory = loaded.memory;
    let matrices = if kept == DType::F32 {
        memory.f32_bytes - norms as u64
    } else {
        assert_eq!(memory.f32_bytes, norms as u64);
        memory.f16_bytes.max(memory.bf16_bytes)
    };
    assert_eq!(memory.total_bytes(), matrices + norms as u64);
    let width = kept.size_in_bytes() as u64;
    let exact = (loaded.parameters - norms as u64 / 4) * width;
    assert!(matrices >= exact, "{matrices} bytes for {exact}");
    assert!(matrices <= exact * 3 / 2, "{matrices} bytes for {exact}");
}

/// Projections are pairs of bf16 or integers; router, embedding and vocabulary have the type of the
/// file.
#[test]
fn projections_of_other_numerics() {
    for (family, compute) in [
        ("phi3", Compute::Int8),
        ("phi3", Compute::Bf16),
        ("qwen3_moe", Compute::Int8),
        ("qwen3_moe", Compute::Bf16),
    ] {
        let json = config(family);
        let (tensors, ..) = model(&parse(&json), "BF16");
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(dir.path(), &json, &tensors);
        let stored = load(dir.path(), Storage::AsStored);
        let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
        let loaded = Model::load(dir.path(), &options).expect("the folder is good");
        let vocabulary = loaded.decoder.vocabulary().expect("a vocabulary");
        assert_eq!(vocabulary.tensor().dtype(), DType::BF16, "{family}");
        assert_eq!(loaded.parameters, stored.parameters, "{family}");
        let (memory, before) = (loaded.memory, stored.memory);
        assert_eq!(memory.f32_bytes, before.f32_bytes, "{family}: norms");
        assert_eq!(memory.f16_bytes, 0, "{family}");
        // Embedding and vocabulary `[37, 24]` in panels of 16, and routers `[5, 24]` on two layers.
        let routers = if family == "qwen3_moe" { 2 } else { 0 };
        let kept = 2 * 24 * (2 * 48 + routers * 16);
        if compute == Compute::Int8 {
            assert_eq!(memory.bf16_bytes, kept, "{family}");
            assert!(memory.int8_bytes > (before.bf16_bytes - kept) / 2, "{family}");
        } else {
            assert_eq!((memory.bf16_bytes, memory.int8_bytes), (before.bf16_bytes, 0), "{family}");
        }
        let [x, y] = [&stored, &loaded].map(|model| rows(&hidden(&model.decoder)));
        let far = x.iter().zip(&y).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(far > 0.0 && far < 0.2, "{family} in {compute:?}: {far}");
    }
}

/// A weight beyond the range of bf16 is an error, and a number between two bf16 is rounded.
#[test]
fn weights_are_rounded_to_pairs_of_bf16() {
    let json = config("llama");
    let (mut tensors, ..) = model(&parse(&json), "F32");
    let name = "model.layers.0.self_attn.q_proj.weight";
    let dir = tempfile::tempdir().expect("a temporary folder");
    let options = LoadOptions { compute: Some(Compute::Bf16), ..LoadOptions::default() };
    write(dir.path(), &json, &tensors);
    let loaded = Model::load(dir.path(), &options).expect("the folder is good");
    assert!(loaded.memory.bf16_bytes > 0 && loaded.numerics.numerics == Numerics::Bf16);
    let weight = tensors.get_mut(name).expect("a projection");
    weight.bytes[..4].copy_from_slice(&f32::MAX.to_le_bytes());
    write(dir.path(), &json, &tensors);
    let error = Model::load(dir.path(), &options).expect_err("it is too large").to_string();
    assert!(error.contains(name) && error.contains("too large"), "{error}");
}

#[test]
fn shards_are_the_same_model() {
    let json = config("qwen3_moe");
    let (tensors, decoder, _) = model(&parse(&json), "F32");
    let dir = tempfile::tempdir().expect("a temporary folder");
    write_shards(dir.path(), &json, &tensors);
    let loaded = load(dir.path(), Storage::AsStored);
    assert_eq!(rows(&hidden(&loaded.decoder)), rows(&hidden(&decoder)));
    assert_eq!(loaded.files.len(), 4);
}

/// The digest depends on the content: not on the folder, and on every byte.
#[test]
fn digests() {
    let mut json = config("llama");
    let (mut tensors, ..) = model(&parse(&json), "BF16");
    let digest = |json: &Value, tensors: &Tensors| {
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(dir.path(), json, tensors);
        load(dir.path(), Storage::AsStored).digest
    };
    let first = digest(&json, &tensors);
    assert_eq!(first, digest(&json, &tensors));
    assert!(first.starts_with("sha256:") && first.len() == 7 + 64, "{first}");
    let norm = tensors.get_mut("model.norm.weight").expect("a final norm");
    norm.bytes[0] ^= 1;
    let weights = digest(&json, &tensors);
    json["bos_token_id"] = json!(1);
    let both = digest(&json, &tensors);
    assert!(first != weights && weights != both && first != both);
}

/// Tensors that transformers ignores too.
#[test]
fn harmless_leftovers() {
    let mut tied = config("llama");
    tied["tie_word_embeddings"] = json!(true);
    let mut scored = config("llama");
    scored["architectures"] = json!(["LlamaForSequenceClassification"]);
    for json in [tied, scored] {
        let (mut tensors, ..) = model(&parse(&json), "F16");
        let embedding = tensors["model.embed_tokens.weight"].clone();
        tensors.insert("lm_head.weight".into(), embedding);
        for layer in 0..3 {
            let name = format!("model.layers.{layer}.self_attn.rotary_emb.inv_freq");
            tensors.insert(name, Written::new("F32", &[4], &[1.0, 0.1, 0.01, 0.001]));
        }
        let dir = tempfile::tempdir().expect("a temporary folder");
        write(dir.path(), &json, &tensors);
        load(dir.path(), Storage::AsStored);
    }
}

/// Every tensor becomes an f32 variable under a name of its own, and computes the same.
#[test]
fn variables() {
    for family in ["llama", "phi3", "qwen2"] {
        let mut json = config(family);
        json["architectures"] = json!(null);
        let config = parse(&json);
        let random = RandomWeights { seed: 7, dtype: DType::F32 };
        let names = Names::new(&config, |_| false);
        let mut source = TrainableWeights::new(random, names);
        let (decoder, _) = assemble(&config, &mut source).expect("seeded weights are good");
        let (_, variables) = source.into_parts();
        let (_, untracked, _) = model(&config, "F32");
        assert_eq!(rows(&hidden(&decoder)), rows(&hidden(&untracked)));
        let fused = |name: &String| name.contains("qkv_proj") || name.contains("gate_up_proj");
        assert!(!variables.keys().any(fused), "{family}");
        let numbers: usize =
            variables.values().map(|variable| variable.as_tensor().elem_count()).sum();
        assert!(numbers as u64 >= config.parameters().expect("it fits"));
        for (name, variable) in &variables {
            assert!(variable.as_tensor().is_variable(), "{name}");
            assert_eq!(variable.as_tensor().dtype(), DType::F32, "{name}");
        }
    }
}

#[test]
fn folder_changed_while_loading_gives_opened_files_or_an_error() {
    let json = config("llama");
    let (tensors, ..) = model(&parse(&json), "F32");
    let dir = tempfile::tempdir().expect("a temporary folder");
    write(dir.path(), &json, &tensors);
    let path = dir.path().join("model.safetensors");
    let before = std::fs::read(&path).expect("it was written");
    let opened = Checkpoint::open(dir.path()).expect("the folder is good");
    let file = &opened.files()[0];
    // Another file takes the name: the open one is still read.
    let other = dir.path().join("other.safetensors");
    std::fs::write(&other, vec![0; before.len()]).expect("the folder is ours");
    std::fs::rename(&other, &path).expect("the folder is ours");
    let read = |file: &Positioned| file.read_all(u64::MAX);
    assert_eq!(read(file).expect("it is open"), before);
    // The open file itself is truncated: an error that names it, and no zeros.
    std::fs::write(&path, &before).expect("the folder is ours");
    let opened = Checkpoint::open(dir.path()).expect("the folder is good");
    std::fs::write(&path, &before[..before.len() / 2]).expect("the folder is ours");
    let error = read(&opened.files()[0]).expect_err("half of it is gone");
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}
