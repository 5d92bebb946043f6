//! candle-transformers' own Qwen2 and Llama on the same folders: an independent implementation, in
//! another language than transformers.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::llama::{Cache, Llama, LlamaConfig};
use candle_transformers::models::qwen2;
use models::model::{LoadOptions, Model};
use models::{Output, OutputSpec, PackItem, Runner};
use serde::de::DeserializeOwned;

use crate::cases::Cases;
use crate::golden::{Closeness, Reference, read};
use crate::sequences::forward;

/// Tokens run one by one after the prompt.
const DECODED: usize = 4;

/// A model that returns the logits of the last of some tokens, which follow `offset` others.
type LastLogits = Box<dyn FnMut(&[u32], usize) -> candle_core::Result<Vec<f32>>>;

fn parse<T: DeserializeOwned>(dir: &Path) -> T {
    let text = std::fs::read(dir.join("config.json")).expect("there");
    serde_json::from_slice(&text).expect("the fields that candle needs")
}

fn weights(dir: &Path) -> candle_core::Result<VarBuilder<'static>> {
    let file = dir.join("model.safetensors");
    let tensors = candle_core::safetensors::load(file, &Device::Cpu)?;
    Ok(VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu))
}

fn batch_of_one(ids: &[u32]) -> candle_core::Result<Tensor> {
    Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)
}

fn qwen2(dir: &Path) -> candle_core::Result<LastLogits> {
    let mut config: qwen2::Config = parse(dir);
    // candle's mask has a window for every `use_sliding_window`.
    assert!(!config.use_sliding_window);
    config.sliding_window = config.max_position_embeddings;
    let mut model = qwen2::ModelForCausalLM::new(&config, weights(dir)?)?;
    Ok(Box::new(move |ids, offset| {
        if offset == 0 {
            model.clear_kv_cache();
        }
        let logits = model.forward(&batch_of_one(ids)?, offset)?;
        logits.flatten_all()?.to_vec1()
    }))
}

fn llama(dir: &Path) -> candle_core::Result<LastLogits> {
    let config = parse::<LlamaConfig>(dir).into_config(false);
    let model = Llama::load(weights(dir)?, &config)?;
    let new_cache = move || Cache::new(true, DType::F32, &config, &Device::Cpu);
    let mut cache = new_cache()?;
    Ok(Box::new(move |ids, offset| {
        if offset == 0 {
            cache = new_cache()?;
        }
        let logits = model.forward(&batch_of_one(ids)?, offset, &mut cache)?;
        logits.flatten_all()?.to_vec1()
    }))
}

/// Our logits of the last token, computed from all tokens at once.
fn ours(runner: &mut Runner, token_ids: &[u32]) -> Result<Vec<f32>, String> {
    let item = PackItem {
        token_ids: token_ids.to_vec(),
        start: 0,
        adapter: None,
        outputs: vec![(token_ids.len() - 1, OutputSpec::Vocab)],
        blocks: Vec::new(),
    };
    match forward(runner, &[item])?.pop() {
        Some(Output::Vocab(logits)) => Ok(logits),
        other => Err(format!("logits were requested, not {other:?}")),
    }
}

fn check(name: &str, load: fn(&Path) -> candle_core::Result<LastLogits>) {
    let parent = tempfile::tempdir().expect("a folder");
    let cases = Cases::read();
    let case = cases.model(name).expect("a case");
    let (dir, _) = case.make(parent.path()).expect("made");
    let model = Model::load(&dir, &LoadOptions::default()).expect("loaded");
    let mut runner = Runner::new(model.decoder, model.head);
    let mut theirs = load(&dir).expect("loaded by candle");
    let mut closeness = Closeness::default();
    let reference: Reference = read("reference.json");
    for prompt in &reference.prompts {
        let mut ids = prompt.token_ids.clone();
        let mut done = 0;
        for next in 0..DECODED {
            let logits = theirs(&ids[done..], done).expect("computed by candle");
            let own = ours(&mut runner, &ids).expect("computed");
            closeness.see_all(&own, &logits).expect("one vocabulary");
            done = ids.len();
            ids.push(u32::try_from(next * 7).expect("small"));
        }
    }
    println!("{name}: {}", closeness.verdict().expect(name));
}

#[test]
fn qwen2_equals_candle_transformers() {
    check("qwen2", qwen2);
}

#[test]
fn llama_equals_candle_transformers() {
    check("llama", llama);
    check("llama3", llama);
}
