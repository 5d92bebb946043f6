//! Models under test, and sequences to run through them.

use std::sync::Arc;

use gpu::Gpu;
use gpu_models::{GpuModel, GpuRunner};
use models::adapter::{Adapter, LoraPair};
use models::batch::AdapterSlot;
use models::head::Head;
use models::random::named_numbers;
use models::weights::{FloatType, Site};
use models::{
    BLOCK, BlockId, Forward, LoadOptions, Matrix, Model, ModelConfig, ModelFiles, Output,
    OutputSpec, PackItem, Runner, pack,
};
use tiny_models::{Preset, TinyHead, TinySpec, random_adapter};

/// Blocks of a runner.
pub const BLOCKS: usize = 24;

/// A generated model: numbers of bf16, so that both sides have the same weights.
#[derive(Debug)]
pub struct CardSubject {
    /// Family and head.
    pub name: String,
    /// Its configuration.
    pub config: Arc<ModelConfig>,
    files: ModelFiles,
    model: Model,
    // The files are read from it.
    _folder: tempfile::TempDir,
}

impl CardSubject {
    /// A model of a family with a head.
    ///
    /// # Panics
    /// If no temporary folder can be written.
    pub fn new(preset: Preset, head: TinyHead) -> CardSubject {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dir = folder.path().join("model");
        let spec = TinySpec { head, storage: FloatType::Bf16, ..TinySpec::from(preset) };
        tiny_models::make(&dir, &spec).expect("every family has these heads");
        let model = Model::load(&dir, &LoadOptions::default()).expect("it was just made");
        CardSubject {
            name: format!("{} by {}", preset.name(), head.name()),
            config: model.config.clone(),
            files: ModelFiles::open(&dir).expect("it was just made"),
            model,
            _folder: folder,
        }
    }

    /// Every family with its vocabulary, and one with every other head.
    pub fn all() -> Vec<CardSubject> {
        let tiny = Preset::ALL.into_iter().filter(|preset| !preset.is_published_size());
        let other = TinyHead::ALL.into_iter().filter(|head| *head != TinyHead::Vocab);
        let made = tiny.map(|preset| (preset, TinyHead::Vocab));
        let made = made.chain(other.map(|head| (Preset::Qwen2, head)));
        made.map(|(preset, head)| CardSubject::new(preset, head)).collect()
    }

    /// On the processor, with blocks and two adapters.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn on_processor(&self) -> Runner {
        let runner = Runner::new(self.model.decoder.clone(), self.model.head.clone());
        with_adapters(runner.with_kv(BLOCKS).expect("memory"), &self.config)
    }

    /// On a card, with blocks and two adapters.
    ///
    /// # Panics
    /// If the card fails.
    pub fn on_card(&self, gpu: &Gpu) -> GpuRunner {
        with_adapters(self.without_adapters(gpu).expect("it fits"), &self.config)
    }

    /// On a card, with blocks.
    ///
    /// # Errors
    /// Those of the card.
    pub fn without_adapters(&self, gpu: &Gpu) -> models::Result<GpuRunner> {
        let (model, _) = GpuModel::of_files(gpu, &self.files)?;
        GpuRunner::new(model)?.with_kv(BLOCKS)
    }
}

/// The runner with adapters in slots 0 and 1.
fn with_adapters<F: Forward>(mut runner: F, config: &ModelConfig) -> F {
    let plain = random_adapter(config, 1, 4).expect("an adapter");
    assert_eq!(runner.insert(plain).expect("memory"), AdapterSlot(0));
    assert_eq!(runner.insert(changing_all(config)).expect("memory"), AdapterSlot(1));
    runner
}

/// An adapter that changes embedding and vocabulary, too, and has a head of its own; its ranks differ.
fn changing_all(config: &ModelConfig) -> Arc<Adapter> {
    let random = random_adapter(config, 2, 12).expect("an adapter");
    let (hidden, vocab) = (config.hidden_size, config.vocab_size);
    let matrix = |name: &str, n, k| {
        let numbers = named_numbers(3, name, n * k, 0.3);
        Matrix::from_rows(&numbers, n, k).expect("the numbers fill it")
    };
    let pair = |name: &str, a: [usize; 2], b: [usize; 2]| LoraPair {
        a: matrix(&format!("{name} a"), a[0], a[1]),
        b: matrix(&format!("{name} b"), b[0], b[1]),
        scale: 0.5,
    };
    let mut pairs = random.pairs.clone();
    pairs.insert(Site::Embedding, pair("embedding", [vocab, 3], [hidden, 3]));
    if config.head.has_vocabulary() {
        pairs.insert(Site::Vocab, pair("vocab", [5, hidden], [vocab, 5]));
    }
    Arc::new(Adapter {
        digest: "all".to_owned(),
        pairs,
        head: Some(Head::linear(matrix("head", 2, hidden), None)),
        report: random.report.clone(),
        ..Adapter::default()
    })
}

/// Tokens under an adapter.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its tokens.
    pub token_ids: Vec<u32>,
    /// The adapter of all of them.
    pub adapter: Option<AdapterSlot>,
}

/// Sequences of some lengths under no adapter and under both.
pub fn sequences(config: &ModelConfig) -> Vec<Sequence> {
    random_sequences(config, &[(19, None), (1, Some(1)), (9, Some(0)), (34, Some(1)), (16, None)])
}

/// Sequences of random tokens: their lengths, and the slots of their adapters.
///
/// # Panics
/// If the vocabulary is larger than 2^32.
pub fn random_sequences(config: &ModelConfig, lengths: &[(usize, Option<u32>)]) -> Vec<Sequence> {
    let vocab = u32::try_from(config.vocab_size).expect("a small vocabulary");
    let mut next = 7_u32;
    lengths
        .iter()
        .map(|&(n, adapter)| Sequence {
            token_ids: (0..n)
                .map(|_| {
                    next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (next >> 8) % vocab
                })
                .collect(),
            adapter: adapter.map(AdapterSlot),
        })
        .collect()
}

/// The outputs that the model can compute of a row.
fn specs(config: &ModelConfig, adapter: Option<AdapterSlot>) -> Vec<OutputSpec> {
    use models::config::HeadConfig::Vocab;
    let mut specs = vec![OutputSpec::Hidden];
    // The adapter in slot 1 has a head.
    if config.head != Vocab || adapter == Some(AdapterSlot(1)) {
        specs.push(OutputSpec::Head);
    }
    if config.head.has_vocabulary() {
        let columns: Arc<[u32]> = [3, 60, 17].into();
        specs.extend([
            OutputSpec::Vocab,
            OutputSpec::Labels { columns, mass: true },
            OutputSpec::Logprob(11),
        ]);
    }
    specs
}

/// Outputs of these rows of one chunk.
pub fn item(
    config: &ModelConfig,
    sequence: &Sequence,
    range: std::ops::Range<usize>,
    read: impl Fn(usize) -> bool,
) -> PackItem {
    let specs = specs(config, sequence.adapter);
    let rows = (0..range.len()).filter(|row| read(range.start + row));
    PackItem {
        token_ids: sequence.token_ids[range.clone()].to_vec(),
        start: range.start,
        adapter: sequence.adapter,
        outputs: rows.flat_map(|row| specs.iter().map(move |s| (row, s.clone()))).collect(),
        blocks: Vec::new(),
    }
}

/// Blocks of each sequence out of `n`, scattered.
///
/// # Panics
/// If `n` is a multiple of 7.
pub fn blocks(sequences: &[Sequence], n: usize) -> Vec<Vec<BlockId>> {
    assert!(!n.is_multiple_of(7), "7 and the number of blocks have no common divisor");
    let mut free = (0..n).map(|i| BlockId(u32::try_from(i * 7 % n).expect("few blocks")));
    let count = |sequence: &Sequence| sequence.token_ids.len().div_ceil(BLOCK);
    sequences.iter().map(|s| free.by_ref().take(count(s)).collect()).collect()
}

/// Outputs of one batch of these items.
///
/// # Panics
/// If the card fails.
pub fn run(runner: &mut impl Forward, items: &[PackItem]) -> Vec<Output> {
    let batch = pack(items).expect("the items are well formed");
    runner.forward(&batch).expect("the batch can be run").rows
}

/// The numbers of an output.
pub fn numbers(output: &Output) -> Vec<f32> {
    match output {
        Output::Head(v) | Output::Vocab(v) | Output::Hidden(v) => v.clone(),
        Output::Labels { logits, log_normalizer } => {
            logits.iter().copied().chain(*log_normalizer).collect()
        }
        Output::Logprob { logprob, entropy } => vec![*logprob, *entropy],
    }
}
