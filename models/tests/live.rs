//! Two views of one set of variables: the served weights are the trained ones, without a copy.

#[expect(dead_code, reason = "of the small models only some parts are wanted")]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Storage, Tensor, Var};
use models::adapter::{Adapter, AdapterTable, Segment};
use models::config::MlpConfig;
use models::decoder::RowSelection;
use models::live::View;
use models::ops::{check_gradients, token_logprobs};
use models::random::RandomWeights;
use models::weights::Site;
use models::weights::{DetachedWeights, Names, Param, Projection, WeightSource};
use models::{LiveAdapter, LiveModel, Matrix, ModelConfig, PackItem, RaggedBatch, pack};

use support::{VOCAB, adapter, shapes};

fn live(config: &ModelConfig) -> LiveModel {
    let config = Arc::new(config.clone());
    let source = RandomWeights { seed: 7, dtype: DType::F32 };
    let names = Names::new(&config, |_| false);
    LiveModel::new(&config, source, &names).expect("random weights fit")
}

/// Every token of the vocabulary, so that every row of the embedding counts.
fn batch() -> RaggedBatch {
    let ids: Vec<u32> = (0..70).map(|i| i * 27 % 70).collect();
    assert_eq!(ids.len(), VOCAB);
    let items = [0..9, 9..10, 10..70].map(|range| PackItem {
        token_ids: ids[range].to_vec(),
        start: 0,
        adapter: None,
        outputs: Vec::new(),
        blocks: Vec::new(),
    });
    pack(&items).expect("they have tokens")
}

/// All outputs: hidden states, log-probabilities, the head's outputs.
fn outputs(view: &View, batch: &RaggedBatch, segments: &[Segment]) -> Vec<Tensor> {
    let hidden = view.decoder.forward(batch, segments, None, RowSelection::All);
    let hidden = hidden.expect("the decoder runs");
    let mut outputs = vec![hidden.clone()];
    if let Some(vocabulary) = view.decoder.vocabulary() {
        let targets: Vec<u32> = batch.token_ids.iter().map(|id| (id * 3 + 1) % 70).collect();
        outputs.push(token_logprobs(&hidden, vocabulary, &targets, None).expect("it is read"));
    }
    let own = segments.iter().find_map(|one| one.adapter.head.as_ref());
    if let Some(head) = own.or(view.head.as_ref()) {
        outputs.push(head.apply(&hidden).expect("it is read"));
    }
    outputs
}

fn bits(outputs: &[Tensor]) -> Vec<u32> {
    let numbers = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
    let flat = |tensor| numbers(tensor).expect("f32 on the CPU");
    outputs.iter().flat_map(flat).map(f32::to_bits).collect()
}

fn address(tensor: &Tensor) -> usize {
    let (storage, _) = tensor.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { unreachable!("the tests run on the CPU") };
    let numbers: &[f32] = storage.as_slice().expect("variables are f32");
    numbers.as_ptr().addr()
}

/// Writes in place, as an optimiser does.
fn step(variable: &Var) {
    let moved = (variable.as_tensor().detach() * 1.25).and_then(|moved| moved + 0.125);
    let moved = moved.expect("arithmetic works");
    variable.set(&moved).expect("the shapes are equal");
}

/// Whether a variable belongs to an expert, which no token may visit.
fn is_an_experts(name: &str) -> bool {
    name.contains("experts")
}

#[test]
fn served_view_has_the_bits_of_the_trained_view() {
    for (what, config) in shapes() {
        let live = live(&config);
        let batch = batch();
        let served = outputs(&live.detached, &batch, &[]);
        assert!(served.iter().all(|output| !output.track_op()), "{what}");
        let tracked = outputs(&live.tracked, &batch, &[]);
        assert!(tracked.iter().all(Tensor::track_op), "{what}");
        let mut before = bits(&served);
        assert_eq!(before, bits(&tracked), "{what}");
        for (name, variable) in &live.variables {
            step(variable);
            let after = bits(&outputs(&live.detached, &batch, &[]));
            assert!(after != before || is_an_experts(name), "{what}: {name}");
            assert_eq!(after, bits(&outputs(&live.tracked, &batch, &[])), "{what}");
            before = after;
        }
    }
}

#[test]
fn views_share_their_storage() {
    for (what, config) in shapes() {
        let live = live(&config);
        let names = Names::new(&live.config, |_| false);
        let mut source = DetachedWeights::new(&names, &live.variables);
        let embedding = source.matrix(Param::Embedding, VOCAB, 24).expect("it is there");
        let name = names.unfused(Param::Embedding);
        let variable = address(live.variables[&name].as_tensor());
        assert_eq!(address(embedding.tensor()), variable, "{what}");
        let [tracked, served] = [live.tracked, live.detached].map(|view| {
            let vocabulary = view.decoder.vocabulary();
            vocabulary.map(Matrix::tensor).map(address)
        });
        assert_eq!(tracked, served, "{what}");
    }
}

#[test]
fn updated_view_equals_a_fresh_model() {
    for (what, config) in shapes() {
        let live = live(&config);
        live.variables.values().for_each(step);
        let copies: BTreeMap<String, Var> = live
            .variables
            .iter()
            .map(|(name, variable)| {
                let copy = Var::from_tensor(&variable.as_detached_tensor());
                (name.clone(), copy.expect("it is copied"))
            })
            .collect();
        let names = Names::new(&live.config, |_| false);
        let source = DetachedWeights::new(&names, &copies);
        let fresh = LiveModel::new(&live.config, source, &names).expect("all are there");
        let batch = batch();
        let served = bits(&outputs(&live.detached, &batch, &[]));
        assert_eq!(served, bits(&outputs(&fresh.detached, &batch, &[])), "{what}");
    }
}

#[test]
fn missing_or_misshapen_variable_is_named() {
    let (_, config) = shapes().remove(0);
    let live = live(&config);
    let names = Names::new(&live.config, |_| false);
    let mut fewer = live.variables.clone();
    fewer.remove("model.norm.weight");
    let error = models::model::assemble(&live.config, &mut DetachedWeights::new(&names, &fewer));
    let error = error.expect_err("the last norm is gone").to_string();
    assert!(error.contains("model.norm.weight"), "{error}");
    let mut source = DetachedWeights::new(&names, &live.variables);
    let norm = Param::FinalNorm;
    assert!(source.vector(norm, 25).is_err());
    assert!(source.matrix(norm, 24, 24).is_err());
}

fn segments(adapter: &Arc<Adapter>, batch: &mut RaggedBatch) -> Vec<Segment> {
    let mut table = AdapterTable::default();
    let slot = table.insert(adapter.clone());
    batch.adapters = vec![Some(slot); batch.adapters.len()];
    table.segments(batch).expect("the slot is filled")
}

#[test]
fn adapter_views_share_their_storage() {
    for (what, config) in shapes() {
        let base = live(&config).detached;
        let start = adapter(&config, 11, 3);
        let live = LiveAdapter::new(&start).expect("f32 factors are copied");
        assert_eq!(live.detached.digest, "live:test 11");
        let mut batch = batch();
        let [start, tracked, served] =
            [&start, &live.tracked, &live.detached].map(|adapter| segments(adapter, &mut batch));
        let first = outputs(&base, &batch, &served);
        assert!(first.iter().all(|output| !output.track_op()), "{what}");
        assert_eq!(bits(&first), bits(&outputs(&base, &batch, &start)), "{what}");
        let trained = outputs(&base, &batch, &tracked);
        let sum = |sum: Tensor, one: &Tensor| sum + one.sqr()?.sum_all()?;
        let zero = Tensor::new(0.0_f32, &candle_core::Device::Cpu).expect("a number");
        let loss = trained.iter().try_fold(zero, sum).expect("they add up");
        let gradients = loss.backward().expect("a graph");
        check_gradients(&live.variables, &gradients).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(live.variables.contains_key("head.weight"), "{what}");
        let mut before = bits(&first);
        for (name, variable) in &live.variables {
            step(variable);
            let after = bits(&outputs(&base, &batch, &served));
            assert!(after != before || is_an_experts(name), "{what}: {name}");
            assert_eq!(after, bits(&outputs(&base, &batch, &tracked)), "{what}: {name}");
            before = after;
        }
        let pair = |adapter: &Adapter| {
            let pair = &adapter.pairs[&Site::Layer(0, Projection::Q)];
            [address(pair.a.tensor()), address(pair.b.tensor())]
        };
        assert_eq!(pair(&live.tracked), pair(&live.detached), "{what}");
        // A copy of a trained adapter is independent: the trained one does not write to it.
        let copy = LiveAdapter::new(&live.tracked).expect("f32 factors are copied");
        assert_ne!(pair(&live.tracked), pair(&copy.tracked), "{what}");
        live.variables.values().for_each(step);
        let copied = segments(&copy.detached, &mut batch);
        assert_eq!(bits(&outputs(&base, &batch, &copied)), before, "{what}");
    }
}

/// The shapes include a layer of experts; otherwise the exception above would hide errors.
#[test]
fn only_experts_may_lack_a_gradient() {
    let experts = |config: &ModelConfig| {
        let is = |mlp: &MlpConfig| matches!(mlp, MlpConfig::Experts { .. });
        config.layers.iter().any(|layer| is(&layer.mlp))
    };
    for (what, config) in shapes() {
        let named = live(&config).variables.keys().any(|name| is_an_experts(name));
        assert_eq!(named, experts(&config), "{what}");
    }
}
