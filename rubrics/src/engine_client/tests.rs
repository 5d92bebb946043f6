//! Verdicts of a model whose weights change name the weights that gave them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::Revisions;
use testkit::fake::Script;
use tiny_models::TinyHead;

use crate::outcome::{Outcome, Trace};
use crate::testing::Bench;
use crate::{Input, Scorer};

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
