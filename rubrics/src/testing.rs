//! Support of tests of model scorers: small models, scripted ones, and a registry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use engine::{Capacity, Folder, Host, HostSpec, LoadOptions, Tokenizer};
use testkit::fake::{self, Replies, Script};
use tiny_models::{Preset, TinyHead, TinySpec};

use crate::config::Document;
use crate::models::{Models, Served};
use crate::outcome::Outcome;
use crate::{Input, Registry, ScoreOptions, Tools, VerifierPool, score};

/// Scorers with one model `m`.
pub(crate) struct Bench {
    pub(crate) registry: Registry,
    pub(crate) tools: Tools,
    pub(crate) host: Arc<Host>,
}

#[derive(Debug)]
struct Only(Arc<Host>);

impl Models for Only {
    fn find(&self, name: &str) -> Option<Served> {
        Served::of(&self.0, name)
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        vec![self.0.name.clone()]
    }
}

impl Bench {
    /// Over a made model with this head; its weights follow from `seed`.
    pub(crate) fn real(toml: &str, preset: Preset, head: TinyHead, seed: u64) -> Self {
        let host = Host::load(&HostSpec {
            name: "m".to_owned(),
            folder: Folder::directory(&folder(preset, head, seed)),
            options: LoadOptions::default(),
            device: engine::Device::Cpu,
            capacity: Capacity {
                kv_memory: 64 << 20,
                batch_tokens: 1024,
                max_sequences: 64,
                queue_tokens: 1 << 18,
            },
        });
        Self::over(toml, host.expect("a made model loads"))
    }

    /// Over a script in the place of weights.
    pub(crate) fn scripted<S: Script + 'static>(
        toml: &str,
        head: TinyHead,
        script: impl FnOnce(&Host) -> S,
    ) -> Self {
        let dir = folder(Preset::Qwen2, head, 0);
        let host = fake::host("m", &dir, script);
        Self::over(toml, host.expect("a made model loads"))
    }

    /// Over a model that replies to each prompt with the text that `reply` gives.
    pub(crate) fn replying(
        toml: &str,
        reply: impl Fn(&str) -> String + Send + Clone + 'static,
    ) -> Self {
        Self::scripted(toml, TinyHead::Vocab, |host| Replies::new(host, reply))
    }

    /// Over any model.
    pub(crate) fn over(toml: &str, host: Host) -> Self {
        let (registry, problems) = read_registry(toml);
        assert_eq!(problems, Vec::<String>::new());
        let host = Arc::new(host);
        Self {
            registry,
            tools: Tools {
                pool: VerifierPool::new(2, 1 << 16).expect("threads start"),
                models: Arc::new(Only(host.clone())),
                recorder: None,
            },
            host,
        }
    }

    /// Returns what the scorers lack.
    pub(crate) fn check(&self) -> Result<(), Vec<String>> {
        self.registry.check(&*self.tools.models)
    }

    /// Judges inputs together.
    pub(crate) fn all(&self, scorer: &str, inputs: &[Input], ask: ScoreOptions) -> Vec<Outcome> {
        let scorer = self.registry.get(scorer).expect("it is configured");
        let inputs: Vec<Arc<Input>> = inputs.iter().cloned().map(Arc::new).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let scoring = score(scorer, &inputs, ask, &self.tools);
        let scored = runtime.expect("a runtime").block_on(scoring);
        scored.into_iter().map(|scored| scored.outcome).collect()
    }

    /// Asserts that inputs have the same verdicts together as alone, and returns them.
    #[track_caller]
    pub(crate) fn independent(
        &self,
        scorer: &str,
        inputs: &[Input],
        ask: ScoreOptions,
    ) -> Vec<Outcome> {
        let together = verdicts(self.all(scorer, inputs, ask));
        let alone =
            inputs.iter().flat_map(|input| self.all(scorer, std::slice::from_ref(input), ask));
        assert_eq!(verdicts(alone.collect()), together);
        together
    }

    /// Judges one input, with explanations.
    pub(crate) fn one(&self, scorer: &str, input: Input) -> Outcome {
        let ask = ScoreOptions { explain: true, ..ScoreOptions::default() };
        self.all(scorer, &[input], ask).remove(0)
    }
}

/// A model with given log-probabilities for some texts' tokens after each prompt, and none for all
/// others.
pub(crate) struct Beliefs<F> {
    tokenizer: Arc<Tokenizer>,
    vocab_size: usize,
    belief: F,
}

impl<F: Fn(&str) -> Vec<(String, f32)>> Beliefs<F> {
    /// `belief` is given all that the model has seen, special tokens included, and gives tokens
    /// with their logits.
    pub(crate) fn new(host: &Host, belief: F) -> Self {
        Self {
            tokenizer: host.tokenizer.clone(),
            vocab_size: host.engine.limits().vocab_size,
            belief,
        }
    }
}

impl<F: Fn(&str) -> Vec<(String, f32)> + Send> Script for Beliefs<F> {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        const NEVER: f32 = -40.0;
        let seen = self.tokenizer.decode(token_ids, false);
        let mut logits = vec![NEVER; self.vocab_size];
        for (text, logit) in (self.belief)(&seen.expect("known tokens")) {
            let ids = self.tokenizer.encode(&text, false).expect("a token");
            assert_eq!(ids.len(), 1, "{text:?}");
            logits[ids[0] as usize] = logit;
        }
        logits
    }
}

/// Tokens that a machine with a perfect memory would compute for these sequences: those that no
/// earlier sequence begins with.
pub(crate) fn unique_tokens(sequences: &[Arc<[u32]>]) -> usize {
    let mut seen: Vec<&[u32]> = Vec::new();
    let mut unique = 0;
    for sequence in sequences {
        let shared = |other: &&[u32]| {
            let both = sequence.iter().zip(other.iter());
            both.take_while(|(a, b)| a == b).count()
        };
        unique += sequence.len() - seen.iter().map(shared).max().unwrap_or(0);
        seen.push(sequence);
    }
    unique
}

/// Returns the scorers of a configuration with the model `m`, and its problems.
pub(crate) fn read_registry(toml: &str) -> (Registry, Vec<String>) {
    read_beside(toml, None)
}

/// Reads scorers with files in a folder.
pub(crate) fn read_beside(toml: &str, base: Option<&Path>) -> (Registry, Vec<String>) {
    let document = Document::new("test", toml);
    let registry = {
        let table = document.parse();
        let root = document.root(&table);
        let registry = Registry::read_beside(&root, &["m"], base);
        root.finish();
        registry
    };
    let problems = document.into_problems();
    (registry, problems.iter().map(ToString::to_string).collect())
}

/// Asserts that a configuration has exactly one problem, which contains `expected`.
#[track_caller]
pub(crate) fn assert_one_problem(toml: &str, expected: &str) {
    let (_, problems) = read_registry(toml);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains(expected), "{problems:?}");
}

/// Returns the outcomes without usage: cached tokens may differ, verdicts must not.
pub(crate) fn verdicts(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    outcomes.into_iter().map(bare).collect()
}

fn bare(mut outcome: Outcome) -> Outcome {
    let evidence = match &mut outcome {
        Ok(scored) => &mut scored.evidence,
        Err(failure) => &mut failure.evidence,
    };
    if let Some(trace) = &mut evidence.trace {
        trace.usage = engine::Usage::default();
    }
    for member in evidence.members.iter_mut().flatten() {
        member.outcome = bare(member.outcome.clone());
    }
    outcome
}

/// A made model's folder; each is made once and stays until the tests end.
fn folder(preset: Preset, head: TinyHead, seed: u64) -> PathBuf {
    type Known = HashMap<(&'static str, &'static str, u64), PathBuf>;
    static ROOT: LazyLock<tempfile::TempDir> =
        LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (preset.name(), head.name(), seed);
    let made = known.entry(key).or_insert_with(|| {
        let dir = ROOT.path().join(format!("{}-{}-{}", key.0, key.1, key.2));
        let spec = TinySpec { head, seed, ..TinySpec::from(preset) };
        tiny_models::make(Path::new(&dir), &spec).expect("a folder is made");
        dir
    });
    made.clone()
}
