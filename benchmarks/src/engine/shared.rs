//! Many questions about few texts, submitted as trees.

use std::sync::Arc;

use engine::{OutputSpec, Request, RequestParams, RequestTree, Task};
use serde::Serialize;

use super::BenchEngineArgs;
use super::figures::{Counts, FigureRow, Figures, float, median, unique_tokens};
use super::subject::{Ran, Subject, only_row};
use scoring::error::RunError;

/// Sizes of the workload.
#[derive(Clone, Copy, Debug)]
struct SharedSizes {
    prompts: usize,
    prompt_tokens: usize,
    responses: usize,
    response_tokens: usize,
    questions: usize,
    question_tokens: usize,
}

impl SharedSizes {
    fn new(short: bool) -> SharedSizes {
        if short {
            SharedSizes {
                prompts: 2,
                prompt_tokens: 40,
                responses: 2,
                response_tokens: 21,
                questions: 3,
                question_tokens: 6,
            }
        } else {
            SharedSizes {
                prompts: 4,
                prompt_tokens: 256,
                responses: 4,
                response_tokens: 128,
                questions: 6,
                question_tokens: 16,
            }
        }
    }

    fn n_sequences(self) -> usize {
        self.prompts * self.responses * self.questions
    }
}

/// A prompt's tokens, its responses', and their questions'.
struct Tree {
    prompt: Vec<u32>,
    responses: Vec<(Vec<u32>, Vec<Vec<u32>>)>,
}

impl Tree {
    fn random(shape: SharedSizes, subject: &mut Subject) -> Tree {
        let prompt = subject.random_tokens(shape.prompt_tokens);
        let mut responses = Vec::with_capacity(shape.responses);
        for _ in 0..shape.responses {
            let response = subject.random_tokens(shape.response_tokens);
            let question = |_| subject.random_tokens(shape.question_tokens);
            responses.push((response, (0..shape.questions).map(question).collect()));
        }
        Tree { prompt, responses }
    }

    fn add_to(&self, group: &mut RequestTree, read: &OutputSpec) {
        let prompt = group.add_node(None, &self.prompt);
        for (response, questions) in &self.responses {
            let response = group.add_node(Some(prompt), response);
            for question in questions {
                let question = group.add_node(Some(response), question);
                group.add_request(question, None, |tokens| last(tokens, read));
            }
        }
    }
}

fn last(token_ids: &[u32], read: &OutputSpec) -> Task {
    Task::Rows(vec![(token_ids.len() - 1, read.clone())])
}

fn works(trees: &[Tree], read: &OutputSpec) -> Vec<Request> {
    let mut group = RequestTree::default();
    for tree in trees {
        tree.add_to(&mut group, read);
    }
    group.into_requests()
}

/// Figures of the workload.
#[derive(Debug, Serialize)]
pub(super) struct Shared {
    sequences: usize,
    input_tokens: usize,
    #[serde(flatten)]
    tokens: Counts,
    computed_per_unique: f64,
    steps: usize,
    seconds: f64,
    sequences_per_s: f64,
    /// Figures without sharing; `None` without `--recompute`.
    recompute: Option<Recompute>,
    /// Whether every checked answer equals the forward's.
    same_bits: bool,
}

/// The same sequences, each by itself.
#[derive(Debug, Serialize)]
struct Recompute {
    computed_tokens: usize,
    seconds: f64,
    sequences_per_s: f64,
    /// Time as a multiple of the time with sharing.
    times: f64,
}

impl Shared {
    /// Runs the workload.
    pub(super) fn measure(args: &BenchEngineArgs, subject: &mut Subject) -> Result<Self, RunError> {
        let shape = SharedSizes::new(args.short);
        let read = subject.verdict();
        let trees: Vec<Tree> = (0..shape.prompts).map(|_| Tree::random(shape, subject)).collect();
        let (mut shared, mut apart) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            let terms = subject.cold();
            shared.push(subject.run(vec![(works(&trees, &read), terms)])?);
            if args.recompute {
                let alone =
                    works(&trees, &read).into_iter().map(|work| (vec![work], subject.cold()));
                let alone: Vec<(Vec<Request>, RequestParams)> = alone.collect();
                apart.push(subject.run(alone)?);
            }
        }
        let unique = works(&trees, &read);
        let unique = unique_tokens(unique.iter().map(|work| &*work.token_ids));
        let same_bits = same_bits(subject, &works(&trees, &read), &read, &[&shared[..], &apart])?;
        Ok(summary((shape, unique), &shared, &apart, same_bits))
    }
}

/// Whether all runs agree, and the first and the last sequence agree with the forward.
fn same_bits(
    subject: &mut Subject,
    works: &[Request],
    read: &OutputSpec,
    runs: &[&[Ran]],
) -> Result<bool, RunError> {
    let rows = |ran: &Ran| -> Vec<_> {
        ran.answers.iter().map(only_row).map(Option::<&_>::cloned).collect()
    };
    let all: Vec<_> = runs.iter().flat_map(|runs| runs.iter()).map(rows).collect();
    let first = &all[0];
    let mut same = all.iter().all(|other| other == first);
    for at in [0, works.len() - 1] {
        let alone: Arc<[u32]> = works[at].token_ids.clone();
        let (_, outputs) = subject.forward(&[alone], read)?;
        same &= first[at].as_ref() == outputs.first();
    }
    Ok(same)
}

fn summary(
    (shape, unique_tokens): (SharedSizes, usize),
    shared: &[Ran],
    apart: &[Ran],
    same_bits: bool,
) -> Shared {
    let seconds = |runs: &[Ran]| median(&runs.iter().map(|ran| ran.seconds).collect::<Vec<_>>());
    let most = |runs: &[Ran]| runs.iter().map(Ran::computed_tokens).max().unwrap_or(0);
    let sequences = shape.n_sequences();
    let (computed_tokens, shared_s) = (most(shared), seconds(shared));
    let recompute = (!apart.is_empty()).then(|| Recompute {
        computed_tokens: most(apart),
        seconds: seconds(apart),
        sequences_per_s: float(sequences) / seconds(apart),
        times: seconds(apart) / shared_s,
    });
    let each = shape.prompt_tokens + shape.response_tokens + shape.question_tokens;
    Shared {
        sequences,
        input_tokens: sequences * each,
        tokens: Counts {
            computed_tokens,
            unique_tokens,
            tokens_per_s: float(computed_tokens) / shared_s,
        },
        computed_per_unique: float(computed_tokens) / float(unique_tokens),
        steps: shared[0].steps.len(),
        seconds: shared_s,
        sequences_per_s: float(sequences) / shared_s,
        recompute,
        same_bits,
    }
}

impl Figures for Shared {
    fn rows(&self) -> Vec<FigureRow> {
        let plain = |name, figure| FigureRow::plain("shared", name, figure);
        let tokens = self.tokens;
        let mut rows = vec![
            plain(
                "computed / unique tokens",
                format!("{} / {}", tokens.computed_tokens, tokens.unique_tokens),
            )
            .against("1.02 x", self.computed_per_unique <= 1.02),
            plain("input tokens", format!("{} in {} sequences", self.input_tokens, self.sequences)),
            plain("time", format!("{:.3} s in {} steps", self.seconds, self.steps)),
            plain("rate", format!("{:.1} sequences/s", self.sequences_per_s)),
            plain("tokens computed", format!("{:.1} tokens/s", tokens.tokens_per_s)),
        ];
        if let Some(apart) = &self.recompute {
            rows.push(plain(
                "without sharing",
                format!("{:.3} s, {:.2} x", apart.seconds, apart.times),
            ));
        }
        rows
    }

    fn tokens(&self) -> Counts {
        self.tokens
    }

    fn failed(&self) -> bool {
        !self.same_bits
    }
}
