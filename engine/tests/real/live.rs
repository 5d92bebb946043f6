//! Models served while their weights change: an engine gives the bits of a fresh one over the same
//! weights.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use chat::Tokenizer;
use engine::{
    Capacity, Engine, Folder, Host, HostSpec, LiveSpec, OutputSpec, Request, RequestParams,
    SampledToken, SamplingParams, Task, TaskOutput, WeightUpdateError,
};
use gpu::Gpu;
use gpu::kernels::{NormOutput, RowNorm, norm};
use gpu_emulated::{Fault, STALE};
use gpu_models::{GpuModel, GpuRunner};
use models::kv::KvCache;
use models::live::LiveWeights;
use models::weights::{Checkpoint, Compute, DetachedWeights, FileWeights, Names, Storage};
use models::{LiveAdapter, LiveModel, LoadOptions, Model};
use tiny_models::TinyHead;

use crate::subject::{MACHINES, Machine, Subject, WIDE, emulator, name, requests, run};

/// A card that no other test of this program uses.
const LOST: usize = STALE;

/// A subject whose weights are all variables.
struct Live {
    model: LiveModel,
    adapters: Vec<LiveAdapter>,
    names: Names,
}

impl Live {
    fn of(dir: &Path, subject: &Subject) -> Live {
        let checkpoint = Arc::new(Checkpoint::open(&dir.join("base")).unwrap());
        let names = Names::new(&subject.config, |name| checkpoint.has(name));
        let source = FileWeights::new(&checkpoint, &subject.config, Storage::F32);
        let adapters = subject.adapters.iter();
        Live {
            model: LiveModel::new(&subject.config, source, &names).unwrap(),
            adapters: adapters.map(|a| LiveAdapter::new(a).unwrap()).collect(),
            names,
        }
    }

    /// A copy with variables of its own.
    fn copy(&self) -> Live {
        let source = DetachedWeights::new(&self.names, &self.model.variables);
        let adapters = self.adapters.iter();
        Live {
            model: LiveModel::new(&self.model.config, source, &self.names).unwrap(),
            adapters: adapters
                .map(|adapter| LiveAdapter::new(&adapter.detached).unwrap())
                .collect(),
            names: self.names.clone(),
        }
    }

    /// A subject over the detached weights, for an engine.
    fn served(&self) -> Subject {
        let adapters = self.adapters.iter();
        Subject {
            config: self.model.config.clone(),
            view: self.model.detached.clone(),
            adapters: adapters.map(|adapter| adapter.detached.clone()).collect(),
            card: None,
        }
    }

    /// Changes every weight in place.
    fn step(&self) {
        let adapters = self.adapters.iter().map(|adapter| &adapter.variables);
        let all = adapters.chain([&self.model.variables]);
        for variable in all.flat_map(BTreeMap::values) {
            let moved = variable.as_detached_tensor().affine(0.9, 0.01);
            variable.set(&moved.unwrap()).unwrap();
        }
    }
}

fn check(head: TinyHead) {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), head);
    let specs = requests(&subject);
    let live = Live::of(dir.path(), &subject);
    let engines = [WIDE, MACHINES[4]].map(|machine| live.served().engine(machine));
    let over_files = run(&subject.engine(WIDE), &specs, RequestParams::default());
    let mut before = over_files;
    for revision in 0..3 {
        let fresh = live.copy().served().engine(WIDE);
        let expected = run(&fresh, &specs, RequestParams::default());
        // At first the outputs are those of the loaded files; then they change with the variables.
        assert_eq!(expected == before, revision == 0);
        for engine in &engines {
            assert_eq!(engine.revision(), revision);
            assert!(run(engine, &specs, RequestParams::default()) == expected);
        }
        before = expected;
        let [first, second] = &engines;
        // Both are paused while their common variables are written.
        let changed = first.update_weights_blocking(|| {
            let updated = second.update_weights_blocking(|| live.step());
            updated.unwrap().revision
        });
        assert_eq!(changed.unwrap().value, revision + 1);
    }
}

#[test]
fn policy_after_updates_equals_fresh_engine() {
    check(TinyHead::Vocab);
}

#[test]
fn reward_model_after_updates_equals_fresh_engine() {
    check(TinyHead::Sequence);
}

#[test]
fn policy_with_value_head_after_updates_equals_fresh_engine() {
    check(TinyHead::Value);
}

/// The variables as cards follow them.
fn weights(live: &Live) -> LiveWeights {
    LiveWeights::new(&live.names, &live.model.variables)
}

/// An engine over copies of the variables on a card.
fn on_card(gpu: &Gpu, live: &Live) -> Engine {
    let subject = live.served();
    let weights = weights(live);
    let model = GpuModel::load(gpu, &subject.config, &mut weights.source()).unwrap();
    let runner = GpuRunner::new(model).unwrap().with_steps_of(64).unwrap();
    let machine = Machine { n_blocks: 64, ..MACHINES[2] };
    subject.start(runner.with_kv(machine.n_blocks).unwrap().following(weights), machine)
}

/// Weights, adapters and heads on a card are those of the last update.
#[test]
fn card_after_updates_equals_fresh_card() {
    let Some(emulator) = emulator() else { return };
    let gpu = emulator.open(0);
    for head in [TinyHead::Vocab, TinyHead::Value] {
        let dir = tempfile::tempdir().unwrap();
        let subject = Subject::make(dir.path(), head);
        let specs: Vec<_> = requests(&subject).into_iter().step_by(11).collect();
        let live = Live::of(dir.path(), &subject);
        let engine = on_card(&gpu, &live);
        let files = subject.on(gpu.clone(), dir.path()).engine(WIDE);
        let mut before = run(&files, &specs, RequestParams::default());
        for revision in 0..3 {
            let fresh = on_card(&gpu, &live.copy());
            let expected = run(&fresh, &specs, RequestParams::default());
            // At first the outputs are those of the loaded files.
            assert_eq!(expected == before, revision == 0);
            assert_eq!(engine.revision(), revision);
            assert!(run(&engine, &specs, RequestParams::default()) == expected, "{revision}");
            before = expected;
            engine.update_weights_blocking(|| live.step()).unwrap();
        }
    }
}

/// A card that has a part of an update computes nothing.
#[test]
fn engine_ends_if_its_card_is_lost_in_an_update() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let live = Live::of(dir.path(), &subject);
    let gpu = emulator.open(LOST);
    let engine = on_card(&gpu, &live);
    let answer = || {
        let ticket = engine.submit(vec![generate(&[], None, 3)], RequestParams::default());
        ticket.map(|ticket| ticket.wait().remove(0))
    };
    assert!(answer().unwrap().is_ok());
    // Other work loses the card, between two steps.
    emulator.fail(LOST, Fault::Loss, 0);
    let ones = gpu.upload(&[1.0; 64]).unwrap();
    let by = RowNorm { weight: ones.clone(), eps: 0.0, offset: 0.0 };
    let normed = norm(&gpu, &ones, &by, &NormOutput::F32(gpu.allocate(64).unwrap()));
    assert!(normed.is_err() || ones.read().is_err());
    let updated = engine.update_weights_blocking(|| live.step());
    assert_eq!(updated.unwrap_err(), WeightUpdateError::ShuttingDown);
    assert!(!matches!(answer(), Ok(Ok(_))));
    assert!(!engine.is_alive());
}

const PROMPT: [u32; 5] = [3, 60, 17, 5, 9];

fn generate(before: &[SampledToken], adapter: Option<usize>, max_tokens: usize) -> Request {
    let ids = before.iter().map(|token| token.token_id);
    Request {
        token_ids: PROMPT.into_iter().chain(ids).collect(),
        adapter: adapter.map(name),
        task: Task::Generate(Box::new(SamplingParams {
            max_tokens,
            temperature: 1.0,
            logprobs: Some(2),
            seed: 11,
            resumed: before.len(),
            ..SamplingParams::default()
        })),
    }
}

fn tokens(engine: &Engine, request: Request) -> Vec<SampledToken> {
    let ticket = engine.submit(vec![request], RequestParams::default()).unwrap();
    match ticket.wait().remove(0).unwrap().output {
        TaskOutput::Tokens { tokens, .. } => tokens,
        TaskOutput::Rows(_) => unreachable!("tokens were requested"),
    }
}

/// Weights change while texts are generated. Each token and log-probability is the one that an
/// engine over the weights of its revision gives after the tokens before it.
#[test]
fn each_token_is_of_its_own_revision() {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let live = Live::of(dir.path(), &subject);
    let engine = live.served().engine(WIDE);
    let texts = [None, Some(0), Some(1)];
    let requests = texts.map(|adapter| generate(&[], adapter, 48)).into();
    let mut ticket = engine.submit(requests, RequestParams::default()).unwrap();
    let mut copies = vec![live.copy()];
    for _ in 0..6 {
        // Some tokens between the updates.
        for _ in 0..9 {
            ticket.wait_next().unwrap();
        }
        engine.update_weights_blocking(|| live.step()).unwrap();
        copies.push(live.copy());
    }
    let answers = ticket.wait();
    let engines: Vec<Engine> = copies.iter().map(|copy| copy.served().engine(WIDE)).collect();
    let mut seen = BTreeMap::new();
    for (adapter, answer) in texts.into_iter().zip(answers) {
        let TaskOutput::Tokens { tokens: all, .. } = answer.unwrap().output else {
            unreachable!("tokens were requested")
        };
        assert_eq!(all.len(), 48);
        for (at, token) in all.iter().enumerate() {
            let engine = &engines[usize::try_from(token.revision).unwrap()];
            let alone = tokens(engine, generate(&all[..at], adapter, at + 1));
            let revision = token.revision;
            assert_eq!(alone, [SampledToken { revision: 0, ..token.clone() }]);
            *seen.entry(revision).or_insert(0) += 1;
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
}

/// The log-probability of a sampled token in a reading forward has the bits of the sampler's.
#[test]
fn resumed_generation_has_equal_logprobs() {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let engine = subject.engine(WIDE);
    let whole = tokens(&engine, generate(&[], Some(1), 24));
    for at in 0..24 {
        let rest = tokens(&engine, generate(&whole[..at], Some(1), 24));
        assert_eq!(rest, whole[at..]);
    }
    let ids: Vec<u32> =
        PROMPT.into_iter().chain(whole.iter().map(|token| token.token_id)).collect();
    let request = Request {
        token_ids: ids.as_slice().into(),
        adapter: Some(name(1)),
        task: Task::logprobs(&ids, PROMPT.len()..ids.len()),
    };
    let ticket = engine.submit(vec![request], RequestParams::default()).unwrap();
    let TaskOutput::Rows(rows) = ticket.wait().remove(0).unwrap().output else {
        unreachable!("rows were requested")
    };
    for (row, token) in rows.iter().zip(&whole) {
        let engine::Output::Logprob { logprob, .. } = row else {
            unreachable!("log-probabilities were requested")
        };
        assert_eq!(logprob.to_bits(), token.logprob.to_bits());
    }
}

const CAPACITY: Capacity =
    Capacity { kv_memory: 1 << 20, batch_tokens: 64, max_sequences: 8, queue_tokens: 1 << 12 };

fn scores(host: &Host, adapter: Option<&str>) -> Vec<u32> {
    let request = Request {
        token_ids: PROMPT.into(),
        adapter: adapter.map(Into::into),
        task: Task::Rows(vec![(4, OutputSpec::Hidden)]),
    };
    let ticket = host.engine.submit(vec![request], RequestParams::default()).unwrap();
    let TaskOutput::Rows(rows) = ticket.wait().remove(0).unwrap().output else {
        unreachable!("rows were requested")
    };
    let engine::Output::Hidden(state) = &rows[0] else {
        unreachable!("hidden states were requested")
    };
    state.iter().map(|x| x.to_bits()).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn host_of_a_live_model() {
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let live = Live::of(dir.path(), &subject);
    let folder = Folder::directory(&dir.path().join("base"));
    let loaded = loaded(folder.clone());
    let host = Host::live(LiveSpec {
        name: "policy".to_owned(),
        config: subject.config.clone(),
        view: live.model.detached.clone(),
        card: None,
        tokenizer: Arc::new(Tokenizer::of_folder(&folder).unwrap()),
        digest: Model::digest_of(&folder).unwrap(),
        capacity: CAPACITY,
    })
    .unwrap();
    assert_eq!((loaded.is_live(), loaded.revision()), (false, None));
    assert_eq!((host.is_live(), host.revision()), (true, Some(0)));
    assert_eq!(*host.digest, format!("live:{}", loaded.digest));
    assert_eq!(host.parameters, loaded.parameters);
    let adapter = dir.path().join("adapter-1");
    for host in [&host, &loaded] {
        block_on(host.load_adapter("strict", &adapter)).unwrap();
    }
    for adapter in [None, Some("strict")] {
        assert_eq!(scores(&host, adapter), scores(&loaded, adapter));
    }
    block_on(host.engine.update_weights(|| live.step())).unwrap();
    assert_eq!(host.revision(), Some(1));
    for adapter in [None, Some("strict")] {
        assert_ne!(scores(&host, adapter), scores(&loaded, adapter));
    }
}

#[test]
fn host_of_a_live_model_on_a_card() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab);
    let live = Live::of(dir.path(), &subject);
    let folder = Folder::directory(&dir.path().join("base"));
    let spec = |card| LiveSpec {
        name: "policy".to_owned(),
        config: subject.config.clone(),
        view: live.model.detached.clone(),
        card,
        tokenizer: Arc::new(Tokenizer::of_folder(&folder).unwrap()),
        digest: Model::digest_of(&folder).unwrap(),
        capacity: CAPACITY,
    };
    let here = Host::live(spec(None)).unwrap();
    let there = Host::live(spec(Some((emulator.open(0), weights(&live))))).unwrap();
    assert_eq!(there.numerics.numerics.name(), "cuda-sm90-bf16-1");
    assert_ne!(here.digest, there.digest);
    assert!(there.is_live() && there.revision() == Some(0));
    let adapter = dir.path().join("adapter-1");
    block_on(there.load_adapter("strict", &adapter)).unwrap();
    let before = [None, Some("strict")].map(|adapter| scores(&there, adapter));
    block_on(there.engine.update_weights(|| live.step())).unwrap();
    assert_eq!(there.revision(), Some(1));
    let after = [None, Some("strict")].map(|adapter| scores(&there, adapter));
    assert!(before[0] != after[0] && before[1] != after[1]);
}

fn loaded(folder: Folder) -> Host {
    computing(folder, Compute::default())
}

fn computing(folder: Folder, compute: Compute) -> Host {
    let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
    let spec = HostSpec {
        name: "m".to_owned(),
        folder,
        options,
        device: engine::Device::Cpu,
        capacity: CAPACITY,
    };
    Host::load(&spec).unwrap()
}

/// The digest says that scores differ; an adapter names the files of its base, which are the same.
#[test]
fn arithmetic_is_part_of_the_digest() {
    let dir = tempfile::tempdir().unwrap();
    Subject::make(dir.path(), TinyHead::Vocab);
    let hosts = [Compute::F32, Compute::Int8, Compute::Bf16]
        .map(|compute| computing(Folder::directory(&dir.path().join("base")), compute));
    let [plain, int8, bf16] = &hosts;
    assert!(plain.digest != bf16.digest && plain.digest != int8.digest);
    assert_ne!(bf16.digest, int8.digest);
    // Keys and values in bf16 take half the memory, and the plan of memory knows it.
    let kv_tokens = |host: &Host| host.engine.limits().kv_tokens;
    assert_eq!([2 * kv_tokens(plain), 2 * kv_tokens(int8)], [kv_tokens(bf16); 2]);
    for host in &hosts {
        let kv_type = host.numerics.numerics.kv_type();
        let planned = engine::kv_bytes(CAPACITY.kv_memory, &host.config, kv_type).unwrap();
        let a_token = KvCache::bytes_per_token(&host.config, kv_type);
        assert_eq!(planned, (kv_tokens(host) * a_token) as u64);
    }
    let adapter = dir.path().join("adapter-1");
    let path = adapter.join("adapter_config.json");
    let mut config: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    config["base_model_digest"] = (*plain.digest).into();
    std::fs::write(&path, config.to_string()).unwrap();
    for host in &hosts {
        block_on(host.load_adapter("strict", &adapter)).unwrap();
    }
    for adapter in [None, Some("strict")] {
        assert_ne!(scores(plain, adapter), scores(bf16, adapter));
    }
}

#[test]
fn host_of_an_embedded_model() {
    let dir = tempfile::tempdir().unwrap();
    Subject::make(dir.path(), TinyHead::Vocab);
    let base = dir.path().join("base");
    let files = std::fs::read_dir(&base).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        (&*name.leak(), &*bytes.leak())
    });
    let here = loaded(Folder::in_memory(Path::new("<built in>"), files));
    let there = loaded(Folder::directory(&base));
    assert_eq!(here.digest, there.digest);
    for host in [&here, &there] {
        block_on(host.load_adapter("strict", &dir.path().join("adapter-1"))).unwrap();
    }
    for adapter in [None, Some("strict")] {
        assert_eq!(scores(&here, adapter), scores(&there, adapter));
    }
}
