//! Tiny models with adapters, engines over them, and requests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::{
    Engine, EngineConfig, Output, OutputSpec, Request, RequestError, RequestOutput, RequestParams,
    SamplingParams, Task, TaskOutput,
};
use gpu::Gpu;
use gpu_emulated::Emulator;
use gpu_models::{GpuModel, GpuRunner};
use models::adapter::{Adapter, Base};
use models::live::View;
use models::weights::Compute;
use models::{Forward, LoadOptions, Model, ModelConfig, ModelFiles, Runner};
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};

/// A model with two adapters.
pub(crate) struct Subject {
    pub(crate) config: Arc<ModelConfig>,
    pub(crate) view: View,
    pub(crate) adapters: Vec<Arc<Adapter>>,
    /// Where it computes, and the files that are loaded to it; `None` for the processor.
    pub(crate) card: Option<(Gpu, ModelFiles)>,
}

/// None, and a line about it, where there is no C++ compiler.
pub(crate) fn emulator() -> Option<&'static Emulator> {
    let emulator = Emulator::get(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if emulator.is_none() {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
    }
    emulator
}

impl Subject {
    /// A tiny model in the folder `base`, with `adapter-1` and `adapter-2`.
    pub(crate) fn make(dir: &Path, head: TinyHead) -> Subject {
        let spec = TinySpec { head, ..TinySpec::from(Preset::Qwen2) };
        let base = dir.join("base");
        make(&base, &spec).unwrap();
        let model = Model::load(&base, &LoadOptions::default()).unwrap();
        let adapters = (1..=2).map(|seed| {
            let dir = dir.join(format!("adapter-{seed}"));
            let adapter = AdapterSpec {
                seed,
                r: 4,
                alpha: 8,
                targets: ["q_proj", "v_proj", "down_proj"].map(str::to_owned).to_vec(),
                rank_pattern: BTreeMap::new(),
                alpha_pattern: BTreeMap::new(),
                rslora: false,
                score_labels: None,
            };
            make_adapter(&dir, &spec, &adapter).unwrap();
            Arc::new(Adapter::load(&dir, &Base::of(&model.config)).unwrap())
        });
        Subject {
            adapters: adapters.collect(),
            config: model.config,
            view: View { decoder: model.decoder, head: model.head },
            card: None,
        }
    }

    /// The base in this arithmetic.
    pub(crate) fn computing(mut self, compute: Compute, dir: &Path) -> Subject {
        let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
        let model = Model::load(&dir.join("base"), &options).unwrap();
        self.view = View { decoder: model.decoder, head: model.head };
        self
    }

    /// The same on a card.
    pub(crate) fn on(mut self, gpu: Gpu, dir: &Path) -> Subject {
        self.card = Some((gpu, ModelFiles::open(&dir.join("base")).unwrap()));
        self
    }

    /// On the card, without adapters.
    pub(crate) fn gpu_runner(&self, n_blocks: usize, batch_tokens: usize) -> GpuRunner {
        let (gpu, files) = self.card.as_ref().unwrap();
        let (model, _) = GpuModel::of_files(gpu, files).unwrap();
        let runner = GpuRunner::new(model).unwrap().with_steps_of(batch_tokens).unwrap();
        runner.with_kv(n_blocks).unwrap()
    }

    pub(crate) fn engine(&self, machine: Machine) -> Engine {
        if self.card.is_some() {
            return self.start(self.gpu_runner(machine.n_blocks, machine.batch_tokens), machine);
        }
        let runner = Runner::new(self.view.decoder.clone(), self.view.head.clone());
        self.start(runner.with_kv(machine.n_blocks).unwrap(), machine)
    }

    pub(crate) fn start(&self, forward: impl Forward + Send + 'static, machine: Machine) -> Engine {
        let config = EngineConfig {
            n_blocks: machine.n_blocks,
            batch_tokens: machine.batch_tokens,
            max_sequences: machine.max_sequences,
            queue_tokens: 1 << 20,
            max_positions: self.config.max_positions,
            vocab_size: self.config.vocab_size,
            has_vocabulary: self.view.decoder.vocabulary().is_some(),
            head_labels: self.view.head.as_ref().map(models::head::Head::n_labels),
        };
        let engine = Engine::start(forward, config).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (at, adapter) in self.adapters.iter().enumerate() {
            let inserted = engine.insert_adapter(name(at), adapter.clone());
            runtime.block_on(inserted).unwrap();
        }
        engine
    }
}

pub(crate) fn name(adapter: usize) -> Arc<str> {
    format!("adapter-{adapter}").into()
}

/// An engine's resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) n_blocks: usize,
    pub(crate) batch_tokens: usize,
    pub(crate) max_sequences: usize,
}

pub(crate) const WIDE: Machine = Machine { n_blocks: 1024, batch_tokens: 4096, max_sequences: 512 };

pub(crate) const MACHINES: [Machine; 5] = [
    WIDE,
    // Prompts in small pieces.
    Machine { batch_tokens: 5, ..WIDE },
    Machine { batch_tokens: 33, max_sequences: 3, ..WIDE },
    // Hardly more memory than the longest sequence takes, so that generations are preempted.
    Machine { n_blocks: 9, ..WIDE },
    Machine { n_blocks: 12, batch_tokens: 16, max_sequences: 16 },
];

/// A request that can be submitted repeatedly.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpec {
    pub(crate) token_ids: Vec<u32>,
    pub(crate) adapter: Option<usize>,
    pub(crate) task: TaskSpec,
}

#[derive(Clone, Debug)]
pub(crate) enum TaskSpec {
    Rows(Vec<(usize, OutputSpec)>),
    Tokens { max_tokens: usize, temperature: f32 },
}

impl RequestSpec {
    pub(crate) fn request(&self) -> Request {
        let task = match &self.task {
            TaskSpec::Rows(rows) => Task::Rows(rows.clone()),
            TaskSpec::Tokens { max_tokens, temperature } => {
                Task::Generate(Box::new(sampling(*max_tokens, *temperature)))
            }
        };
        Request {
            token_ids: self.token_ids.as_slice().into(),
            adapter: self.adapter.map(name),
            task,
        }
    }
}

/// A card draws the tokens of some of them, and the others' logits are copied.
pub(crate) fn sampling(max_tokens: usize, temperature: f32) -> SamplingParams {
    let logprobs = Some(max_tokens / 4 % 2 * 2);
    SamplingParams { max_tokens, temperature, logprobs, ..SamplingParams::default() }
}

/// Requests over two prompts with several responses: hidden states, scores, labels,
/// log-probabilities and generations.
pub(crate) fn requests(subject: &Subject) -> Vec<RequestSpec> {
    let vocabulary = subject.view.decoder.vocabulary().is_some();
    let head = subject.view.head.is_some();
    let vocab = u32::try_from(subject.config.vocab_size).unwrap();
    let text = |n: u32, salt: u32| -> Vec<u32> {
        (0..n).map(|i| (i * 7919 + salt * 104_729) % vocab).collect()
    };
    let mut all = Vec::new();
    for prompt in [text(37, 1), text(16, 2)] {
        for response in 0..4 {
            let token_ids = [prompt.clone(), text(9 + response * 11, 3 + response)].concat();
            let n = token_ids.len();
            for adapter in [None, Some(0), Some(1)] {
                let mut rows =
                    vec![(n - 1, OutputSpec::Hidden), (prompt.len(), OutputSpec::Hidden)];
                if head {
                    rows.extend((prompt.len()..n).map(|at| (at, OutputSpec::Head)));
                }
                if vocabulary {
                    let columns = [3, 60, 17].into();
                    rows.push((n - 1, OutputSpec::Labels { columns, mass: true }));
                    rows.extend(
                        (prompt.len()..n).map(|at| (at - 1, OutputSpec::Logprob(token_ids[at]))),
                    );
                    for temperature in [0.0, 1.0] {
                        all.push(RequestSpec {
                            token_ids: token_ids.clone(),
                            adapter,
                            task: TaskSpec::Tokens {
                                max_tokens: 12 + 5 * response as usize,
                                temperature,
                            },
                        });
                    }
                }
                all.push(RequestSpec {
                    token_ids: token_ids.clone(),
                    adapter,
                    task: TaskSpec::Rows(rows),
                });
            }
        }
    }
    all
}

pub(crate) type Bits = Vec<Vec<u32>>;

/// The bits of an answer.
pub(crate) fn bits(answer: &Result<RequestOutput, RequestError>) -> Bits {
    bits_of(&answer.as_ref().expect("it succeeds").output)
}

/// The bits of an output.
pub(crate) fn bits_of(output: &TaskOutput) -> Bits {
    let of = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    match output {
        TaskOutput::Rows(outputs) => outputs
            .iter()
            .map(|output| match output {
                Output::Head(v) | Output::Vocab(v) | Output::Hidden(v) => of(v),
                Output::Labels { logits, log_normalizer } => {
                    of(&[logits.as_slice(), &[log_normalizer.unwrap_or(0.0)]].concat())
                }
                Output::Logprob { logprob, entropy } => of(&[*logprob, *entropy]),
            })
            .collect(),
        TaskOutput::Tokens { tokens, .. } => tokens
            .iter()
            .map(|token| {
                let top = token.top.iter().flat_map(|(id, p)| [*id, p.to_bits()]);
                [token.token_id, token.logprob.to_bits()].into_iter().chain(top).collect()
            })
            .collect(),
    }
}

pub(crate) fn run(engine: &Engine, specs: &[RequestSpec], params: RequestParams) -> Vec<Bits> {
    let requests = specs.iter().map(RequestSpec::request).collect();
    let answers = engine.submit(requests, params).expect("there is room").wait();
    answers.iter().map(bits).collect()
}
