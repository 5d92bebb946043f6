//! Weight updates under a running engine, and generations that are stopped and resumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use crate::forward::{Fake, VOCAB, Weights, naive_under, silence_injected_panics};
use crate::submission::{adapter, config};
use engine::sampling::Sampler;
use engine::{
    Engine, FinishReason, OutputSpec, Request, RequestEvent, RequestOutput, RequestParams,
    SampledToken, SamplingParams, SubmitError, Task, TaskOutput, Ticket, WeightUpdate,
    WeightUpdateError,
};
use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::{Forward, ModelError, Output, Outputs, RaggedBatch};
use proptest::prelude::*;

/// A fake that signals each step and waits for the test before it runs it.
struct Stepped {
    fake: Fake,
    reached: mpsc::Sender<()>,
    gate: mpsc::Receiver<()>,
}

impl Forward for Stepped {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
        // Once the test drops its ends, steps run freely.
        let _ = self.reached.send(());
        let _ = self.gate.recv();
        self.fake.forward(batch)
    }

    fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
        self.fake.insert(adapter)
    }

    fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        self.fake.remove(slot)
    }
}

/// The test's side of a stepped engine.
struct Steps {
    engine: Engine,
    weights: Arc<Weights>,
    reached: mpsc::Receiver<()>,
    gate: mpsc::Sender<()>,
}

impl Steps {
    fn start() -> Steps {
        let fake = Fake::new(8);
        let weights = fake.weights.clone();
        let (sender, reached) = mpsc::channel();
        let (gate, receiver) = mpsc::channel();
        let stepped = Stepped { fake, reached: sender, gate: receiver };
        Steps { engine: Engine::start(stepped, config()).unwrap(), weights, reached, gate }
    }

    /// Runs one step.
    fn step(&self) {
        self.reached.recv().unwrap();
        self.gate.send(()).unwrap();
    }

    /// Requests a weight update while the engine waits before a step, then runs that step, so that
    /// the update comes right after it.
    async fn update(&self, to: u64) {
        self.reached.recv().unwrap();
        let changing = tokio::spawn({
            let (engine, weights) = (self.engine.clone(), self.weights.clone());
            async move { engine.update_weights(|| weights.set(to)).await }
        });
        tokio::task::yield_now().await;
        self.gate.send(()).unwrap();
        let updated = changing.await.unwrap().unwrap();
        assert_eq!(updated.revision, to);
        let status = self.engine.status();
        assert_eq!((self.engine.revision(), status.revision), (to, to));
    }

    /// Runs all further steps without waiting.
    fn open(self) -> (Engine, Arc<Weights>) {
        (self.engine, self.weights)
    }
}

/// An engine whose steps do not wait.
fn engine() -> (Engine, Arc<Weights>) {
    Steps::start().open()
}

/// Parameters of random sampling with log-probabilities.
fn sampling(max_tokens: usize, resumed: usize) -> SamplingParams {
    SamplingParams {
        max_tokens,
        temperature: 1.0,
        seed: 5,
        stream: 9,
        presence_penalty: 0.5,
        frequency_penalty: 0.25,
        logprobs: Some(2),
        resumed,
        ..SamplingParams::default()
    }
}

fn generate(token_ids: &[u32], sampling: SamplingParams) -> Request {
    Request { token_ids: token_ids.into(), adapter: None, task: Task::Generate(Box::new(sampling)) }
}

fn scores(token_ids: &[u32]) -> Request {
    Request { token_ids: token_ids.into(), adapter: None, task: Task::scores(0..token_ids.len()) }
}

fn submit(engine: &Engine, request: Request) -> Ticket {
    engine.submit(vec![request], RequestParams::default()).unwrap()
}

fn tokens(answer: &RequestOutput) -> &[SampledToken] {
    match &answer.output {
        TaskOutput::Tokens { tokens, .. } => tokens,
        TaskOutput::Rows(_) => panic!("tokens were requested"),
    }
}

/// The expected next token under some weights.
fn expected(weights: u64, prompt: &[u32], before: &[SampledToken]) -> SampledToken {
    let ids = before.iter().map(|token| token.token_id);
    let ids: Vec<u32> = prompt.iter().copied().chain(ids).collect();
    let Output::Vocab(mut logits) = naive_under(weights, &ids, None, &OutputSpec::Vocab) else {
        unreachable!("logits were requested")
    };
    let mut sampler = Sampler::new(sampling(1000, before.len()), &ids, VOCAB).unwrap();
    SampledToken { revision: weights, ..sampler.next(&mut logits).unwrap().sampled }
}

/// Checks each token, its log-probability and the top tokens under the weights that it names.
fn check_tokens(prompt: &[u32], tokens: &[SampledToken]) {
    for (at, token) in tokens.iter().enumerate() {
        assert_eq!(*token, expected(token.revision, prompt, &tokens[..at]));
    }
    assert!(tokens.is_sorted_by_key(|token| token.revision));
}

fn finish(answer: &RequestOutput) -> FinishReason {
    match &answer.output {
        TaskOutput::Tokens { finish, .. } => finish.clone(),
        TaskOutput::Rows(_) => panic!("tokens were requested"),
    }
}

fn check_rows(token_ids: &[u32], slot: Option<AdapterSlot>, answer: &RequestOutput) {
    let TaskOutput::Rows(rows) = &answer.output else { panic!("rows were requested") };
    for (at, row) in rows.iter().enumerate() {
        let under = naive_under(answer.revision, &token_ids[..=at], slot, &OutputSpec::Head);
        assert_eq!(*row, under, "row {at} of revision {}", answer.revision);
    }
}

#[tokio::test]
async fn each_token_is_of_its_named_revision() {
    let steps = Steps::start();
    let prompt = [1, 2, 3];
    let ticket = submit(&steps.engine, generate(&prompt, sampling(20, 0)));
    for to in 1..=3 {
        for _ in 0..4 {
            steps.step();
        }
        steps.update(to).await;
    }
    let _engine = steps.open();
    let answer = ticket.all().await.remove(0).unwrap();
    let tokens = tokens(&answer);
    check_tokens(&prompt, tokens);
    let of = |revision| tokens.iter().filter(|t| t.revision == revision).count();
    assert_eq!([of(0), of(1), of(2), of(3)], [5, 5, 5, 5]);
    assert_eq!(answer.revision, 3);
    // The prompt and the tokens so far are recomputed each time.
    let computed = (3 + 4) + (8 + 4) + (13 + 4) + (18 + 4);
    assert_eq!(answer.usage.computed_tokens, computed);
}

#[tokio::test]
async fn rows_of_an_output_are_of_one_revision() {
    let steps = Steps::start();
    let ids: Vec<u32> = (0..90).map(|at| at * 5 % 8).collect();
    // More than one step, so that some rows are read before the update.
    let ticket = submit(&steps.engine, scores(&ids));
    steps.update(1).await;
    let _engine = steps.open();
    let answer = ticket.all().await.remove(0).unwrap();
    assert_eq!(answer.revision, 1);
    assert_eq!(answer.usage.computed_tokens, 64 + 90);
    check_rows(&ids, None, &answer);
}

#[tokio::test]
async fn weight_update_invalidates_adapter_prefixes() {
    let (engine, weights) = engine();
    let inserted = engine.insert_adapter("strict".into(), adapter("live:one"));
    inserted.await.unwrap();
    let slot = Some(AdapterSlot(0));
    for revision in 0..3 {
        let cached = async || {
            let mut request = scores(&[1; 20]);
            request.task = Task::scores([19]);
            request.adapter = Some("strict".into());
            let answer = submit(&engine, request).all().await.remove(0).unwrap();
            let row = naive_under(revision, &[1; 20], slot, &OutputSpec::Head);
            assert_eq!(answer.output, TaskOutput::Rows(vec![row]));
            assert_eq!(answer.revision, revision);
            answer.usage.cached_tokens
        };
        assert_eq!([cached().await, cached().await], [0, 19]);
        let set = || weights.set(revision + 1);
        engine.update_weights(set).await.unwrap();
    }
}

/// They begin as copies of one adapter and are trained apart, so that equal digests say nothing.
#[tokio::test]
async fn live_adapters_of_one_digest_share_no_prefix() {
    let (engine, _) = engine();
    let run = async |name: &str, slot: u32| {
        let mut request = scores(&[1; 20]);
        request.task = Task::scores([19]);
        request.adapter = Some(name.into());
        let answer = submit(&engine, request).all().await.remove(0).unwrap();
        let row = naive_under(0, &[1; 20], Some(AdapterSlot(slot)), &OutputSpec::Head);
        assert_eq!(answer.output, TaskOutput::Rows(vec![row]), "{name}");
        answer.usage.cached_tokens
    };
    for name in ["first", "second"] {
        engine.insert_adapter(name.into(), adapter("live:one")).await.unwrap();
    }
    assert_eq!([run("first", 0).await, run("second", 1).await], [0, 0]);
    assert_eq!([run("first", 0).await, run("second", 1).await], [19, 19]);
    // A slot that is used again has other content too.
    engine.remove_adapter("first".into()).await.unwrap();
    engine.insert_adapter("third".into(), adapter("live:one")).await.unwrap();
    assert_eq!(run("third", 0).await, 0);
}

#[test]
fn update_returns_the_callbacks_value() {
    let (engine, _) = engine();
    let mut moments = vec![1, 2];
    let updated = engine.update_weights_blocking(|| {
        moments.push(3);
        Err::<(), _>("the gradient is not finite")
    });
    let value = Err("the gradient is not finite");
    assert_eq!(updated, Ok(WeightUpdate { value, revision: 1 }));
    assert_eq!(moments, [1, 2, 3]);
    assert_eq!(engine.revision(), 1);
}

#[test]
fn panicking_update_is_an_error_and_engine_continues() {
    silence_injected_panics();
    let (engine, weights) = engine();
    let ticket = submit(&engine, generate(&[1, 2], sampling(50, 0)));
    let outcome = engine.update_weights_blocking(|| {
        weights.set(1);
        panic!("injected")
    });
    let panicked = WeightUpdateError::Panicked("injected".to_owned());
    assert_eq!(outcome, Err::<WeightUpdate<()>, _>(panicked));
    // It has written, so earlier results are not used again.
    assert_eq!(engine.revision(), 1);
    check_tokens(&[1, 2], tokens(ticket.wait()[0].as_ref().unwrap()));
    let answer = submit(&engine, scores(&[1, 2])).wait().remove(0).unwrap();
    check_rows(&[1, 2], None, &answer);
}

#[tokio::test]
async fn aborted_update_does_not_block_the_engine() {
    let steps = Steps::start();
    let ticket = submit(&steps.engine, generate(&[1, 2], sampling(5, 0)));
    steps.reached.recv().unwrap();
    let changing = tokio::spawn({
        let engine = steps.engine.clone();
        async move { engine.update_weights(|| unreachable!("the caller has left")).await }
    });
    tokio::task::yield_now().await;
    changing.abort();
    assert!(changing.await.unwrap_err().is_cancelled());
    let _engine = steps.open();
    let answer = ticket.all().await.remove(0).unwrap();
    assert_eq!((tokens(&answer).len(), answer.revision), (5, 0));
}

/// Threads submit while another updates the weights: each request gets one output, entirely of the
/// revision that it names, and no step sees a partial update.
#[test]
fn submissions_during_updates_are_answered_once() {
    let (engine, weights) = engine();
    let done = AtomicBool::new(false);
    let caller = |caller: u32| {
        for round in 0..60 {
            let ids: Vec<u32> = (0..3 + (caller + round) % 9).map(|at| (at + round) % 8).collect();
            let n_tokens = 1 + (round as usize) % 7;
            let requests = vec![scores(&ids), generate(&ids, sampling(n_tokens, 0))];
            let before = engine.revision();
            let ticket = match engine.submit(requests, RequestParams::default()) {
                Ok(ticket) => ticket,
                Err(SubmitError::Overloaded { .. }) => continue,
                Err(other) => panic!("{other}"),
            };
            let answers = ticket.wait();
            let after = engine.revision();
            let [rows, text] = [0, 1].map(|at| answers[at].as_ref().unwrap());
            check_rows(&ids, None, rows);
            check_tokens(&ids, tokens(text));
            assert_eq!(tokens(text).len(), n_tokens);
            for answer in [rows, text] {
                assert!((before..=after).contains(&answer.revision));
            }
        }
    };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4).map(|at| scope.spawn(move || caller(at))).collect();
        let changes = scope.spawn(|| {
            let mut revision = 0;
            while !done.load(Ordering::SeqCst) {
                revision += 1;
                let set = || weights.set(revision);
                let updated = engine.update_weights_blocking(set).unwrap();
                assert_eq!(updated.revision, revision);
            }
            revision
        });
        for caller in callers {
            caller.join().unwrap();
        }
        done.store(true, Ordering::SeqCst);
        assert!(changes.join().unwrap() > 0);
    });
    let status = engine.status();
    assert_eq!((status.held_blocks, status.failed_steps), (0, 0));
    assert_eq!(engine.queued_tokens(), 0);
}

/// Takes about `after` tokens of a generation and stops it.
fn stopped(engine: &Engine, request: Request, after: usize) -> Vec<SampledToken> {
    let mut ticket = submit(engine, request);
    let mut taken = Vec::new();
    let mut take = |event: Option<RequestEvent>| match event {
        Some(RequestEvent::Tokens { tokens, .. }) => {
            taken.extend(tokens);
            true
        }
        Some(RequestEvent::Done { .. }) | None => false,
    };
    let mut n = 0;
    while n < after && take(ticket.wait_next()) {
        n += 1;
    }
    while take(ticket.try_next()) {}
    taken
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// A generation stopped any number of times anywhere gives the same tokens in pieces.
    #[test]
    fn resumed_generation_equals_uninterrupted(
        prompt in proptest::collection::vec(0..8_u32, 1..20),
        max_tokens in 1..30_usize,
        stops in proptest::collection::vec(0..8_usize, 0..5),
        stop_token in 0..12_u32,
        min_tokens in 0..4_usize,
    ) {
        let (engine, _) = engine();
        let sampling = |resumed| SamplingParams {
            min_tokens: min_tokens.min(max_tokens),
            stop_token_ids: [stop_token].into(),
            repetition_penalty: 1.2,
            ..sampling(max_tokens, resumed)
        };
        let whole = submit(&engine, generate(&prompt, sampling(0))).wait().remove(0).unwrap();
        let mut pieces: Vec<SampledToken> = Vec::new();
        let ids = |pieces: &[SampledToken]| -> Vec<u32> {
            let generated = pieces.iter().map(|token| token.token_id);
            prompt.iter().copied().chain(generated).collect()
        };
        let ended = |pieces: &[SampledToken]| pieces.len() == tokens(&whole).len();
        for after in stops {
            if !ended(&pieces) {
                let request = generate(&ids(&pieces), sampling(pieces.len()));
                pieces.extend(stopped(&engine, request, after));
            }
        }
        if !ended(&pieces) {
            let request = generate(&ids(&pieces), sampling(pieces.len()));
            let rest = submit(&engine, request).wait().remove(0).unwrap();
            prop_assert_eq!(rest.usage.output_tokens, tokens(&rest).len());
            pieces.extend_from_slice(tokens(&rest));
            prop_assert_eq!(finish(&rest), finish(&whole));
        }
        prop_assert_eq!(&pieces[..], tokens(&whole));
        // A generation resumed at its end finishes without computation.
        let request = generate(&ids(&pieces), sampling(pieces.len()));
        let again = submit(&engine, request).wait().remove(0).unwrap();
        prop_assert_eq!((finish(&again), tokens(&again)), (finish(&whole), &[][..]));
        prop_assert_eq!(again.usage.computed_tokens, 0);
        prop_assert_eq!(engine.queued_tokens(), 0);
    }
}

/// `max_tokens` and the context count resumed tokens once.
#[test]
fn resumed_tokens_count_for_the_limits() {
    let (engine, _) = engine();
    let check = |n_tokens: u32, resumed: usize, max_tokens: usize, expected: usize| {
        let ids: Vec<u32> = (0..n_tokens).map(|at| at % 8).collect();
        let request = generate(&ids, sampling(max_tokens, resumed));
        let answer = submit(&engine, request).wait().remove(0).unwrap();
        let found = (tokens(&answer).len(), finish(&answer));
        assert_eq!(found, (expected, FinishReason::Length), "{n_tokens}, {resumed}");
    };
    check(90, 5, 8, 3);
    check(90, 8, 8, 0);
    // The context holds 100.
    check(90, 5, 1000, 10);
    check(99, 5, 1000, 1);
    check(100, 5, 1000, 0);
    let refused = |resumed: usize, max_tokens: usize| {
        let request = generate(&[1, 2, 3], sampling(max_tokens, resumed));
        let refused = engine.submit(vec![request], RequestParams::default());
        refused.unwrap_err().to_string()
    };
    let all = "request 0: resumed is 3, and the sequence has 3 tokens with its prompt";
    assert_eq!(refused(3, 10), all);
    let more = "request 0: resumed is 4, and the sequence has 3 tokens with its prompt";
    assert_eq!(refused(4, 10), more);
    let ended = "request 0: resumed: the token before 1 ended the generation";
    assert_eq!(refused(2, 1), ended);
}
