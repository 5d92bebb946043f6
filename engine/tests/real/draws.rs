//! Tokens that a card draws are those that the sampler draws from the card's logits.

use std::sync::Arc;

use engine::{
    Constraint, ConstraintError, Engine, Output, OutputSpec, Request, RequestError, RequestOutput,
    RequestParams, SampledToken, SamplingParams, Task, TaskOutput,
};
use gpu_models::GpuRunner;
use models::adapter::{Adapter, LoraPair};
use models::batch::{AdapterSlot, Outputs, RaggedBatch};
use models::{Forward, Result};
use tiny_models::TinyHead;

use crate::subject::{MACHINES, Subject, WIDE, emulator, name};

/// A card whose logits are copied to the processor.
struct Copied(GpuRunner);

impl Forward for Copied {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs> {
        self.0.forward(batch)
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot> {
        self.0.insert(adapter)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.0.remove(slot)
    }
}

/// Every third token, from another one on after each.
#[derive(Clone, Debug)]
struct Thirds {
    words: Vec<u32>,
    first: u32,
    /// Fails at this token.
    end: u32,
}

impl Thirds {
    fn until(end: u32) -> Box<dyn Constraint> {
        Box::new(Thirds { words: Vec::new(), first: 0, end })
    }
}

impl Constraint for Thirds {
    fn mask(&mut self) -> std::result::Result<engine::sampling::Mask<'_>, ConstraintError> {
        if self.first >= self.end {
            return Err(ConstraintError::DeadEnd);
        }
        let rest = self.first % 3;
        let word = |at: u32| {
            (0..32).filter(|bit| (at * 32 + bit) % 3 == rest).fold(0, |all, bit| all | 1 << bit)
        };
        self.words = (0..9).map(word).collect();
        Ok(engine::sampling::Mask::new(&self.words))
    }

    fn accept(&mut self, _: u32) -> std::result::Result<(), ConstraintError> {
        self.first += 1;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn fork(&self) -> Box<dyn Constraint> {
        Box::new(self.clone())
    }
}

const PROMPT: [u32; 5] = [3, 60, 17, 5, 9];

/// Parameters of every kind, `copied` for those whose logits are needed.
fn kinds() -> Vec<(SamplingParams, bool)> {
    let plain = || SamplingParams { max_tokens: 9, logprobs: Some(0), ..SamplingParams::default() };
    let warm = || SamplingParams { temperature: 1.0, ..plain() };
    let stops: Arc<[u32]> = (0..250).collect();
    let here = |params| (params, false);
    let copied = |params| (params, true);
    vec![
        here(plain()),
        here(warm()),
        here(SamplingParams { logprobs: None, seed: 1, ..warm() }),
        here(SamplingParams { temperature: 0.3, top_k: Some(5), seed: 2, ..warm() }),
        here(SamplingParams { top_k: Some(100_000), stream: 7, ..warm() }),
        here(SamplingParams { temperature: 3.0, top_p: 0.8, seed: 3, ..warm() }),
        here(SamplingParams { min_p: 0.1, seed: u64::MAX, ..warm() }),
        here(SamplingParams { top_k: Some(40), top_p: 0.9, min_p: 0.02, ..warm() }),
        here(SamplingParams { stop_token_ids: stops, min_tokens: 6, ..warm() }),
        here(SamplingParams { constraint: Some(Thirds::until(99)), ..warm() }),
        here(SamplingParams { constraint: Some(Thirds::until(99)), top_k: Some(3), ..warm() }),
        here(SamplingParams { constraint: Some(Thirds::until(4)), ..plain() }),
        copied(SamplingParams { logprobs: Some(3), ..warm() }),
        copied(SamplingParams { repetition_penalty: 1.3, ..plain() }),
        copied(SamplingParams { logit_bias: [(7, 3.0)].into(), ..warm() }),
    ]
}

fn generations(adapter: Option<usize>) -> Vec<Request> {
    let request = |(params, _)| Request {
        token_ids: PROMPT.into(),
        adapter: adapter.map(name),
        task: Task::Generate(Box::new(params)),
    };
    kinds().into_iter().map(request).collect()
}

type Answer = std::result::Result<RequestOutput, RequestError>;

fn answers(engine: &Engine, requests: Vec<Request>) -> Vec<Answer> {
    engine.submit(requests, RequestParams::default()).unwrap().wait()
}

fn tokens(answer: &Answer) -> std::result::Result<&[SampledToken], String> {
    match answer {
        Ok(RequestOutput { output: TaskOutput::Tokens { tokens, .. }, .. }) => Ok(tokens),
        Ok(_) => unreachable!("tokens were requested"),
        // A NaN equals none.
        Err(error) => Err(error.to_string()),
    }
}

/// Log-probabilities of tokens as outputs of rows.
fn read(engine: &Engine, adapter: Option<usize>, tokens: &[SampledToken]) -> Vec<u32> {
    let ids: Vec<u32> = tokens.iter().map(|token| token.token_id).collect();
    let rows = ids.iter().enumerate().map(|(at, id)| {
        let spec = OutputSpec::Logprob(*id);
        (PROMPT.len() - 1 + at, spec)
    });
    let request = Request {
        token_ids: [&PROMPT, &ids[..]].concat().into(),
        adapter: adapter.map(name),
        task: Task::Rows(rows.collect()),
    };
    let TaskOutput::Rows(rows) = answers(engine, vec![request]).remove(0).unwrap().output else {
        unreachable!("rows were requested")
    };
    let bits = |output: &Output| {
        let Output::Logprob { logprob, .. } = output else {
            unreachable!("log-probabilities were requested")
        };
        logprob.to_bits()
    };
    rows.iter().map(bits).collect()
}

#[test]
fn card_draws_the_tokens_of_the_sampler() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    let subject = Subject::make(dir.path(), TinyHead::Vocab).on(emulator.open(0), dir.path());
    let copied = subject.start(Copied(subject.gpu_runner(WIDE.n_blocks, 64)), WIDE);
    let here = subject.engine(MACHINES[2]);
    for adapter in [None, Some(1)] {
        let [expected, found] =
            [&copied, &here].map(|engine| answers(engine, generations(adapter)));
        for ((params, is_copied), (expected, found)) in
            kinds().iter().zip(expected.iter().zip(&found))
        {
            let (expected, found) = match (tokens(expected), tokens(found)) {
                (Ok(expected), Ok(found)) => (expected, found),
                (expected, found) => {
                    assert!(expected == found && found.is_err(), "{expected:?}: {found:?}");
                    continue;
                }
            };
            if *is_copied {
                assert!(expected == found, "{params:?}");
                continue;
            }
            let parts = |tokens: &[SampledToken]| -> Vec<_> {
                tokens.iter().map(|token| (token.token_id, token.top.clone())).collect()
            };
            assert_eq!(parts(expected), parts(found), "{params:?}");
            let near =
                expected.iter().zip(found).all(|(a, b)| (a.logprob - b.logprob).abs() < 1e-5);
            assert!(near, "{params:?}: {expected:?} and {found:?}");
            if params.logprobs.is_some() {
                let bits: Vec<u32> = found.iter().map(|token| token.logprob.to_bits()).collect();
                assert_eq!(bits, read(&here, adapter, found), "{params:?}");
            }
        }
    }
}

#[test]
fn non_finite_logits_of_a_card_fail_their_own_sequences() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut subject = Subject::make(dir.path(), TinyHead::Vocab).on(emulator.open(0), dir.path());
    let sound = answers(&subject.engine(WIDE), generations(None));
    let broken = &subject.adapters[0];
    let pairs = broken.pairs.iter().map(|(site, pair)| {
        let LoraPair { a, b, .. } = pair.clone();
        (*site, LoraPair { a, b, scale: f32::NAN })
    });
    subject.adapters[0] = Arc::new(Adapter {
        digest: "broken".to_owned(),
        pairs: pairs.collect(),
        head: None,
        report: broken.report.clone(),
        ..Adapter::default()
    });
    let engine = subject.engine(WIDE);
    let requests = generations(Some(0)).into_iter().zip(generations(None));
    let found = answers(&engine, requests.flat_map(|(broken, sound)| [broken, sound]).collect());
    for (found, expected) in found.chunks(2).zip(&sound) {
        let error = tokens(&found[0]).unwrap_err();
        assert!(error.contains("NaN in the logits at position 4"), "{error}");
        assert_eq!(tokens(&found[1]), tokens(expected));
    }
}
