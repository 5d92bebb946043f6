//! Training computes the sampled probabilities bit for bit, for any batch, cache, prefill chunks
//! and interruptions, with all weights or adapters in training, before the first step of the
//! optimiser and after some.

use std::path::Path;
use std::sync::Arc;

use engine::{Capacity, Host, LiveSpec, Tokenizer};
use models::Output;
use models::adapter::{Adapter, Base};
use models::kv::{KvCache, KvType};
use tiny_models::{AdapterSpec, Preset, TinySpec, make, make_adapter};
use trainer::optimiser::{AdamW, AdamWConfig};
use trainer::policy::{Grad, Gradients, Packing, Policy, PolicySequence};
use trainer::rollout::{DrawParams, RolloutParams, SampleRequest, SampledResponse, Sampler};

/// Sequences of a batch.
const BATCHES: [usize; 4] = [1, 3, 8, 64];

/// The adapters of a policy that trains no weights of its own.
const ADAPTERS: [&str; 2] = ["player", "judge"];

/// A policy in training and the engine on its weights.
struct World {
    _dir: tempfile::TempDir,
    policy: Policy,
    sampler: Sampler,
    optimiser: AdamW,
    /// The distribution of all draws.
    draws: DrawParams,
}

/// The trained parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trained {
    Full,
    Adapters,
}

impl World {
    /// `batch_tokens` is the engine's limit per step: a smaller one than a prompt cuts it into
    /// chunks.
    fn new(preset: Preset, trained: Trained, batch_tokens: usize) -> World {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().join("base");
        let spec = TinySpec::from(preset);
        make(&base, &spec).expect("a made model");
        let policy = match trained {
            Trained::Full => Policy::full(&base),
            Trained::Adapters => {
                let adapters = ADAPTERS.map(|name| {
                    let adapter = adapter(&dir.path().join(name), &base, &spec, name);
                    (name.into(), adapter)
                });
                Policy::adapted(&base, &adapters)
            }
        };
        let policy = policy.expect("it loads");
        World {
            sampler: sampler(&policy, batch_tokens),
            optimiser: AdamW::new(AdamWConfig::default(), &policy),
            policy,
            draws: DrawParams::FULL,
            _dir: dir,
        }
    }

    /// The requests of a batch: prompts of many lengths, two answers to each; with adapters, every
    /// third is for the model itself.
    fn orders(&self, n: usize, round: u32) -> Vec<SampleRequest> {
        let adapters = self.policy.served_adapters();
        let order = |at: usize| {
            let adapter = adapters.get(at % 3).map(|(name, _)| name.clone());
            SampleRequest::new(prompt(at / 2, round).into(), adapter, at as u64)
        };
        (0..n).map(order).collect()
    }

    fn sequences(
        &self,
        orders: &[SampleRequest],
        samples: &[SampledResponse],
    ) -> Vec<PolicySequence> {
        let pairs = orders.iter().zip(samples);
        pairs
            .map(|(order, sample)| {
                let ids: Vec<u32> = sample.tokens.iter().map(|token| token.id).collect();
                let name = order.adapter.as_deref();
                PolicySequence {
                    adapter: name.map(|name| self.policy.adapter(name).expect("one of ours")),
                    logit_scale: self.draws.logit_scale(),
                    ..PolicySequence::continued(&order.prompt, &ids)
                }
            })
            .collect()
    }

    /// Checks that reading and training give the sampled bits. Returns the number of tokens
    /// compared: those sampled by the current weights.
    fn compare(&self, orders: &[SampleRequest], samples: &[SampledResponse], what: &str) -> usize {
        let sequences = self.sequences(orders, samples);
        let revision = self.sampler.host().engine.revision();
        let mut compared = 0;
        for tokens in [1, 100, 100_000] {
            let read = self.policy.read(&sequences, tokens).expect("it is read");
            let trained = self.trained(&sequences, tokens);
            for (at, sample) in samples.iter().enumerate() {
                assert_eq!(trained[at], read[at], "{what}, sequence {at}: training");
                for (place, token) in sample.tokens.iter().enumerate() {
                    if token.revision != revision {
                        continue;
                    }
                    let difference =
                        (f64::from(logprob(&read[at][place])) - f64::from(token.logprob)).abs();
                    assert!(
                        difference == 0.0,
                        "{what}, sequence {at}, token {place}, {tokens} tokens: {difference:e}"
                    );
                    compared += 1;
                }
            }
        }
        compared
    }

    /// The outputs that a loss receives for each sequence.
    fn trained(&self, sequences: &[PolicySequence], tokens: usize) -> Vec<Vec<Output>> {
        let mut seen = vec![Vec::new(); sequences.len()];
        self.backward(sequences, tokens, &mut seen);
        seen
    }

    fn backward(
        &self,
        sequences: &[PolicySequence],
        tokens: usize,
        seen: &mut [Vec<Output>],
    ) -> Gradients {
        let mut gradients = Gradients::new(&self.policy);
        let packing = Packing::of(tokens);
        let loss = |members: &[usize], outputs: &[Vec<Output>]| {
            for (member, outputs) in members.iter().zip(outputs) {
                seen[*member].clone_from(outputs);
            }
            let grad = Grad::Logprob { logprob: -0.1, entropy: 0.0 };
            let outputs = outputs.iter();
            Ok(outputs.map(|all| vec![grad.clone(); all.len()]).collect())
        };
        let done = self.policy.gradients(sequences, packing, &mut gradients, loss);
        done.expect("a backward");
        gradients
    }

    /// Takes some steps that make the samples more likely.
    fn learn(&mut self, sequences: &[PolicySequence], steps: usize) {
        for _ in 0..steps {
            let mut seen = vec![Vec::new(); sequences.len()];
            let mut gradients = self.backward(sequences, 1000, &mut seen);
            let engine = self.sampler.host().engine.clone();
            let (policy, optimiser) = (&self.policy, &mut self.optimiser);
            let step = || optimiser.step(policy, &mut gradients, 3e-3);
            let stepped = engine.update_weights_blocking(step).expect("it stands");
            stepped.value.expect("a step");
        }
    }

    fn cached_tokens(&self) -> u64 {
        self.sampler.host().engine.status().cached_tokens
    }
}

fn adapter(dir: &Path, base: &Path, spec: &TinySpec, name: &str) -> Adapter {
    let targets = ["q_proj", "k_proj", "v_proj", "o_proj", "up_proj"];
    let adapter = AdapterSpec {
        seed: name.len() as u64,
        r: 4,
        alpha: 8,
        targets: targets.map(str::to_owned).to_vec(),
        rank_pattern: std::collections::BTreeMap::default(),
        alpha_pattern: std::collections::BTreeMap::default(),
        rslora: false,
        score_labels: None,
    };
    make_adapter(dir, spec, &adapter).expect("a made adapter");
    let config = Arc::new(models::ModelConfig::read(base).expect("it is read"));
    Adapter::load(dir, &Base::of(&config)).expect("it loads")
}

fn sampler(policy: &Policy, batch_tokens: usize) -> Sampler {
    let per_token = KvCache::bytes_per_token(policy.config(), KvType::F32) as u64;
    let host = Host::live(LiveSpec {
        name: "policy".to_owned(),
        view: policy.served(),
        card: None,
        config: policy.config().clone(),
        tokenizer: Arc::new(Tokenizer::load(policy.origin()).expect("it loads")),
        digest: policy.digest().to_owned(),
        capacity: Capacity {
            kv_memory: per_token * 8192,
            batch_tokens,
            max_sequences: 64,
            queue_tokens: 1 << 16,
        },
    });
    let host = host.expect("it starts");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    for (name, adapter) in policy.served_adapters() {
        let inserted = runtime.block_on(host.engine.insert_adapter(name, adapter));
        inserted.expect("it fits");
    }
    Sampler::new(Arc::new(host), false).expect("it has an end of text")
}

/// A prompt longer than a few blocks of the cache, so that the cache can hold it.
fn prompt(at: usize, round: u32) -> Vec<u32> {
    let at = u32::try_from(at).expect("a batch is small");
    (0..40 + at % 7 * 9).map(|i| (at * 37 + round * 101 + i * 17 + i * i) % 256).collect()
}

fn logprob(output: &Output) -> f32 {
    let logprob = match output {
        Output::Logprob { logprob, .. } => Some(*logprob),
        Output::Head(_) | Output::Vocab(_) | Output::Labels { .. } | Output::Hidden(_) => None,
    };
    logprob.expect("a log-probability was requested")
}

fn how(seed: u64, draws: DrawParams) -> RolloutParams {
    RolloutParams { seed, max_tokens: 9, draws }
}

/// Every batch size, with a cold and a warm cache, before and after some steps.
fn check(preset: Preset, trained: Trained, batch_tokens: usize) {
    check_draws(World::new(preset, trained, batch_tokens), DrawParams::FULL);
}

fn check_draws(world: World, draws: DrawParams) {
    let mut world = World { draws, ..world };
    for steps in [0, 3] {
        for (round, n) in (0..).zip(BATCHES) {
            let orders = world.orders(n, round);
            let mut all = Vec::new();
            for again in [false, true] {
                let cached = world.cached_tokens();
                let seed = 2 * u64::from(round) + u64::from(again);
                let samples = world.sampler.sample(&orders, how(seed, draws)).expect("sampled");
                let found = world.cached_tokens() > cached;
                assert!(found || !again, "the prompts are in the cache");
                // Two answers to a prompt may share it even the first time.
                assert!(!found || again || n > 1, "a step empties the cache");
                let what = format!("{draws:?}, {n} sequences, again: {again}, after {steps} steps");
                assert!(world.compare(&orders, &samples, &what) >= n, "{what}");
                all = samples;
            }
            if steps == 0 && n == 64 {
                let sequences = world.sequences(&orders, &all);
                world.learn(&sequences, 3);
            }
        }
    }
}

#[test]
fn all_weights_in_training() {
    check(Preset::Qwen3, Trained::Full, 4096);
    check(Preset::Gemma2, Trained::Full, 4096);
}

#[test]
fn all_weights_in_training_and_prompts_in_chunks() {
    check(Preset::Qwen3, Trained::Full, 23);
    check(Preset::Qwen2Window, Trained::Full, 23);
}

#[test]
fn adapters_in_training() {
    check(Preset::Qwen3, Trained::Adapters, 4096);
    check(Preset::Qwen2, Trained::Adapters, 23);
}

/// A temperature and truncated draws: the probabilities are those of the temperature alone.
#[test]
fn tempered_draws() {
    let tempered = DrawParams { temperature: 0.6, ..DrawParams::FULL };
    for draws in [
        tempered,
        DrawParams { temperature: 1.7, ..DrawParams::FULL },
        DrawParams { top_p: 0.9, top_k: Some(40), ..tempered },
        DrawParams { min_p: 0.05, ..DrawParams::FULL },
    ] {
        check_draws(World::new(Preset::Qwen3, Trained::Full, 4096), draws);
    }
    check_draws(World::new(Preset::Gemma2, Trained::Full, 4096), tempered);
    check_draws(World::new(Preset::Qwen3, Trained::Adapters, 23), tempered);
}

/// An interrupted and resumed answer equals the uninterrupted one, with the same probabilities;
/// after a step of the optimiser later tokens have those of the new weights.
#[test]
fn interrupted_answers() {
    for (trained, batch_tokens) in [(Trained::Full, 4096), (Trained::Adapters, 23)] {
        let mut world = World::new(Preset::Qwen3, trained, batch_tokens);
        let mut how = how(5, DrawParams::FULL);
        how.max_tokens = 60;
        let orders = world.orders(12, 0);
        let unbroken = world.sampler.sample(&orders, how).expect("sampled");
        for learned in [false, true] {
            let each: Vec<usize> = (0..orders.len()).collect();
            let first = world.sampler.sample_until(&orders, how, &each, 1);
            let first = first.expect("sampled");
            let broken = first.iter().filter(|sample| sample.interrupted).count();
            assert!(broken > 0, "every answer was complete at once");
            assert!(world.compare(&orders, &first, "interrupted") > 0);
            if learned {
                let sequences = world.sequences(&orders, &first);
                world.learn(&sequences, 3);
            }
            let resumed = orders.iter().zip(&first).map(|(order, sample)| SampleRequest {
                partial: sample.tokens.clone(),
                ..order.clone()
            });
            let open: Vec<SampleRequest> = resumed
                .zip(&first)
                .filter_map(|(order, sample)| sample.interrupted.then_some(order))
                .collect();
            let rest = world.sampler.sample(&open, how).expect("sampled");
            assert!(world.compare(&open, &rest, "resumed") > 0);
            let whole = first.iter().zip(&unbroken);
            let whole = whole.filter_map(|(first, all)| first.interrupted.then_some(all));
            for (rest, all) in rest.iter().zip(whole) {
                assert!(learned || rest == all, "{rest:?}\nfor\n{all:?}");
            }
        }
    }
}
