//! Answers a request's inputs: from the cache, from a flight that is on its way, or by scoring.

use std::sync::Arc;
use std::time::Duration;

use openapi::CacheMode;
use rubrics::{FailureKind, Input, Outcome, ScoreOptions, Scorer, TimedOutcome};
use tokio::sync::oneshot;

use crate::cache::{Flight, Key, Lookup};
use crate::metrics::Source;
use crate::state::State;

/// An outcome and how it came about.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The outcome.
    pub outcome: Arc<Outcome>,
    /// From submission to the start of work; zero for a stored verdict.
    pub queue: Duration,
    /// Work; zero for a stored verdict.
    pub exec: Duration,
    /// Whether somebody else's work answered.
    pub cached: bool,
}

type Joined = oneshot::Receiver<Arc<Outcome>>;

/// What has to happen for one input.
enum Plan {
    Known(Arc<Outcome>),
    Join(Joined),
    Score(Option<Flight>),
}

/// A request's inputs on their way to answers.
pub(crate) struct Answering<'a> {
    /// What all workers share.
    pub state: &'a State,
    /// Who judges.
    pub scorer: &'a Arc<Scorer>,
    /// What is judged.
    pub inputs: &'a [Arc<Input>],
    /// How.
    pub options: ScoreOptions,
    /// Whether stored verdicts may answer.
    pub mode: CacheMode,
}

impl Answering<'_> {
    /// One answer for each input, in order.
    ///
    /// What this request has to compute is computed before it waits for what others compute: two
    /// requests that wait for each other's inputs both get on.
    pub(crate) async fn run(self) -> Vec<Answered> {
        let mut answers: Vec<Option<Answered>> = vec![None; self.inputs.len()];
        let identity = self.identity();
        let (mut leads, mut joins) = (Vec::new(), Vec::new());
        let pressed = self.state.admission.is_pressed();
        for (index, input) in self.inputs.iter().enumerate() {
            match self.plan(input, &identity, pressed) {
                Plan::Known(outcome) => answers[index] = Some(stored(outcome)),
                Plan::Join(receiver) => joins.push((index, receiver)),
                Plan::Score(flight) => leads.push((index, flight)),
            }
        }
        self.count(leads.len(), joins.len());
        self.lead(leads, &identity, &mut answers).await;
        self.join(joins, &mut answers).await;
        answers.into_iter().map(|answer| answer.expect("every plan was carried out")).collect()
    }

    /// Who judges, with which models and weights, as of now.
    fn identity(&self) -> [u8; 32] {
        self.scorer.digest_with(&*self.state.tools.models)
    }

    fn plan(&self, input: &Input, identity: &[u8; 32], pressed: bool) -> Plan {
        let fresh = match self.mode {
            CacheMode::Bypass => return Plan::Score(None),
            // Looking up what is as quickly judged is the first work to go under pressure.
            CacheMode::Use if pressed && self.scorer.is_cheap() => return Plan::Score(None),
            CacheMode::Refresh => true,
            CacheMode::Use => false,
        };
        let key = Key::new(identity, input, self.options.explain, self.options.seed);
        match self.state.cache.look_up(key, fresh) {
            Lookup::Known(outcome) => Plan::Known(outcome),
            Lookup::OnItsWay(receiver) => Plan::Join(receiver),
            Lookup::Yours(flight) => Plan::Score(Some(flight)),
        }
    }

    fn count(&self, leads: usize, joins: usize) {
        let known = self.inputs.len() - leads - joins;
        let counts = [(Source::Hit, known), (Source::Joined, joins), (Source::Miss, leads)];
        for (source, count) in counts {
            self.state.metrics.cache(source, count as u64);
        }
    }

    /// Scores inputs. `identity` is what stood in the keys of their flights: where adapters or
    /// weights changed meanwhile, the verdicts are this request's alone, because it cannot be told
    /// which of them each is of.
    async fn lead(
        &self,
        leads: Vec<(usize, Option<Flight>)>,
        identity: &[u8; 32],
        answers: &mut [Option<Answered>],
    ) {
        if leads.is_empty() {
            return;
        }
        let chosen = leads.iter().map(|(index, _)| Arc::clone(&self.inputs[*index]));
        let chosen: Vec<Arc<Input>> = chosen.collect();
        let scored = rubrics::score(self.scorer, &chosen, self.options, &self.state.tools).await;
        let lasts = self.identity() == *identity;
        for ((index, flight), scored) in leads.into_iter().zip(scored) {
            let TimedOutcome { outcome, queue, exec } = scored;
            let outcome = Arc::new(outcome);
            if let Some(flight) = flight.filter(|_| lasts) {
                flight.land(&outcome);
            }
            answers[index] = Some(Answered { outcome, queue, exec, cached: false });
        }
    }

    async fn join(&self, joins: Vec<(usize, Joined)>, answers: &mut [Option<Answered>]) {
        let mut left_alone = Vec::new();
        for (index, receiver) in joins {
            match receiver.await {
                Ok(outcome) => answers[index] = Some(stored(outcome)),
                // Whoever computed it gave up, or had a misfortune of their own: this request
                // does the work itself.
                Err(_) => left_alone.push((index, None)),
            }
        }
        self.lead(left_alone, &self.identity(), answers).await;
    }
}

/// Whether the deadline passed before any of the work was done.
/// Whether an input was not measured for want of room.
pub(crate) fn any_without_room(answers: &[Answered]) -> bool {
    let full = |answer: &Answered| is_kind(&answer.outcome, FailureKind::Overloaded);
    answers.iter().any(full)
}

pub(crate) fn all_too_late(answers: &[Answered]) -> bool {
    answers.iter().all(|answer| is_kind(&answer.outcome, FailureKind::Timeout))
}

fn is_kind(outcome: &Outcome, kind: FailureKind) -> bool {
    outcome.as_ref().is_err_and(|failure| failure.kind == kind)
}

fn stored(outcome: Arc<Outcome>) -> Answered {
    Answered { outcome, queue: Duration::ZERO, exec: Duration::ZERO, cached: true }
}
