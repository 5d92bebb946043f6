//! Scores a request's inputs through the cache.

use std::sync::Arc;
use std::time::Duration;

use openapi::CacheMode;
use rubrics::cache::{CacheKey, Inflight, Lookup};
use rubrics::{FailureKind, Input, Outcome, ScoreOptions, Scorer, TimedOutcome};
use tokio::sync::oneshot;

use crate::convert::Frame;
use crate::metrics::CacheSource;
use crate::state::State;

/// An outcome, its times, and whether it was computed for this request.
#[derive(Debug, Clone)]
pub(crate) struct CachedOutcome {
    /// The outcome.
    pub(crate) outcome: Arc<Outcome>,
    /// From submission to the start of work; zero if `cached`.
    pub(crate) queue: Duration,
    /// The time of the work; zero if `cached`.
    pub(crate) exec: Duration,
    /// Whether the outcome was stored or computed for another request.
    pub(crate) cached: bool,
}

impl CachedOutcome {
    /// Returns the fields of a result that its outcome does not have.
    pub(crate) fn frame<'a>(&self, scorer_digest: &'a str) -> Frame<'a> {
        Frame { scorer_digest, queue: self.queue, exec: self.exec, cached: self.cached }
    }
}

type Pending = oneshot::Receiver<Arc<Outcome>>;

/// How one input gets its outcome.
enum CacheDecision {
    Hit(Arc<Outcome>),
    Wait(Pending),
    Score(Option<Inflight>),
}

/// The inputs of a request, and how they are scored.
pub(crate) struct CachedScore<'a> {
    pub(crate) state: &'a State,
    pub(crate) scorer: &'a Arc<Scorer>,
    pub(crate) inputs: &'a [Arc<Input>],
    pub(crate) options: ScoreOptions,
    /// Whether stored outcomes may answer.
    pub(crate) mode: CacheMode,
}

impl CachedScore<'_> {
    /// Returns one outcome for each input, in order.
    ///
    /// The misses of this request are computed before it waits for outcomes in flight, so that two
    /// requests that wait for each other's inputs both finish.
    pub(crate) async fn run(self) -> Vec<CachedOutcome> {
        let mut outcomes: Vec<Option<CachedOutcome>> = vec![None; self.inputs.len()];
        let identity = self.identity();
        let (mut misses, mut waits) = (Vec::new(), Vec::new());
        let pressed = self.state.admission.is_pressed();
        for (index, input) in self.inputs.iter().enumerate() {
            match self.plan(input, &identity, pressed) {
                CacheDecision::Hit(outcome) => outcomes[index] = Some(cached(outcome)),
                CacheDecision::Wait(pending) => waits.push((index, pending)),
                CacheDecision::Score(inflight) => misses.push((index, inflight)),
            }
        }
        self.count(misses.len(), waits.len());
        self.score(misses, &identity, &mut outcomes).await;
        self.wait(waits, &mut outcomes).await;
        outcomes.into_iter().map(|outcome| outcome.expect("every plan was carried out")).collect()
    }

    /// Returns the digest of the scorer with the models and weights that it uses now.
    fn identity(&self) -> [u8; 32] {
        self.scorer.digest_with(&*self.state.tools.models)
    }

    fn plan(&self, input: &Input, identity: &[u8; 32], pressed: bool) -> CacheDecision {
        let refresh = match self.mode {
            CacheMode::Bypass => return CacheDecision::Score(None),
            // For a cheap scorer the lookup is the first work to drop under pressure.
            CacheMode::Use if pressed && self.scorer.is_cheap() => {
                return CacheDecision::Score(None);
            }
            CacheMode::Refresh => true,
            CacheMode::Use => false,
        };
        let key = CacheKey::new(identity, input, self.options.explain, self.options.seed);
        match self.state.cache.look_up(key, refresh) {
            Lookup::Hit(outcome) => CacheDecision::Hit(outcome),
            Lookup::InFlight(pending) => CacheDecision::Wait(pending),
            Lookup::Miss(inflight) => CacheDecision::Score(Some(inflight)),
        }
    }

    fn count(&self, misses: usize, waits: usize) {
        let hits = self.inputs.len() - misses - waits;
        let counts =
            [(CacheSource::Hit, hits), (CacheSource::Joined, waits), (CacheSource::Miss, misses)];
        for (source, count) in counts {
            self.state.metrics.cache(source, count as u64);
        }
    }

    /// Scores the misses. `identity` is part of their keys: if adapters or weights have changed
    /// meanwhile, outcomes are not stored, since the weights behind each are unknown.
    async fn score(
        &self,
        misses: Vec<(usize, Option<Inflight>)>,
        identity: &[u8; 32],
        outcomes: &mut [Option<CachedOutcome>],
    ) {
        if misses.is_empty() {
            return;
        }
        let chosen: Vec<Arc<Input>> =
            misses.iter().map(|(index, _)| Arc::clone(&self.inputs[*index])).collect();
        let scored = rubrics::score(self.scorer, &chosen, self.options, &self.state.tools).await;
        let unchanged = self.identity() == *identity;
        for ((index, inflight), scored) in misses.into_iter().zip(scored) {
            let TimedOutcome { outcome, queue, exec } = scored;
            let outcome = Arc::new(outcome);
            if let Some(inflight) = inflight.filter(|_| unchanged) {
                inflight.complete(&outcome);
            }
            outcomes[index] = Some(CachedOutcome { outcome, queue, exec, cached: false });
        }
    }

    async fn wait(&self, waits: Vec<(usize, Pending)>, outcomes: &mut [Option<CachedOutcome>]) {
        let mut abandoned = Vec::new();
        for (index, pending) in waits {
            match pending.await {
                Ok(outcome) => outcomes[index] = Some(cached(outcome)),
                // The other request gave up, or its outcome is not lasting: this request computes
                // its own.
                Err(_) => abandoned.push((index, None)),
            }
        }
        self.score(abandoned, &self.identity(), outcomes).await;
    }
}

/// Returns whether any input was not scored because a queue was full.
pub(crate) fn any_overloaded(outcomes: &[CachedOutcome]) -> bool {
    outcomes.iter().any(|answer| is_kind(&answer.outcome, FailureKind::Overloaded))
}

/// Returns whether every input missed the deadline.
pub(crate) fn all_timed_out(outcomes: &[CachedOutcome]) -> bool {
    outcomes.iter().all(|answer| is_kind(&answer.outcome, FailureKind::Timeout))
}

fn is_kind(outcome: &Outcome, kind: FailureKind) -> bool {
    outcome.as_ref().is_err_and(|failure| failure.kind == kind)
}

fn cached(outcome: Arc<Outcome>) -> CachedOutcome {
    CachedOutcome { outcome, queue: Duration::ZERO, exec: Duration::ZERO, cached: true }
}
