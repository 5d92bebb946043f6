//! Gradients of the decoder: every variable has one, equal to that of the composed decoder and of
//! finite differences. Variables change no bit of the values.

#![expect(clippy::cast_precision_loss, reason = "small counts in formulas")]
#![expect(clippy::many_single_char_names, reason = "q, k, v and x are the field's own names")]

mod composed;
#[expect(dead_code, reason = "of the small models only the shapes are wanted")]
mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::backprop::GradStore;
use candle_core::{D, DType, Device, Result, Tensor, Var};
use models::adapter::{Adapter, AdapterTable, LoraPair, Segment};
use models::batch::AdapterSlot;
use models::config::{HeadConfig, MlpConfig};
use models::decoder::RowSelection;
use models::head::Head;
use models::ops::{check_gradients, token_logprobs};
use models::random::RandomWeights;
use models::weights::Site;
use models::weights::{HeadPart, LayerPart, Param, Projection, WeightSource};
use models::{Decoder, Matrix, ModelConfig, PackItem, RaggedBatch, pack};

use composed::Variables;
use support::{VOCAB, shapes};

const SEED: u64 = 7;

/// A decoder, its head, and the batch of the test.
struct Subject {
    config: Arc<ModelConfig>,
    decoder: Decoder,
    head: Option<Head>,
    batch: RaggedBatch,
    targets: Vec<u32>,
}

impl Subject {
    fn new(config: &ModelConfig, source: &mut impl WeightSource) -> Subject {
        let config = Arc::new(config.clone());
        let decoder = Decoder::load(&config, source).expect("random weights fit");
        let head = Head::load(config.head, config.hidden_size, source).expect("they fit");
        // Every token of the vocabulary once, so that every row of the embedding counts.
        let ids: Vec<u32> = (0..70).map(|i| i * 27 % 70).collect();
        let items = [0..9, 9..10, 10..70].map(|range| PackItem {
            token_ids: ids[range].to_vec(),
            start: 0,
            adapter: None,
            outputs: Vec::new(),
            blocks: Vec::new(),
        });
        assert_eq!(ids.len(), VOCAB);
        Subject {
            config,
            decoder,
            head,
            batch: pack(&items).expect("they have tokens"),
            targets: ids.iter().map(|id| (id * 3 + 1) % 70).collect(),
        }
    }

    fn hidden(&self, segments: &[Segment]) -> Tensor {
        let forward = self.decoder.forward(&self.batch, segments, None, RowSelection::All);
        forward.expect("the decoder runs")
    }

    /// The outputs of the hidden states: log-probabilities `[T]`, then the head's outputs.
    fn reads(&self, hidden: &Tensor) -> models::Result<Tensor> {
        let mut reads = Vec::new();
        if let Some(vocabulary) = self.decoder.vocabulary() {
            let cap = self.config.logit_softcap;
            let values = token_logprobs(hidden, vocabulary, &self.targets, cap)?;
            reads.push(values.narrow(1, 0, 1)?.flatten_all()?);
        }
        if let Some(head) = &self.head {
            reads.push(head.apply(hidden)?.flatten_all()?);
        }
        Ok(Tensor::cat(&reads, 0)?)
    }

    /// The same outputs by candle's operations.
    fn composed_reads(&self, hidden: &Tensor, weights: &Variables) -> Result<Tensor> {
        let mut reads = Vec::new();
        if self.decoder.vocabulary().is_some() {
            let place = if weights.vars.contains_key(&Param::Vocab) {
                Param::Vocab
            } else {
                Param::Embedding
            };
            let mut logits = hidden.matmul(&weights.rows(place)?.t()?)?;
            if let Some(cap) = self.config.logit_softcap {
                logits = ((logits / f64::from(cap))?.tanh()? * f64::from(cap))?;
            }
            let targets = Tensor::new(self.targets.as_slice(), &Device::Cpu)?.unsqueeze(1)?;
            let p = composed::softmax(&logits)?.gather(&targets, D::Minus1)?;
            reads.push(p.log()?.flatten_all()?);
        }
        if self.config.head != HeadConfig::Vocab {
            reads.push(composed_head(hidden, weights)?.flatten_all()?);
        }
        Tensor::cat(&reads, 0)
    }

    /// `−Σ r · read` in f64, as a trainer would sum.
    fn loss(&self, segments: &[Segment]) -> f64 {
        let reads = self.reads(&self.hidden(segments)).expect("it is read");
        let weights = numbers(&weights(&reads));
        let terms = numbers(&reads).into_iter().zip(weights);
        -terms.map(|(x, r)| f64::from(x) * f64::from(r)).sum::<f64>()
    }
}

fn composed_head(hidden: &Tensor, weights: &Variables) -> Result<Tensor> {
    let layer = |x: &Tensor, weight, bias| {
        let y = x.matmul(&weights.rows(Param::Head(weight))?.t()?)?;
        if weights.vars.contains_key(&Param::Head(bias)) {
            y.broadcast_add(weights.vector(Param::Head(bias)))
        } else {
            Ok(y)
        }
    };
    let inner = if weights.vars.contains_key(&Param::Head(HeadPart::InnerWeight)) {
        layer(hidden, HeadPart::InnerWeight, HeadPart::InnerBias)?.relu()?
    } else {
        hidden.clone()
    };
    layer(&inner, HeadPart::Weight, HeadPart::Bias)
}

/// A weight in [½, 1½) for every output, so that no error cancels another.
fn weights(outputs: &Tensor) -> Tensor {
    let weights = (0..outputs.elem_count()).map(|i| 0.5 + (i * 37 % 101) as f32 / 101.0);
    Tensor::from_vec(weights.collect(), outputs.dims(), &Device::Cpu).expect("one per output")
}

fn backward(outputs: &Tensor) -> GradStore {
    let loss = outputs.mul(&weights(outputs)).and_then(|x| x.sum_all()?.neg());
    loss.and_then(|loss| loss.backward()).expect("a graph")
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.flatten_all().and_then(|flat| flat.to_vec1());
    flat.expect("an f32 tensor")
}

/// Checks that the largest difference is at most `tolerance` of the largest number expected.
fn compare(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{what}");
    let scale = want.iter().fold(1e-3_f32, |m, x| m.max(x.abs()));
    let off = |(a, b): (&f32, &f32)| (a - b).abs();
    let differences: Vec<f32> = got.iter().zip(want).map(off).collect();
    let max = differences.iter().fold(0.0, |m: f32, d| m.max(*d));
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    assert!(
        differences.iter().all(|d| *d <= tolerance * scale),
        "{what}: max difference {max:e}, mean {mean:e}, of numbers up to {scale:e}"
    );
}

#[test]
fn values_and_gradients_equal_the_composed_decoder() {
    for (name, config) in shapes() {
        let mut source = Variables::new(SEED);
        let subject = Subject::new(&config, &mut source);
        let hidden = subject.hidden(&[]);
        let reads = subject.reads(&hidden).expect("it is read");
        let grads = backward(&reads);
        let named = source.vars.iter().map(|(p, v)| (format!("{p:?}"), &v.var));
        check_gradients(named, &grads).unwrap_or_else(|error| panic!("{name}: {error}"));
        let want = composed::hidden(&config, &source, &subject.batch).expect("it runs");
        compare(&format!("{name}: hidden"), &numbers(&hidden), &numbers(&want), 2e-5);
        let want = subject.composed_reads(&want, &source).expect("it is read");
        compare(&format!("{name}: reads"), &numbers(&reads), &numbers(&want), 2e-5);
        let want = backward(&want);
        for (place, variable) in &source.vars {
            let of = |store: &GradStore| numbers(store.get(&variable.var).expect("a gradient"));
            compare(&format!("{name}: {place:?}"), &of(&grads), &of(&want), 2e-4);
        }
    }
}

#[test]
fn variables_change_no_bit() {
    for (name, config) in shapes() {
        let tracked = Subject::new(&config, &mut Variables::new(SEED));
        let mut random = RandomWeights { seed: SEED, dtype: DType::F32 };
        let frozen = Subject::new(&config, &mut random);
        let [got, want] = [&tracked, &frozen].map(|subject| {
            let hidden = subject.hidden(&[]);
            let reads = subject.reads(&hidden).expect("it is read");
            let all = [numbers(&hidden), numbers(&reads)].concat();
            (reads.track_op(), all.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        });
        assert_eq!((got.0, want.0), (true, false), "{name}");
        assert_eq!(got.1, want.1, "{name}");
    }
}

/// Checks fourth-order central differences at a few numbers of a variable, which is changed in
/// place.
fn check_differences(what: &str, var: &Var, gradient: &[f32], loss: impl Fn() -> f64) {
    const STEP: f32 = 1.0 / 128.0;
    let start = numbers(var.as_tensor());
    let set = |numbers: Vec<f32>| {
        let tensor = Tensor::from_vec(numbers, var.dims(), &Device::Cpu);
        var.set(&tensor.expect("as many as before")).expect("a copy");
    };
    let used: Vec<usize> = (0..start.len()).filter(|i| gradient[*i] != 0.0).collect();
    let scale = gradient.iter().fold(0.05_f64, |m, x| m.max(f64::from(x.abs())));
    for index in [used[used.len() / 3], used[used.len() - 1]] {
        let at = |step: f32| {
            let mut moved = start.clone();
            moved[index] += step;
            set(moved);
            loss()
        };
        let near = at(STEP) - at(-STEP);
        let far = at(2.0 * STEP) - at(-2.0 * STEP);
        let want = (8.0 * near - far) / (12.0 * f64::from(STEP));
        let got = f64::from(gradient[index]);
        let off = (got - want).abs();
        assert!(off <= 0.01 * scale, "{what}[{index}]: {got} for {want}, of {scale}");
    }
    set(start);
}

/// Whether the outputs are smooth: the choice of experts jumps with the weights, so that
/// differences are meaningless, and the composed decoder is the test.
fn is_smooth(config: &ModelConfig) -> bool {
    let mut mlps = config.layers.iter().map(|layer| &layer.mlp);
    mlps.all(|mlp| matches!(mlp, MlpConfig::Dense { .. }))
}

#[test]
fn every_gradient_follows_differences() {
    for (name, config) in shapes().into_iter().filter(|(_, c)| is_smooth(c)) {
        let mut source = Variables::new(SEED);
        let subject = Subject::new(&config, &mut source);
        let reads = subject.reads(&subject.hidden(&[])).expect("it is read");
        let grads = backward(&reads);
        for (place, variable) in &source.vars {
            let gradient = numbers(grads.get(&variable.var).expect("a gradient"));
            let what = format!("{name}: {place:?}");
            check_differences(&what, &variable.var, &gradient, || subject.loss(&[]));
        }
    }
}

/// Rank of the adapters.
const RANK: usize = 3;

/// Two adapters whose factors are variables, over sequences 0 and 2.
fn adapted(config: &ModelConfig, subject: &mut Subject) -> (AdapterTable, BTreeMap<String, Var>) {
    let mut vars = BTreeMap::new();
    let mut table = AdapterTable::default();
    let q = config.num_heads * config.head_dim;
    for (index, seed) in [(0, 11), (2, 12)] {
        let random = RandomWeights { seed, dtype: DType::F32 };
        let layer = |index, projection, n, k| (Site::Layer(index, projection), [RANK, k], n);
        let sites = [
            (Site::Embedding, [VOCAB, RANK], config.hidden_size),
            layer(0, Projection::Q, q, config.hidden_size),
            layer(1, Projection::O, config.hidden_size, q),
            layer(2, Projection::Down, config.hidden_size, 40),
        ];
        let mut pairs = BTreeMap::new();
        for (index, (site, [n, k], out)) in sites.into_iter().enumerate() {
            let mut factor = |name: &str, part: LayerPart, n: usize, k: usize| {
                let numbers = random.numbers(Param::Layer(index, part), n, k);
                let matrix = Matrix::from_rows(&numbers, n, k).and_then(|m| m.to_var());
                let (matrix, var) = matrix.expect("the numbers fill it");
                vars.insert(format!("adapter {seed}, {site}, {name}"), var);
                matrix
            };
            let pair = LoraPair {
                a: factor("A", LayerPart::Weight(Projection::Q), n, k),
                b: factor("B", LayerPart::Bias(Projection::Q), out, RANK),
                scale: 0.5,
            };
            pairs.insert(site, pair);
        }
        let slot: AdapterSlot = table.insert(Arc::new(Adapter {
            digest: format!("test {seed}"),
            pairs,
            head: None,
            ..Adapter::default()
        }));
        subject.batch.adapters[index] = Some(slot);
    }
    (table, vars)
}

#[test]
fn over_a_frozen_base_only_adapters_get_gradients() {
    for (name, config) in shapes() {
        let mut random = RandomWeights { seed: SEED, dtype: DType::F32 };
        let mut subject = Subject::new(&config, &mut random);
        let (table, vars) = adapted(&config, &mut subject);
        let segments = table.segments(&subject.batch).expect("the slots are filled");
        let reads = subject.reads(&subject.hidden(&segments)).expect("it is read");
        let grads = backward(&reads);
        check_gradients(&vars, &grads).unwrap_or_else(|error| panic!("{name}: {error}"));
        // candle keeps gradients of constants too; those of weights would have the shape of panels.
        let kept = grads.get_ids().filter_map(|id| grads.get_id(*id));
        let panels = kept.filter(|g| g.dims3().is_ok_and(|(.., width)| width == 16));
        assert_eq!(panels.count(), vars.len(), "{name}: frozen weights keep no gradient");
        if !is_smooth(&config) {
            continue;
        }
        for (what, var) in &vars {
            let gradient = numbers(grads.get(var).expect("a gradient"));
            let what = format!("{name}: {what}");
            check_differences(&what, var, &gradient, || subject.loss(&segments));
        }
    }
}
