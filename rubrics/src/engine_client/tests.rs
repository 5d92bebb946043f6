//! Verdicts name the weights and adapters that gave them, and batch work waits for capacity.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use engine::{Output, Request, RequestParams, Revisions, Task, Ticket};
use futures_util::FutureExt as _;
use testkit::fake::Script;
use tiny_models::{AdapterSpec, Preset, TinyHead, TinySpec, make_adapter};

use super::EngineClient;
use crate::outcome::{FailureKind, Outcome, Trace};
use crate::testing::Bench;
use crate::{Input, Priority, ScoreOptions, Scorer};

/// A reward that is the number of its weights.
struct Numbered(Arc<AtomicU64>);

impl Script for Numbered {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        unreachable!("only the head is read")
    }

    fn head(&self, _: &[u32]) -> Vec<f32> {
        let weights = self.0.load(Ordering::SeqCst);
        vec![f32::from(u16::try_from(weights).expect("few changes"))]
    }
}

const SCORERS: &str = "
[[scorer]]
name = 'good'
kind = 'reward'
model = 'm'

[[scorer]]
name = 'both'
kind = 'pipeline'
combine = 'weighted_sum'
part = [{ scorer = 'good', weight = 1.0, on_error = 'fail' }, { scorer = 'math', weight = 1.0, on_error = 'fail' }]
";

fn trace(outcome: &Outcome) -> &Trace {
    let reward = outcome.as_ref().expect("it is judged");
    reward.evidence.trace.as_ref().expect("a model was called")
}

#[test]
fn verdicts_name_live_weights_revisions() {
    let weights = Arc::new(AtomicU64::new(0));
    let script = Numbered(weights.clone());
    let bench = Bench::scripted(SCORERS, TinyHead::Sequence, |_| script);
    let identity = |name: &str| {
        let scorer: &Arc<Scorer> = bench.registry.get(name).expect("configured");
        scorer.digest_with(&*bench.tools.models)
    };
    let mut input = Input::of("\\boxed{2}".to_owned());
    input.reference = Some(crate::Reference::Text("2".to_owned()));
    assert_eq!(trace(&bench.one("good", input.clone())).revisions, None);
    let mut identities = vec![identity("good"), identity("both"), identity("math")];
    for revision in 1..4_u32 {
        let write = || weights.store(u64::from(revision), Ordering::SeqCst);
        let updated = bench.host.engine.update_weights_blocking(write);
        let newest = updated.expect("the engine goes on").revision;
        assert_eq!(newest, u64::from(revision));
        let here = Some(Revisions { oldest: newest, newest });
        let outcome = bench.one("good", input.clone());
        let raw = outcome.as_ref().expect("it is judged").raw;
        assert_eq!(raw.map(f64::to_bits), Some(f64::from(revision).to_bits()));
        assert_eq!(trace(&outcome).revisions, here);
        assert_eq!(trace(&bench.one("both", input.clone())).revisions, here);
        // Scorers with a model have a new digest; those without keep theirs.
        for name in ["good", "both"] {
            let identity = identity(name);
            assert!(!identities.contains(&identity), "{name} at {revision}");
            identities.push(identity);
        }
        assert!(identities.contains(&identity("math")));
    }
}

#[test]
fn combined_verdicts_name_oldest_and_newest_revision() {
    let of = |oldest, newest| Some(Revisions { oldest, newest });
    let check = |parts: &[Option<Revisions>], expected| {
        let mut whole = Trace::default();
        for revisions in parts {
            whole.add(&Trace { revisions: *revisions, ..Trace::default() });
        }
        assert_eq!(whole.revisions, expected, "{parts:?}");
    };
    check(&[None, None], None);
    check(&[of(3, 3), None], of(3, 3));
    check(&[of(3, 3), of(5, 6), of(4, 4)], of(3, 6));
    check(&[None, of(7, 9), of(2, 2)], of(2, 9));
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

/// Serves an adapter whose content follows from `seed` as `a`.
fn load_adapter(bench: &Bench, seed: u64) {
    let dir = tempfile::tempdir().expect("a folder");
    let base = TinySpec { head: TinyHead::Sequence, ..TinySpec::from(Preset::Qwen2) };
    let spec = AdapterSpec {
        seed,
        r: 2,
        alpha: 4,
        targets: vec!["q_proj".to_owned()],
        rank_pattern: BTreeMap::new(),
        alpha_pattern: BTreeMap::new(),
        rslora: false,
        score_labels: None,
    };
    let folder = dir.path().join("adapter");
    make_adapter(&folder, &base, &spec).expect("it fits the base");
    block_on(bench.host.load_adapter("a", &folder)).expect("it fits the model");
}

#[test]
fn adapter_replaced_after_its_lookup_gives_no_score() {
    let script = Numbered(Arc::default());
    let bench = Bench::scripted(SCORERS, TinyHead::Sequence, |_| script);
    load_adapter(&bench, 1);
    let client = EngineClient::new(&bench.tools, ScoreOptions::default(), 1 << 18);
    let served = client.served("a").expect("it is served");
    let mut trace = Trace::default();
    let mut read = |served| {
        let work = vec![([1, 2, 3].into(), Task::scores([2]))];
        block_on(client.read(served, work, &mut trace))
    };
    read(&served).expect("its adapter is in service");
    // The same content again is the same adapter.
    load_adapter(&bench, 1);
    read(&served).expect("its adapter is in service");
    load_adapter(&bench, 2);
    let failure = read(&served).expect_err("another adapter computes it");
    assert_eq!((failure.kind, failure.reason.code), (FailureKind::Overloaded, "adapter_replaced"));
    assert!(!failure.kind.is_lasting(), "the next attempt finds the new adapter");
    let found = client.served("a").expect("it is served");
    read(&found).expect("the new adapter is in service");
    block_on(bench.host.engine.remove_adapter("a".into())).expect("the engine runs");
    let failure = read(&found).expect_err("it was unloaded");
    assert_eq!((failure.kind, failure.reason.code), (FailureKind::Overloaded, "adapter_replaced"));
    assert_eq!(trace.adapter, found.adapter.map(|adapter| adapter.digest));
}

/// A head that waits for the test.
struct Gated(mpsc::Receiver<()>);

impl Script for Gated {
    fn logits(&self, _: &[u32]) -> Vec<f32> {
        unreachable!("only the head is read")
    }

    fn head(&self, _: &[u32]) -> Vec<f32> {
        // Once the test drops the sender, it does not wait.
        let _ = self.0.recv();
        vec![0.5]
    }
}

/// Fills an engine's queue with interactive requests.
fn fill(engine: &engine::Engine) -> Vec<Ticket> {
    let limits = engine.limits();
    let mut tickets = Vec::new();
    loop {
        let n = (limits.queue_tokens - engine.queued_tokens()).min(limits.context());
        if n == 0 {
            return tickets;
        }
        let task = Task::scores([n - 1]);
        let request = Request { token_ids: vec![1; n].into(), adapter: None, task };
        let ticket = engine.submit(vec![request], RequestParams::default());
        tickets.push(ticket.expect("there is room"));
    }
}

#[test]
fn batch_scoring_waits_for_a_full_queue() {
    let (open, gate) = mpsc::channel();
    let bench = Bench::scripted(SCORERS, TinyHead::Sequence, |_| Gated(gate));
    let filling = fill(&bench.host.engine);
    let read = async |priority| {
        let options = ScoreOptions { priority, ..ScoreOptions::default() };
        let client = EngineClient::new(&bench.tools, options, 1 << 18);
        let served = client.served("m").expect("it is served");
        let work = vec![([1, 2, 3].into(), Task::scores([2]))];
        client.read(&served, work, &mut Trace::default()).await
    };
    let refused = block_on(read(Priority::Interactive)).expect_err("the queue is full");
    assert_eq!((refused.kind, refused.reason.code), (FailureKind::Overloaded, "engine_queue_full"));
    block_on(async {
        let mut waiting = pin!(read(Priority::Batch));
        assert!(waiting.as_mut().now_or_never().is_none(), "it waits");
        drop(open);
        let outputs = waiting.await.expect("there is room at last");
        assert_eq!(outputs, [[Output::Head(vec![0.5])]]);
    });
    for ticket in filling {
        assert!(ticket.wait().iter().all(Result::is_ok));
    }
}
