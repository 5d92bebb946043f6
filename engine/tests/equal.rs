//! Scores and generations of real models are equal, bit for bit: alone and among others, in whole
//! and in pieces, with the cache cold and warm, pre-empted and not, as a tree and flat.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::{
    Answer, Engine, EngineConfig, Failure, Group, Output, Priority, Produced, Read, Sampling,
    Terms, Want, Work,
};
use models::adapter::{Adapter, Base};
use models::kv::BLOCK;
use models::tiny::{AdapterSpec, Preset, TinyHead, TinySpec, make, make_adapter};
use models::{LoadOptions, Model, Runner};

/// A made model with two adapters, and whatever engines are started over it.
struct Folder {
    model: Model,
    adapters: Vec<Arc<Adapter>>,
}

impl Folder {
    fn make(dir: &Path, head: TinyHead) -> Folder {
        let spec = TinySpec {
            head,
            ..TinySpec::from(Preset::Qwen2)
        };
        let base = dir.join("base");
        make(&base, &spec).unwrap();
        let model = Model::load(&base, &LoadOptions::default()).unwrap();
        let adapters = (1..=2).map(|seed| {
            let dir = dir.join(format!("adapter-{seed}"));
            let adapter = AdapterSpec {
                seed,
                r: 4,
                alpha: 8,
                targets: ["q_proj", "v_proj", "down_proj"]
                    .map(str::to_owned)
                    .to_vec(),
                rank_pattern: BTreeMap::new(),
                alpha_pattern: BTreeMap::new(),
                rslora: false,
                score_labels: None,
            };
            make_adapter(&dir, &spec, &adapter).unwrap();
            Arc::new(Adapter::load(&dir, &Base::of(&model.config)).unwrap())
        });
        Folder {
            adapters: adapters.collect(),
            model,
        }
    }

    fn engine(&self, machine: Machine) -> Engine {
        let runner = Runner::new(self.model.decoder.clone(), self.model.head.clone());
        let config = EngineConfig {
            n_blocks: machine.n_blocks,
            batch_tokens: machine.batch_tokens,
            max_sequences: machine.max_sequences,
            queue_tokens: 1 << 20,
            max_positions: self.model.config.max_positions,
            vocab_size: self.model.config.vocab_size,
            has_vocabulary: self.model.decoder.vocabulary().is_some(),
            head_labels: self.model.head.as_ref().map(models::head::Head::n_labels),
        };
        let engine = Engine::start(runner.with_kv(machine.n_blocks).unwrap(), config).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        for (at, adapter) in self.adapters.iter().enumerate() {
            let inserted = engine.insert_adapter(name(at), adapter.clone());
            runtime.block_on(inserted).unwrap();
        }
        engine
    }
}

fn name(adapter: usize) -> Arc<str> {
    format!("adapter-{adapter}").into()
}

/// What an engine has.
#[derive(Clone, Copy, Debug)]
struct Machine {
    n_blocks: usize,
    batch_tokens: usize,
    max_sequences: usize,
}

const WIDE: Machine = Machine {
    n_blocks: 1024,
    batch_tokens: 4096,
    max_sequences: 512,
};

const MACHINES: [Machine; 5] = [
    WIDE,
    // Prompts in small pieces.
    Machine {
        batch_tokens: 5,
        ..WIDE
    },
    Machine {
        batch_tokens: 33,
        max_sequences: 3,
        ..WIDE
    },
    // Hardly more memory than the longest sequence takes: generations give way to each other.
    Machine {
        n_blocks: 9,
        ..WIDE
    },
    Machine {
        n_blocks: 12,
        batch_tokens: 16,
        max_sequences: 16,
    },
];

/// Work that can be submitted again and again.
#[derive(Clone, Debug)]
struct Asked {
    token_ids: Vec<u32>,
    adapter: Option<usize>,
    want: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Rows(Vec<(usize, Read)>),
    Tokens { max_tokens: usize, temperature: f32 },
}

impl Asked {
    fn work(&self) -> Work {
        let want = match &self.want {
            Wanted::Rows(rows) => Want::Rows(rows.clone()),
            Wanted::Tokens {
                max_tokens,
                temperature,
            } => Want::Tokens(Box::new(Sampling {
                max_tokens: *max_tokens,
                temperature: *temperature,
                logprobs: Some(2),
                ..Sampling::default()
            })),
        };
        Work {
            token_ids: self.token_ids.as_slice().into(),
            adapter: self.adapter.map(name),
            want,
        }
    }
}

/// Two prompts, responses to each, and things to know of all of them.
fn asked(folder: &Folder) -> Vec<Asked> {
    let vocabulary = folder.model.decoder.vocabulary().is_some();
    let head = folder.model.head.is_some();
    let vocab = u32::try_from(folder.model.config.vocab_size).unwrap();
    let text = |n: u32, salt: u32| -> Vec<u32> {
        (0..n)
            .map(|i| (i * 7919 + salt * 104_729) % vocab)
            .collect()
    };
    let mut all = Vec::new();
    for prompt in [text(37, 1), text(16, 2)] {
        for response in 0..4 {
            let token_ids = [prompt.clone(), text(9 + response * 11, 3 + response)].concat();
            let n = token_ids.len();
            for adapter in [None, Some(0), Some(1)] {
                let mut rows = vec![(n - 1, Read::Hidden), (prompt.len(), Read::Hidden)];
                if head {
                    rows.extend((prompt.len()..n).map(|at| (at, Read::Head)));
                }
                if vocabulary {
                    let columns = [3, 60, 17].into();
                    rows.push((
                        n - 1,
                        Read::Labels {
                            columns,
                            mass: true,
                        },
                    ));
                    rows.extend((prompt.len()..n).map(|at| (at - 1, Read::Logprob(token_ids[at]))));
                    for temperature in [0.0, 1.0] {
                        all.push(Asked {
                            token_ids: token_ids.clone(),
                            adapter,
                            want: Wanted::Tokens {
                                max_tokens: 12 + 5 * response as usize,
                                temperature,
                            },
                        });
                    }
                }
                all.push(Asked {
                    token_ids: token_ids.clone(),
                    adapter,
                    want: Wanted::Rows(rows),
                });
            }
        }
    }
    all
}

type Bits = Vec<Vec<u32>>;

/// Comparable without loss: floats by their bits.
fn bits(answer: &Result<Answer, Failure>) -> Bits {
    let of = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    match &answer.as_ref().expect("it is answered").produced {
        Produced::Rows(outputs) => outputs
            .iter()
            .map(|output| match output {
                Output::Head(v) | Output::Vocab(v) | Output::Hidden(v) => of(v),
                Output::Labels {
                    logits,
                    log_normalizer,
                } => of(&[logits.as_slice(), &[log_normalizer.unwrap_or(0.0)]].concat()),
                Output::Logprob { logprob, entropy } => of(&[*logprob, *entropy]),
            })
            .collect(),
        Produced::Tokens { tokens, .. } => tokens
            .iter()
            .map(|token| {
                let top = token.top.iter().flat_map(|(id, p)| [*id, p.to_bits()]);
                [token.token_id, token.logprob.to_bits()]
                    .into_iter()
                    .chain(top)
                    .collect()
            })
            .collect(),
    }
}

fn run(engine: &Engine, asked: &[Asked], terms: Terms) -> Vec<Bits> {
    let works = asked.iter().map(Asked::work).collect();
    let answers = engine.submit(works, terms).expect("there is room").wait();
    answers.iter().map(bits).collect()
}

/// Each in an engine of its own state: nothing cached, nobody beside it.
fn alone(folder: &Folder, asked: &[Asked]) -> Vec<Bits> {
    let each = asked.iter().enumerate().map(|(salt, asked)| {
        let terms = Terms {
            salt: salt as u64,
            ..Terms::default()
        };
        (asked, terms)
    });
    let engine = folder.engine(WIDE);
    each.map(|(asked, terms)| run(&engine, std::slice::from_ref(asked), terms).remove(0))
        .collect()
}

fn check(folder: &Folder) {
    let asked = asked(folder);
    let expected = alone(folder, &asked);
    let same = |found: Vec<Bits>, how: &str| {
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected, "{how}: {:?}", asked[at]);
        }
    };
    for machine in MACHINES {
        let engine = folder.engine(machine);
        let how = |what: &str| format!("{what} on {machine:?}");
        same(run(&engine, &asked, Terms::default()), &how("cold"));
        same(run(&engine, &asked, Terms::default()), &how("warm"));
        let batch = Terms {
            priority: Priority::Batch,
            client: 3,
            ..Terms::default()
        };
        // Many requests at once, of two priorities, some of whom leave.
        let tickets: Vec<_> = asked
            .iter()
            .map(|asked| {
                let gone = engine.submit(vec![asked.work()], Terms::default());
                let stays = engine.submit(vec![asked.work()], batch).expect("room");
                drop(gone);
                stays
            })
            .collect();
        let found = tickets.into_iter().map(|ticket| bits(&ticket.wait()[0]));
        same(found.collect(), &how("many requests"));
        // When this is answered, those who left have been looked at.
        run(&engine, &asked[..1], Terms::default());
        let status = engine.status();
        assert_eq!((status.running, status.held_blocks), (0, 0), "{machine:?}");
    }
    let tight = folder.engine(MACHINES[3]);
    run(&tight, &asked, Terms::default());
    let gave_way = tight.status().preemptions > 0;
    assert_eq!(gave_way, folder.model.decoder.vocabulary().is_some());
}

#[test]
fn a_policy_with_adapters() {
    let dir = tempfile::tempdir().unwrap();
    check(&Folder::make(dir.path(), TinyHead::Vocab));
}

#[test]
fn a_reward_model_with_adapters() {
    let dir = tempfile::tempdir().unwrap();
    check(&Folder::make(dir.path(), TinyHead::Sequence));
}

#[test]
fn a_policy_with_a_value_head() {
    let dir = tempfile::tempdir().unwrap();
    check(&Folder::make(dir.path(), TinyHead::Value));
}

#[test]
fn four_hundred_questions_as_a_tree_and_flat() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::make(dir.path(), TinyHead::Vocab);
    let labels = || Read::Labels {
        columns: [5, 9].into(),
        mass: true,
    };
    let mut group = Group::default();
    let mut flat = Vec::new();
    let text = group.node(None, &(0..50).collect::<Vec<u32>>());
    for question in 0..400_u32 {
        let node = group.node(Some(text), &[question % 64, question / 64, 7]);
        group.want(node, None, |ids| {
            flat.push(Asked {
                token_ids: ids.to_vec(),
                adapter: None,
                want: Wanted::Rows(vec![(ids.len() - 1, labels())]),
            });
            Want::Rows(vec![(ids.len() - 1, labels())])
        });
    }
    let engine = folder.engine(WIDE);
    let answers = engine
        .submit(group.into_works(), Terms::default())
        .unwrap()
        .wait();
    let computed: usize = answers
        .iter()
        .map(|answer| answer.as_ref().unwrap().usage.computed_tokens)
        .sum();
    // The text once; the first tokens of the questions, of which there are 64 and those 64 again.
    let unique = 50 + 64 + 400 + 400;
    assert_eq!(computed, unique);
    let tree: Vec<Bits> = answers.iter().map(bits).collect();
    assert!(tree == alone(&folder, &flat), "the tree changed a bit");
    assert!(engine.status().cached_blocks <= 1024 && BLOCK == 16);
}
