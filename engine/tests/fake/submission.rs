//! Submissions: refusals, outputs, failures, cancellation and the return of queue capacity.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::forward::{Fake, Fault, POISON, VOCAB, naive, silence_injected_panics};
use engine::{
    Engine, EngineConfig, FinishReason, OutputSpec, Priority, Request, RequestError, RequestEvent,
    RequestOutput, RequestParams, RequestTree, SamplingParams, SubmitError, Task, TaskOutput,
};
use models::adapter::Adapter;
use models::batch::AdapterSlot;
use models::{Forward, LoadOptions, Model, ModelError, Outputs, RaggedBatch};
use tiny_models::{Preset, TinyHead, TinySpec};

/// A fake whose steps wait for the test.
struct Gated {
    fake: Fake,
    gate: mpsc::Receiver<()>,
}

impl Forward for Gated {
    fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
        // Once the test drops the sender, steps run freely.
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

const BLOCKS: usize = 8;

pub(crate) fn config() -> EngineConfig {
    EngineConfig {
        n_blocks: BLOCKS,
        batch_tokens: 64,
        max_sequences: 16,
        queue_tokens: 200,
        max_positions: 100,
        vocab_size: VOCAB + 1,
        has_vocabulary: true,
        head_labels: Some(1),
    }
}

fn start(fake: Fake) -> (Engine, mpsc::Sender<()>) {
    let (open, gate) = mpsc::channel();
    let engine = Engine::start(Gated { fake, gate }, config()).unwrap();
    (engine, open)
}

fn open_engine(fake: Fake) -> Engine {
    start(fake).0
}

fn request(token_ids: &[u32], task: Task) -> Request {
    Request { token_ids: token_ids.into(), adapter: None, task }
}

fn score(token_ids: &[u32]) -> Request {
    request(token_ids, Task::scores([token_ids.len() - 1]))
}

fn generate(token_ids: &[u32], max_tokens: usize) -> Request {
    let params = SamplingParams { max_tokens, ..SamplingParams::default() };
    request(token_ids, Task::Generate(Box::new(params)))
}

fn expected(token_ids: &[u32]) -> TaskOutput {
    TaskOutput::Rows(vec![naive(token_ids, None, &OutputSpec::Head)])
}

fn output(result: &Result<RequestOutput, RequestError>) -> &TaskOutput {
    &result.as_ref().expect("it is answered").output
}

#[test]
fn invalid_request_is_refused_with_its_index() {
    let engine = open_engine(Fake::new(BLOCKS));
    let check = |requests: Vec<Request>, expected: &str| {
        let error = engine.submit(requests, RequestParams::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let rows = |rows: Vec<(usize, OutputSpec)>| request(&[1, 2, 3], Task::Rows(rows));
    let labels = |columns: &[u32]| OutputSpec::Labels { columns: columns.into(), mass: false };
    check(vec![], "a submission without requests");
    check(vec![score(&[1]), request(&[], Task::scores([0]))], "request 1: it has no tokens");
    check(vec![score(&[1, 9])], "request 0: token id 9 is beyond the vocabulary of 9");
    check(vec![rows(vec![])], "request 0: it asks for nothing");
    check(
        vec![rows(vec![(3, OutputSpec::Head)])],
        "request 0: token 3 is read, and it has 3 tokens",
    );
    check(vec![rows(vec![(0, labels(&[]))])], "request 0: a read names no label");
    check(
        vec![rows(vec![(0, labels(&[1, 9]))])],
        "request 0: label token 9 is beyond the vocabulary of 9",
    );
    check(
        vec![rows(vec![(0, OutputSpec::Logprob(9))])],
        "request 0: target token 9 is beyond the vocabulary of 9",
    );
    check(vec![generate(&[1], 0)], "request 0: max_tokens is 0: at least one token is generated");
    check(vec![score(&[1; 101])], "101 tokens are more than the 100 that the context holds");
    check(vec![generate(&[1; 100], 1)], "101 tokens are more than the 100 that the context holds");
    check(
        vec![score(&[1; 100]), score(&[1; 100]), score(&[1])],
        "201 tokens are more than the 200 that the queue holds",
    );
    let mut adapted = score(&[1]);
    adapted.adapter = Some("strict".into());
    check(vec![adapted], "no adapter is called \"strict\"");
}

#[test]
fn kv_memory_bounds_sequence_length() {
    let config = EngineConfig { n_blocks: 2, ..config() };
    let engine = Engine::start(Fake::new(2), config).unwrap();
    let error = engine.submit(vec![score(&[1; 33])], RequestParams::default());
    assert_eq!(
        error.unwrap_err(),
        SubmitError::TooLong { what: "the KV memory", max: 32, given: 33 }
    );
    let ticket = engine.submit(vec![generate(&[1; 30], 1_000_000_000)], RequestParams::default());
    let outputs = ticket.unwrap().wait();
    let TaskOutput::Tokens { tokens, finish } = output(&outputs[0]) else {
        panic!("tokens were requested");
    };
    assert_eq!((tokens.len(), finish), (2, &FinishReason::Length));
}

#[test]
fn outputs_are_in_request_order() {
    let engine = open_engine(Fake::new(BLOCKS));
    let requests = vec![score(&[1, 2, 3]), generate(&[4, 5], 3), score(&[1, 2])];
    let outputs = engine.submit(requests, RequestParams::default()).unwrap().wait();
    assert_eq!(output(&outputs[0]), &expected(&[1, 2, 3]));
    assert_eq!(output(&outputs[2]), &expected(&[1, 2]));
    let usage = outputs[1].as_ref().unwrap().usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (2, 3));
    assert_eq!(engine.queued_tokens(), 0);
}

#[test]
fn streamed_tokens_equal_the_output() {
    let engine = open_engine(Fake::new(BLOCKS));
    let requests = vec![generate(&[4, 5], 7), generate(&[4, 5, 6], 9)];
    let mut ticket = engine.submit(requests, RequestParams::default()).unwrap();
    let mut streamed = [vec![], vec![]];
    let mut outputs = [None, None];
    while let Some(event) = ticket.wait_next() {
        match event {
            RequestEvent::Tokens { request, tokens } => streamed[request].extend(tokens),
            RequestEvent::Done { request, result } => {
                assert!(outputs[request].replace(result).is_none(), "one result each");
            }
        }
    }
    for (streamed, result) in streamed.iter().zip(outputs) {
        match output(result.as_ref().unwrap()) {
            TaskOutput::Tokens { tokens, .. } => assert_eq!(tokens, streamed),
            TaskOutput::Rows(_) => panic!("tokens were requested"),
        }
    }
}

#[test]
fn request_tree_is_computed_once() {
    let engine = open_engine(Fake::new(BLOCKS));
    let mut tree = RequestTree::default();
    let prompt = tree.add_node(None, &[1; 21]);
    let mut texts = Vec::new();
    for response in [&[2, 3][..], &[4], &[2, 5, 6]] {
        let node = tree.add_node(Some(prompt), response);
        for question in [7, 0] {
            let node = tree.add_node(Some(node), &[question]);
            tree.add_request(node, None, |ids| {
                texts.push(ids.to_vec());
                Task::scores([ids.len() - 1])
            });
        }
    }
    let ticket = engine.submit(tree.into_requests(), RequestParams::default()).unwrap();
    let outputs = ticket.wait();
    for (text, result) in texts.iter().zip(&outputs) {
        assert_eq!(output(result), &expected(text));
    }
    let usage = |count: fn(&engine::Usage) -> usize| -> usize {
        outputs.iter().map(|a| count(&a.as_ref().unwrap().usage)).sum()
    };
    // The prompt, the responses (two of which begin with the same token), and the questions.
    assert_eq!(usage(|usage| usage.computed_tokens), 21 + 2 + 1 + 2 + 6);
    assert_eq!(usage(|usage| usage.input_tokens), 6 * 22 + 2 * (2 + 1 + 3));
}

#[test]
fn queue_is_bounded_by_tokens_and_capacity_returns() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let first = engine.submit(vec![score(&[1; 90]), score(&[2; 90])], RequestParams::default());
    let error = engine.submit(vec![score(&[3; 21])], RequestParams::default());
    assert_eq!(error.unwrap_err(), SubmitError::Overloaded { queued: 180, max: 200 });
    let second = engine.submit(vec![score(&[3; 20])], RequestParams::default());
    drop(gate);
    assert!(first.unwrap().wait().iter().all(Result::is_ok));
    assert!(second.unwrap().wait().iter().all(Result::is_ok));
    assert_eq!(engine.queued_tokens(), 0);
}

#[test]
fn dropped_ticket_frees_capacity_in_every_state() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    // One runs at the gate, one waits for its prefix, one is queued.
    let running = engine.submit(vec![generate(&[1; 40], 50)], RequestParams::default()).unwrap();
    let waiting = engine.submit(vec![score(&[1; 41])], RequestParams::default()).unwrap();
    let queued = engine.submit(vec![score(&[2; 30])], RequestParams::default()).unwrap();
    let stays = engine.submit(vec![score(&[1; 42])], RequestParams::default()).unwrap();
    drop((running, waiting, queued));
    drop(gate);
    assert_eq!(output(&stays.wait()[0]), &expected(&[1; 42]));
    // The channel is in order, so the dropped tickets have been handled.
    let last = engine.submit(vec![score(&[5])], RequestParams::default()).unwrap();
    assert_eq!(output(&last.wait()[0]), &expected(&[5]));
    assert_eq!(engine.queued_tokens(), 0);
    let status = engine.status();
    assert_eq!((status.running, status.held_blocks, status.queued), (0, 0, 0));
}

#[test]
fn deadline_ends_waiting_and_running_requests() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let params = RequestParams { deadline: Some(Instant::now()), ..RequestParams::default() };
    let late = engine.submit(vec![score(&[1, 2]), generate(&[1], 5)], params).unwrap();
    let other = engine.submit(vec![score(&[1, 2])], RequestParams::default()).unwrap();
    drop(gate);
    for result in late.wait() {
        assert_eq!(result.unwrap_err(), RequestError::Deadline);
    }
    assert_eq!(output(&other.wait()[0]), &expected(&[1, 2]));
    assert_eq!(engine.queued_tokens(), 0);
}

#[test]
fn failed_step_fails_only_its_sequences() {
    silence_injected_panics();
    for fault in [Fault::Error, Fault::Panic, Fault::TooFewOutputs] {
        let mut fake = Fake::new(BLOCKS);
        fake.faults.push((0, fault));
        let engine = open_engine(fake);
        let first = engine.submit(vec![score(&[1, 2])], RequestParams::default()).unwrap();
        assert!(matches!(first.wait()[0], Err(RequestError::Model(_))), "{fault:?}");
        let second = engine.submit(vec![score(&[1, 2])], RequestParams::default()).unwrap();
        assert_eq!(output(&second.wait()[0]), &expected(&[1, 2]), "{fault:?}");
        let status = engine.status();
        assert_eq!((status.failed_steps, status.held_blocks), (1, 0));
    }
}

/// The steps of a lost device would all fail.
#[tokio::test]
async fn lost_device_ends_the_engine() {
    let mut fake = Fake::new(BLOCKS);
    fake.faults.push((1, Fault::Lost));
    let engine = open_engine(fake);
    let first = engine.submit(vec![score(&[1, 2])], RequestParams::default()).unwrap();
    assert_eq!(output(&first.all().await[0]), &expected(&[1, 2]));
    let second = engine.submit(vec![score(&[1, 2])], RequestParams::default()).unwrap();
    let lost = second.all().await;
    assert!(matches!(&lost[0], Err(RequestError::Model(what)) if what.contains("device")));
    // Whatever is sent to a thread that has ended is dropped.
    assert!(engine.insert_adapter("strict".into(), adapter("one")).await.is_err());
    assert!(!engine.is_alive());
    let refused = engine.submit(vec![score(&[1])], RequestParams::default());
    assert_eq!(refused.unwrap_err(), SubmitError::ShuttingDown);
}

#[test]
fn non_finite_logit_fails_only_its_sequence() {
    let engine = open_engine(Fake::new(BLOCKS));
    let requests =
        vec![score(&[1, 2]), score(&[1, POISON]), generate(&[POISON, 1], 3), score(&[1, 2, 3])];
    let outputs = engine.submit(requests, RequestParams::default()).unwrap().wait();
    assert_eq!(output(&outputs[0]), &expected(&[1, 2]));
    assert_eq!(output(&outputs[3]), &expected(&[1, 2, 3]));
    for at in [1, 2] {
        let error = outputs[at].as_ref().unwrap_err();
        assert!(matches!(error, RequestError::NotFinite { .. }), "{error}");
        assert!(error.to_string().contains("at position 1"), "{error}");
    }
}

pub(crate) fn adapter(digest: &str) -> Arc<Adapter> {
    Arc::new(Adapter {
        digest: digest.to_owned(),
        pairs: std::collections::BTreeMap::new(),
        head: None,
        ..Adapter::default()
    })
}

fn adapted(token_ids: &[u32]) -> Request {
    Request { adapter: Some("strict".into()), ..score(token_ids) }
}

#[tokio::test]
async fn replaced_adapter_never_uses_the_old_cache() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let digests = |engine: &Engine| -> Vec<String> {
        let adapters = engine.status().adapters;
        adapters.iter().map(|adapter| adapter.digest.to_string()).collect()
    };
    engine.insert_adapter("strict".into(), adapter("one")).await.unwrap();
    assert_eq!(digests(&engine), ["one"]);
    let old = engine.submit(vec![adapted(&[1, 2, 3])], RequestParams::default()).unwrap();
    // The old adapter's sequence waits at the gate while the name gets another adapter.
    let swapping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.insert_adapter("strict".into(), adapter("two")).await }
    });
    tokio::task::yield_now().await;
    drop(gate);
    swapping.await.unwrap().unwrap();
    let old = old.all().await.remove(0).unwrap();
    assert_eq!(old.adapter.as_deref(), Some("one"));
    let first = TaskOutput::Rows(vec![naive(&[1, 2, 3], Some(AdapterSlot(0)), &OutputSpec::Head)]);
    assert_eq!(old.output, first);

    let new = engine.submit(vec![adapted(&[1, 2, 3])], RequestParams::default()).unwrap();
    let new = new.all().await.remove(0).unwrap();
    assert_eq!((new.adapter.as_deref(), new.usage.cached_tokens), (Some("two"), 0));
    assert_ne!(new.output, first);

    assert!(engine.remove_adapter("strict".into()).await.unwrap());
    assert!(!engine.remove_adapter("strict".into()).await.unwrap());
    assert!(digests(&engine).is_empty());
    let refused = engine.submit(vec![adapted(&[1])], RequestParams::default());
    assert!(matches!(refused, Err(SubmitError::UnknownAdapter { .. })));
    // The same content finds the prefixes that the first load computed.
    engine.insert_adapter("again".into(), adapter("two")).await.unwrap();
    let mut again = adapted(&[1, 2, 3]);
    again.adapter = Some("again".into());
    let again = engine.submit(vec![again], RequestParams::default()).unwrap();
    assert_eq!(again.all().await[0].as_ref().unwrap().usage.cached_tokens, 2);
}

/// The request is checked against the adapter with a head, and runs after it was replaced.
#[tokio::test]
async fn adapter_that_lost_its_head_fails_only_its_own_request() {
    /// Fails the step of a head that is not there, as runners do.
    struct Headless(Gated);
    impl Forward for Headless {
        fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
            let outputs = self.0.forward(batch)?;
            match batch.rows.iter().find(|row| row.output == OutputSpec::Head) {
                None => Ok(outputs),
                Some(_) => Err(ModelError::Batch("there is no score head".to_owned())),
            }
        }
        fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
            self.0.insert(adapter)
        }
        fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
            self.0.remove(slot)
        }
    }
    let (open, gate) = mpsc::channel();
    let forward = Headless(Gated { fake: Fake::new(BLOCKS), gate });
    let engine = Engine::start(forward, EngineConfig { head_labels: None, ..config() }).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let spec = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen2) };
    let folder = dir.path().join("model");
    tiny_models::make(&folder, &spec).unwrap();
    let head = Model::load(&folder, &LoadOptions::default()).unwrap().head;
    assert!(head.is_some());
    let with_head = Adapter { digest: "one".to_owned(), head, ..Adapter::default() };
    engine.insert_adapter("strict".into(), Arc::new(with_head)).await.unwrap();
    // This one waits at the gate while the others are queued behind the replacement.
    let running = engine.submit(vec![generate(&[1, 2], 2)], RequestParams::default()).unwrap();
    let swapping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.insert_adapter("strict".into(), adapter("two")).await }
    });
    tokio::task::yield_now().await;
    let lost = engine.submit(vec![adapted(&[1, 2, 3])], RequestParams::default()).unwrap();
    let stranger = engine.submit(vec![generate(&[4, 5], 2)], RequestParams::default()).unwrap();
    drop(open);
    swapping.await.unwrap().unwrap();
    let lost = lost.all().await.remove(0);
    assert_eq!(lost, Err(RequestError::AdapterGone("strict".to_owned())));
    assert!(running.all().await[0].is_ok());
    assert!(stranger.all().await[0].is_ok());
    assert_eq!((engine.status().failed_steps, engine.queued_tokens()), (0, 0));
}

#[tokio::test]
async fn batch_submission_waits_for_a_full_queue() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let filling = vec![score(&[1; 100]), score(&[2; 100])];
    let filling = engine.submit(filling, RequestParams::default()).unwrap();
    let params = RequestParams { priority: Priority::Batch, ..RequestParams::default() };
    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.submit_batch(vec![score(&[3; 40])], params).await }
    });
    let cancelled = tokio::spawn({
        let engine = engine.clone();
        async move { engine.submit_batch(vec![score(&[4; 40])], params).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished() && !cancelled.is_finished());
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    drop(gate);
    let batch = waiting.await.unwrap().unwrap().all().await;
    assert_eq!(output(&batch[0]), &expected(&[3; 40]));
    assert!(filling.all().await.iter().all(Result::is_ok));
    assert_eq!(engine.queued_tokens(), 0);
    // All batch capacity is back.
    let all = engine.reserve_batch_capacity(100);
    drop(all.await);
}

#[tokio::test]
async fn batch_submission_ends_at_its_deadline_in_a_full_queue() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let filling = (0..4).map(|letter| generate(&[letter; 50], 40)).collect();
    let filling = engine.submit(filling, RequestParams::default()).unwrap();
    let deadline = Instant::now() + Duration::from_millis(20);
    let params = RequestParams {
        priority: Priority::Batch,
        deadline: Some(deadline),
        ..RequestParams::default()
    };
    let waiting = tokio::spawn({
        let engine = engine.clone();
        let requests = vec![score(&[5; 40]), score(&[6; 40])];
        async move { engine.submit_batch(requests, params).await }
    });
    tokio::task::yield_now().await;
    while Instant::now() < deadline {
        std::thread::yield_now();
    }
    gate.send(()).unwrap();
    for result in waiting.await.unwrap().unwrap().all().await {
        assert_eq!(result.unwrap_err(), RequestError::Deadline);
    }
    assert_eq!(engine.queued_tokens(), 200);
    drop(gate);
    assert!(filling.all().await.iter().all(Result::is_ok));
    assert_eq!(engine.queued_tokens(), 0);
}

#[tokio::test]
async fn weight_update_invalidates_prefixes() {
    let engine = open_engine(Fake::new(BLOCKS));
    let cached = async |engine: &Engine| {
        let ticket = engine.submit(vec![score(&[1; 20])], RequestParams::default()).unwrap();
        ticket.all().await[0].as_ref().unwrap().usage.cached_tokens
    };
    assert_eq!(cached(&engine).await, 0);
    assert_eq!(cached(&engine).await, 19);
    engine.update_weights(|| ()).await.unwrap();
    assert_eq!(cached(&engine).await, 0);
}

#[test]
fn prefixes_are_shared_only_within_a_salt() {
    let engine = open_engine(Fake::new(BLOCKS));
    let cached = |salt: u64| {
        let params = RequestParams { salt, ..RequestParams::default() };
        let ticket = engine.submit(vec![score(&[1; 20])], params).unwrap();
        ticket.wait()[0].as_ref().unwrap().usage.cached_tokens
    };
    assert_eq!([cached(0), cached(1), cached(0), cached(1)], [0, 0, 19, 19]);
}

#[test]
fn thread_ends_with_its_last_handle() {
    struct NotifiesOnDrop(Fake, mpsc::Sender<()>);
    impl Drop for NotifiesOnDrop {
        fn drop(&mut self) {
            let _ = self.1.send(());
        }
    }
    impl Forward for NotifiesOnDrop {
        fn forward(&mut self, batch: &RaggedBatch) -> Result<Outputs, ModelError> {
            self.0.forward(batch)
        }
        fn insert(&mut self, adapter: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
            self.0.insert(adapter)
        }
        fn remove(&mut self, slot: AdapterSlot) -> Option<Arc<Adapter>> {
            self.0.remove(slot)
        }
    }
    let (sender, ended) = mpsc::channel();
    let engine = Engine::start(NotifiesOnDrop(Fake::new(BLOCKS), sender), config()).unwrap();
    let other = engine.clone();
    let ticket = other.submit(vec![generate(&[1], 20)], RequestParams::default()).unwrap();
    drop(engine);
    drop(other);
    assert!(ticket.wait()[0].is_ok(), "unfinished requests are completed");
    ended.recv().expect("the thread drops the forward");
}

/// A panic outside of a step ends the thread.
#[tokio::test]
async fn dead_thread_fails_all_callers() {
    struct PanicsOnInsert(mpsc::Receiver<()>);
    impl Forward for PanicsOnInsert {
        fn forward(&mut self, _: &RaggedBatch) -> Result<Outputs, ModelError> {
            let _ = self.0.recv();
            Err(ModelError::Batch("injected".to_owned()))
        }
        fn insert(&mut self, _: Arc<Adapter>) -> Result<AdapterSlot, ModelError> {
            panic!("injected")
        }
        fn remove(&mut self, _: AdapterSlot) -> Option<Arc<Adapter>> {
            None
        }
    }
    silence_injected_panics();
    let (gate, closed) = mpsc::channel();
    let engine = Engine::start(PanicsOnInsert(closed), config()).unwrap();
    assert!(engine.is_alive());
    let first = engine.submit(vec![score(&[1; 60])], RequestParams::default()).unwrap();
    let inserting = tokio::spawn({
        let engine = engine.clone();
        async move { engine.insert_adapter("strict".into(), adapter("one")).await }
    });
    tokio::task::yield_now().await;
    let second = engine.submit(vec![score(&[2; 60])], RequestParams::default()).unwrap();
    drop(gate);
    assert!(first.all().await[0].is_err());
    assert!(inserting.await.unwrap().is_err());
    assert_eq!(second.all().await[0], Err(RequestError::ShuttingDown));
    assert!(!engine.is_alive());
    let refused = engine.submit(vec![score(&[1])], RequestParams::default());
    assert_eq!(refused.unwrap_err(), SubmitError::ShuttingDown);
}

#[test]
fn interactive_runs_first_without_starving_batch() {
    let (engine, gate) = start(Fake::new(BLOCKS));
    let submit = |priority, tokens: &[u32]| {
        let params = RequestParams { priority, ..RequestParams::default() };
        engine.submit(vec![score(tokens)], params).unwrap()
    };
    let batch = submit(Priority::Batch, &[3; 60]);
    let interactive = submit(Priority::Interactive, &[4; 60]);
    drop(gate);
    assert_eq!(output(&batch.wait()[0]), &expected(&[3; 60]));
    assert_eq!(output(&interactive.wait()[0]), &expected(&[4; 60]));
}
